//! `npu conform`: checks a target with golden vectors.

pub use npukit_target::conform::{Failure, FileReport, Report, Skip};

use crate::Context;
use crate::error::Error;
use crate::targets::target;

/// Checks the target called `name` with every golden vector below `paths`.
///
/// # Errors
///
/// Returns [`Error::UnknownTarget`] for `name`, and [`Error::Read`] if one of `paths` cannot be
/// read. Failed vectors are in the report.
pub fn conform(name: &str, paths: &[String], context: Context<'_>) -> Result<Report, Error> {
    Ok(npukit_target::conform::run(target(name)?, paths, context.reader)?)
}
