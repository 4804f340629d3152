//! `cargo xtask prove [ARGUMENT ...]`: proves the properties in `targets/tcu/rtl/formal` for the
//! circuit, and that their definition of arithmetic equals `npukit-numeric`.
//!
//! `tests/python/rtl_prove.py` runs the proofs and takes the arguments: `--quick`, `--only NAME`.
//! It runs in the environment of `tests/python/requirements-rtl.txt`, which `.ci/run` creates, or
//! in the Python that `NPUKIT_RTL_PYTHON` names.

use std::path::{Path, PathBuf};
use std::process::Command;

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
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let python = match std::env::var_os(VARIABLE) {
        Some(python) => PathBuf::from(python),
        None => environment(&target.join("python"))?,
    };
    call(
        Command::new(env!("CARGO"))
            .args(["build", "--locked", "-p", "npukit-tcu", "--example", "literal"])
            .current_dir(&root),
    )?;
    let example = target.join("debug/examples/literal");
    call(
        Command::new(python)
            .arg(root.join("tests/python/rtl_prove.py"))
            .arg("--literal")
            .arg(example)
            .args(arguments),
    )
}

/// Interpreter of the newest complete environment in a folder.
fn environment(folder: &Path) -> Result<PathBuf, Error> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_of_circuit = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"rtl-"))
            && path.join("complete").exists()
    };
    let age = |path: &PathBuf| path.join("complete").metadata().and_then(|file| file.modified()).ok();
    let newest = entries.filter(is_of_circuit).max_by_key(age);
    newest
        .map(|path| path.join("bin/python"))
        .ok_or_else(|| Error::NoEnvironment { folder: folder.display().to_string(), variable: VARIABLE })
}

/// Runs a program with visible output.
fn call(command: &mut Command) -> Result<(), Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|source| Error::Start { command: name.clone(), source })?;
    let stderr = "see its output above".to_owned();
    if status.success() { Ok(()) } else { Err(Error::Command { command: name, status, stderr }) }
}
