//! [`Macro`]: its parameters, and their values in a call.

use std::sync::Arc;

use npukit_base::{Span, closest, counted};
use npukit_isa::token::tokens;

use super::Line;
use super::argument::{Part, example, parts, unquoted};
use crate::error::{AsmError, source_span};
use crate::symbols::Symbols;

/// Lines with parameters.
pub(super) struct Macro {
    pub parameters: Vec<Parameter>,
    pub lines: Arc<[Line]>,
}

pub(super) struct Parameter {
    name: String,
    default: Option<String>,
}

impl Macro {
    /// Parses `NAME a, b=DEFAULT`, which starts at byte `start`; returns the name, and the macro
    /// without lines.
    pub fn parse(word: Span, start: usize, text: &str) -> Result<(String, Self), AsmError> {
        let name = tokens(text, start).first().copied().filter(|name| Symbols::is_name(name.text));
        let Some(name) = name else { return Err(wrong("a name", text, word)) };
        let rest = text.get(name.span.end - start..).unwrap_or_default();
        let mut parameters: Vec<Parameter> = Vec::new();
        for part in parts(rest.strip_prefix(',').unwrap_or(rest), name.span.end) {
            let parameter = Parameter::parse(part)?;
            if parameters.iter().any(|known| known.name == parameter.name) {
                return Err(wrong("each parameter once", part.text, part.span));
            }
            parameters.push(parameter);
        }
        Ok((name.text.to_owned(), Self { parameters, lines: Arc::new([]) }))
    }

    /// Returns the values of the parameters if `text` follows the name of the macro.
    pub fn values(&self, name: &str, span: Span, text: &str) -> Result<Vec<(String, String)>, AsmError> {
        let error = |reason: String, span| AsmError::Call {
            name: name.to_owned(),
            reason,
            span: source_span(span),
            help: format!("write `{}`", self.usage(name)),
        };
        let mut values: Vec<Option<&str>> = vec![None; self.parameters.len()];
        for (place, part) in parts(text, span.end).into_iter().enumerate() {
            let (index, value) =
                self.argument(place, part.text).map_err(|reason| error(reason, part.span))?;
            if let Some(slot) = values.get_mut(index) {
                if slot.is_some() {
                    return Err(error(
                        format!("has two values for `{}`", self.parameters[index].name),
                        part.span,
                    ));
                }
                *slot = Some(value).filter(|value| !value.is_empty());
            }
        }
        let value = |(parameter, value): (&Parameter, Option<&str>)| {
            let value = value.map(|value| unquoted(value).unwrap_or(value)).or(parameter.default.as_deref());
            let value =
                value.ok_or_else(|| error(format!("needs a value for `{}`", parameter.name), span))?;
            Ok((parameter.name.clone(), value.to_owned()))
        };
        self.parameters.iter().zip(values).map(value).collect()
    }

    /// Returns the parameter of an argument, and its value.
    fn argument<'a>(&self, place: usize, text: &'a str) -> Result<(usize, &'a str), String> {
        let position = |name: &str| self.parameters.iter().position(|parameter| parameter.name == name);
        if let Some((name, value)) = text.split_once('=')
            && let Some(index) = position(name.trim())
        {
            return Ok((index, value.trim()));
        }
        if place < self.parameters.len() {
            return Ok((place, text));
        }
        let takes = counted(self.parameters.len() as u64, "argument");
        let names = self.parameters.iter().map(|parameter| parameter.name.as_str());
        let near = text.split_once('=').and_then(|(name, _)| closest(name.trim(), names));
        let meant = near.map_or_else(String::new, |near| format!(" (did you mean `{near}=`?)"));
        Err(format!("takes {takes}, but more are given{meant}"))
    }

    /// Formats a call such as `load row, size=4`.
    fn usage(&self, name: &str) -> String {
        let parameter = |parameter: &Parameter| match &parameter.default {
            Some(default) => format!("{}={default}", parameter.name),
            None => parameter.name.clone(),
        };
        let parameters: Vec<String> = self.parameters.iter().map(parameter).collect();
        format!("{name} {}", parameters.join(", ")).trim_end().to_owned()
    }
}

impl Parameter {
    fn parse(part: Part<'_>) -> Result<Self, AsmError> {
        let (name, default) = match part.text.split_once('=') {
            Some((name, default)) => (name.trim(), Some(default.trim())),
            None => (part.text, None),
        };
        let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_word || !Symbols::is_name(name) {
            return Err(wrong("names with commas between them", part.text, part.span));
        }
        let default = default.map(|default| unquoted(default).unwrap_or(default).to_owned());
        Ok(Self { name: name.to_owned(), default })
    }
}

fn wrong(expected: &'static str, found: &str, span: Span) -> AsmError {
    let found = found.trim();
    let found = if found.is_empty() { "the end of the line".to_owned() } else { format!("`{found}`") };
    let (span, help) = (source_span(span), example("macro"));
    AsmError::Argument { directive: "macro", expected, found, span, help }
}
