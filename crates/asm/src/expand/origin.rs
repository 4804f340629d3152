//! [`Sources`]: the texts that lines come from, and what put them where they are.

use std::borrow::Cow;
use std::sync::Arc;

use npukit_base::{Span, excerpt};

use super::substitute::Layer;
use crate::error::{AsmError, SourceFault, Within, source_span, span_of};
use crate::place::{Place, SourceText};

/// Where a line comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub source: usize,
    /// First byte of the line in its source.
    pub start: usize,
    /// Of the line, from 1.
    pub number: usize,
    /// What was replaced in it.
    pub layer: Option<Arc<Layer>>,
    pub call: Option<usize>,
}

impl Origin {
    /// The place of bytes of the line as it is now.
    pub fn place(&self, span: Span) -> Place {
        let Span { start, end } = self.layer.as_ref().map_or(span, |layer| layer.before(span));
        let span = Span::new(self.start + start, self.start + end);
        Place { span, source: self.source, call: self.call }
    }
}

/// Calls that are told at either end of many.
const ENDS: usize = 4;

/// Why lines stand where they do.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    what: Cow<'static, str>,
    place: Place,
}

/// The texts of a program: the one that is assembled, then those that it includes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    texts: Vec<SourceText>,
    calls: Vec<Call>,
}

impl Sources {
    /// Takes in a text, and gives its index.
    pub(crate) fn add(&mut self, name: &str, text: &str) -> (usize, Arc<str>) {
        let text: Arc<str> = text.into();
        self.texts.push(SourceText { name: name.to_owned(), text: Arc::clone(&text) });
        (self.texts.len() - 1, text)
    }

    /// Notes what puts lines somewhere, and gives its index.
    pub(crate) fn call(&mut self, what: &'static str, place: Place) -> usize {
        self.calls.push(Call { what: Cow::Borrowed(what), place });
        self.calls.len() - 1
    }

    /// Sources of these texts, by name, in which nothing has been called.
    pub fn of_texts(texts: impl IntoIterator<Item = (String, String)>) -> Self {
        let text = |(name, text): (String, String)| SourceText { name, text: text.into() };
        Self { texts: texts.into_iter().map(text).collect(), calls: Vec::new() }
    }

    /// The place of `span` in a text, put there by a call; none without such a text, span or call.
    pub fn place(&self, source: usize, span: Span, call: Option<usize>) -> Option<Place> {
        self.texts.get(source)?.text.get(span.start..span.end)?;
        let is_known = call.is_none_or(|call| call < self.calls.len());
        is_known.then_some(Place { span, source, call })
    }

    /// Notes what put lines somewhere: `what` was done at `place`.
    pub fn add_call(&mut self, what: String, place: Place) {
        self.calls.push(Call { what: Cow::Owned(what), place });
    }

    /// Name and content of each text: the one that is assembled, then those that it includes.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|source| (source.name.as_str(), &*source.text))
    }

    /// What put lines somewhere, and where that was said: macros, repetitions and inclusions, an outer one before those
    /// within it.
    pub fn calls(&self) -> impl Iterator<Item = (&str, Place)> {
        self.calls.iter().map(|call| (&*call.what, call.place))
    }

    /// Name of the text that a line comes from.
    pub(crate) fn name(&self, source: usize) -> &str {
        self.texts.get(source).map_or("", |source| &source.name)
    }

    /// The error of a line, with the text that it is in where that is not the one assembled.
    pub(crate) fn fault(&self, mut error: AsmError, place: impl Fn(Span) -> Place) -> AsmError {
        let Some(span) = error.span_mut() else { return error };
        let place = place(span_of(*span));
        *span = source_span(place.span);
        match self.texts.get(place.source) {
            Some(text) if !place.is_plain() => {
                let calls = self.calls_of(place);
                AsmError::Within(Box::new(Within { error, place, text: text.clone(), calls }))
            }
            _ => error,
        }
    }

    /// A remark below its line, as [`npukit_base::excerpt`] draws it.
    pub fn excerpt(&self, place: Place, message: &str) -> String {
        let Some(text) = self.texts.get(place.source) else { return message.to_owned() };
        let mut drawn = excerpt(&text.text, place.span, message);
        if place.source != 0 {
            drawn = format!("in {}, {drawn}", text.name);
        }
        self.calls_of(place).iter().for_each(|call| drawn += &format!("\n    {call}"));
        drawn
    }

    /// What is wrong at a place, with the line and with what put it there.
    pub fn fault_at(&self, place: Place, code: &'static str, message: String) -> SourceFault {
        let text = self.texts.get(place.source).cloned();
        let text = text.unwrap_or_else(|| SourceText { name: String::new(), text: "".into() });
        SourceFault {
            code,
            message,
            label: String::new(),
            help: None,
            span: place.span,
            text,
            calls: self.calls_of(place),
        }
    }

    /// Where a place is: the name of its text, line and column, from 1.
    pub fn position_of(&self, place: Place) -> (&str, usize, usize) {
        let (line, column) = self.position(place);
        (self.name(place.source), line, column)
    }

    /// What put a line there, the innermost first. Of many, those at both ends.
    fn calls_of(&self, place: Place) -> Vec<String> {
        let call = |place: &Place| place.call.and_then(|call| self.calls.get(call));
        let calls: Vec<&Call> = std::iter::successors(call(&place), |outer| call(&outer.place)).collect();
        let told = |calls: &[&Call]| calls.iter().map(|call| self.told(call)).collect::<Vec<_>>();
        match calls.len().checked_sub(2 * ENDS).filter(|more| *more > 1) {
            None => told(&calls),
            Some(more) => {
                let (inner, outer) = (told(&calls[..ENDS]), told(&calls[ENDS + more..]));
                inner.into_iter().chain([format!("({more} more)")]).chain(outer).collect()
            }
        }
    }

    /// `called at p.s:9:3: load 5`
    fn told(&self, call: &Call) -> String {
        let Some(text) = self.texts.get(call.place.source) else { return String::new() };
        let (line, column) = self.position(call.place);
        let Span { start, end } = call.place.span;
        let said = text.text.get(start..end).unwrap_or_default();
        format!("{} at {}:{line}:{column}: `{said}`", call.what, text.name)
    }

    /// Line and column, from 1.
    fn position(&self, place: Place) -> (usize, usize) {
        let text = self.texts.get(place.source).map_or("", |source| &source.text);
        let before = text.get(..place.span.start).unwrap_or(text);
        let line = before.rfind('\n').map_or(before, |end| &before[end + 1..]);
        (before.matches('\n').count() + 1, line.chars().count() + 1)
    }
}
