//! [`assemble`]: a source file to bytes.

use miette::NamedSource;
use npukit_base::{Span, closest};
use npukit_isa::IsaSpec;
use npukit_isa::token::{Token, tokens};

use crate::error::{AsmError, AsmErrors, source_span};
use crate::grammar::{CompiledForm, Grammar};
use crate::matcher::{BadValue, Expected, Outcome, read};

/// Faults listed of one file; more are counted only.
const MOST_ERRORS: usize = 100;

/// The instructions of a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assembly {
    /// The words in file order.
    pub bytes: Vec<u8>,
    /// Where each came from.
    pub lines: Vec<Line>,
}

/// An instruction's place in the bytes and in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// First byte of the word.
    pub offset: usize,
    /// Bytes of the word.
    pub size_bytes: usize,
    /// The text it was made of.
    pub span: Span,
}

/// Assembles `text`; `name` is the file's, for messages.
///
/// Errors: every fault of the file, the first 100 of them with their places.
pub fn assemble(spec: &IsaSpec, name: &str, text: &str) -> Result<Assembly, AsmErrors> {
    let mut assembler = Assembler::new(spec);
    let mut start = 0;
    for line in text.split('\n') {
        assembler.line(line, start);
        start += line.len() + 1;
    }
    if assembler.errors.is_empty() {
        return Ok(assembler.assembly);
    }
    let more = assembler.more;
    Err(AsmErrors { source_code: NamedSource::new(name, text.to_owned()), errors: assembler.errors, more })
}

struct Assembler<'a> {
    grammar: Grammar<'a>,
    context: Option<String>,
    assembly: Assembly,
    errors: Vec<AsmError>,
    more: usize,
}

impl<'a> Assembler<'a> {
    fn new(spec: &'a IsaSpec) -> Self {
        let grammar = Grammar::new(spec);
        Self { grammar, context: None, assembly: Assembly::default(), errors: Vec::new(), more: 0 }
    }

    fn line(&mut self, line: &str, start: usize) {
        let tokens = tokens(without_comment(line), start);
        let Some((first, rest)) = tokens.split_first() else { return };
        let result = match (first.text, rest.split_first()) {
            (".", Some((directive, arguments))) => self.directive(*directive, arguments),
            _ => self.instruction(&tokens),
        };
        match result {
            Ok(bytes) => self.emit(&bytes, span_of(&tokens)),
            Err(errors) => errors.into_iter().for_each(|error| self.report(error)),
        }
    }

    fn emit(&mut self, bytes: &[u8], span: Span) {
        if !bytes.is_empty() {
            let offset = self.assembly.bytes.len();
            self.assembly.bytes.extend_from_slice(bytes);
            self.assembly.lines.push(Line { offset, size_bytes: bytes.len(), span });
        }
    }

    fn report(&mut self, error: AsmError) {
        if self.errors.len() < MOST_ERRORS {
            self.errors.push(error);
        } else {
            self.more += 1;
        }
    }

    fn directive(&mut self, name: Token<'_>, arguments: &[Token<'_>]) -> Result<Vec<u8>, Vec<AsmError>> {
        let result = match name.text.to_ascii_lowercase().as_str() {
            "word" => self.word(name, arguments),
            "context" => self.context(name, arguments).map(|()| Vec::new()),
            _ => Err(AsmError::Directive { found: name.text.to_owned(), span: source_span(name.span) }),
        };
        result.map_err(|error| vec![error])
    }

    /// `.word HEX`: one instruction's bytes.
    fn word(&self, name: Token<'_>, arguments: &[Token<'_>]) -> Result<Vec<u8>, AsmError> {
        let sizes = self.sizes();
        let sizes_text = sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
        let error = |found: &str, span| AsmError::Word {
            expected: format!("{sizes_text} bytes in hexadecimal"),
            found: found.to_owned(),
            span: source_span(span),
        };
        match arguments {
            [] => Err(error("nothing", name.span)),
            [digits] => match bytes_of(digits.text) {
                Some(bytes) if sizes.contains(&bytes.len()) => Ok(bytes),
                Some(bytes) => Err(error(&format!("{} bytes", bytes.len()), digits.span)),
                None => Err(error(&format!("`{}`", digits.text), digits.span)),
            },
            many => Err(error("several words", span_of(many))),
        }
    }

    fn sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> = self.grammar.spec.instructions.iter().map(|row| row.size_bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// `.context NAME`: how the lines below are read.
    fn context(&mut self, name: Token<'_>, arguments: &[Token<'_>]) -> Result<(), AsmError> {
        let rows = &self.grammar.spec.instructions;
        let mut known: Vec<&str> = rows.iter().filter_map(|row| row.context.as_deref()).collect();
        known.sort_unstable();
        known.dedup();
        let found = arguments.iter().map(|token| token.text).collect::<String>();
        if known.contains(&found.as_str()) {
            self.context = Some(found);
            return Ok(());
        }
        let help = match (closest(&found, known.iter().copied()), known.is_empty()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, true) => "this instruction set has none".to_owned(),
            (None, false) => format!("there are {}", known.join(", ")),
        };
        let span = source_span(if arguments.is_empty() { name.span } else { span_of(arguments) });
        Err(AsmError::Context { found, span, help })
    }

    fn instruction(&self, tokens: &[Token<'_>]) -> Result<Vec<u8>, Vec<AsmError>> {
        let Some(mnemonic) = tokens.first() else { return Ok(Vec::new()) };
        let context = self.context.as_deref();
        let forms = self.grammar.forms_of(mnemonic.text, context);
        if forms.is_empty() {
            let (found, span) = (mnemonic.text.to_owned(), source_span(mnemonic.span));
            return Err(vec![AsmError::Mnemonic {
                found,
                span,
                help: self.grammar.help_for(mnemonic.text, context),
            }]);
        }
        let mut best: Option<(&CompiledForm<'_>, Vec<BadValue>)> = None;
        let mut furthest = (0, Vec::new());
        for form in &forms {
            match read(form, tokens) {
                Outcome::Matched { values, bad } if bad.is_empty() => {
                    return self.bytes(form, &values, tokens);
                }
                Outcome::Matched { bad, .. } if best.is_none() => best = Some((form, bad)),
                Outcome::Mismatch { at, expected } if at > furthest.0 => furthest = (at, expected),
                Outcome::Mismatch { at, expected } if at == furthest.0 => furthest.1.extend(expected),
                _ => {}
            }
        }
        match best {
            Some((form, bad)) => Err(bad.into_iter().map(|bad| range_error(form, bad)).collect()),
            None => Err(vec![syntax_error(tokens, furthest.0, furthest.1, &forms)]),
        }
    }

    fn bytes(
        &self,
        form: &CompiledForm<'_>,
        values: &[u64],
        tokens: &[Token<'_>],
    ) -> Result<Vec<u8>, Vec<AsmError>> {
        let span = source_span(span_of(tokens));
        let word = form.instruction.encode(values).map_err(|errors| {
            errors
                .iter()
                .map(|error| AsmError::Unencodable { reason: error.to_string(), span })
                .collect::<Vec<_>>()
        })?;
        Ok(self.grammar.spec.bytes(word, form.instruction.size_bytes))
    }
}

fn range_error(form: &CompiledForm<'_>, bad: BadValue) -> AsmError {
    let field = form.instruction.fields.get(bad.field);
    let legal = field.map(|field| field.legal()).unwrap_or_default();
    let name = field.map(|field| field.name.clone()).unwrap_or_default();
    let meaning = field.map(|field| field.meaning.clone()).unwrap_or_default();
    let help = format!("field `{name}` of {}: {meaning}", form.instruction.name);
    AsmError::Range { value: bad.text, legal, span: source_span(bad.span), help }
}

fn syntax_error(
    tokens: &[Token<'_>],
    at: usize,
    expected: Vec<Expected<'_>>,
    forms: &[&CompiledForm<'_>],
) -> AsmError {
    let (found, span) = match tokens.get(at) {
        Some(token) => (format!("`{}`", token.text), token.span),
        // An empty span would draw no caret.
        None => {
            ("the end of the line".to_owned(), tokens.last().map_or_else(Span::default, |last| last.span))
        }
    };
    let near = closest(
        tokens.get(at).map_or("", |token| token.text),
        expected.iter().filter_map(|expected| match expected {
            Expected::Text(text) if text.len() > 1 => Some(*text),
            _ => None,
        }),
    );
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => usages(forms),
    };
    AsmError::Syntax { expected: listed(&expected), found, span: source_span(span), help }
}

fn usages(forms: &[&CompiledForm<'_>]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for usage in forms.iter().flat_map(|form| form.instruction.usages()) {
        if !lines.contains(&usage) {
            lines.push(usage);
        }
    }
    format!("write\n{}", lines.join("\n"))
}

fn listed(expected: &[Expected<'_>]) -> String {
    let mut names: Vec<String> = Vec::new();
    for one in expected {
        let name = match one {
            Expected::Text(text) => format!("`{text}`"),
            Expected::Number(field) => {
                format!("a number for `{}` ({} to {})", field.name, field.kind.default_value(), field.max())
            }
            Expected::End => "the end of the line".to_owned(),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, first)) => format!("{} or {last}", first.join(", ")),
        None => "something else".to_owned(),
    }
}

fn without_comment(line: &str) -> &str {
    let end = [";", "//"].iter().filter_map(|mark| line.find(mark)).min().unwrap_or(line.len());
    line.get(..end).unwrap_or(line)
}

fn span_of(tokens: &[Token<'_>]) -> Span {
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => first.span.to(last.span),
        _ => Span::default(),
    }
}

/// The bytes of an even number of hexadecimal digits, `0x` before them allowed.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let pair = |pair: &[u8]| match pair {
        [_, _] => u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok(),
        _ => None,
    };
    digits.as_bytes().chunks(2).map(pair).collect()
}
