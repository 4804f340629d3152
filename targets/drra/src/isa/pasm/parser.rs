//! [`parse`]: PASM text to a [`Program`].

use npukit_asm::source_span;
use npukit_base::{Span, closest};

use super::ast::{
    Constraint, Epoch, For, If, Instruction, Name, Operation, OperationKind, Parameter, Program, Region,
    Value,
};
use super::constraint;
use super::error::{PasmError, PasmErrors, faults};
use crate::isa::token::{Token, TokenKind, tokens};

/// Maximum nesting depth of regions, so that a text of braces does not exhaust the stack.
const MAX_NESTED: usize = 64;
const REGIONS: [&str; 3] = ["epoch", "for", "if"];
const OPERATIONS: [&str; 4] = ["rop", "cop", "raw", "cstr"];

/// Parses a program; `name` is the file's, for messages.
///
/// # Errors
///
/// Every error of the file, at most 100.
pub fn parse(name: &str, text: &str) -> Result<Program, PasmErrors> {
    let (program, errors) = parse_all(text);
    if errors.is_empty() { Ok(program) } else { Err(faults(name, text, errors)) }
}

/// Parses as much of a program as possible, and returns all errors.
pub(crate) fn parse_all(text: &str) -> (Program, Vec<PasmError>) {
    let (mut tokens, errors) = tokens(text);
    let errors = errors.into_iter().map(PasmError::from).collect();
    tokens.retain(|token| token.kind != TokenKind::Comment);
    let mut parser = Parser { tokens, at: 0, depth: 0, errors };
    let regions = parser.regions(|parser| parser.peek().is_none());
    let mut errors = parser.errors;
    errors.sort_by_key(|error| error.span().offset());
    (Program { regions }, errors)
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    depth: usize,
    errors: Vec<PasmError>,
}

/// Result of a parser. After an error, which was reported or is returned, parsing continues at the
/// next keyword.
type Parsed<T> = Result<T, PasmError>;

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&Token<'a>> {
        self.tokens.get(self.at)
    }

    fn text(&self) -> &'a str {
        self.peek().map_or("", |token| token.text)
    }

    fn span(&self) -> Span {
        match self.peek() {
            Some(token) => token.span,
            None => self.tokens.last().map_or_else(Span::default, |token| token.span),
        }
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.text == text && token.kind != TokenKind::Text);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, text: &str) -> Parsed<()> {
        if self.take(text) { Ok(()) } else { Err(self.expected(&format!("`{text}`"), None)) }
    }

    fn expected(&self, expected: &str, help: Option<String>) -> PasmError {
        let found = match self.peek() {
            Some(token) => format!("`{}`", token.text),
            None => "the end of the file".to_owned(),
        };
        PasmError::Syntax { expected: expected.to_owned(), found, span: source_span(self.span()), help }
    }

    /// Returns an error that expects one of `keywords`.
    fn expected_keyword(&self, keywords: &[&str]) -> PasmError {
        let near = closest(self.text(), keywords.iter().copied());
        let help = near.map(|near| format!("did you mean `{near}`?"));
        let list: Vec<String> = keywords.iter().map(|word| format!("`{word}`")).collect();
        self.expected(&list.join(", "), help)
    }

    /// Records the error, and continues at the next of `keywords` or `closing`.
    fn recover(&mut self, error: PasmError, keywords: &[&str]) {
        self.errors.push(error);
        let mut depth = 0_usize;
        while let Some(token) = self.peek() {
            match token.text {
                "{" => depth += 1,
                "}" if depth == 0 => return,
                "}" => depth -= 1,
                text if depth == 0 && keywords.contains(&text) => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn regions(&mut self, ends: impl Fn(&Self) -> bool) -> Vec<Region> {
        let mut regions = Vec::new();
        while !ends(self) && self.peek().is_some() {
            let before = self.at;
            match self.region() {
                Ok(region) => regions.push(region),
                Err(error) => {
                    self.recover(error, &REGIONS);
                    // A surplus closing brace at the top level is skipped, so that parsing
                    // continues.
                    if self.at == before || (self.depth == 0 && self.text() == "}") {
                        self.at += 1;
                    }
                }
            }
        }
        regions
    }

    fn region(&mut self) -> Parsed<Region> {
        let span = self.span();
        match self.text() {
            "epoch" => self.epoch().map(Region::Epoch),
            "for" => {
                self.at += 1;
                let (name, parameters) = (self.name()?, self.parameters()?);
                let body = self.block()?;
                Ok(Region::For(For { name, parameters, body, span }))
            }
            "if" => self.condition(span).map(Region::If),
            _ => Err(self.expected_keyword(&REGIONS)),
        }
    }

    fn condition(&mut self, span: Span) -> Parsed<If> {
        self.at += 1;
        let (name, parameters) = (self.name()?, self.parameters()?);
        let then = self.block()?;
        let mut otherwise = Vec::new();
        if self.take("else") {
            let span = self.span();
            otherwise = match self.text() {
                "if" => vec![self.nested(|parser| parser.condition(span)).map(Region::If)?],
                _ => self.block()?,
            };
        }
        Ok(If { name, parameters, then, otherwise, span })
    }

    fn block(&mut self) -> Parsed<Vec<Region>> {
        self.nested(|parser| {
            parser.expect("{")?;
            let regions = parser.regions(|parser| parser.text() == "}");
            parser.expect("}")?;
            Ok(regions)
        })
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_NESTED {
            return Err(self.expected(&format!("at most {MAX_NESTED} nested regions"), None));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn epoch(&mut self) -> Parsed<Epoch> {
        self.at += 1;
        let mut epoch = Epoch { name: self.name()?, ..Epoch::default() };
        self.expect("{")?;
        while !matches!(self.text(), "}" | "") {
            let before = self.at;
            if let Err(error) = self.item(&mut epoch) {
                self.recover(error, &[&OPERATIONS[..], &REGIONS].concat());
                if REGIONS.contains(&self.text()) {
                    return Ok(epoch);
                }
                self.at += usize::from(self.at == before);
            }
        }
        if let Err(error) = self.expect("}") {
            // The operations read before the error are kept.
            self.errors.push(error);
        }
        Ok(epoch)
    }

    fn item(&mut self, epoch: &mut Epoch) -> Parsed<()> {
        let kind = match self.text() {
            "rop" => OperationKind::Rop,
            "cop" => OperationKind::Cop,
            "raw" => OperationKind::Raw,
            "cstr" => {
                epoch.constraints.extend(self.constraint()?);
                return Ok(());
            }
            _ => return Err(self.expected_keyword(&OPERATIONS)),
        };
        epoch.operations.push(self.operation(kind)?);
        Ok(())
    }

    fn operation(&mut self, kind: OperationKind) -> Parsed<Operation> {
        let start = self.span();
        self.at += 1;
        let (name, parameters) = (self.name()?, self.parameters()?);
        let end =
            self.at.checked_sub(1).and_then(|last| self.tokens.get(last)).map_or(start, |token| token.span);
        self.expect("{")?;
        let mut instructions = Vec::new();
        while !matches!(self.text(), "}" | "") {
            instructions.push(self.instruction()?);
        }
        self.expect("}")?;
        Ok(Operation { kind, name, parameters, instructions, span: start.to(end) })
    }

    fn instruction(&mut self) -> Parsed<Instruction> {
        let mnemonic = self.identifier("an instruction or `}`")?;
        let name = self.name()?;
        let parameters = if self.text() == "(" { self.parameters()? } else { Vec::new() };
        Ok(Instruction { mnemonic, name, parameters })
    }

    /// Parses a `cstr`; `None` if its text has an error that was recorded.
    fn constraint(&mut self) -> Parsed<Option<Constraint>> {
        self.at += 1;
        self.expect("(")?;
        let token = match self.peek() {
            Some(token) if token.kind == TokenKind::Text => token.clone(),
            _ => return Err(self.expected("a constraint in quotation marks", None)),
        };
        self.at += 1;
        self.expect(")")?;
        let text = token.text.trim_matches('"');
        let span = Span::new(token.span.start + 1, token.span.start + 1 + text.len());
        match constraint::parse(text, span.start) {
            Ok(condition) => Ok(Some(Constraint { text: text.to_owned(), condition, span })),
            Err(error) => {
                self.errors.push(error);
                Ok(None)
            }
        }
    }

    /// Parses an optional `<name>`.
    fn name(&mut self) -> Parsed<Option<Name>> {
        if !self.take("<") {
            return Ok(None);
        }
        let name = self.identifier("a name")?;
        self.expect(">")?;
        Ok(Some(name))
    }

    fn identifier(&mut self, what: &str) -> Parsed<Name> {
        match self.peek() {
            Some(token) if token.kind == TokenKind::Identifier => {
                let name = Name { text: token.text.to_owned(), span: token.span };
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.expected(what, None)),
        }
    }

    fn parameters(&mut self) -> Parsed<Vec<Parameter>> {
        self.expect("(")?;
        let mut parameters: Vec<Parameter> = Vec::new();
        while !self.take(")") {
            let parameter = self.parameter()?;
            if let Some(first) = parameters.iter().find(|one| one.name.text == parameter.name.text) {
                self.errors.push(PasmError::Twice {
                    what: "parameters",
                    name: parameter.name.text.clone(),
                    first: source_span(first.name.span),
                    second: source_span(parameter.name.span),
                });
            }
            parameters.push(parameter);
            if !self.take(",") && self.text() != ")" {
                return Err(self.expected("`,` or `)`", None));
            }
        }
        Ok(parameters)
    }

    fn parameter(&mut self) -> Parsed<Parameter> {
        let name = self.identifier("a parameter or `)`")?;
        self.expect("=")?;
        let span = self.span();
        let value = match self.peek() {
            Some(Token { kind: TokenKind::Integer(value), .. }) => Value::Integer(*value),
            Some(token) if token.kind == TokenKind::Identifier => Value::Name(token.text.to_owned()),
            _ => return Err(self.expected("a number or a name", None)),
        };
        self.at += 1;
        Ok(Parameter { name, value, span })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn what_is_printed_parses_to_the_same() {
        let text = "epoch<e> { rop<a>(row=0,col=0,slot=1,port=0) { dsu(init_addr=0) rep(iter=2,delay=t1) }
            raw(row=0,col=1){halt} cstr(\"a.e0[1] >= 3 + t1\") } for(iter=3){ if(reg=1){epoch{}} else {epoch{}} }";
        let printed = parse("x", text).unwrap().to_string();
        assert_eq!(parse("x", &printed).unwrap().to_string(), printed);
        let flat: String = printed.split_whitespace().collect();
        assert_eq!(flat, text.split_whitespace().collect::<String>());
    }

    #[test]
    fn every_fault_of_a_file_is_named_at_its_place() {
        let text = "epoch {\n rop<a>(row=0 col=0) { dsu }\n rop<b>(row=0, row=1) {}\n ropp<c>() {}\n \
                    cstr(\"a <\")\n cstr(a)\n}\n}\nepohc {}\nfor() { epoch { rop( } }";
        let errors = parse("x.pasm", text).unwrap_err();
        let lines: Vec<(usize, String)> = errors
            .errors
            .iter()
            .map(|error| (text[..error.span().offset()].matches('\n').count() + 1, error.to_string()))
            .collect();
        let found: Vec<usize> = lines.iter().map(|line| line.0).collect();
        assert_eq!(found, [2, 3, 4, 5, 6, 8, 9, 10], "{lines:#?}");
    }

    #[test]
    fn braces_without_end_are_an_error() {
        for text in ["if(a=1){".repeat(5000), "epoch {".repeat(5000), "if(a=1){}else ".repeat(5000)] {
            assert!(parse("x", &text).is_err());
        }
    }
}
