//! [`cargo`]: what cargo says of the workspace.

use std::process::Command;

use crate::{Error, root};

/// What a command of cargo prints, run at the root: its words, with blanks between them.
///
/// # Errors
///
/// A cargo that cannot be started, or that fails: with what it says.
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
