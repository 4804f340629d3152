//! [`Expander`]: the lines of a program one by one, with those of `.include`, `.macro`, `.rept` and `.if`.
//!
//! It knows nothing of instructions: a [`Line`] that is not `taken` is for who reads them. Errors point to the text
//! that a line comes from ([`Origin`]) and say what put it there.

mod argument;
mod block;
mod call;
mod condition;
mod frame;
mod include;
mod limit;
mod macros;
mod origin;
mod substitute;

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_base::{Span, without_bom};
use npukit_isa::token::{Token, tokens};

use crate::comment::Comments;
use crate::error::{AsmError, source_span};
use crate::experiment::{
    DIRECTIVES as OF_EXPERIMENTS, Experiment, Names, Statement, WAIT, Wait, no_more, statement,
};
use crate::spans::span_of;
use crate::symbols::Symbols;

use block::{Block, Collecting};
use condition::Conditions;
use frame::{Frame, Lines};
use limit::Limit;
use macros::Macro;

pub(crate) use argument::{Part, parts, unquoted};
pub use include::Files;
pub(crate) use include::beside;
pub use limit::{MAX_BYTES, MAX_CALLS, MAX_FILES, MAX_INCLUDED_BYTES, MAX_LINE_BYTES, MAX_LINES};
pub(crate) use origin::Origin;
pub use origin::Sources;
pub(crate) use substitute::replaced;

/// A line of a program.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub text: String,
    pub origin: Origin,
    /// Macros and repetitions around it.
    pub depth: usize,
    /// Whether nothing is to be assembled of it.
    pub taken: bool,
}

/// Directives that are taken here, by the name that errors have for them.
const DIRECTIVES: [&str; 11] =
    ["if", "ifdef", "ifndef", "elseif", "else", "endif", "macro", "endm", "rept", "endr", "include"];

/// The lines of a program.
pub(crate) struct Expander<'a> {
    pub sources: Sources,
    /// Faults since they were last taken.
    pub errors: Vec<AsmError>,
    /// What the lines so far say of the memories around a run.
    pub experiment: Experiment,
    /// Instructions of the lines so far, as whoever takes the lines counts them.
    pub instructions: usize,
    files: &'a Files<'a>,
    comments: Comments,
    frames: Vec<Frame>,
    conditions: Conditions,
    collecting: Option<Collecting>,
    macros: BTreeMap<String, Arc<Macro>>,
    /// Macros called.
    calls: usize,
    /// That bodies have made.
    lines: usize,
    bytes: usize,
    /// Of included files.
    included_bytes: usize,
}

impl<'a> Expander<'a> {
    /// The lines of `text`; `name` is the file's, relative to which `files` gives others.
    pub fn new(name: &str, text: &str, comments: Comments, files: &'a Files<'a>) -> Self {
        let mut expander = Self {
            sources: Sources::default(),
            errors: Vec::new(),
            experiment: Experiment::default(),
            instructions: 0,
            files,
            comments,
            frames: Vec::new(),
            conditions: Conditions::default(),
            collecting: None,
            macros: BTreeMap::new(),
            calls: 0,
            lines: 0,
            bytes: 0,
            included_bytes: 0,
        };
        expander.open(name, text, None);
        expander
    }

    /// The next line; `symbols` are those that the lines before define.
    pub fn next(&mut self, symbols: &Symbols) -> Option<Line> {
        let mut line = self.read()?;
        match self.take(&line, symbols) {
            Ok(taken) => line.taken = taken,
            Err(error) => {
                self.report(error, &line.origin);
                line.taken = true;
            }
        }
        Some(line)
    }

    /// Whether a macro of that name has been read.
    pub fn is_macro(&self, name: &str) -> bool {
        self.macros.contains_key(&name.to_ascii_lowercase())
    }

    /// The code of a line, without its comment.
    pub fn code<'b>(&self, line: &'b Line) -> &'b str {
        self.comments.split(&line.text).0
    }

    fn report(&mut self, error: AsmError, origin: &Origin) {
        let error = self.sources.fault(error, |span| origin.place(span));
        // A line that is repeated is told once.
        if self.errors.last() != Some(&error) {
            self.errors.push(error);
        }
    }

    /// Reads on in a file.
    fn open(&mut self, name: &str, text: &str, call: Option<usize>) {
        let (source, text) = self.sources.add(name, without_bom(text));
        self.push(Lines::Text { source, text, at: 0, number: 0 }, call, 0);
    }

    /// Reads on in a frame.
    fn push(&mut self, lines: Lines, call: Option<usize>, deeper: usize) {
        let depth = self.frames.last().map_or(0, |frame| frame.depth) + deeper;
        self.frames.push(Frame { lines, call, depth, conditions: self.conditions.len() });
    }

    fn read(&mut self) -> Option<Line> {
        loop {
            let is_collecting = self.collecting.is_some();
            let frame = self.frames.last_mut()?;
            let Some(line) = frame.next(is_collecting) else {
                self.close();
                continue;
            };
            match line {
                Ok(line) if self.counts(&line) => return Some(line),
                Ok(line) if self.lines > MAX_LINES => self.stop(&line.origin, &line.text, &Limit::LINES),
                Ok(line) => self.stop(&line.origin, &line.text, &Limit::BYTES),
                Err((origin, text)) => self.stop(&origin, &text, &Limit::LINE_BYTES),
            }
        }
    }

    /// Whether there may be this line as well.
    fn counts(&mut self, line: &Line) -> bool {
        if self.frames.last().is_some_and(|frame| frame.source().is_none()) {
            self.lines += 1;
            self.bytes += line.text.len();
        }
        self.lines <= MAX_LINES && self.bytes <= MAX_BYTES
    }

    /// Reads nothing more, for an error at a line.
    fn stop(&mut self, origin: &Origin, text: &str, limit: &Limit) {
        let Limit { what, limit, help } = *limit;
        let span = source_span(Span::new(text.len() - text.trim_start().len(), text.trim_end().len()));
        self.report(AsmError::Limit { what, limit, span, help }, origin);
        self.frames.clear();
        self.conditions = Conditions::default();
        self.collecting = None;
    }

    /// Goes back to where the innermost frame was called, which ends all of its blocks.
    fn close(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        if let Some(Collecting { opening, span, what, .. }) = self.collecting.take() {
            let (directive, closing) = what.names();
            self.report(AsmError::Unclosed { directive, closing, span: source_span(span) }, &opening.origin);
        }
        for (origin, span) in self.conditions.close(frame.conditions) {
            let error = AsmError::Unclosed { directive: "if", closing: "endif", span: source_span(span) };
            self.report(error, &origin);
        }
    }

    /// Does what a line says of lines; gives whether that is all it says.
    fn take(&mut self, line: &Line, symbols: &Symbols) -> Result<bool, AsmError> {
        let code = self.comments.split(&line.text).0;
        if self.is_plain(code) {
            return Ok(false);
        }
        let tokens = tokens(code, 0);
        let (label, tokens) = match &tokens[..] {
            [name, colon, rest @ ..] if colon.text == ":" && Symbols::is_name(name.text) => {
                (Some(*name), rest)
            }
            all => (None, all),
        };
        let directive = directive(tokens);
        if self.collecting.is_some() {
            self.collect(line, directive);
            return Ok(true);
        }
        let Some((name, word)) = directive else { return self.passed(line, code, label, tokens) };
        if !self.conditions.is_active() && condition::Part::of(name).is_none() {
            return Ok(true);
        }
        if label.is_some() {
            return Err(labelled(format!("`.{name}`"), word.span));
        }
        let rest = (word.span.end, code.get(word.span.end..).unwrap_or_default());
        self.directive(name, word, rest, tokens.get(2..).unwrap_or_default(), line, symbols)?;
        Ok(true)
    }

    /// Whether a line is not for us, as most are, which is seen at once.
    fn is_plain(&self, code: &str) -> bool {
        let is_open = self.collecting.is_some() || self.conditions.len() > 0 || !self.macros.is_empty();
        !is_open && !code.trim_start().starts_with('.') && !code.contains([':', '\\'])
    }

    /// A line that is no directive of ours: a macro's call or somebody else's.
    fn passed(
        &mut self,
        line: &Line,
        code: &str,
        label: Option<Token<'_>>,
        tokens: &[Token<'_>],
    ) -> Result<bool, AsmError> {
        if !self.conditions.is_active() {
            return Ok(true);
        }
        if let Some((name, found)) = self.called(tokens) {
            if label.is_some() {
                return Err(labelled(format!("macro `{}`", name.text), name.span));
            }
            self.call(&found, name, code, line)?;
            return Ok(true);
        }
        match tokens.iter().position(|token| token.text == "\\") {
            Some(at) => Err(parameter(&tokens[at..])),
            None => Ok(false),
        }
    }

    /// The macro that a line calls.
    fn called<'b>(&self, tokens: &[Token<'b>]) -> Option<(Token<'b>, Arc<Macro>)> {
        let (name, rest) = tokens.split_first()?;
        let found = self.macros.get(&name.text.to_ascii_lowercase())?;
        let goes_on = rest
            .first()
            .is_some_and(|next| next.text == "=" || next.text == "." && next.span.start == name.span.end);
        (!goes_on).then(|| (*name, Arc::clone(found)))
    }

    fn directive(
        &mut self,
        name: &'static str,
        word: Token<'_>,
        (start, rest): (usize, &str),
        arguments: &[Token<'_>],
        line: &Line,
        symbols: &Symbols,
    ) -> Result<(), AsmError> {
        if let Some(part) = condition::Part::of(name) {
            let base = self.frames.last().map_or(0, |frame| frame.conditions);
            return self.conditions.take(part, word, arguments, base, &line.origin, symbols);
        }
        match name {
            "macro" => {
                let found =
                    Macro::parse(word.span, start, rest).map(|(name, found)| Block::Macro(name, found));
                self.begin(line, word.span, found, Block::NoMacro)
            }
            "rept" => {
                let found = argument::times(word, arguments, symbols).map(Block::Repeat);
                self.begin(line, word.span, found, Block::Repeat(0))
            }
            "include" => self.include(word, (start, rest), line),
            _ if OF_EXPERIMENTS.contains(&name) => self.experiment(name, word, (start, rest), line, symbols),
            "endm" => Err(stray("endm", "macro", word.span)),
            _ => Err(stray("endr", "rept", word.span)),
        }
    }
}

impl Expander<'_> {
    /// Takes in a line of the experiment.
    fn experiment(
        &mut self,
        name: &'static str,
        word: Token<'_>,
        (start, rest): (usize, &str),
        line: &Line,
        symbols: &Symbols,
    ) -> Result<(), AsmError> {
        let names = Names { symbols, file: self.sources.name(line.origin.source) };
        let span = Span::new(word.span.start - 1, start + rest.trim_end().len());
        let place = line.origin.place(span);
        if name == WAIT {
            no_more(word.span, (start, rest))?;
            self.experiment.waits.push(Wait { place, position: self.instructions });
            return Ok(());
        }
        let kind = statement(name, word.span, (start, rest), names)?;
        self.experiment.statements.push(Statement { place, kind });
        Ok(())
    }
}

/// The directive of ours that a line is, and the word that says so.
fn directive<'a>(tokens: &[Token<'a>]) -> Option<(&'static str, Token<'a>)> {
    let [dot, word, ..] = tokens else { return None };
    let known = DIRECTIVES.into_iter().chain(OF_EXPERIMENTS);
    let known = { known }.find(|known| word.text.eq_ignore_ascii_case(known))?;
    (dot.text == ".").then_some((known, *word))
}

fn labelled(found: String, span: Span) -> AsmError {
    AsmError::Label { found, span: source_span(span) }
}

fn stray(directive: &'static str, opening: &'static str, span: Span) -> AsmError {
    AsmError::Stray { directive, opening, span: source_span(span) }
}

/// `tokens` begin with a `\`.
fn parameter(tokens: &[Token<'_>]) -> AsmError {
    let said = tokens.get(..2).unwrap_or(tokens);
    let found = said.get(1).map_or("", |name| name.text).to_owned();
    AsmError::Parameter { found, span: source_span(span_of(said)) }
}
