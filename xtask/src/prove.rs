//! `cargo xtask prove [ARGUMENT ...]`: proves what `targets/tcu/rtl/formal` says of the circuit, and that the definition which it
//! is held against is that of `npukit-numeric`.
//!
//! `tests/python/rtl_prove.py` does it, and takes the arguments: `--quick`, `--only NAME`. It runs in the environment of
//! `tests/python/requirements-rtl.txt`, which `.ci/run` makes, or in the Python that `NPUKIT_RTL_PYTHON` names.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, root};

/// One line for the help.
pub const ABOUT: &str =
    "Proves arithmetic, queues and handshakes of the tcu's circuit, and finds a defect in each";

/// The variable that names an interpreter.
const VARIABLE: &str = "NPUKIT_RTL_PYTHON";

/// Builds what writes the values of `npukit-numeric`, and proves.
///
/// # Errors
///
/// No environment; programs that fail.
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

/// The interpreter of the newest environment in a folder that has been made to its end.
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

/// Runs a program whose output is to be seen.
fn call(command: &mut Command) -> Result<(), Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|source| Error::Start { command: name.clone(), source })?;
    let stderr = "its output is above".to_owned();
    if status.success() { Ok(()) } else { Err(Error::Command { command: name, status, stderr }) }
}
