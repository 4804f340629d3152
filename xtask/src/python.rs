//! Python environments of the judges in `tests/python`: [`interpreter`].

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, root};

/// Returns the folder of build results.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Returns the interpreter of `tests/python/requirements-SET.txt`: the one that `variable` names,
/// otherwise that of the newest environment that `.ci/run` created.
///
/// # Errors
///
/// There is no such environment.
pub fn interpreter(set: &'static str, variable: &'static str) -> Result<PathBuf, Error> {
    match std::env::var_os(variable) {
        Some(python) => Ok(PathBuf::from(python)),
        None => newest(&target().join("python"), set, variable),
    }
}

/// Returns the interpreter of the newest complete environment in a folder.
fn newest(folder: &Path, set: &'static str, variable: &'static str) -> Result<PathBuf, Error> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let prefix = format!("{set}-");
    let is_of_set = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
            && path.join("complete").exists()
    };
    let age = |path: &PathBuf| path.join("complete").metadata().and_then(|file| file.modified()).ok();
    let newest = entries.filter(is_of_set).max_by_key(age);
    newest.map(|path| path.join("bin/python")).ok_or_else(|| Error::NoEnvironment {
        folder: folder.display().to_string(),
        set,
        variable,
    })
}

/// Runs a program with visible output.
///
/// # Errors
///
/// The program cannot be started, or fails.
pub fn call(command: &mut Command) -> Result<(), Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|source| Error::Start { command: name.clone(), source })?;
    let stderr = "see its output above".to_owned();
    if status.success() { Ok(()) } else { Err(Error::Command { command: name, status, stderr }) }
}
