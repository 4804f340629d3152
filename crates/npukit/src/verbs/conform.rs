//! `npu conform`: golden vectors against a target.

pub use npukit_target::conform::{Failure, FileReport, Report, Skip};

use crate::Context;
use crate::error::Error;
use crate::targets::target;

/// Checks every golden vector below `paths` against the target called `name`.
///
/// # Errors
///
/// [`Error::UnknownTarget`] for `name`; [`Error::Read`] when one of `paths` cannot be read. Vectors that fail
/// are in the report.
pub fn conform(name: &str, paths: &[String], context: Context<'_>) -> Result<Report, Error> {
    Ok(npukit_target::conform::run(target(name)?, paths, context.reader)?)
}
