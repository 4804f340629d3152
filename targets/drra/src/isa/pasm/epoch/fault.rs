//! Errors of operations, with spans.

use npukit_asm::source_span;
use npukit_base::{Span, closest};

use crate::isa::pasm::PasmError;
use crate::isa::pasm::ast::{self, Parameter, Value};

/// Error for a name that is not in `known`.
pub(super) fn unknown<'a>(
    what: &'static str,
    name: &ast::Name,
    known: impl Iterator<Item = &'a str>,
) -> PasmError {
    let known: Vec<&str> = known.collect();
    let help = match closest(&name.text, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known: {}", known.join(", ")),
    };
    PasmError::Unknown { what, found: name.text.clone(), span: source_span(name.span), help }
}

/// Error for an illegal parameter value.
pub(super) fn bad_value(name: &str, parameter: &Parameter, legal: &str) -> PasmError {
    let found = match &parameter.value {
        Value::Integer(value) => value.to_string(),
        Value::Name(name) => format!("`{name}`"),
    };
    value_error(&format!("`{name}`"), &found, legal, parameter.span)
}

/// Error for any other illegal value.
pub(super) fn value_error(what: &str, found: &str, legal: &str, span: Span) -> PasmError {
    PasmError::Value {
        what: what.to_owned(),
        found: found.to_owned(),
        legal: legal.to_owned(),
        span: source_span(span),
    }
}

/// Any other error.
pub(super) fn rule(reason: &str, span: Span, help: &str) -> PasmError {
    PasmError::Rule { reason: reason.to_owned(), span: source_span(span), help: help.to_owned() }
}
