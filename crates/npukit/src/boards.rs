//! Boards: a [`Kit`] has the files of a system around a circuit. The FPGA of a [`Board`] is
//! supported by open tools.
//!
//! A system has a processor, memory, and a serial port; LiteX makes it from `drivers/litex`. A
//! board is a row of [`BOARDS`]; its pins and clocks are a Python file of `drivers/litex`.

mod capacity;
pub mod ecp5;
mod manifest;

use npukit_base::{codes, help_for};
use npukit_target::rtl::{Circuit, File, Unfit};
pub use npukit_target::rtl::{VIVADO_BOARDS, VivadoBoard};

pub use capacity::{Capacity, Shortage};
use ecp5::Device;
pub use manifest::{MANIFEST, Manifest};

/// Board with an FPGA that open tools support.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Board {
    /// Name, which is also the first part of the names of its instances.
    pub name: &'static str,
    /// Board and FPGA, for a person.
    pub title: &'static str,
    /// Full name of the FPGA.
    pub part: &'static str,
    /// Size, package and speed grade of the FPGA.
    pub device: Device,
    /// Resources of the FPGA.
    pub capacity: Capacity,
    /// Clock of an instance that has none, in MHz.
    pub clock_mhz: f64,
}

/// Boards, in alphabetical order.
///
/// Sources: Lattice FPGA-DS-02012 (ECP5), and the makers' pages on ULX3S and OrangeCrab.
pub const BOARDS: [Board; 1] = [Board {
    name: "ulx3s",
    title: "ULX3S with an ECP5-85F",
    part: "LFE5U-85F-6BG381C",
    device: Device { size: "85k", package: "CABGA381", speed: "6" },
    capacity: Capacity { luts: 83_640, multipliers: 156, block_rams: 208 },
    clock_mhz: 30.0,
}];

/// Folder of the circuit's files.
pub const CIRCUIT: &str = "circuit";
/// Folder of the files that make the system and its firmware.
pub const DRIVERS: &str = "drivers";

/// Reason why there is no system for a circuit on a board.
#[derive(Clone, Debug, PartialEq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum BoardError {
    /// No board has the name, or the name of the instance.
    #[error("no board is called `{name}`")]
    #[diagnostic(help("{}; `--board=NAME` selects one", help_for(name, &names())))]
    Unknown {
        /// Name of the board or instance.
        name: String,
    },
    /// There is no system for circuits of a target.
    #[error("there is no system around `{target}` for boards with open tools")]
    #[diagnostic(help("`npu rtl {target}` without `--board` writes the circuit alone"))]
    NoSystem {
        /// Target and instance.
        target: String,
    },
    /// A board with the vendor's tool cannot have the circuit.
    #[error("`{target}` does not fit: {reason}")]
    #[diagnostic(help("`npu rtl {target}` without `--board` writes the circuit alone"))]
    Unfit {
        /// Target and instance.
        target: String,
        /// Reason, with the numbers.
        reason: Unfit,
    },
    /// The FPGA is too small.
    #[error("`{target}` does not fit the FPGA of {board}: {shortages}")]
    #[diagnostic(help("choose a smaller instance, for example with `,array_size=4` or smaller depths"))]
    Small {
        /// Target and instance.
        target: String,
        /// Board and FPGA.
        board: &'static str,
        /// Missing resources, with needed and available numbers.
        shortages: String,
    },
}

codes!(BoardError {
    Unknown = "unknown-board": "no board has this name";
    NoSystem = "no-system": "a circuit has no system for a board";
    Unfit = "no-vendor-system": "a board with the vendor's tool cannot have a circuit";
    Small = "fpga-too-small": "a circuit needs more than the FPGA of a board has";
});

/// Board for which there is a system: with open tools, or with the vendor's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kit {
    /// Open tools make the bitstream.
    Open(&'static Board),
    /// Vivado makes it.
    Vendor(&'static VivadoBoard),
}

impl Kit {
    /// Returns the board called `name`, or the board of an instance of that name: `ulx3s_85f`
    /// belongs to `ulx3s`.
    ///
    /// # Errors
    ///
    /// [`BoardError::Unknown`].
    pub fn find(name: &str) -> Result<Self, BoardError> {
        let open = BOARDS.iter().find(|board| is_of(name, board.name)).map(Self::Open);
        let vendor = || VIVADO_BOARDS.iter().find(|board| is_of(name, board.name)).map(Self::Vendor);
        open.or_else(vendor).ok_or_else(|| BoardError::Unknown { name: name.to_owned() })
    }

    /// Returns the board and its FPGA, for a person.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Open(board) => board.title,
            Self::Vendor(board) => board.title,
        }
    }

    /// Returns the full name of the FPGA.
    pub const fn part(self) -> &'static str {
        match self {
            Self::Open(board) => board.part,
            Self::Vendor(board) => board.part,
        }
    }

    /// Returns the files of a system: the circuit, and what the tools need around it.
    ///
    /// # Errors
    ///
    /// [`BoardError::NoSystem`] and [`BoardError::Unfit`].
    pub fn files(self, circuit: &Circuit) -> Result<Vec<File>, BoardError> {
        match self {
            Self::Open(board) => board.files(circuit),
            Self::Vendor(board) => {
                let unfit = |reason| BoardError::Unfit { target: circuit.instance.clone(), reason };
                let system = circuit.vivado_board(board).map_err(unfit)?;
                Ok([circuit.files(), system].concat())
            }
        }
    }

    /// Returns the command that makes the bitstream of a system in `folder`.
    pub fn next(self, circuit: &Circuit, folder: &str) -> String {
        match self {
            Self::Open(_) => format!("npu build {folder}"),
            Self::Vendor(_) => by_vivado(folder, &format!("{}{VIVADO_SCRIPT}", circuit.name)),
        }
    }
}

/// End of the name of the script that makes a system's bitstream with Vivado.
pub const VIVADO_SCRIPT: &str = "_system.tcl";

/// Returns the command that makes the bitstream of a system in `folder` with its `script`.
pub fn by_vivado(folder: &str, script: &str) -> String {
    format!("cd {folder} && vivado -mode batch -source {script}")
}

/// Whether an instance has the board as the first part of its name.
fn is_of(instance: &str, board: &str) -> bool {
    instance.strip_prefix(board).is_some_and(|rest| rest.is_empty() || rest.starts_with(SEPARATORS))
}

impl Board {
    /// Returns the board called `name`.
    ///
    /// # Errors
    ///
    /// [`BoardError::Unknown`].
    pub fn named(name: &str) -> Result<&'static Self, BoardError> {
        let found = BOARDS.iter().find(|board| board.name == name);
        found.ok_or_else(|| BoardError::Unknown { name: name.to_owned() })
    }

    fn files(&self, circuit: &Circuit) -> Result<Vec<File>, BoardError> {
        if circuit.system.is_empty() {
            return Err(BoardError::NoSystem { target: circuit.instance.clone() });
        }
        let below = |folder: &str, file: File| File { name: format!("{folder}/{}", file.name), ..file };
        let manifest = Manifest::new(self, circuit);
        let sources = circuit.system.iter().map(|&source| below(DRIVERS, source.into()));
        let circuit = circuit.files().into_iter().map(|file| below(CIRCUIT, file));
        Ok(std::iter::once(manifest.file()).chain(circuit).chain(sources).collect())
    }
}

/// Returns the names of all boards, with open tools and with the vendor's.
fn names() -> Vec<&'static str> {
    let vendor = VIVADO_BOARDS.iter().map(|board| board.name);
    BOARDS.iter().map(|board| board.name).chain(vendor).collect()
}

/// Characters that end the name of a board in the name of an instance.
const SEPARATORS: [char; 4] = ['_', '+', '@', ','];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn instances_have_the_board_that_begins_their_name() {
        for name in ["ulx3s", "ulx3s_85f", "ulx3s,array_size=4", "ulx3s+overlap"] {
            assert_eq!(Kit::find(name).unwrap(), Kit::Open(&BOARDS[0]), "{name}");
        }
        assert!(matches!(Kit::find("pynqz1_12x12"), Ok(Kit::Vendor(board)) if board.name == "pynqz1"));
        let error = Kit::find("ulx3").unwrap_err();
        assert_eq!(error, BoardError::Unknown { name: "ulx3".to_owned() });
        assert!(Kit::find("ulx3sx").is_err());
    }
}
