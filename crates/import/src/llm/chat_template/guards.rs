//! Bounds of a template's values: [`guarded`] and [`Limits`].
//!
//! The engine's fuel bounds the number of steps and the size of texts. It does not bound lists that
//! contain the same value several times: `x + x`, repeated 60 times, has 2^60 elements. A value
//! can only be repeated often if a variable stores it. Therefore, each tag that sets variables is
//! followed by a call that refuses large values.

use minijinja::machinery::{Span, Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, State, Value};

/// Name of the function that refuses large values.
const GUARD: &str = "npukit_guard";
/// Largest size of a template.
const MAX_BYTES: usize = 256 << 10;
/// Largest number of commas and plus signs in a tag or an expression: of values that it combines.
const MAX_OPERANDS: usize = 1000;
/// Largest number of values within one another.
const MAX_DEPTH: usize = 50;
/// Largest number of elements of a range.
const MAX_RANGE: usize = 10_000;
/// Words of expressions that are not variables.
const WORDS: [&str; 13] =
    ["and", "else", "false", "if", "in", "is", "none", "not", "or", "true", "False", "None", "True"];

/// Largest size of a variable's value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Number of values in it, itself included.
    pub(super) values: usize,
    /// Bytes of its texts.
    pub(super) bytes: usize,
}

impl Limits {
    /// Adds the functions that have limits to an environment.
    pub(super) fn add(self, environment: &mut Environment<'_>) {
        let guard = move |state: &State<'_, '_>, value: &Value| {
            let mut rest = self;
            rest.take(value, MAX_DEPTH)?;
            state.consume_fuel((self.values - rest.values) as u64)
        };
        environment.add_function(GUARD, guard);
        environment.add_function("range", range);
    }

    /// Takes the size of a value from these limits.
    fn take(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        let bytes = value.as_bytes().map_or(0, <[u8]>::len);
        let (values, bytes) = (self.values.checked_sub(1), self.bytes.checked_sub(bytes));
        let (Some(values), Some(bytes)) = (values, bytes) else {
            return Err(refused("a variable's value is too large"));
        };
        *self = Self { values, bytes };
        let is_map = value.kind() == ValueKind::Map;
        if !is_map && !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
            return Ok(());
        }
        let depth = depth.checked_sub(1).ok_or_else(|| refused("a variable's value is nested too deeply"))?;
        for item in value.try_iter()? {
            self.take(&item, depth)?;
            if is_map {
                self.take(&value.get_item(&item)?, depth)?;
            }
        }
        Ok(())
    }
}

/// Returns the integers from 0 or the first argument to the next one, which is excluded.
fn range(first: i64, end: Option<i64>, step: Option<i64>) -> Result<Vec<i64>, Error> {
    let (start, end) = end.map_or((0, first), |end| (first, end));
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(refused("the step of a range is 0"));
    }
    let is_inside = |value: &i64| if step > 0 { *value < end } else { *value > end };
    let values = std::iter::successors(Some(start), |value| value.checked_add(step)).take_while(is_inside);
    let values: Vec<i64> = values.take(MAX_RANGE + 1).collect();
    if values.len() > MAX_RANGE { Err(refused("a range is too long")) } else { Ok(values) }
}

/// Reason why a template is refused, and its line, starting at 1.
pub(super) type Refused = (usize, String);

/// Returns a template that refuses large values of its variables. Tags around a model's own text,
/// which only matter for training, have no effect in it. Lines stay where they are.
pub(super) fn guarded(source: &str) -> Result<String, Refused> {
    if source.len() > MAX_BYTES {
        return Err((1, format!("it has {} bytes; at most {MAX_BYTES} are supported", source.len())));
    }
    let mut text = String::with_capacity(source.len());
    let mut copied = 0;
    let mut tag: Vec<(Token<'_>, Span)> = Vec::new();
    for token in tokenize(source, false, SyntaxConfig::default()) {
        // The engine reports the same error with its place.
        let Ok((token, span)) = token else { return Ok(source.to_owned()) };
        match token {
            Token::TemplateData(_) => {}
            Token::BlockStart | Token::VariableStart => tag.clear(),
            Token::VariableEnd => check(&tag)?,
            Token::BlockEnd => {
                check(&tag)?;
                let [start, end] = [span.start_offset as usize, span.end_offset as usize];
                if let Some((replaced, word)) = mark(&tag) {
                    text += &source[copied..replaced.start_offset as usize];
                    text += word;
                    copied = replaced.end_offset as usize;
                }
                text += &source[copied..end];
                copied = end;
                for name in stored(&tag) {
                    text += &format!("{{% do {GUARD}({name}) {}", &source[start..end]);
                }
            }
            _ => tag.push((token, span)),
        }
    }
    Ok(text + &source[copied..])
}

/// Checks a tag or an expression.
fn check(tag: &[(Token<'_>, Span)]) -> Result<(), Refused> {
    let mut operands = 0;
    for (token, span) in tag {
        let line = usize::from(span.start_line);
        match token {
            // It makes values of any size from a number.
            Token::Mul => return Err((line, "the operator `*` is not supported".to_owned())),
            Token::Ident(GUARD) => return Err((line, format!("the name `{GUARD}` is not supported"))),
            Token::Comma | Token::Plus => operands += 1,
            _ => {}
        }
        if operands > MAX_OPERANDS {
            return Err((line, format!("more than {MAX_OPERANDS} values are combined at once")));
        }
    }
    Ok(())
}

/// Returns the place of the word of a tag around the model's own text, and what replaces it.
fn mark<'a>(tag: &[(Token<'_>, Span)]) -> Option<(Span, &'a str)> {
    match tag {
        [(Token::Ident("generation"), span)] => Some((*span, "if true")),
        [(Token::Ident("endgeneration"), span)] => Some((*span, "endif")),
        _ => None,
    }
}

/// Returns the names of the variables that a tag sets, and perhaps of others.
fn stored(tag: &[(Token<'_>, Span)]) -> Vec<String> {
    let Some(((Token::Ident(word), _), rest)) = tag.split_first() else { return Vec::new() };
    let before = |is_end: fn(&Token<'_>) -> bool| {
        // Default: a tag without a value sets a text, which has no parts.
        rest.iter().position(|(token, _)| is_end(token)).map_or(&rest[..0], |end| &rest[..end])
    };
    match *word {
        "set" => paths(before(|token| matches!(token, Token::Assign))),
        "for" => paths(before(|token| matches!(token, Token::Ident("in")))),
        "macro" | "call" | "with" => {
            let is_variable = |path: &String| !path.contains('.') && !WORDS.contains(&path.as_str());
            paths(rest).into_iter().filter(is_variable).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the names in a part of a tag, with their attributes.
fn paths(tokens: &[(Token<'_>, Span)]) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    let mut after_dot = false;
    for (token, _) in tokens {
        match (token, paths.last_mut()) {
            (Token::Ident(name), Some(path)) if after_dot => *path += &format!(".{name}"),
            (Token::Ident(name), _) => paths.push((*name).to_owned()),
            _ => {}
        }
        after_dot = matches!(token, Token::Dot);
    }
    paths
}

fn refused(reason: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, reason)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn variables_are_checked_where_they_are_set() {
        for (source, expected) in [
            ("{%- set ns.x = y.z -%}\na", "{%- set ns.x = y.z -%}{% do npukit_guard(ns.x) -%}\na"),
            (
                "{% for a, b in c if d %}",
                "{% for a, b in c if d %}{% do npukit_guard(a) %}{% do npukit_guard(b) %}",
            ),
            (
                "{% macro f(x, y='%}') +%}",
                "{% macro f(x, y='%}') +%}{% do npukit_guard(f) +%}{% do npukit_guard(x) +%}{% do npukit_guard(y) +%}",
            ),
            ("{% with x = y.z and none %}", "{% with x = y.z and none %}{% do npukit_guard(x) %}"),
            ("{% set x %}", "{% set x %}"),
            ("{# {% set x = 1 %} #}{{ '{% set x = 1 %}' }}", "{# {% set x = 1 %} #}{{ '{% set x = 1 %}' }}"),
            ("{% raw %}{% set x = 1 %}{% endraw %}", "{% raw %}{% set x = 1 %}{% endraw %}"),
            (
                "{%- generation -%}a{% endgeneration %}{{ generation }}",
                "{%- if true -%}a{% endif %}{{ generation }}",
            ),
            ("{% generation %}{{ 'x", "{% generation %}{{ 'x"),
        ] {
            assert_eq!(guarded(source).unwrap(), expected);
        }
        for source in ["a\n{{ 2 * 3 }}", "a\n{% do npukit_guard(1) %}"] {
            assert_eq!(guarded(source).unwrap_err().0, 2, "{source}");
        }
        let many = format!("{{{{ [{}] }}}}", "1, ".repeat(2000));
        assert!(guarded(&many).is_err() && guarded(&"a".repeat(300_000)).is_err());
    }

    #[test]
    fn ranges_are_those_of_python() {
        assert_eq!(range(3, None, None).unwrap(), [0, 1, 2]);
        assert_eq!(range(1, Some(6), Some(2)).unwrap(), [1, 3, 5]);
        assert_eq!(range(3, Some(0), Some(-2)).unwrap(), [3, 1]);
        assert_eq!(range(i64::MAX - 1, Some(i64::MAX), None).unwrap(), [i64::MAX - 1]);
        assert_eq!(range(3, Some(3), None).unwrap(), [0; 0]);
        assert!(range(10_000, None, None).is_ok() && range(10_001, None, None).is_err());
        assert!(range(1, None, Some(0)).is_err());
    }
}
