//! `npu asm` and `npu format`: assembling and formatting program text.

use npukit_base::is_utf16;
use npukit_target::{Assembled, write_source_map};
use serde::Serialize;

use crate::Context;
use crate::error::Error;
use crate::targets::resolve;

/// Report of an assembly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AsmReport {
    /// Target and instance.
    pub target: String,
    /// Number of instructions.
    pub instructions: usize,
    /// Size in bytes.
    pub bytes: usize,
    /// Extension of files of words, with the dot.
    #[serde(skip)]
    pub extension: &'static str,
    /// Hazards: what the hardware would execute differently, with locations; and integers that
    /// represent small real numbers.
    pub warnings: Vec<String>,
    /// Warnings for the author of the instance.
    pub target_warnings: Vec<String>,
}

/// Report of formatting a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FormatReport {
    /// Target and instance.
    pub target: String,
    /// Formatted text.
    pub text: String,
    /// Whether the file is already formatted like this.
    pub unchanged: bool,
    /// Warnings for the author of the instance.
    pub warnings: Vec<String>,
}

/// Assembles the file at `path`; also returns the words.
///
/// # Errors
///
/// Fails as [`resolve`] does. Returns [`Error::Read`], [`Error::Utf16`] or [`Error::NotText`] for a
/// file that cannot be read as UTF-8 text, and [`Error::Target`] with every invalid line of the
/// file and of included files.
pub fn asm(path: &str, target: &str, context: Context<'_>) -> Result<(AsmReport, Vec<u8>), Error> {
    let instance = resolve(target, context.reader)?;
    let text = read_text(path, context)?;
    let Assembled { bytes, instructions, mut warnings, linted } =
        instance.assemble(path, &text, context.reader)?;
    let known = linted.findings.len();
    let linted = instance.with_raw_numbers(path, &text, context.reader, linted);
    warnings.extend(linted.warnings_from(known));
    let (target, target_warnings) = (instance.info().name.clone(), instance.info().warnings.clone());
    // Default: the target accepts words under any name.
    let extension = instance.info().words_extension.unwrap_or(".bin");
    let report = AsmReport { target, instructions, bytes: bytes.len(), extension, warnings, target_warnings };
    Ok((report, bytes))
}

/// Returns the listing of the file at `path`, with the words of each line.
///
/// # Errors
///
/// Fails as [`asm`] does.
pub fn list(path: &str, target: &str, context: Context<'_>) -> Result<String, Error> {
    let instance = resolve(target, context.reader)?;
    let text = read_text(path, context)?;
    Ok(instance.list(path, &text, context.reader)?)
}

/// Returns the source map of `words`, which [`asm`] made from the file at `path`. Stored next to
/// the words under their name and `.map`, it gives `npu run`, `npu lint` and `npu disasm` the lines
/// of instructions. Returns `None` if instructions have no lines, and for words that do not run.
///
/// # Errors
///
/// Fails as [`asm`] does, except for errors in the text.
pub fn source_map(
    path: &str,
    target: &str,
    words: &[u8],
    context: Context<'_>,
) -> Result<Option<Vec<u8>>, Error> {
    let instance = resolve(target, context.reader)?;
    let text = context.reader.read(path)?;
    let program = instance.asm_program(path, &text, context.reader);
    Ok(program.ok().and_then(|program| write_source_map(&instance.info().name, words, program.text())))
}

/// Formats the program text at `path`.
///
/// # Errors
///
/// Fails as [`asm`] does.
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
