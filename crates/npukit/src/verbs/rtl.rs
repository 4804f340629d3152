//! `npu rtl`: an accelerator as a circuit, in files for tools.

use npukit_target::rtl::{Defects, File};
use serde::Serialize;

use crate::Context;
use crate::error::Error;
use crate::targets::resolve;

/// What is written of a circuit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Target and instance.
    pub target: String,
    /// What it is, in a line.
    pub summary: String,
    /// Name of the module whose parameters are those of the instance.
    pub top: String,
    /// The FPGA that scripts are for; null where the board is not known.
    pub part: Option<String>,
    /// Files written, the top first.
    pub files: Vec<String>,
    /// What the author of the instance should know of.
    pub warnings: Vec<String>,
}

/// The files of a target's circuit; the caller writes them and puts their paths into the report.
///
/// # Errors
///
/// Those of [`resolve`]; [`Error::Target`] for a target without a circuit, and with every parameter that its circuit
/// cannot have.
pub fn rtl(target: &str, is_released: bool, context: Context<'_>) -> Result<(Report, Vec<File>), Error> {
    let instance = resolve(target, context.reader)?;
    let circuit = instance.circuit(defects(is_released))?;
    let files = circuit.files();
    let report = Report {
        target: instance.info().name.clone(),
        summary: circuit.summary.clone(),
        top: circuit.top(),
        part: circuit.part.map(str::to_owned),
        files: files.iter().map(|file| file.name.clone()).collect(),
        warnings: instance.info().warnings.clone(),
    };
    Ok((report, files))
}

/// Those of the released circuit, or none.
pub(crate) const fn defects(is_released: bool) -> Defects {
    if is_released { Defects::Released } else { Defects::Mended }
}
