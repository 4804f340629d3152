//! [`Document`]: a text that is open, and what is known of it.

use std::sync::Arc;

use lsp_types::{Position, Range, TextDocumentContentChangeEvent, Uri};
use npukit_asm::analysis::{Analysis, Language};
use npukit_asm::{Files, Place};
use npukit_base::{Span, without_bom};
use npukit_target::Instance;

use crate::lsp::checks::Checked;
use crate::lsp::files::{path_of, uri_of};
use crate::lsp::lines::{Lines, floor};

/// A text that is open.
pub struct Document {
    /// Its name in the protocol.
    pub uri: Uri,
    /// Its path.
    pub path: String,
    /// The editor's count of its changes.
    pub version: i32,
    /// All of it.
    pub text: String,
    /// Where its lines begin.
    pub lines: Lines,
    /// What it is for.
    pub target: Target,
    /// Whether the text has changed since it was found what it is for.
    pub is_changed: bool,
    /// What texts of its folder are for that say nothing themselves.
    pub folder_target: Option<String>,
    /// What was found by checks that take their time, of whichever version.
    pub checked: Option<Checked>,
    analysis: Option<Arc<Analysis>>,
}

/// What a text is for.
#[derive(Clone, Default)]
pub enum Target {
    /// Nobody says.
    #[default]
    Unknown,
    /// There is no such instance.
    Wrong {
        /// What was named.
        spec: String,
        /// Why there is none.
        reason: String,
    },
    /// An instance.
    Known(Known),
}

/// An instance and the language of a text for it.
#[derive(Clone)]
pub struct Known {
    /// What was named.
    pub spec: String,
    /// The instance.
    pub instance: Arc<dyn Instance>,
    /// The language of the text; none when the instance has no such texts.
    pub language: Option<Arc<dyn Language>>,
}

impl Document {
    /// A text that is opened.
    pub fn new(uri: Uri, version: i32, text: String) -> Self {
        let (path, lines) = (path_of(&uri), Lines::of(&text));
        Self {
            uri,
            path,
            version,
            text,
            lines,
            target: Target::Unknown,
            is_changed: true,
            folder_target: None,
            checked: None,
            analysis: None,
        }
    }

    /// Takes in a change.
    pub fn change(&mut self, change: &TextDocumentContentChangeEvent) {
        match change.range {
            None => {
                self.text.clone_from(&change.text);
                self.lines = Lines::of(&self.text);
            }
            Some(Range { start, end }) => {
                let (start, end) = (self.lines.offset(&self.text, start), self.lines.offset(&self.text, end));
                let range = start..end.max(start);
                self.text.replace_range(range.clone(), &change.text);
                self.lines.replace(&self.text, range, change.text.len());
            }
        }
        self.is_changed = true;
        self.analysis = None;
    }

    /// Forgets what was found in the text: what it is for or what it includes is another.
    pub fn forget(&mut self) {
        self.analysis = None;
        self.checked = None;
    }

    /// The text without the mark that some editors put before it: spans are of this one.
    pub fn plain(&self) -> &str {
        without_bom(&self.text)
    }

    /// The language, where there is one.
    pub fn language(&self) -> Option<&Arc<dyn Language>> {
        match &self.target {
            Target::Known(known) => known.language.as_ref(),
            _ => None,
        }
    }

    /// The instance, where there is one.
    pub fn instance(&self) -> Option<&Arc<dyn Instance>> {
        match &self.target {
            Target::Known(known) => Some(&known.instance),
            _ => None,
        }
    }

    /// All that is known of the text.
    pub fn analysis(&mut self, files: &Files<'_>) -> Arc<Analysis> {
        if let Some(known) = &self.analysis {
            return Arc::clone(known);
        }
        let found = self.language().map(|language| language.analyse(&self.path, self.plain(), files));
        // Default: of a text for nothing nothing is known.
        let found = Arc::new(found.unwrap_or_default());
        self.analysis = Some(Arc::clone(&found));
        found
    }

    /// What was found last, perhaps of an earlier text; for tests that ask for it first.
    pub fn known(&self) -> Option<&Arc<Analysis>> {
        self.analysis.as_ref()
    }

    fn shift(&self) -> usize {
        self.text.len() - self.plain().len()
    }

    /// The places of bytes of [`Self::plain`].
    pub fn range(&self, span: Span) -> Range {
        let Span { start, end } = span;
        self.lines.range(&self.text, Span::new(start + self.shift(), end + self.shift()))
    }

    /// The byte of [`Self::plain`] at a place.
    pub fn offset(&self, position: Position) -> usize {
        let offset = self.lines.offset(&self.text, position).saturating_sub(self.shift());
        floor(self.plain(), offset)
    }
}

/// Where a place of the texts of a program is.
pub struct Located {
    /// What of it stands in the text that is open.
    pub span: Span,
    /// Other places that it is at: what was called or included, or who called it, with a word on each.
    pub others: Vec<(Uri, Range, String)>,
}

impl Document {
    /// Finds a place: in the text, or where it puts the place into the program.
    pub fn locate(&self, known: &Analysis, place: Place) -> Located {
        let calls: Vec<(&str, Place)> = known.sources.calls().collect();
        let chain: Vec<(Option<&str>, Place)> = std::iter::successors(Some((None, place)), |(_, place)| {
            place.call().and_then(|call| calls.get(call)).map(|(what, place)| (Some(*what), *place))
        })
        .collect();
        let own = chain.iter().position(|(_, place)| place.source() == 0);
        // Default: what nothing of the text puts there is said of its beginning.
        let span = own.and_then(|own| chain.get(own)).map(|(_, place)| place.span).unwrap_or_default();
        let others = chain.iter().enumerate().filter(|(index, _)| Some(*index) != own).take(MAX_OTHERS);
        let others = others.filter_map(|(_, (what, place))| {
            let (uri, range) = self.place(known, *place)?;
            Some((uri, range, what.unwrap_or("here").to_owned())) // Default: the place itself.
        });
        Located { span, others: others.collect() }
    }

    /// The text of a place, and where it is there.
    pub fn place(&self, known: &Analysis, place: Place) -> Option<(Uri, Range)> {
        self.in_source(known, place.source(), place.span)
    }

    /// Where bytes of one of the texts are.
    pub fn in_source(&self, known: &Analysis, source: usize, span: Span) -> Option<(Uri, Range)> {
        if source == 0 {
            return Some((self.uri.clone(), self.range(span)));
        }
        let (name, text) = known.sources.texts().nth(source)?;
        Some((uri_of(name)?, Lines::of(text).range(text, span)))
    }
}

/// Calls around a place that are told.
const MAX_OTHERS: usize = 8;
