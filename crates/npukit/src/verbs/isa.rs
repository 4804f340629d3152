//! `npu isa`: the reference page of an instruction set.

use serde_json::Value;

use crate::Context;
use crate::error::Error;
use crate::targets::resolve;

/// A reference page in every form.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Page {
    /// For a terminal.
    pub text: String,
    /// For a book.
    pub markdown: String,
    /// For programs.
    pub json: Value,
    /// What the author of the instance should know of.
    pub warnings: Vec<String>,
}

/// The page of a target's instructions, or of the one called `instruction`.
///
/// # Errors
///
/// Those of [`resolve`]; [`Error::Target`] for a target without an instruction set; [`Error::UnknownName`]
/// for an instruction it does not have.
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
