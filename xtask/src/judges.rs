//! `cargo xtask judges`: `.ci/run` with all checks of its judges, which take too long for every
//! change.

use std::process::Command;

use crate::{Error, root};

/// Summary for the help.
pub const ABOUT: &str =
    "Runs .ci/run with the release build, the wheel, and all networks and circuits of its judges";

/// Runs the judges.
///
/// # Errors
///
/// Arguments were given, or `.ci/run` failed.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    if let Some(argument) = arguments.first() {
        return Err(Error::Argument { chore: "judges", argument: argument.clone() });
    }
    let command = ".ci/run with NPUKIT_JUDGES=all".to_owned();
    let status = Command::new("bash").arg(".ci/run").env("NPUKIT_JUDGES", "all").current_dir(root()).status();
    let status = status.map_err(|source| Error::Start { command: command.clone(), source })?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Command { command, status, stderr: "see its output above".to_owned() })
}
