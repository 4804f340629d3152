//! `npu isa`: prints the reference page of an instruction set.

use serde_json::Value;

use crate::Context;
use crate::error::Error;
use crate::targets::resolve;

/// Reference page in every format.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Page {
    /// Plain text for a terminal.
    pub text: String,
    /// Markdown for the book.
    pub markdown: String,
    /// JSON for programs.
    pub json: Value,
    /// Warnings for the author of the instance.
    pub warnings: Vec<String>,
}

/// Returns the page of a target's instructions, or of the one called `instruction`.
///
/// # Errors
///
/// Fails as [`resolve`] does. Returns [`Error::Target`] for a target without an instruction set,
/// and [`Error::UnknownName`] for an unknown instruction.
pub fn isa(target: &str, instruction: Option<&str>, context: Context<'_>) -> Result<Page, Error> {
    let instance = resolve(target, context.reader)?;
    let spec = instance.isa()?;
    let page = match instruction {
        None => spec.reference(),
        Some(name) => spec.reference_of(name).ok_or_else(|| Error::UnknownName {
            what: "instruction",
            name: name.to_owned(),
            known: spec.names(),
        })?,
    };
    let warnings = instance.info().warnings.clone();
    Ok(Page { text: page.text(), markdown: page.markdown(), json: page.json(), warnings })
}
