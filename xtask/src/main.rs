//! Chores of the workspace, run as `cargo xtask CHORE`.
//!
//! Each chore is a module and a line in [`CHORES`]. Exit status: 0 for success, 1 for findings, and
//! 2 for an unknown chore.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a chore prints to the terminal")]

mod bless;
mod budgets;
mod cargo;
mod check_budgets;
mod check_defaults;
mod check_deps;
mod check_prose;
mod check_shape;
mod dist;
mod files;
mod judges;
mod mutants;
mod new_instruction;
mod new_target;
mod prove;
mod python;
mod soc;
mod source;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A chore: its name, its summary, and the function that runs it with the remaining arguments.
struct Chore {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<(), Error>,
}

/// All chores, in the order of the help.
const CHORES: &[Chore] = &[
    Chore { name: "check-deps", about: check_deps::ABOUT, run: check_deps::run },
    Chore { name: "check-defaults", about: check_defaults::ABOUT, run: check_defaults::run },
    Chore { name: "check-budgets", about: check_budgets::ABOUT, run: check_budgets::run },
    Chore { name: "check-prose", about: check_prose::ABOUT, run: check_prose::run },
    Chore { name: "check-shape", about: check_shape::ABOUT, run: check_shape::run },
    Chore {
        name: "architecture",
        about: check_deps::architecture::ABOUT,
        run: check_deps::architecture::run,
    },
    Chore { name: "bless", about: bless::ABOUT, run: bless::run },
    Chore { name: "new-target", about: new_target::ABOUT, run: new_target::run },
    Chore { name: "new-instruction", about: new_instruction::ABOUT, run: new_instruction::run },
    Chore { name: "dist", about: dist::ABOUT, run: dist::run },
    Chore { name: "wheel", about: wheel::ABOUT, run: wheel::run },
    Chore { name: "mutants", about: mutants::ABOUT, run: mutants::run },
    Chore { name: "judges", about: judges::ABOUT, run: judges::run },
    Chore { name: "prove", about: prove::ABOUT, run: prove::run },
    Chore { name: "soc", about: soc::ABOUT, run: soc::run },
];

/// Reason why a chore failed.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("`{chore}` does not take arguments, found `{argument}`")]
    Argument { chore: &'static str, argument: String },
    #[error("`--within` needs a number of seconds")]
    Seconds,
    #[error("cannot start `{command}`: {source}")]
    Start { command: String, source: std::io::Error },
    #[error("`{command}` failed with {status}: {stderr}")]
    Command { command: String, status: std::process::ExitStatus, stderr: String },
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: std::io::Error },
    #[error("cannot write {path}: {source}")]
    Write { path: String, source: std::io::Error },
    #[error("cannot parse the output of `cargo metadata`: {0}")]
    Metadata(#[from] serde_json::Error),
    #[error("{0} has no place in the drawing; add it in xtask/src/check_deps/architecture.rs")]
    Undrawn(String),
    #[error("the budgets are not a table of numbers: {0}")]
    Budgets(toml::de::Error),
    #[error("{path} is not valid Rust: {error}")]
    Syntax { path: String, error: syn::Error },
    #[error("invalid target name `{0}`; legal: a new word of lowercase letters and digits")]
    TargetName(String),
    #[error("`new-instruction` needs `--check` and targets with a patch in xtask/instructions, found `{0}`")]
    NewInstruction(String),
    #[error("{path} does not add an instruction: {reason}")]
    Patch { path: String, reason: &'static str },
    #[error("{path} needs the line `{line}`, next to which targets are listed")]
    NoPlace { path: String, line: String },
    #[error("{path} has {bytes} bytes; the limit of a release is {largest}")]
    Size { path: String, bytes: u64, largest: u64 },
    #[error("defects in xtask/defects do not compile, or their code was not found:\n{0}")]
    Defects(String),
    #[error(
        "{folder} lacks an environment of tests/python/requirements-{set}.txt: run `.ci/run`, or set {variable} to a Python \
         with these packages"
    )]
    NoEnvironment { folder: String, set: &'static str, variable: &'static str },
    #[error("the judge of proofs was built, but its program is missing")]
    NoJudge,
    #[error("the judge fails without a defect: {name}: {message}")]
    Subject { name: String, message: String },
    #[error("{0} found")]
    Found(Count),
}

/// A number of problems, for messages.
#[derive(Debug)]
struct Count(usize);

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} problem{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let Some(chore) = CHORES.iter().find(|chore| chore.name == name) else {
        return usage(&name);
    };
    match (chore.run)(&arguments.collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error @ (Error::Argument { .. } | Error::NewInstruction(_))) => report(&error, 2),
        Err(error) => report(&error, 1),
    }
}

/// Root folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn report(error: &Error, status: u8) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::from(status)
}

/// Prints the list of chores. `name` is the unknown chore, or empty.
fn usage(name: &str) -> ExitCode {
    if !matches!(name, "" | "help" | "-h" | "--help") {
        eprintln!("error: unknown chore `{name}`\n");
    }
    eprintln!("Usage: cargo xtask CHORE\n");
    for chore in CHORES {
        eprintln!("  {:<16}{}", chore.name, chore.about);
    }
    ExitCode::from(2)
}
