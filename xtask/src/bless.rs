//! `cargo xtask bless`: runs the tests and replaces every expected output by the actual one.

use std::process::Command;

use crate::Error;

/// Summary for the help.
pub const ABOUT: &str =
    "Rewrites expected outputs (NPUKIT_BLESS=1, INSTA_UPDATE=always); passes arguments to cargo test";

/// Runs `cargo test` with `arguments`, or for the whole workspace without arguments.
///
/// Review the changes with `git diff`: blessed output is not necessarily right.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    let everything = ["--workspace".to_owned()];
    let arguments = if arguments.is_empty() { &everything } else { arguments };
    let command = format!("cargo test {}", arguments.join(" "));
    let status = Command::new(env!("CARGO"))
        .arg("test")
        .args(arguments)
        .envs([("NPUKIT_BLESS", "1"), ("INSTA_UPDATE", "always")])
        .status()
        .map_err(|source| Error::Start { command: command.clone(), source })?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Command { command, status, stderr: "see its output above".to_owned() })
}
