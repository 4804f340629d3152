//! [`Workshop`]: runs the tools of a build, and [`BuildError`].

use std::ffi::{OsStr, OsString};

use npukit_base::codes;

use crate::boards::BOARDS;
use crate::boards::ecp5::{Step, Tool};

/// Folder in which the steps run, and its tools.
pub trait Workshop {
    /// Returns the program of a tool, checked to be complete.
    ///
    /// # Errors
    ///
    /// [`BuildError::Tool`].
    fn find(&self, tool: Tool) -> Result<OsString, BuildError>;

    /// Empties the folder, after all tools were found.
    ///
    /// # Errors
    ///
    /// [`BuildError::Folder`].
    fn begin(&self) -> Result<(), BuildError>;

    /// Runs a step with the program that [`Self::find`] returned. Its output goes to its log.
    ///
    /// # Errors
    ///
    /// [`BuildError::Step`] if the program fails, [`BuildError::Folder`] if it cannot be started.
    fn run(&self, step: &Step, program: &OsStr) -> Result<(), BuildError>;

    /// Reads a file that a step wrote.
    ///
    /// # Errors
    ///
    /// [`BuildError::Folder`].
    fn read(&self, name: &str) -> Result<Vec<u8>, BuildError>;

    /// Writes a file for a step.
    ///
    /// # Errors
    ///
    /// [`BuildError::Folder`].
    fn write(&self, name: &str, contents: &[u8]) -> Result<(), BuildError>;
}

/// Returns the names of the boards with open tools.
fn open_boards() -> String {
    BOARDS.map(|board| format!("`{}`", board.name)).join(", ")
}

/// Reason why there is no bitstream.
#[derive(Clone, Debug, PartialEq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum BuildError {
    /// A folder has no system.
    #[error("`{folder}` has no system to build: {reason}")]
    #[diagnostic(help("`npu rtl TARGET --board -o DIR` writes one"))]
    NoSystem {
        /// Path of the folder.
        folder: String,
        /// Reason why there is none.
        reason: String,
    },
    /// The system in a folder is for the vendor's tool.
    #[error("the system in `{folder}` is for a board whose bitstream Vivado makes")]
    #[diagnostic(help(
        "make it with `{next}`; `npu build` is for boards with open tools: {}",
        open_boards()
    ))]
    Vendor {
        /// Path of the folder.
        folder: String,
        /// Command that makes the bitstream.
        next: String,
    },
    /// A tool is missing or incomplete.
    #[error("{tool} was not found: {tried}")]
    #[diagnostic(help("install it: {install}; `{variable}` names its path if it is not on the PATH"))]
    Tool {
        /// Name of the tool.
        tool: &'static str,
        /// Attempts, with the messages of the operating system.
        tried: String,
        /// Command that installs it.
        install: &'static str,
        /// Environment variable with its path.
        variable: &'static str,
    },
    /// A tool failed.
    #[error("{step} failed ({status}):\n{output}")]
    #[diagnostic(help("`{log}` has its whole output"))]
    Step {
        /// Name of the step.
        step: &'static str,
        /// Exit status.
        status: String,
        /// Last lines of its output.
        output: String,
        /// Path of its log.
        log: String,
    },
    /// A file of a step cannot be read or written.
    #[error("cannot use `{path}`: {reason}")]
    Folder {
        /// Path of the file or folder.
        path: String,
        /// Message of the operating system, or of the parser.
        reason: String,
    },
    /// A clock is too slow.
    #[error(
        "the routed design reaches {achieved:.1} MHz on clock `{clock}`, but needs {needed:.1} MHz: {path}"
    )]
    #[diagnostic(help(
        "set a slower clock with `,system.clock_mhz=N` in the instance, or choose a smaller instance"
    ))]
    Slow {
        /// Name of the clock.
        clock: String,
        /// Highest frequency, in MHz.
        achieved: f64,
        /// Frequency that is needed, in MHz.
        needed: f64,
        /// Ends of the slowest path.
        path: String,
    },
}

codes!(BuildError {
    NoSystem = "nothing-to-build": "a folder has no system of `npu rtl --board`";
    Vendor = "vendor-system": "a folder has a system for a board whose bitstream Vivado makes";
    Tool = "no-fpga-tool": "a tool for FPGAs is missing or incomplete";
    Step = "build-failed": "a tool for FPGAs failed";
    Folder = "no-build-folder": "a file or folder of a build cannot be used";
    Slow = "clock-too-fast": "a routed design is slower than its clock";
});
