//! `npu targets`: the accelerators, and the instances that come with npukit.

use npukit_target::{OptionSpec, Preset, Target};
use serde::Serialize;

use crate::error::Error;
use crate::targets::{target, targets};

/// An accelerator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TargetReport {
    /// Name, as in `--target NAME`.
    pub name: String,
    /// What it is.
    pub summary: String,
    /// Its instances, as in `--target NAME:PRESET`.
    pub presets: Vec<Preset>,
}

/// All accelerators.
pub fn list() -> Vec<TargetReport> {
    targets().iter().map(|target| report(*target)).collect()
}

/// The accelerator called `name`.
///
/// # Errors
///
/// None is called so.
pub fn list_one(name: &str) -> Result<TargetReport, Error> {
    Ok(report(target(name)?))
}

/// The options of the accelerator called `name`.
///
/// # Errors
///
/// None is called so.
pub fn options(name: &str) -> Result<&'static [OptionSpec], Error> {
    Ok(target(name)?.options())
}

fn report(target: &dyn Target) -> TargetReport {
    TargetReport {
        name: target.name().to_owned(),
        summary: target.summary().to_owned(),
        presets: target.presets(),
    }
}
