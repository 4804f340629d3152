//! `npu asm` and `npu format`: text to words, and text laid out.

use npukit_base::is_utf16;
use npukit_target::{Assembled, write_source_map};
use serde::Serialize;

use crate::Context;
use crate::error::Error;
use crate::targets::resolve;

/// What was assembled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AsmReport {
    /// Target and instance.
    pub target: String,
    /// Instructions.
    pub instructions: usize,
    /// Bytes.
    pub bytes: usize,
    /// What hardware would not do as written, with the place of each.
    pub warnings: Vec<String>,
    /// What the author of the instance should know of.
    pub target_warnings: Vec<String>,
}

/// A text laid out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FormatReport {
    /// Target and instance.
    pub target: String,
    /// The text.
    pub text: String,
    /// Whether the file is laid out like this.
    pub unchanged: bool,
    /// What the author of the instance should know of.
    pub warnings: Vec<String>,
}

/// Assembles the file at `path`; also gives the words.
///
/// # Errors
///
/// Those of [`resolve`]; [`Error::Read`], [`Error::Utf16`] and [`Error::NotText`] for a file that cannot be read as
/// UTF-8 text; [`Error::Target`] with every wrong line of the file and of those that it includes.
pub fn asm(path: &str, target: &str, context: Context<'_>) -> Result<(AsmReport, Vec<u8>), Error> {
    let instance = resolve(target, context.reader)?;
    let text = read_text(path, context)?;
    let Assembled { bytes, instructions, warnings, .. } = instance.assemble(path, &text, context.reader)?;
    let (target, target_warnings) = (instance.info().name.clone(), instance.info().warnings.clone());
    let report = AsmReport { target, instructions, bytes: bytes.len(), warnings, target_warnings };
    Ok((report, bytes))
}

/// The file at `path` with what each line of it becomes.
///
/// # Errors
///
/// Those of [`asm`].
pub fn list(path: &str, target: &str, context: Context<'_>) -> Result<String, Error> {
    let instance = resolve(target, context.reader)?;
    let text = read_text(path, context)?;
    Ok(instance.list(path, &text, context.reader)?)
}

/// The source map of `words`, which [`asm`] made of the file at `path`: what `npu run`, `npu lint` and `npu disasm` of the
/// words tell lines by, when it lies beside them under their name and `.map`. None for a text whose instructions have no
/// lines, and for words that do not run.
///
/// # Errors
///
/// Those of [`asm`], but for what is wrong with the text.
pub fn source_map(
    path: &str,
    target: &str,
    words: &[u8],
    context: Context<'_>,
) -> Result<Option<Vec<u8>>, Error> {
    let instance = resolve(target, context.reader)?;
    let text = context.reader.read(path)?;
    let program = instance.hand_program(path, &text, context.reader);
    Ok(program.ok().and_then(|program| write_source_map(&instance.info().name, words, program.text())))
}

/// Lays out the program text at `path`.
///
/// # Errors
///
/// Those of [`asm`].
pub fn format(path: &str, target: &str, context: Context<'_>) -> Result<FormatReport, Error> {
    let instance = resolve(target, context.reader)?;
    let before = read_text(path, context)?;
    let text = instance.format(path, &before)?;
    Ok(FormatReport {
        target: instance.info().name.clone(),
        unchanged: text == before,
        text,
        warnings: instance.info().warnings.clone(),
    })
}

fn read_text(path: &str, context: Context<'_>) -> Result<String, Error> {
    let bytes = context.reader.read(path)?;
    if is_utf16(&bytes) {
        return Err(Error::Utf16 { path: path.to_owned() });
    }
    String::from_utf8(bytes)
        .map_err(|error| Error::NotText { path: path.to_owned(), offset: error.utf8_error().valid_up_to() })
}
