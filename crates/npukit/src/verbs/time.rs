//! `npu time`: how long a program takes, and where the time goes.

use npukit_target::TimeReport;
use serde::Serialize;

use super::Source;
use crate::Context;
use crate::error::Error;

/// How long a program takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Name of the artifact.
    pub name: String,
    /// Target and instance.
    pub target: String,
    /// Instructions.
    pub instructions: usize,
    /// Multiply-accumulates of the model; none when the artifact does not say.
    pub macs: Option<u64>,
    /// Cycles, time and layers.
    #[serde(flatten)]
    pub time: TimeReport,
}

/// Times a program.
pub fn time(source: &Source, context: Context<'_>) -> Result<Report, Error> {
    let compiled = source.program(context)?.compiled;
    let program = compiled.report();
    Ok(Report {
        name: program.name,
        target: program.target,
        instructions: program.instructions,
        macs: program.macs,
        time: compiled.time()?,
    })
}
