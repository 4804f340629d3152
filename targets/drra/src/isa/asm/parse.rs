//! [`assemble`]: assembly text to words.

use std::collections::BTreeMap;

use npukit_asm::{
    AsmError, AsmErrors, Expansion, Experiment, Files, SourceLocation as SourcePlace, Sources, expand,
    source_span,
};
use npukit_base::{Span, closest};
use npukit_isa::{Field, InstructionSpec};

use super::COMMENTS;
use crate::config::component::Component;
use crate::config::fabric::{Cell, Fabric, Place};
use crate::isa::program::{At, Program};
use crate::isa::token::{NoToken, Token, TokenKind, tokens};
use crate::isa::{Instruction, Isa, bits_of, range as legal_range};

/// Assembled program with the source of its instructions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    /// Words of the program.
    pub program: Program,
    /// Position in the text of each instruction.
    pub places: BTreeMap<At, SourcePlace>,
    /// Memory contents and checks that the text specifies around a run.
    pub experiment: Experiment,
    /// The file and its included files.
    pub sources: Sources,
    /// `repx` instructions that leave `step` to its default of 1, which adds 128 to the step.
    pub default_steps: Vec<At>,
}

/// Assembles a `text` without includes for a fabric; `name` is the file's, for messages.
///
/// # Errors
///
/// Every error of the file, at most 100.
pub fn assemble(fabric: &Fabric, name: &str, text: &str) -> Result<Source, AsmErrors> {
    assemble_with(fabric, name, text, &|_| Err("include files are not supported here".to_owned()))
}

/// Assembles `text` for a fabric; `name` is the file's, for messages, and `files` reads included
/// files.
///
/// # Errors
///
/// Every error of the files, at most 100.
pub fn assemble_with(
    fabric: &Fabric,
    name: &str,
    text: &str,
    files: &Files<'_>,
) -> Result<Source, AsmErrors> {
    let expansion = expand(name, text, COMMENTS, files);
    let parsed = expansion.checked(name, text, parse(fabric, &expansion.text))?;
    Ok(parsed.source(expansion))
}

/// Assembles like [`assemble_with`] and returns a listing of each line and its words.
///
/// # Errors
///
/// The errors of [`assemble_with`].
pub fn list(fabric: &Fabric, name: &str, text: &str, files: &Files<'_>) -> Result<String, AsmErrors> {
    let expansion = expand(name, text, COMMENTS, files);
    let parsed = expansion.checked(name, text, parse(fabric, &expansion.text))?;
    let word = |(at, span): (&At, &Span)| {
        let word = parsed.program.cells.get(&at.place).and_then(|words| words.get(at.pc));
        let address = format!("{},{} {:04x}", at.place.row, at.place.col, at.pc);
        (span.start, address, word.map_or_else(String::new, |word| format!("{word:08x}")))
    };
    let mut words: Vec<_> = parsed.spans.iter().map(word).collect();
    words.sort_unstable();
    Ok(expansion.list(&words))
}

/// Program, with the span in the text of each instruction.
#[derive(Default)]
struct Parsed {
    program: Program,
    spans: BTreeMap<At, Span>,
    default_steps: Vec<At>,
}

impl Parsed {
    fn source(self, expansion: Expansion) -> Source {
        let Self { program, spans, default_steps } = self;
        let places = spans.iter().map(|(at, span)| (*at, expansion.place(*span))).collect();
        Source {
            program,
            places,
            experiment: expansion.experiment,
            sources: expansion.sources,
            default_steps,
        }
    }
}

/// Parsed statement, for editors. Spans refer to the text without directives.
pub(crate) struct Heard {
    pub name: String,
    pub name_span: Span,
    pub span: Span,
    /// Component that executes the instruction.
    pub component: Option<Component>,
    /// Instruction, or `None` if the statement is not one or is invalid.
    pub instruction: Option<Instruction>,
    /// Position of its word in the program.
    pub at: Option<At>,
    pub word: Option<u32>,
    /// Key, span of the key, value as written, numeric value, span of the value.
    pub arguments: Vec<(String, Span, String, Option<i64>, Span)>,
}

impl Heard {
    fn of(call: &Call<'_>, cell: Option<&Cell>) -> Self {
        let argument = |(key, span, value): &(&str, Span, Token<'_>)| {
            let number = match value.kind {
                TokenKind::Integer(number) => Some(number),
                _ => None,
            };
            ((*key).to_owned(), *span, value.text.to_owned(), number, value.span)
        };
        Self {
            name: call.name.to_owned(),
            name_span: call.name_span,
            span: call.span,
            component: cell.and_then(|cell| component(cell, call).ok()),
            instruction: None,
            at: None,
            word: None,
            arguments: call.arguments.iter().map(argument).collect(),
        }
    }
}

/// Parses all statements of a text without directives, and returns the errors too.
pub(crate) fn heard(fabric: &Fabric, text: &str) -> (Vec<Heard>, Vec<AsmError>) {
    let mut all = Some(Vec::new());
    let errors = parse_heard(fabric, text, &mut all).err().unwrap_or_default(); // Default: no errors.
    (all.unwrap_or_default(), errors) // Default: it was set above.
}

/// Assembles a text without directives.
fn parse(fabric: &Fabric, text: &str) -> Result<Parsed, Vec<AsmError>> {
    parse_heard(fabric, text, &mut None)
}

fn parse_heard(fabric: &Fabric, text: &str, all: &mut Option<Vec<Heard>>) -> Result<Parsed, Vec<AsmError>> {
    let (tokens, mut errors) = read(text);
    let mut parser = Parser { rest: &tokens, last: Span::default() };
    let (mut source, mut cell, mut before) = (Parsed::default(), None, None);
    while let Some(first) = parser.rest.first().cloned() {
        let found = parser.call().and_then(|call| {
            let mut heard = all.is_some().then(|| Heard::of(&call, cell.map(|(_, cell)| cell)));
            let found = statement(fabric, &call, &mut cell, &mut source);
            if let (Some(heard), Ok(found)) = (&mut heard, &found)
                && let Some((place, _)) = cell
                && call.name != "cell"
            {
                let words = source.program.cells.get(&place).map_or(&[][..], Vec::as_slice);
                heard.at = words.len().checked_sub(1).map(|pc| At { place, pc });
                (heard.word, heard.instruction) = (words.last().copied(), found.clone());
            }
            all.as_mut().into_iter().for_each(|all| all.extend(heard.take()));
            let found = found?;
            Ok(found.map(|instruction| (instruction, call.span)))
        });
        let (found, error) = match found {
            Ok(found) => (found, None),
            Err(error) => {
                parser.recover(text, first);
                (None, Some(error))
            }
        };
        errors.extend(no_times(fabric, before.as_ref(), found.as_ref()).err().into_iter().chain(error));
        before = found;
    }
    errors.extend(no_times(fabric, before.as_ref(), None).err());
    if errors.is_empty() { Ok(source) } else { Err(errors) }
}

/// Parses one instruction of a known component: `rep(slot=1, iter=32)`.
///
/// # Errors
///
/// The first error, with its span in `text`.
pub fn instruction(component: Component, text: &str) -> Result<Instruction, AsmError> {
    let (tokens, errors) = read(text);
    errors.into_iter().next().map_or(Ok(()), Err)?;
    let mut parser = Parser { rest: &tokens, last: Span::default() };
    let call = parser.call()?;
    match parser.rest.first() {
        Some(token) => Err(syntax("the end of the line", text_of(token), token.span, String::new())),
        None => resolve(Isa::get(), component, &call).map(|(instruction, _)| instruction),
    }
}

/// Returns the tokens of a text without comments, and the errors.
fn read(text: &str) -> (Vec<Token<'_>>, Vec<AsmError>) {
    let (mut tokens, errors) = tokens(text);
    tokens.retain(|token| token.kind != TokenKind::Comment);
    let error = |NoToken { found, fault, span }: NoToken| {
        syntax("a token", format!("`{found}`"), span, fault.to_owned())
    };
    (tokens, errors.into_iter().map(error).collect())
}

/// `name(key=value, ...)`
struct Call<'a> {
    name: &'a str,
    name_span: Span,
    arguments: Vec<(&'a str, Span, Token<'a>)>,
    span: Span,
}

impl<'a> Call<'a> {
    fn argument(&self, key: &str) -> Option<&(&'a str, Span, Token<'a>)> {
        self.arguments.iter().find(|(name, _, _)| *name == key)
    }

    /// Returns a required numeric argument.
    fn number(&self, key: &str) -> Result<i64, AsmError> {
        match self.argument(key) {
            Some((_, _, Token { kind: TokenKind::Integer(value), .. })) => Ok(*value),
            Some((_, _, other)) => Err(syntax("a number", text_of(other), other.span, String::new())),
            None => {
                let expected = format!("`{key}=` in `{}`", self.name);
                Err(syntax(&expected, "none".to_owned(), self.span, String::new()))
            }
        }
    }
}

struct Parser<'a> {
    rest: &'a [Token<'a>],
    last: Span,
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        self.last = first.span;
        Some(first.clone())
    }

    fn fail<T>(&self, expected: &str, found: Option<Token<'_>>) -> Result<T, AsmError> {
        let (text, span) = found
            .map_or(("the end of the text".to_owned(), self.last), |token| (text_of(&token), token.span));
        Err(syntax(
            expected,
            text,
            span,
            "write instructions like `rep(slot=1, port=word_read, iter=32)`".to_owned(),
        ))
    }

    fn identifier(&mut self, expected: &str) -> Result<(&'a str, Span), AsmError> {
        match self.next() {
            Some(Token { kind: TokenKind::Identifier, text, span }) => Ok((text, span)),
            other => self.fail(expected, other),
        }
    }

    fn mark(&mut self, mark: &str) -> Result<(), AsmError> {
        match self.next() {
            Some(token) if token.is(mark) => Ok(()),
            other => self.fail(&format!("`{mark}`"), other),
        }
    }

    fn call(&mut self) -> Result<Call<'a>, AsmError> {
        let (name, name_span) = self.identifier("an instruction")?;
        let mut arguments = Vec::new();
        self.mark("(")?;
        if self.rest.first().is_some_and(|token| token.is(")")) {
            self.mark(")")?;
            return Ok(Call { name, name_span, arguments, span: name_span.to(self.last) });
        }
        loop {
            let (key, span) = self.identifier("a field")?;
            self.mark("=")?;
            let value = match self.next() {
                Some(token @ Token { kind: TokenKind::Integer(_) | TokenKind::Identifier, .. }) => token,
                other => return self.fail("a value", other),
            };
            arguments.push((key, span, value));
            match self.next() {
                Some(token) if token.is(",") => {}
                Some(token) if token.is(")") => break,
                other => return self.fail("`,` or `)`", other),
            }
        }
        Ok(Call { name, name_span, arguments, span: name_span.to(self.last) })
    }

    /// Skips to the line after the line on which the invalid statement began.
    fn recover(&mut self, text: &str, first: Token<'_>) {
        let after = text.get(first.span.end..).and_then(|rest| rest.find('\n'));
        let end = after.map_or(text.len(), |size| first.span.end + size);
        let skip = self.rest.iter().take_while(|token| token.span.start < end).count();
        self.rest = &self.rest[skip..];
    }
}

/// Refuses a `rep` with `iter=0`, unless the next instruction adds to it (specification 4.5).
fn no_times(
    fabric: &Fabric,
    rep: Option<&(Instruction, Span)>,
    next: Option<&(Instruction, Span)>,
) -> Result<(), AsmError> {
    match rep {
        Some((rep, span)) if rep.repeats_nothing(fabric, next.map(|(next, _)| next)) => {
            let help = "field `iter` of rep: number of repetitions; a following `repx` adds multiples of 256"
                .to_owned();
            Err(range("iter=0", "1 to 255".to_owned(), *span, help))
        }
        _ => Ok(()),
    }
}

/// Adds a cell header or an instruction, and returns the instruction.
fn statement<'a>(
    fabric: &'a Fabric,
    call: &Call<'_>,
    current: &mut Option<(Place, &'a Cell)>,
    source: &mut Parsed,
) -> Result<Option<Instruction>, AsmError> {
    if call.name == "cell" {
        *current = Some(header(fabric, call, source)?);
        return Ok(None);
    }
    let Some((place, cell)) = *current else {
        let help = "begin the program with `cell (row=0, col=0)`".to_owned();
        return Err(syntax("a cell", format!("`{}`", call.name), call.name_span, help));
    };
    let (word, found, default_step) = match call.name {
        "word" => (word(call)?, None, false),
        _ => {
            let isa = Isa::read_by(fabric.options);
            let (instruction, default_step) = resolve(isa, component(cell, call)?, call)?;
            (Isa::get().encode(&instruction), Some(instruction), default_step)
        }
    };
    let words = source.program.cells.entry(place).or_default();
    let at = At { place, pc: words.len() };
    words.push(word);
    source.spans.insert(at, call.span);
    source.default_steps.extend(default_step.then_some(at));
    Ok(found)
}

/// Parses `word(bits=0x70000000)`: a word that is not an instruction.
fn word(call: &Call<'_>) -> Result<u32, AsmError> {
    let bits = call.number("bits")?;
    let legal = || range(&bits.to_string(), "0 to 0xffffffff".to_owned(), call.span, "32 bits".to_owned());
    u32::try_from(bits).map_err(|_| legal())
}

/// Parses `cell (row=R, col=C)`.
fn header<'a>(
    fabric: &'a Fabric,
    call: &Call<'_>,
    source: &mut Parsed,
) -> Result<(Place, &'a Cell), AsmError> {
    let side = |key: &str, size: usize| {
        let value = call.number(key)?;
        let place = usize::try_from(value).ok().filter(|place| *place < size);
        let span = call.argument(key).map_or(call.span, |(_, _, value)| value.span);
        place.ok_or_else(|| {
            range(&value.to_string(), format!("0 to {}", size - 1), span, format!("`{key}` of the fabric"))
        })
    };
    let place = Place { row: side("row", fabric.rows)?, col: side("col", fabric.cols)? };
    if let Some((key, span, _)) = call.arguments.iter().find(|(key, _, _)| !["row", "col"].contains(key)) {
        return Err(syntax("`row` or `col`", format!("`{key}`"), *span, String::new()));
    }
    if source.program.cells.insert(place, Vec::new()).is_some() {
        let found = format!("cell {place} again");
        return Err(syntax("another cell", found, call.span, String::new()));
    }
    let missing = || syntax("a cell of the fabric", format!("cell {place}"), call.span, String::new());
    Ok((place, fabric.cell(place).ok_or_else(missing)?))
}

/// Returns the component that executes an instruction.
fn component(cell: &Cell, call: &Call<'_>) -> Result<Component, AsmError> {
    let isa = Isa::get();
    let is_of = |component| isa.rows(component).iter().any(|row| row.name == call.name);
    if is_of(Component::Sequencer) {
        return Ok(Component::Sequencer);
    }
    if !Component::ALL.into_iter().any(is_of) {
        let mut known: Vec<&str> =
            Component::ALL.iter().flat_map(|&of| isa.rows(of)).map(|row| row.name.as_str()).collect();
        known.sort_unstable();
        known.dedup();
        return Err(mnemonic(call, &known));
    }
    let slot = call.number("slot")?;
    let span = call.argument("slot").map_or(call.span, |(_, _, value)| value.span);
    let found = u8::try_from(slot).ok().and_then(|slot| cell.component_at(slot));
    let full = || {
        let parts = cell.resources.iter().map(|part| {
            let last = part.slot + part.component.slots() - 1;
            let name = part.component.name();
            if last == part.slot { format!("{last} {name}") } else { format!("{}-{last} {name}", part.slot) }
        });
        parts.collect::<Vec<_>>().join(", ")
    };
    found.ok_or_else(|| {
        range(&slot.to_string(), full(), span, format!("`slot`: this slot of cell `{}` is empty", cell.name))
    })
}

/// Returns the instruction, and whether it is a `repx` without `step`.
fn resolve(
    isa: &'static Isa,
    component: Component,
    call: &Call<'_>,
) -> Result<(Instruction, bool), AsmError> {
    let rows = isa.rows(component);
    let unknown = || mnemonic(call, &rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>());
    let index = rows.iter().position(|row| row.name == call.name).ok_or_else(unknown)?;
    let (row, mut instruction) = (&rows[index], Instruction::new(component, index));
    for (number, (key, span, value)) in call.arguments.iter().enumerate() {
        if call.arguments.iter().take(number).any(|(other, _, _)| other == key) {
            return Err(syntax("each field once", format!("`{key}` again"), *span, String::new()));
        }
        match field(row, key) {
            Some(index) => instruction.values[index] = bits(row, &row.fields[index], value)?,
            // Upstream writes the operation's port even in instructions that have no port, so it is
            // accepted.
            None if *key == "port" && component != Component::Sequencer => drop(port(value)?),
            None => return Err(no_field(component, row, key, *span)),
        }
    }
    Ok((instruction, row.name == "repx" && call.argument("step").is_none()))
}

/// Finds a field by its name, or by its name in other releases.
fn field(row: &InstructionSpec, key: &str) -> Option<usize> {
    row.field(if row.name == "dpu" && key == "option" { "config" } else { key })
}

/// Parses a port that the instruction does not have.
fn port(value: &Token<'_>) -> Result<u8, AsmError> {
    let number = match value.kind {
        TokenKind::Integer(number) => u8::try_from(number).ok().filter(|port| *port < 16),
        _ => None,
    };
    number.ok_or_else(|| range(&text_of(value), "0 to 15".to_owned(), value.span, "a slot".to_owned()))
}

fn bits(row: &InstructionSpec, field: &Field, value: &Token<'_>) -> Result<u32, AsmError> {
    let found = match value.kind {
        TokenKind::Integer(number) => bits_of(field, number),
        TokenKind::Identifier => field.code_of(value.text).map(|code| code as u32),
        _ => None,
    };
    found.ok_or_else(|| {
        let (min, max) = legal_range(field);
        let names = field.names();
        let mut legal = format!("{min} to {max}");
        let mut help = format!("field `{}` of {}", field.name, row.name);
        if value.kind == TokenKind::Identifier && !names.is_empty() {
            legal = format!("{}, or {legal}", names.join(", "));
            if let Some(near) = closest(value.text, names.iter().copied()) {
                help += &format!("; did you mean `{near}`?");
            }
        }
        let number = match value.kind {
            TokenKind::Integer(number) => Some(number.clamp(min, max.max(min))),
            _ => None,
        };
        with_nearest(range(&text_of(value), legal, value.span, help), number)
    })
}

fn no_field(component: Component, row: &InstructionSpec, key: &str, span: Span) -> AsmError {
    let mut known: Vec<&str> = row.fields.iter().map(|field| field.name.as_str()).collect();
    if component != Component::Sequencer {
        // Puts the slot, which all instructions have, after the specific fields.
        known.rotate_left(1);
    }
    let help = match closest(key, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => format!("{} has no fields", row.name),
        None => format!("{} of {} has {}", row.name, component.name(), known.join(", ")),
    };
    syntax(&format!("a field of {}", row.name), format!("`{key}`"), span, help)
}

fn mnemonic(call: &Call<'_>, known: &[&str]) -> AsmError {
    let help = match closest(call.name, known.iter().copied()) {
        Some(near) if near != call.name => format!("did you mean `{near}`?"),
        _ => format!("known: {}", known.join(", ")),
    };
    AsmError::Mnemonic { found: call.name.to_owned(), span: source_span(call.name_span), help }
}

fn syntax(expected: &str, found: String, span: Span, help: String) -> AsmError {
    AsmError::Syntax { expected: expected.to_owned(), found, span: source_span(span), help }
}

fn range(value: &str, legal: String, span: Span, help: String) -> AsmError {
    AsmError::Range { value: value.to_owned(), legal, span: source_span(span), help, nearest: None }
}

/// Adds the nearest legal number to the message.
fn with_nearest(error: AsmError, number: Option<i64>) -> AsmError {
    match error {
        AsmError::Range { value, legal, span, help, .. } => AsmError::Range {
            value,
            legal,
            span,
            help,
            nearest: number.map(|number| number.to_string().into()),
        },
        other => other,
    }
}

fn text_of(token: &Token<'_>) -> String {
    match token.kind {
        TokenKind::Integer(number) => number.to_string(),
        TokenKind::Text => token.text.to_owned(),
        _ => format!("`{}`", token.text),
    }
}
