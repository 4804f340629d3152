//! `npu rtl`: writes an accelerator as a circuit, in files for tools.

use npukit_target::Instance;
use npukit_target::rtl::{Defects, File};
use serde::Serialize;

use crate::Context;
use crate::boards::{BoardError, Kit};
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
    /// Board that the system is for; null for a circuit alone.
    pub board: Option<String>,
    /// Command that makes the bitstream; null for a circuit alone.
    pub next: Option<String>,
    /// FPGA that the scripts are for; null if the board is unknown.
    pub part: Option<String>,
    /// Files written, the top module first.
    pub files: Vec<String>,
    /// Warnings for the author of the instance.
    pub warnings: Vec<String>,
}

/// Parameters of writing a circuit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Target and instance.
    pub target: String,
    /// Whether the circuit has the defects of the released circuit.
    pub is_released: bool,
    /// Board whose system is written around the circuit; an empty name is the board of the
    /// instance. `None` for a circuit alone.
    pub board: Option<String>,
    /// Folder that the caller writes to.
    pub folder: Option<String>,
}

/// Returns the files of a target's circuit, and of a system around it if requested. The caller
/// writes them and puts their paths into the report.
///
/// # Errors
///
/// Fails as [`resolve`] does. Returns [`Error::Target`] for a target without a circuit, and with
/// every parameter that its circuit does not support. Returns [`Error::Board`] for a board that is
/// unknown or too small.
pub fn rtl(request: &Request, context: Context<'_>) -> Result<(Report, Vec<File>), Error> {
    let instance = resolve(&request.target, context.reader)?;
    let circuit = instance.circuit(defects(request.is_released))?;
    let board = request.board.as_ref().map(|name| board_of(name, &*instance)).transpose()?;
    let files = board.map_or_else(|| Ok(circuit.files()), |board| board.files(&circuit))?;
    let folder = request.folder.as_deref().unwrap_or(""); // Default: the caller names none.
    let report = Report {
        target: instance.info().name.clone(),
        summary: circuit.summary.clone(),
        top: circuit.top(),
        board: board.map(|board| board.title().to_owned()),
        next: board.map(|board| board.next(&circuit, folder)),
        part: board.map(Kit::part).or(circuit.part).map(str::to_owned),
        files: files.iter().map(|file| file.name.clone()).collect(),
        warnings: instance.info().warnings.clone(),
    };
    Ok((report, files))
}

/// Returns the board called `name`, or that of the instance for an empty name, if the instance fits
/// its FPGA.
fn board_of(name: &str, instance: &dyn Instance) -> Result<Kit, BoardError> {
    let target = &instance.info().name;
    // Default: a target without instances has its own name.
    let of_instance = target.split_once(':').map_or(target.as_str(), |(_, instance)| instance);
    let kit = Kit::find(if name.is_empty() { of_instance } else { name })?;
    let Kit::Open(board) = kit else { return Ok(kit) };
    let shortages = instance.info().area.iter().flat_map(|area| board.capacity.shortages(area));
    let shortages: Vec<String> = shortages.map(|shortage| shortage.to_string()).collect();
    if shortages.is_empty() {
        return Ok(kit);
    }
    let shortages = shortages.join("; ");
    Err(BoardError::Small { target: target.clone(), board: board.title, shortages })
}

/// Returns the defects of the released circuit, or no defects.
pub(crate) const fn defects(is_released: bool) -> Defects {
    if is_released { Defects::Released } else { Defects::Mended }
}
