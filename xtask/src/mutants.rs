//! `cargo xtask mutants [CRATE] [--in-diff REV] [ARGUMENT ...]`: changes the code on purpose, and names what no test sees.
//!
//! It is `cargo mutants` (`cargo install cargo-mutants --locked`) with the settings of `.cargo/mutants.toml`, which
//! also lists what is equivalent, and why. A crate is judged by its own tests.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::Error;

/// One line for the help.
pub const ABOUT: &str =
    "Mutates a CRATE, or with `--in-diff REV` what changed since, and names what no test sees";

/// Runs `cargo mutants` over one crate or all, or over the lines that differ from a revision.
///
/// What else stands among `arguments` goes to `cargo mutants`: `--file`, `--shard 1/8`, `--list`.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    let folder = crate::root().join("target/mutants");
    std::fs::create_dir_all(&folder).map_err(|source| written(&folder, source))?;
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(crate::root()).env("CARGO_TARGET_DIR", &folder);
    command.arg("mutants").arg("--output").arg(&folder);
    let (names, others) = split(arguments);
    command.args(names.iter().flat_map(|name| ["--package".to_owned(), package(name)]));
    let mut others = others.iter();
    while let Some(argument) = others.next() {
        match (argument.as_str(), others.as_slice().first()) {
            ("--in-diff", Some(revision)) => {
                others.next();
                command.arg("--in-diff").arg(diff(&folder, revision)?);
            }
            _ => {
                command.arg(argument);
            }
        }
    }
    succeeded("cargo mutants", command.status())
}

/// The names of crates, which come first, and what follows.
fn split(arguments: &[String]) -> (&[String], &[String]) {
    let names = arguments.iter().take_while(|argument| !argument.starts_with('-')).count();
    arguments.split_at(names)
}

/// The package of the crate `name`: `isa` is `npukit-isa`.
fn package(name: &str) -> String {
    match name {
        "npukit" | "xtask" => name.to_owned(),
        name if name.starts_with("npukit-") => name.to_owned(),
        name => format!("npukit-{name}"),
    }
}

/// A file with what differs from `revision`.
fn diff(folder: &Path, revision: &str) -> Result<PathBuf, Error> {
    let path = folder.join("in.diff");
    let file = std::fs::File::create(&path).map_err(|source| written(&path, source))?;
    let command = ["diff", "--no-ext-diff", "--relative", revision, "--"];
    let status = Command::new("git").args(command).current_dir(crate::root()).stdout(file).status();
    succeeded(&format!("git diff {revision}"), status)?;
    Ok(path)
}

fn succeeded(command: &str, status: std::io::Result<ExitStatus>) -> Result<(), Error> {
    let command = command.to_owned();
    let status = status.map_err(|source| Error::Start { command: command.clone(), source })?;
    let stderr = "its output is above".to_owned();
    if status.success() { Ok(()) } else { Err(Error::Command { command, status, stderr }) }
}

fn written(path: &Path, source: std::io::Error) -> Error {
    Error::Write { path: path.display().to_string(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_crates_come_before_what_cargo_mutants_reads() {
        let arguments = ["isa", "npukit-asm", "--shard", "0/8"].map(str::to_owned);
        let (names, others) = split(&arguments);
        assert_eq!((names.len(), others), (2, &arguments[2..]));
        let packages: Vec<String> = names.iter().map(|name| package(name)).collect();
        assert_eq!(packages, ["npukit-isa", "npukit-asm"]);
        assert_eq!(package("npukit"), "npukit");
    }
}
