//! `npu rtl`: writes an accelerator as a circuit, in files for tools.

use npukit_target::rtl::{Defects, File};
use serde::Serialize;

use crate::Context;
use crate::error::Error;
use crate::targets::resolve;

/// Report of writing a circuit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Target and instance.
    pub target: String,
    /// One-line description of the circuit.
    pub summary: String,
    /// Name of the module that has the instance's parameters.
    pub top: String,
    /// FPGA that the scripts are for; null if the board is unknown.
    pub part: Option<String>,
    /// Files written, the top module first.
    pub files: Vec<String>,
    /// Warnings for the author of the instance.
    pub warnings: Vec<String>,
}

/// Returns the files of a target's circuit; the caller writes them and puts their paths into the
/// report.
///
/// # Errors
///
/// Fails as [`resolve`] does. Returns [`Error::Target`] for a target without a circuit, and with
/// every parameter that its circuit does not support.
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

/// Returns the defects of the released circuit, or no defects.
pub(crate) const fn defects(is_released: bool) -> Defects {
    if is_released { Defects::Released } else { Defects::Mended }
}
