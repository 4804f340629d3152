//! [`expand`]: expands all directives of a program into text, for an assembler with its own syntax.
//!
//! The result only contains numbers: expressions after `=` are replaced by their values.

use npukit_base::Span;
use npukit_isa::token::{Token, tokens};

use crate::analysis::{Analysis, Recorder};
use crate::comment::Comments;
use crate::definition::definition;
use crate::error::{AsmError, AsmErrors, Faults, MAX_ERRORS, source_span};
use crate::expand::{Expander, Files, Line, LineOrigin, Sources, replaced};
use crate::experiment::Experiment;
use crate::expression::evaluate;
use crate::listing::{Listing, Word};
use crate::place::SourceLocation;
use crate::symbols::Symbols;

/// Program with expanded directives.
#[derive(Debug, Default)]
pub struct Expansion {
    /// Expanded text, line by line; lines of directives are empty.
    pub text: String,
    /// Lines as they were read.
    lines: Vec<Line>,
    /// Origin of each line of the expanded text.
    origins: Vec<LineOrigin>,
    /// Offset of the first byte of each line of the text.
    starts: Vec<usize>,
    /// Memory contents around a run, as the text declares them.
    pub experiment: Experiment,
    /// The text that was expanded and the texts that it includes.
    pub sources: Sources,
    symbols: Symbols,
    /// Faults of the directives.
    errors: Vec<AsmError>,
}

/// Expands the directives of `text`; `name` is the file's name for messages. `files` returns the
/// bytes of included files, or the reason why a file cannot be read. [`Expansion::checked`] reports
/// the faults.
pub fn expand(name: &str, text: &str, comments: Comments, files: &Files<'_>) -> Expansion {
    expanded(name, text, comments, files, &mut None, &|_| None)
}

/// Like [`expand`], and records the kinds of the directives' parts for editors. `row_of` returns
/// the row of a mnemonic.
pub fn expand_recorded(
    name: &str,
    text: &str,
    comments: Comments,
    files: &Files<'_>,
    row_of: &dyn Fn(&str) -> Option<usize>,
) -> (Expansion, Recorder) {
    let mut recorder = Some(Recorder::default());
    let expansion = expanded(name, text, comments, files, &mut recorder, row_of);
    (expansion, recorder.expect("a recorder was put there"))
}

fn expanded(
    name: &str,
    text: &str,
    comments: Comments,
    files: &Files<'_>,
    recorder: &mut Option<Recorder>,
    row_of: &dyn Fn(&str) -> Option<usize>,
) -> Expansion {
    let mut expander = Expander::new(name, text, comments, files);
    let mut expansion = Expansion::default();
    while let Some(line) = expander.next(&expansion.symbols) {
        if let Some(recorder) = recorder {
            record(recorder, &expander, &line, &expansion.symbols, row_of);
        }
        let found = if line.taken { Ok(true) } else { own(expander.code(&line), &mut expansion.symbols) };
        expansion.errors.append(&mut expander.errors);
        let is_done = found.unwrap_or_else(|error| {
            expansion.errors.push(expander.sources.fault(error, |span| line.origin.place(span)));
            true
        });
        let values = if is_done { Vec::new() } else { values(expander.code(&line), &expansion.symbols) };
        expansion.push(line, is_done, &values);
    }
    expansion.errors.append(&mut expander.errors);
    expansion.sources = expander.sources;
    expansion.experiment = expander.experiment;
    expansion
}

/// Records what a line is, except for instructions.
fn record(
    recorder: &mut Recorder,
    expander: &Expander<'_>,
    line: &Line,
    symbols: &Symbols,
    row_of: &dyn Fn(&str) -> Option<usize>,
) {
    let code = expander.code(line);
    let file = expander.sources.name(line.origin.source);
    if line.taken {
        return recorder.line(line, code, file, row_of, &|name| expander.is_macro(name));
    }
    let tokens = tokens(code, 0);
    match definition(&tokens) {
        Some(found) if code.trim_start().starts_with('.') => {
            recorder.definition(line, found.ok(), &tokens, symbols);
        }
        // An expression may follow an equals sign.
        _ => {
            let mut after_equals = false;
            for token in &tokens {
                after_equals = (after_equals || token.text == "=") && !matches!(token.text, "," | "{" | "}");
                if after_equals && Symbols::is_name(token.text) {
                    recorder.candidate(line.origin.place(token.span), token.text);
                }
            }
        }
    }
}

const DIRECTIVES: &str = "directives are `.equ`, `.set`, `.include`, `.macro`, `.rept`, `.if`, `.data`, `.input`, `.output`, `.expect` and `.wait`";

/// Defines a symbol; returns whether the line is a definition.
fn own(code: &str, symbols: &mut Symbols) -> Result<bool, AsmError> {
    let tokens = tokens(code, 0);
    let Some(dot) = tokens.first().filter(|first| first.text == ".") else { return Ok(false) };
    let Some(found) = definition(&tokens) else {
        let word = tokens.get(1).unwrap_or(dot);
        let (found, span) = (word.text.to_owned(), source_span(word.span));
        return Err(AsmError::Directive { found, span, help: DIRECTIVES });
    };
    let found = found?;
    let value = found.value(&|name| symbols.value(name))?;
    if symbols.define(found.name.text, found.symbol(Some(value))) {
        return Ok(true);
    }
    Err(AsmError::Twice { found: found.name.text.to_owned(), span: source_span(found.name.span) })
}

/// Returns the expressions after each `=` of a line, and their values.
fn values(code: &str, symbols: &Symbols) -> Vec<(Span, String)> {
    let tokens = tokens(code, 0);
    let value = |(index, token): (usize, &Token<'_>)| {
        let rest = tokens.get(index + 1..).filter(|_| token.text == "=")?;
        let (value, used) = evaluate(rest, &|name| symbols.value(name)).ok()?;
        // A number stays as it is written.
        let read = rest.get(..used)?;
        let is_plain =
            read.iter().all(|token| token.is_number() || matches!(token.text, "-" | "+")) && used <= 2;
        let span = read.iter().map(|token| token.span).reduce(Span::to)?;
        (!is_plain).then(|| (span, value.to_string()))
    };
    tokens.iter().enumerate().filter_map(value).collect()
}

impl Expansion {
    fn push(&mut self, line: Line, is_done: bool, values: &[(Span, String)]) {
        self.starts.push(self.text.len());
        let (text, layer) = replaced(&line.text, line.origin.layer.as_ref(), values);
        if !is_done {
            self.text += &text;
        }
        self.text.push('\n');
        self.origins.push(LineOrigin { layer, ..line.origin.clone() });
        self.lines.push(line);
    }

    /// Returns the origin of bytes of the expanded text.
    pub fn place(&self, span: Span) -> SourceLocation {
        let place = |offset: usize| {
            let index = self.starts.partition_point(|start| *start <= offset).checked_sub(1)?;
            let (origin, start) = (self.origins.get(index)?, *self.starts.get(index)?);
            // Default: the end of the text.
            let end = self.starts.get(index + 1).map_or(self.text.len(), |next| next - 1);
            Some(origin.place(Span::new(span.start.max(start) - start, span.end.min(end) - start)))
        };
        let first = place(span.start).unwrap_or(SourceLocation::new(span));
        place(span.end.saturating_sub(1).max(span.start)).map_or(first, |last| first.to(last))
    }

    /// Returns `made` if neither the directives nor the text have faults; `name` and `text` are the
    /// program's.
    ///
    /// # Errors
    ///
    /// [`AsmErrors`] with the faults of the directives and of the text, at their original places.
    pub fn checked<T>(&self, name: &str, text: &str, made: Result<T, Vec<AsmError>>) -> Result<T, AsmErrors> {
        let place = |error| self.sources.fault(error, |span| self.place(span));
        let (made, errors) = made.map_or_else(|errors| (None, errors), |made| (Some(made), Vec::new()));
        let mut reported: Vec<AsmError> = Vec::new();
        for error in self.errors.iter().cloned().chain(errors.into_iter().map(place)) {
            // An error in a repeated line is reported once.
            if !reported.iter().take(MAX_ERRORS).any(|known| *known == error) {
                reported.push(error);
            }
        }
        made.filter(|_| reported.is_empty()).ok_or_else(|| Faults::new(name, text, reported))
    }

    /// Returns the analysis of the text, with the faults of its directives and the `errors` of its
    /// lines.
    pub fn analysis(&self, recorder: Recorder, errors: Vec<AsmError>) -> Analysis {
        let made: Result<(), _> = if errors.is_empty() { Ok(()) } else { Err(errors) };
        // Default: there are no faults.
        let (errors, more) =
            self.checked("", "", made).err().map(|faults| (faults.errors, faults.more)).unwrap_or_default();
        recorder.with_errors(self.sources.clone(), &errors, more)
    }

    /// Returns a listing of the result of each line. `words` are the instructions in text order:
    /// the first byte of their text, address and bytes.
    pub fn list(&self, words: &[(usize, String, String)]) -> String {
        let (mut listing, mut rest) = (Listing::default(), words);
        for (index, line) in self.lines.iter().enumerate() {
            let end = self.starts.get(index + 1).copied().unwrap_or(self.text.len());
            let (here, after) = rest.split_at(rest.partition_point(|(start, ..)| *start < end));
            let word = |(_, address, bytes): &(usize, String, String)| Word {
                address: address.clone(),
                bytes: bytes.clone(),
            };
            listing.line(&self.sources, line, &here.iter().map(word).collect::<Vec<_>>());
            rest = after;
        }
        listing.finish(&self.symbols)
    }
}
