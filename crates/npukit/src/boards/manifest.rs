//! [`Manifest`]: description of the system in a folder, `build.json`.

use npukit_target::rtl::{Circuit, File};
use serde::{Deserialize, Serialize};

use super::Board;

/// Name of the file.
pub const MANIFEST: &str = "build.json";

/// System in a folder, which `npu build` makes a bitstream of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Name of the board.
    pub board: String,
    /// Target and instance.
    pub target: String,
    /// Clock of the system, in MHz.
    pub clock_mhz: f64,
}

impl Manifest {
    pub(super) fn new(board: &Board, circuit: &Circuit) -> Self {
        let clock_mhz = circuit.clock_mhz.unwrap_or(board.clock_mhz); // Default: documented.
        Self { board: board.name.to_owned(), target: circuit.instance.clone(), clock_mhz }
    }

    pub(super) fn file(&self) -> File {
        let text = serde_json::to_string_pretty(self).expect("texts and a number always serialize");
        File { name: MANIFEST.to_owned(), text: text + "\n" }
    }
}
