//! [`cargo`]: runs cargo in the workspace and captures its output.

use std::process::Command;

use crate::{Error, root};

/// Runs a cargo command in the workspace's folder and returns its standard output. `command` holds
/// the arguments, separated by blanks.
///
/// # Errors
///
/// cargo cannot be started, or fails; the error holds its message.
pub fn cargo(command: &str) -> Result<Vec<u8>, Error> {
    let described = format!("cargo {command}");
    let output = Command::new(env!("CARGO"))
        .args(command.split(' '))
        .current_dir(root())
        .output()
        .map_err(|source| Error::Start { command: described.clone(), source })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::Command { command: described, status: output.status, stderr })
}
