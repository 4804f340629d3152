//! [`assemble`]: conversion of a source file to bytes.

use miette::NamedSource;
use npukit_base::{Span, Word as Bits, closest, help_for, without_bom};
use npukit_isa::token::{Token, tokens};
use npukit_isa::{ByteOrder, FieldKind, InstructionSpec, IsaSpec};

use crate::analysis::{Analysis, AnalyzedWord, Definition as DefinitionOf, MarkKind, Name, Recorder};
use crate::comment::Comments;
use crate::definition::{Definition, Malformed, definition};
use crate::error::{AsmError, AsmErrors, MAX_ERRORS, source_span};
use crate::expand::{Expander, Files, Line, Sources};
use crate::experiment::Experiment;
use crate::expression::evaluate;
use crate::grammar::{CompiledForm, Grammar};
use crate::listing::{Listing, Word, hex};
use crate::matcher::{BadValue, Expected, Outcome, Said, read};
use crate::place::SourceLocation;
use crate::spans::{mnemonic_span, span_of};
use crate::symbols::{Symbol, Symbols};

/// Instructions of a source file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assembly {
    /// Instruction words, in file order.
    pub bytes: Vec<u8>,
    /// Origin of each instruction.
    pub lines: Vec<AssemblyLine>,
    /// Memory contents around a run, as the text declares them.
    pub experiment: Experiment,
    /// The text and the texts that it includes.
    pub sources: Sources,
}

/// Location of an instruction in the bytes and in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssemblyLine {
    /// Offset of the instruction's first byte.
    pub offset: usize,
    /// Number of bytes of the instruction.
    pub size_bytes: usize,
    /// Text from which the instruction was made.
    pub place: SourceLocation,
}

/// Assembles a `text` that includes no files; `name` is the file's name for messages.
///
/// # Errors
///
/// [`AsmErrors`] with the faults of the text and their places, at most the first 100.
pub fn assemble(spec: &IsaSpec, name: &str, text: &str) -> Result<Assembly, AsmErrors> {
    assemble_with(spec, name, text, &|_| Err("files are not read here".to_owned()))
}

/// Assembles `text`; `name` is the file's name for messages. `files` returns the bytes of included
/// files, or the reason why a file cannot be read.
///
/// # Errors
///
/// [`AsmErrors`] with the faults of the texts and their places, at most the first 100.
pub fn assemble_with(
    spec: &IsaSpec,
    name: &str,
    text: &str,
    files: &Files<'_>,
) -> Result<Assembly, AsmErrors> {
    let mut assembler = Assembler::new(spec, Expander::new(name, text, Comments::COMMON, files));
    assembler.all(|_, _, _| {});
    assembler.result(name, text)
}

/// Like [`assemble_with`], but returns a listing with the result of each line.
///
/// # Errors
///
/// The errors of [`assemble_with`].
pub fn list(spec: &IsaSpec, name: &str, text: &str, files: &Files<'_>) -> Result<String, AsmErrors> {
    let mut assembler = Assembler::new(spec, Expander::new(name, text, Comments::COMMON, files));
    let mut listing = Listing::default();
    assembler.all(|sources, line, (offset, bytes)| {
        let word = (!bytes.is_empty()).then(|| Word { address: format!("{offset:08x}"), bytes: hex(bytes) });
        listing.line(sources, line, word.as_slice());
    });
    let listed = listing.finish(&assembler.symbols);
    assembler.result(name, text).map(|_| listed)
}

/// Like [`assemble_with`], but returns an analysis for editors, even if the text has faults.
pub(crate) fn analyze(spec: &IsaSpec, name: &str, text: &str, files: &Files<'_>) -> Analysis {
    let mut assembler = Assembler::new(spec, Expander::new(name, text, Comments::COMMON, files));
    assembler.recorder = Some(Recorder::default());
    assembler.all(|_, _, _| {});
    let Assembler { expander, errors, more, recorder, .. } = assembler;
    recorder.expect("a recorder was put there").with_errors(expander.sources, &errors, more)
}

struct Assembler<'a> {
    grammar: Grammar<'a>,
    expander: Expander<'a>,
    symbols: Symbols,
    context: Option<String>,
    assembly: Assembly,
    errors: Vec<AsmError>,
    more: usize,
    /// Recorder for editors; `None` if only the words are needed.
    recorder: Option<Recorder>,
}

impl<'a> Assembler<'a> {
    fn new(spec: &'a IsaSpec, expander: Expander<'a>) -> Self {
        let grammar = Grammar::new(spec);
        let (symbols, assembly) = (Symbols::default(), Assembly::default());
        Self {
            grammar,
            expander,
            symbols,
            context: None,
            assembly,
            errors: Vec::new(),
            more: 0,
            recorder: None,
        }
    }

    fn all(&mut self, mut each: impl FnMut(&Sources, &Line, (usize, &[u8]))) {
        while let Some(line) = self.next() {
            let offset = self.assembly.bytes.len();
            if !line.taken {
                self.line(&line);
            } else if let Some(recorder) = &mut self.recorder {
                let file = self.expander.sources.name(line.origin.source);
                let (expander, grammar) = (&self.expander, &self.grammar);
                let is_macro = |name: &str| expander.is_macro(name);
                recorder.line(&line, expander.code(&line), file, &|word| grammar.row_of(word), &is_macro);
            }
            let bytes = self.assembly.bytes.get(offset..).unwrap_or_default();
            each(&self.expander.sources, &line, (offset, bytes));
        }
    }

    fn next(&mut self) -> Option<Line> {
        self.expander.instructions = self.assembly.lines.len();
        let line = self.expander.next(&self.symbols);
        for error in std::mem::take(&mut self.expander.errors) {
            self.report(error);
        }
        line
    }

    fn result(self, name: &str, text: &str) -> Result<Assembly, AsmErrors> {
        let Self { mut assembly, errors, more, expander, .. } = self;
        if errors.is_empty() {
            assembly.sources = expander.sources;
            assembly.experiment = expander.experiment;
            return Ok(assembly);
        }
        let source_code = NamedSource::new(name, without_bom(text).to_owned());
        Err(AsmErrors { source_code, errors, more })
    }

    fn line(&mut self, line: &Line) {
        let tokens = tokens(self.expander.code(line), 0);
        let (label, tokens) = match &tokens[..] {
            [name, colon, rest @ ..] if colon.text == ":" && Symbols::is_name(name.text) => {
                (Some(*name), rest)
            }
            all => (None, all),
        };
        let mut read = None;
        let result = match tokens {
            _ if let Some(found) = definition(tokens) => self.symbol(found),
            [dot, directive, arguments @ ..] if dot.text == "." => self.directive(*directive, arguments),
            _ => self.instruction(tokens, &mut read),
        };
        if self.recorder.is_some() {
            self.record(line, label, tokens, read, result.as_ref().ok());
        }
        let defined = result.and_then(|made| {
            self.emit(&made.bytes, line.origin.place(span_of(tokens)));
            let value = Symbol::Fixed(made.label.map(i128::from));
            label.map_or(Ok(()), |label| self.define(label, value)).map_err(|error| vec![error])
        });
        for error in defined.err().into_iter().flatten() {
            self.report(self.expander.sources.fault(error, |span| line.origin.place(span)));
        }
    }

    /// Records what a line is.
    fn record(
        &mut self,
        line: &Line,
        label: Option<Token<'_>>,
        tokens: &[Token<'_>],
        read: Option<Read>,
        made: Option<&AssembledLine>,
    ) {
        let Some(recorder) = &mut self.recorder else { return };
        let place = |span| line.origin.place(span);
        if let Some(label) = label {
            let value = made.and_then(|made| made.label).map(i128::from);
            let (name, of) = (Name::symbol(label.text), DefinitionOf::Label);
            recorder.mark(place(label.span), MarkKind::Definition { name, of, value });
        }
        match (definition(tokens), tokens) {
            (Some(found), _) => recorder.definition(line, found.ok(), tokens, &self.symbols),
            (None, [dot, word, arguments @ ..]) if dot.text == "." => {
                let kind = MarkKind::Directive(word.text.to_ascii_lowercase());
                recorder.mark(place(dot.span.to(word.span)), kind);
                recorder.candidates_of(line, Some(word.text), arguments);
                if let Some(made) = made.filter(|made| !made.bytes.is_empty()) {
                    let (spec, offset) = (self.grammar.spec, self.assembly.bytes.len());
                    let context = self.context.as_deref();
                    let decoded = spec.decode(&made.bytes, 0, context, npukit_isa::Mode::Lenient).ok();
                    let (row, values) = decoded
                        .map_or((None, Vec::new()), |decoded| (Some(decoded.instruction), decoded.values));
                    let address = format!("{offset:08x}");
                    let place = place(span_of(tokens));
                    recorder.word(AnalyzedWord { place, row, values, bytes: made.bytes.clone(), address });
                }
            }
            (None, tokens) => {
                let file = self.expander.sources.name(line.origin.source);
                let address = format!("{:08x}", self.assembly.bytes.len());
                match read {
                    Some(read) => read.record(recorder, line, tokens, &self.symbols, address, made),
                    None => {
                        let row_of = |word: &str| self.grammar.row_of(word);
                        recorder.line(line, self.expander.code(line), file, &row_of, &|_| false);
                    }
                }
            }
        }
    }

    fn define(&mut self, name: Token<'_>, symbol: Symbol) -> Result<(), AsmError> {
        if self.symbols.define(name.text, symbol) {
            return Ok(());
        }
        Err(AsmError::Twice { found: name.text.to_owned(), span: source_span(name.span) })
    }

    fn emit(&mut self, bytes: &[u8], place: SourceLocation) {
        if !bytes.is_empty() {
            let offset = self.assembly.bytes.len();
            self.assembly.bytes.extend_from_slice(bytes);
            self.assembly.lines.push(AssemblyLine { offset, size_bytes: bytes.len(), place });
        }
    }

    /// Adds an error, only once for a repeated line.
    fn report(&mut self, error: AsmError) {
        if self.errors.contains(&error) {
            return;
        }
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        } else {
            self.more += 1;
        }
    }

    fn directive(
        &mut self,
        name: Token<'_>,
        arguments: &[Token<'_>],
    ) -> Result<AssembledLine, Vec<AsmError>> {
        let result = match name.text.to_ascii_lowercase().as_str() {
            "word" => self.word(name, arguments).map(|bytes| AssembledLine { bytes, label: None }),
            "context" => self.context(name, arguments).map(|()| AssembledLine::default()),
            _ => {
                let (found, span) = (name.text.to_owned(), source_span(name.span));
                Err(AsmError::Directive { found, span, help: DIRECTIVES })
            }
        };
        result.map_err(|error| vec![error])
    }

    /// Defines a symbol.
    fn symbol(&mut self, found: Result<Definition<'_>, Malformed>) -> Result<AssembledLine, Vec<AsmError>> {
        let value = found.and_then(|found| Ok((found, self.value(found)?)));
        let (found, value) = value.map_err(|malformed| vec![malformed.into()])?;
        self.define(found.name, found.symbol(Some(value))).map_err(|error| vec![error])?;
        Ok(AssembledLine::default())
    }

    fn value(&self, found: Definition<'_>) -> Result<i128, Malformed> {
        found.value(&|name| self.symbols.value(name))
    }

    /// Reads `.word HEX`: an instruction's bytes in file order, or after `0x` its value.
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
            [digits] => match self.word_bytes(digits.text) {
                Some(bytes) if sizes.contains(&bytes.len()) => Ok(bytes),
                Some(bytes) => Err(error(&format!("{} bytes", bytes.len()), digits.span)),
                None => Err(error(&format!("`{}`", digits.text), digits.span)),
            },
            many => Err(error("several words", span_of(many))),
        }
    }

    fn word_bytes(&self, digits: &str) -> Option<Vec<u8>> {
        let Some(value) = digits.strip_prefix("0x") else { return bytes_of(digits) };
        let mut bytes = bytes_of(value)?;
        if self.grammar.spec.byte_order == ByteOrder::Little {
            bytes.reverse();
        }
        Some(bytes)
    }

    fn sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> = self.grammar.spec.instructions.iter().map(|row| row.size_bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Reads `.context NAME`, which selects how the lines after it are read.
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
        let help = if known.is_empty() {
            "this instruction set has no contexts".to_owned()
        } else {
            help_for(&found, &known)
        };
        let span = source_span(if arguments.is_empty() { name.span } else { span_of(arguments) });
        Err(AsmError::Context { found, span, help })
    }

    /// Assembles the instruction of a line; `read_as` receives its parts as far as the line fits a
    /// form.
    fn instruction(
        &self,
        tokens: &[Token<'_>],
        read_as: &mut Option<Read>,
    ) -> Result<AssembledLine, Vec<AsmError>> {
        let Some(mnemonic) = tokens.first() else { return Ok(AssembledLine::default()) };
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
        let (tokens, reserved) = split_reserved(&forms, tokens);
        let mut best: Option<(&CompiledForm<'_>, Vec<BadValue>, Vec<Said>)> = None;
        let mut furthest = (0, Vec::new());
        for form in &forms {
            match read(form, tokens, &self.symbols) {
                Outcome::Matched { values, bad, said } if bad.is_empty() => {
                    let made = self.made(form, &values, reserved, tokens);
                    *read_as = Some(Read { row: form.index, values, said });
                    return made;
                }
                Outcome::Matched { bad, said, .. } if best.is_none() => best = Some((form, bad, said)),
                Outcome::Mismatch { at, expected } if at > furthest.0 => furthest = (at, expected),
                Outcome::Mismatch { at, expected } if at == furthest.0 => furthest.1.extend(expected),
                _ => {}
            }
        }
        match best {
            Some((form, bad, said)) => {
                *read_as = Some(Read { row: form.index, values: Vec::new(), said });
                Err(bad.into_iter().map(|bad| range_error(form, bad)).collect())
            }
            None => Err(vec![self.syntax_error(tokens, furthest.0, furthest.1, &forms)]),
        }
    }

    fn made(
        &self,
        form: &CompiledForm<'_>,
        values: &[u64],
        reserved: Option<&[Token<'_>]>,
        tokens: &[Token<'_>],
    ) -> Result<AssembledLine, Vec<AsmError>> {
        let span = source_span(span_of(tokens));
        let word = form.instruction.encode(values).map_err(|errors| {
            errors
                .iter()
                .map(|error| AsmError::Unencodable { reason: error.to_string(), span })
                .collect::<Vec<_>>()
        })?;
        let row = form.instruction;
        let reserved = reserved.map_or(Ok(Bits::ZERO), |value| reserved_bits(row, value, &self.symbols));
        let word = word | reserved.map_err(|error| vec![error])?;
        let label = row.label_field.as_ref().and_then(|field| row.field(field));
        Ok(AssembledLine {
            bytes: self.grammar.spec.bytes(word, row.size_bytes),
            label: label.and_then(|field| values.get(field)).copied(),
        })
    }

    fn syntax_error(
        &self,
        tokens: &[Token<'_>],
        at: usize,
        expected: Vec<Expected<'_>>,
        forms: &[&CompiledForm<'_>],
    ) -> AsmError {
        let (found, span) = match tokens.get(at) {
            Some(token) => (format!("`{}`", token.text), token.span),
            // An empty span would not draw a caret.
            None => {
                ("the end of the line".to_owned(), tokens.last().map_or_else(Span::default, |last| last.span))
            }
        };
        let number = expected.iter().any(|expected| matches!(expected, Expected::Number(_)));
        let texts = expected.iter().filter_map(|expected| match expected {
            Expected::Text(text) if text.len() > 1 => Some(*text),
            _ => None,
        });
        let candidates = texts.chain(self.symbols.names().filter(|_| number));
        let near = closest(tokens.get(at).map_or("", |token| token.text), candidates);
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => usages(forms),
        };
        AsmError::Syntax { expected: listed(&expected), found, span: source_span(span), help }
    }
}

const DIRECTIVES: &str = "directives are `.word`, `.context`, `.equ`, `.set`, `.include`, `.macro`, `.rept`, `.if`, `.data`, `.input`, `.output`, `.expect` and `.wait`";

/// Result of a line.
#[derive(Default)]
struct AssembledLine {
    /// Bytes of the words.
    bytes: Vec<u8>,
    /// Value of a label before the line.
    label: Option<u64>,
}

/// Parts of a line, read by a form.
struct Read {
    /// Row of the instruction.
    row: usize,
    /// Value of each field; empty if a value is not legal.
    values: Vec<u64>,
    /// Values that are written in the line.
    said: Vec<Said>,
}

impl Read {
    /// Records mnemonic, fields and symbols of a line.
    fn record(
        self,
        recorder: &mut Recorder,
        line: &Line,
        tokens: &[Token<'_>],
        symbols: &Symbols,
        address: String,
        made: Option<&AssembledLine>,
    ) {
        let Self { row, values, said } = self;
        let place = |span| line.origin.place(span);
        let word = made.map(|made| {
            let bytes = made.bytes.clone();
            recorder.word(AnalyzedWord {
                place: place(span_of(tokens)),
                row: Some(row),
                values,
                bytes,
                address,
            })
        });
        let operands = said.first().map(|said| said.span.start);
        if let Some(span) = mnemonic_span(tokens, operands) {
            recorder.mark(place(span), MarkKind::Mnemonic { row, word });
        }
        for Said { field, span, value, is_name } in said {
            recorder.mark(place(span), MarkKind::Value { row, field, value, is_name });
            if is_name {
                continue;
            }
            let of_value =
                tokens.iter().filter(|token| span.start <= token.span.start && token.span.end <= span.end);
            for token in of_value.filter(|token| symbols.is_defined(token.text)) {
                recorder.mark(place(token.span), MarkKind::Reference(Name::symbol(token.text)));
            }
        }
    }
}

/// Splits `, rsv = VALUE` off, if the instruction has such an operand: returns the tokens before
/// it, and the tokens of VALUE.
fn split_reserved<'a, 'b>(
    forms: &[&CompiledForm<'_>],
    tokens: &'b [Token<'a>],
) -> (&'b [Token<'a>], Option<&'b [Token<'a>]>) {
    let is_operand = |name: &str| {
        let operand = |form: &&CompiledForm<'_>| form.instruction.reserved_operand.as_deref() == Some(name);
        forms.iter().any(operand)
    };
    let begins = |window: &[Token<'_>]| match window {
        [comma, name, equals] => comma.text == "," && equals.text == "=" && is_operand(name.text),
        _ => false,
    };
    match tokens.windows(3).rposition(begins) {
        Some(at) if at + 3 < tokens.len() => (&tokens[..at], Some(&tokens[at + 3..])),
        _ => (tokens, None),
    }
}

fn reserved_bits(row: &InstructionSpec, tokens: &[Token<'_>], symbols: &Symbols) -> Result<Bits, AsmError> {
    let value = evaluate(tokens, &|name| symbols.value(name)).ok();
    let bits =
        value.filter(|(_, used)| *used == tokens.len()).and_then(|(value, _)| u64::try_from(value).ok());
    let bits = bits.map(|bits| Bits::from_le_bytes(&bits.to_le_bytes()));
    bits.filter(|&bits| (bits & !row.reserved()).is_zero()).ok_or_else(|| AsmError::Reserved {
        value: tokens.iter().map(|token| token.text).collect(),
        legal: row.reserved().ranges().iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        span: source_span(span_of(tokens)),
    })
}

fn range_error(form: &CompiledForm<'_>, bad: BadValue) -> AsmError {
    let field = form.instruction.fields.get(bad.field);
    let legal = field.map(|field| field.legal()).unwrap_or_default();
    let name = field.map(|field| field.name.clone()).unwrap_or_default();
    let meaning = field.map(|field| field.meaning.clone()).unwrap_or_default();
    let help = format!("field `{name}` of {}: {meaning}", form.instruction.name);
    if let Some(reason) = bad.reason {
        return AsmError::Expression { text: bad.text, reason, span: source_span(bad.span), help };
    }
    let nearest = field.zip(bad.value).and_then(|(field, value)| field.nearest(value));
    let nearest = nearest.map(|nearest| nearest.to_string().into());
    AsmError::Range { value: bad.text, legal, span: source_span(bad.span), help, nearest }
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
                let legal = match field.kind {
                    FieldKind::Signed { .. } | FieldKind::Power { .. } => field.legal(),
                    _ => format!("{} to {}", field.kind.default_value(), field.max()),
                };
                format!("a number for `{}` ({legal})", field.name)
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

/// Returns the bytes of an even number of hexadecimal digits.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let pair = |pair: &[u8]| match pair {
        [_, _] => u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok(),
        _ => None,
    };
    digits.as_bytes().chunks(2).map(pair).collect()
}
