//! PASM: operations on ports of a fabric, and constraints between their starts.
//!
//! [`parse`] reads a program, with every fault of the file in one [`PasmErrors`]; [`format()`] lays a text out and
//! keeps its comments; [`constraint`] are the expressions of `cstr`; [`pattern`] is when the events of an
//! operation happen.

pub mod ast;
pub mod constraint;
pub(crate) mod error;
mod parser;
pub mod pattern;

use crate::layout::{Language, layout};

pub use ast::Program;
pub use error::{PasmError, PasmErrors};
pub use parser::parse;
pub(crate) use parser::parse_all;

/// The text of a file, laid out; `name` is the file's, for messages.
///
/// # Errors
///
/// What [`parse`] finds.
pub fn format(name: &str, text: &str) -> Result<String, PasmErrors> {
    parse(name, text)?;
    Ok(layout_of(text))
}

/// Lays out text that parses.
pub(crate) fn layout_of(text: &str) -> String {
    layout(text, Language::Pasm)
}
