//! [`statement`]: parses a line of an experiment; also [`MemoryRange::parse`].

use npukit_base::Span;
use npukit_isa::token::{Token, tokens};

use super::{MemoryRange, StatementKind, Values, WAIT};
use crate::error::{AsmError, source_span};
use crate::expand::{Part, beside, parts, unquoted};
use crate::expression::{Fault, evaluate};
use crate::symbols::Symbols;

/// Context of the names on a line.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a> {
    /// Symbols with their numbers.
    pub symbols: &'a Symbols,
    /// File of the line, to which paths are relative.
    pub file: &'a str,
}

const RANGE: &str = "a memory's range";
const VALUES: &str = "values or a file's name in quotation marks";

/// Text of a line after the name of a directive.
#[derive(Clone, Copy)]
pub(crate) struct Rest<'a> {
    /// Byte at which the text starts.
    pub start: usize,
    pub text: &'a str,
}

/// Parses a line with `directive` followed by `rest`. `word` is the location of the directive's
/// name.
pub(crate) fn statement(
    directive: &'static str,
    word: Span,
    rest: Rest<'_>,
    names: Names<'_>,
) -> Result<StatementKind, AsmError> {
    let line = Line { directive, word, names };
    let all = parts(rest.text, rest.start);
    match (directive, &all[..]) {
        ("data", [range, values @ ..]) => {
            Ok(StatementKind::Data { range: line.range(*range)?, values: line.values(values)? })
        }
        ("input", [name, range, values @ ..]) => {
            let (name, range) = (line.name(*name)?, line.range(*range)?);
            let values = if values.is_empty() { None } else { Some(line.values(values)?) };
            Ok(StatementKind::Input { name, range, values })
        }
        ("output", [name, range]) => {
            Ok(StatementKind::Output { name: line.name(*name)?, range: line.range(*range)? })
        }
        ("output", [_, _, more, ..]) => Err(line.wrong("nothing more", Some(*more))),
        ("expect", [range, values @ ..]) => {
            let (tolerance, values) = match values.split_last() {
                Some((last, values)) if let Some(text) = last.text.strip_prefix("tolerance") => {
                    (Some(line.tolerance(*last, text)?), values)
                }
                _ => (None, values),
            };
            Ok(StatementKind::Expect { range: line.range(*range)?, values: line.values(values)?, tolerance })
        }
        ("input" | "output", [_]) => Err(line.wrong(RANGE, None)),
        ("input" | "output", _) => Err(line.wrong("a name", None)),
        _ => Err(line.wrong(RANGE, None)),
    }
}

/// Rejects any text after `.wait`.
pub(crate) fn no_more(word: Span, rest: Rest<'_>) -> Result<(), AsmError> {
    let Some(part) = parts(rest.text, rest.start).first().copied().filter(|part| !part.text.is_empty())
    else {
        return Ok(());
    };
    let names = Names { symbols: &Symbols::default(), file: "" };
    Err(Line { directive: WAIT, word, names }.wrong("nothing more", Some(part)))
}

struct Line<'a> {
    directive: &'static str,
    word: Span,
    names: Names<'a>,
}

impl Line<'_> {
    fn wrong(&self, expected: &'static str, part: Option<Part<'_>>) -> AsmError {
        let (found, span) = match part {
            Some(part) if !part.text.is_empty() => (format!("`{}`", part.text), part.span),
            _ => ("nothing".to_owned(), self.word),
        };
        let help = example(self.directive);
        AsmError::Argument { directive: self.directive, expected, found, span: source_span(span), help }
    }

    fn name(&self, part: Part<'_>) -> Result<String, AsmError> {
        let name = unquoted(part.text).unwrap_or(part.text);
        let is_name = Symbols::is_name(name) && !name.contains(['[', ']', '=', ',']);
        if is_name { Ok(name.to_owned()) } else { Err(self.wrong("a name", Some(part))) }
    }

    /// Parses `MEMORY`, `MEMORY[A]` or `MEMORY[A:B]`.
    fn range(&self, part: Part<'_>) -> Result<MemoryRange, AsmError> {
        let Some((memory, inside)) = in_brackets(part.text) else {
            return Err(self.wrong(RANGE, Some(part)));
        };
        let memory = memory.to_owned();
        let Some(inside) = inside else {
            return Ok(MemoryRange { memory, start: 0, end: None, is_one: false });
        };
        let at = part.span.start + (inside.as_ptr() as usize - part.text.as_ptr() as usize);
        let (first, end) = match inside.split_once(':') {
            Some((first, end)) => (first, Some((end, at + first.len() + 1))),
            None => (inside, None),
        };
        let start = if first.trim().is_empty() && end.is_some() { 0 } else { self.address(first, at, part)? };
        let is_one = end.is_none();
        let end = end.filter(|(end, _)| !end.trim().is_empty());
        let end = end.map(|(end, at)| self.address(end, at, part)).transpose()?;
        if end.is_some_and(|end| end < start) {
            return Err(self.wrong("a range whose end is not before its start", Some(part)));
        }
        Ok(MemoryRange { memory, start, end, is_one })
    }

    fn address(&self, text: &str, at: usize, part: Part<'_>) -> Result<u64, AsmError> {
        let value = self.integer(Part { text, span: Span::new(at, at + text.len()) }, "an address")?;
        u64::try_from(value).map_err(|_| self.wrong("a non-negative address", Some(part)))
    }

    /// Parses a file name, or numbers. All are integers if one is written as `raw(1)`; otherwise,
    /// all are real if one has a decimal point or an exponent.
    fn values(&self, parts: &[Part<'_>]) -> Result<Values, AsmError> {
        match parts {
            [] => Err(self.wrong(VALUES, None)),
            [file] if let Some(path) = unquoted(file.text).filter(|path| !path.is_empty()) => {
                Ok(Values::File(beside(self.names.file, path)))
            }
            numbers if numbers.iter().any(|part| marked(*part).is_some()) => {
                let all = numbers.iter().map(|part| self.integer(marked(*part).unwrap_or(*part), VALUES)); // Default: an integer without a mark.
                Ok(Values::Raw { numbers: all.collect::<Result<_, _>>()?, is_marked: true })
            }
            numbers if numbers.iter().any(|part| real(part.text).is_some()) => {
                let value = |part: &Part<'_>| match real(part.text) {
                    Some(value) => Ok(value),
                    None => self.integer(*part, VALUES).map(|value| value as f64),
                };
                numbers.iter().map(value).collect::<Result<_, _>>().map(Values::Real)
            }
            numbers => {
                let all = numbers.iter().map(|part| self.integer(*part, VALUES));
                Ok(Values::Raw { numbers: all.collect::<Result<_, _>>()?, is_marked: false })
            }
        }
    }

    /// Parses `=VALUE` after `tolerance`.
    fn tolerance(&self, part: Part<'_>, text: &str) -> Result<f64, AsmError> {
        let value = text.trim_start().strip_prefix('=').map(str::trim);
        let value = value.and_then(|text| text.parse().ok()).filter(|value: &f64| *value >= 0.0);
        value.ok_or_else(|| self.wrong("a non-negative tolerance, as `tolerance=0.01`,", Some(part)))
    }

    /// Returns the value of an expression that must extend over the whole part.
    fn integer(&self, part: Part<'_>, expected: &'static str) -> Result<i128, AsmError> {
        let all: Vec<Token<'_>> = tokens(part.text, part.span.start);
        match evaluate(&all, &|name| self.names.symbols.value(name)) {
            Ok((value, used)) if used == all.len() => Ok(value),
            Err(Fault::Value { reason, span }) => {
                let (text, help) = (part.text.to_owned(), example(self.directive).to_owned());
                Err(AsmError::Expression { text, reason, span: source_span(span), help })
            }
            _ => Err(self.wrong(expected, Some(part))),
        }
    }
}

/// Returns a number with a decimal point or an exponent, or `inf` or `nan`.
fn real(text: &str) -> Option<f64> {
    let digits = text.trim_start_matches(['+', '-']);
    let is_word = matches!(digits, "inf" | "nan");
    let is_decimal = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && !digits.starts_with("0x")
        && !digits.starts_with("0b")
        && digits.contains(['.', 'e', 'E']);
    (is_word || is_decimal).then(|| text.parse().ok()).flatten()
}

/// Returns the integer in `raw(1)`; `None` for other values.
fn marked(part: Part<'_>) -> Option<Part<'_>> {
    let text = part.text.strip_prefix("raw")?.trim_start().strip_prefix('(')?.strip_suffix(')')?;
    let start = part.span.end - 1 - text.len();
    Some(Part { text, span: Span::new(start, start + text.len()) })
}

/// Returns the name before brackets, which may be quoted, and the text in them; `None` if the
/// brackets do not match.
pub(super) fn in_brackets(text: &str) -> Option<(&str, Option<&str>)> {
    let (name, inside) = match text.split_once('[') {
        Some((name, rest)) => (name.trim(), Some(rest.trim_end().strip_suffix(']')?)),
        None => (text.trim(), None),
    };
    let name = unquoted(name).unwrap_or(name);
    (!name.is_empty() && !name.contains(['[', ']', '"'])).then_some((name, inside))
}

impl MemoryRange {
    /// Parses a range on a command line: `MEMORY`, `MEMORY[A]` or `MEMORY[A:B]`, with numbers.
    /// `None` if the text is not a range.
    pub fn parse(text: &str) -> Option<Self> {
        let names = Names { symbols: &Symbols::default(), file: "" };
        let line = Line { directive: "data", word: Span::default(), names };
        line.range(Part { text, span: Span::new(0, text.len()) }).ok()
    }
}

/// Returns an example of the directive.
fn example(directive: &str) -> &'static str {
    match directive {
        "data" => {
            "for example `.data dram0[4], 1, -2, 0x30` or `raw(1)` for a memory's own integers, `.data dram0[4], 0.5, 2.0` for real values or `.data dram0[4], \"weights.npy\"`"
        }
        "input" => {
            "for example `.input x, dram0[0:16]`, followed by values or a file if the input is optional"
        }
        "output" => "for example `.output y, dram0[16:32]`",
        WAIT => "for example `.wait`: the host waits until all instructions above are complete",
        _ => {
            "for example `.expect acc[0], 1, -2`, `.expect acc[0], 0.5, tolerance=0.01` or `.expect acc[0:4], \"expected.npy\"`"
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn read(directive: &'static str, text: &str) -> Result<StatementKind, String> {
        let mut symbols = Symbols::default();
        symbols.define("rows", crate::symbols::Symbol::Fixed(Some(4)));
        let names = Names { symbols: &symbols, file: "a/p.s" };
        statement(directive, Span::default(), Rest { start: 0, text }, names)
            .map_err(|error| error.to_string())
    }

    fn range(memory: &str, start: u64, end: Option<u64>, is_one: bool) -> MemoryRange {
        MemoryRange { memory: memory.to_owned(), start, end, is_one }
    }

    #[test]
    fn ranges_are_of_addresses() {
        for (text, expected) in [
            ("acc", range("acc", 0, None, false)),
            ("acc[3]", range("acc", 3, None, true)),
            ("acc[0x10:0x20]", range("acc", 16, Some(32), false)),
            ("acc[:2]", range("acc", 0, Some(2), false)),
            ("acc[2:]", range("acc", 2, None, false)),
            ("bank 3[1]", range("bank 3", 1, None, true)),
            ("\"bank 3\" [1]", range("bank 3", 1, None, true)),
        ] {
            assert_eq!(MemoryRange::parse(text), Some(expected), "{text}");
        }
        for text in
            ["", "[1]", "acc[", "acc[1", "acc]1[", "acc[2:1]", "acc[-1]", "acc[x]", "acc[1:2:3]", "acc[]"]
        {
            assert_eq!(MemoryRange::parse(text), None, "{text}");
        }
    }

    fn raw(numbers: &[i128], is_marked: bool) -> Values {
        Values::Raw { numbers: numbers.to_vec(), is_marked }
    }

    #[test]
    fn a_point_makes_all_values_real() {
        let data = |rest| match read("data", rest) {
            Ok(StatementKind::Data { range, values }) => Ok((range, values)),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error),
        };
        let at = range("m", 8, None, true);
        assert_eq!(data("m[2 * rows], 1, -2, rows"), Ok((at.clone(), raw(&[1, -2, 4], false))));
        assert_eq!(data("m[8], raw(1), -2, raw ( rows )"), Ok((at.clone(), raw(&[1, -2, 4], true))));
        assert!(data("m[8], raw(1), 2.0").unwrap_err().contains("`2.0`"));
        assert!(data("m[8], raw(2.5)").unwrap_err().contains("`2.5`"));
        assert_eq!(data("m[8], 1, -2e-1"), Ok((at.clone(), Values::Real(vec![1.0, -0.2]))));
        assert_eq!(data("m[8], \"x.npy\""), Ok((at, Values::File("a/x.npy".to_owned()))));
        assert!(data("m[8]").unwrap_err().contains("needs values"));
        assert!(data("m[8], 1, other").unwrap_err().contains("`other`"));
    }

    #[test]
    fn an_expectation_has_a_tolerance() {
        let expected = StatementKind::Expect {
            range: range("m", 0, None, true),
            values: Values::Real(vec![0.5]),
            tolerance: Some(0.01),
        };
        assert_eq!(read("expect", "m[0], 0.5, tolerance = 0.01"), Ok(expected));
        assert!(read("expect", "m[0], 0.5, tolerance=-1").is_err());
        assert!(read("expect", "m[0], tolerance=1").unwrap_err().contains("needs values"));
    }

    #[test]
    fn inputs_and_outputs_have_names() {
        assert_eq!(
            read("input", "x, m[0:2]"),
            Ok(StatementKind::Input { name: "x".into(), range: range("m", 0, Some(2), false), values: None })
        );
        assert!(read("output", "y").unwrap_err().contains("needs a memory's range"));
        assert!(read("output", "y, m, 1").unwrap_err().contains("needs nothing more"));
        assert!(read("input", "").unwrap_err().contains("needs a name"));
    }
}
