//! `cargo xtask prove [ARGUMENT ...]`: proves the properties in `targets/tcu/rtl/formal` and
//! `crates/rtl/sv/formal` for the circuit, and that their definition of arithmetic equals
//! `npukit-numeric`.
//!
//! `tests/python/rtl_prove.py` runs the proofs and takes the arguments: `--quick`, `--only NAME`.
//! It runs in the environment of `tests/python/requirements-rtl.txt`, which `.ci/run` creates, or
//! in the Python that `NPUKIT_RTL_PYTHON` names.

use std::process::Command;

use crate::python::{call, interpreter, target};
use crate::{Error, root};

/// Summary for the help.
pub const ABOUT: &str =
    "Proves arithmetic, queues and handshakes of the tcu's circuit, and detects a seeded defect in each";

/// Environment variable with the path of a Python interpreter.
const VARIABLE: &str = "NPUKIT_RTL_PYTHON";

/// Builds the program that writes the values of `npukit-numeric`, and runs the proofs.
///
/// # Errors
///
/// The environment is missing, or a program fails.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    let root = root();
    let python = interpreter("rtl", VARIABLE)?;
    call(
        Command::new(env!("CARGO"))
            .args(["build", "--locked", "-p", "npukit-tcu", "--example", "literal"])
            .current_dir(&root),
    )?;
    let example = target().join("debug/examples/literal");
    call(
        Command::new(python)
            .arg(root.join("tests/python/rtl_prove.py"))
            .arg("--literal")
            .arg(example)
            .args(arguments),
    )
}
