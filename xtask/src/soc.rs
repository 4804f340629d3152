//! `cargo xtask soc [ARGUMENT ...]`: boots a system with a processor around the tcu in simulation,
//! and compares classes, raw outputs and cycles with `npu`.
//!
//! `tests/python/litex_sim.py` does it and takes the arguments. It runs in the environment of
//! `tests/python/requirements-soc.txt`, which `.ci/run` creates, or in the Python that
//! `NPUKIT_SOC_PYTHON` names.

use std::process::Command;

use crate::python::{call, interpreter, target};
use crate::{Error, root};

/// Summary for the help.
pub const ABOUT: &str =
    "Boots a system with VexRiscv, LiteDRAM and the tcu in simulation, and compares it with npu";

/// Environment variable with the path of a Python interpreter.
const VARIABLE: &str = "NPUKIT_SOC_PYTHON";

/// Builds `npu` and runs the judge.
///
/// # Errors
///
/// The environment is missing, or a program fails.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    let root = root();
    let python = interpreter("soc", VARIABLE)?;
    let build = ["build", "--locked", "--release", "-p", "npukit-interactive"];
    call(Command::new(env!("CARGO")).args(build).current_dir(&root))?;
    call(
        Command::new(python)
            .arg(root.join("tests/python/litex_sim.py"))
            .arg("--npu")
            .arg(target().join("release/npu"))
            .args(arguments),
    )
}
