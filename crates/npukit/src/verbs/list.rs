//! `npu targets`: the accelerators, and the instances that come with npukit.

use npukit_target::Preset;
use serde::Serialize;

use crate::targets::targets;

/// An accelerator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
    let report = |target: &&dyn npukit_target::Target| TargetReport {
        name: target.name().to_owned(),
        summary: target.summary().to_owned(),
        presets: target.presets(),
    };
    targets().iter().map(report).collect()
}
