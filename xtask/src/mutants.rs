//! `cargo xtask mutants [CRATE ...] [--proof] [--in-diff REV] [ARGUMENT ...]`: mutation testing.
//! Reports changes of the code that no test detects.
//!
//! `cargo mutants` (`cargo install cargo-mutants --locked`) lists the mutants, as configured in
//! `.cargo/mutants.toml`, which also lists equivalent ones with reasons. It would build once per
//! mutant. Here one build of a crate contains all mutants, each with a switch ([`weave`]). A mutant
//! is run with the tests of its crate that reach it ([`judge`]). With `--proof`, mutants of the
//! compilers are checked by proofs of the programs that they compile ([`proof`]). Outcomes are
//! stored in `target/mutants/CRATE.json`.

mod build;
mod defects;
mod judge;
mod list;
mod proof;
mod report;
mod tree;
mod weave;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use build::{Build, Wanted};
use judge::Outcome;
use list::Mutant;
use tree::Tree;

use crate::{Count, Error};

/// Summary for the help.
pub const ABOUT: &str = "Mutates a CRATE, or the changes since REV (`--in-diff REV`), and lists mutants that no test (`--proof`: no proof) detects";

/// Runs the mutants of one crate or all, or of the lines that differ from a revision. `--again`
/// repeats mutants that survived or were not reached last time. `--within SECONDS` only runs tests
/// that take this long together, fastest first.
///
/// Other `arguments` are passed to `cargo mutants --list`: `--file`, `--shard 1/8`, `--re`.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    let folder = crate::root().join("target/mutants");
    std::fs::create_dir_all(&folder).map_err(|source| written(&folder, source))?;
    let folder = folder.canonicalize().map_err(|source| written(&folder, source))?;
    let mut arguments = arguments.to_vec();
    let is_again = taken(&mut arguments, "--again");
    if taken(&mut arguments, "--proof") {
        return proof::run(&folder, arguments, is_again);
    }
    let limit = within(&mut arguments)?;
    let mutants = list::list(&crate::root(), &chosen(&folder, &arguments)?)?;
    let packages: BTreeSet<&str> = mutants.iter().map(|mutant| mutant.package.as_str()).collect();
    let mut survivors = 0;
    for package in packages {
        let mut known = report::read(&folder, package)?;
        known.retain(|_, outcome| is_again && !outcome.is_survivor());
        let tree = Tree::new(&crate::root(), &folder.join("tree"))?;
        let is_wanted = |mutant: &Mutant| mutant.package == package && !known.contains_key(&mutant.name);
        let numbers: BTreeSet<usize> =
            (0..mutants.len()).filter(|&number| is_wanted(&mutants[number])).collect();
        outcomes(&tree, &folder, package, &mutants, (numbers, limit), |outcomes| {
            known.extend(outcomes.iter().map(|(number, outcome)| (mutants[*number].name.clone(), *outcome)));
            report::write(&folder, package, &known)
        })?;
        survivors += report::tell(package, &known);
    }
    if survivors == 0 { Ok(()) } else { Err(Error::Found(Count(survivors))) }
}

/// Removes a flag from the arguments; returns whether it was present.
fn taken(arguments: &mut Vec<String>, flag: &str) -> bool {
    let place = arguments.iter().position(|argument| argument == flag);
    place.map(|place| arguments.remove(place)).is_some()
}

/// Arguments for `cargo mutants --list`.
fn chosen(folder: &Path, arguments: &[String]) -> Result<Vec<String>, Error> {
    let (names, others) = split(arguments);
    let mut chosen: Vec<String> =
        names.iter().flat_map(|name| ["--package".to_owned(), package(name)]).collect();
    if names.is_empty() {
        chosen.push("--workspace".to_owned());
    }
    let mut others = others.iter();
    while let Some(argument) = others.next() {
        chosen.push(argument.clone());
        if argument == "--in-diff" {
            let revision = others.next().map_or("HEAD", String::as_str);
            chosen.push(diff(folder, revision)?.display().to_string());
        }
    }
    Ok(chosen)
}

/// Removes `--within SECONDS` from the arguments; without it, time is unlimited.
fn within(arguments: &mut Vec<String>) -> Result<Duration, Error> {
    let Some(place) = arguments.iter().position(|argument| argument == "--within") else {
        return Ok(Duration::MAX);
    };
    let value: Vec<String> = arguments.drain(place..arguments.len().min(place + 2)).skip(1).collect();
    let seconds = value.first().and_then(|value| value.parse().ok());
    seconds.map(Duration::from_secs).ok_or(Error::Seconds)
}

/// Number of mutants after which outcomes are stored.
const KEPT_AT_ONCE: usize = 100;

/// Builds a package with the mutants of `numbers` that compile, and runs them.
/// `keep` receives outcomes as they arrive.
fn outcomes(
    tree: &Tree,
    folder: &Path,
    package: &str,
    mutants: &[Mutant],
    (numbers, limit): (BTreeSet<usize>, Duration),
    mut keep: impl FnMut(&[(usize, Outcome)]) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(&first) = numbers.first() else { return Ok(()) };
    let crate_folder = mutants[first].file.split("/src/").next().unwrap_or_default();
    let (alone, mut viable): (BTreeSet<usize>, BTreeSet<usize>) =
        numbers.iter().partition(|&&number| mutants[number].is_alone());
    let mut unfit: Vec<(usize, Outcome)> =
        alone.into_iter().map(|number| (number, Outcome::Unjudged)).collect();
    let mut wanted = Wanted::Check;
    let binaries = loop {
        let (added, lost) = tree.weave(crate_folder, mutants, &viable)?;
        viable.retain(|number| !lost.contains(number));
        unfit.extend(lost.into_iter().map(|number| (number, Outcome::Unjudged)));
        match build::build(&tree.folder, &folder.join("build"), package, &added, wanted)? {
            Build::Binaries(_) if wanted == Wanted::Check => wanted = Wanted::Tests,
            Build::Binaries(binaries) => break binaries,
            Build::Unviable(unviable) => {
                viable.retain(|number| !unviable.contains(number));
                unfit.extend(unviable.into_iter().map(|number| (number, Outcome::Unviable)));
            }
        }
    };
    let working = tree.folder.join(crate_folder);
    let tests = judge::tests(&binaries, &working, folder)?;
    eprintln!("{package}: {} mutants by {} tests", viable.len(), tests.len());
    keep(&unfit)?;
    let viable: Vec<usize> = viable.into_iter().collect();
    for numbers in viable.chunks(KEPT_AT_ONCE) {
        keep(&judge::judge(numbers, &tests, limit, &working, |number, outcome| {
            if outcome.is_survivor() {
                eprintln!("{outcome:?}: {}", mutants[number].name);
            }
        })?)?;
    }
    Ok(())
}

/// Splits arguments into the names of crates, which come first, and the others.
fn split(arguments: &[String]) -> (&[String], &[String]) {
    let names = arguments.iter().take_while(|argument| !argument.starts_with('-')).count();
    arguments.split_at(names)
}

/// Package of the crate `name`: `npukit-isa` for `isa`.
fn package(name: &str) -> String {
    match name {
        "npukit" | "xtask" => name.to_owned(),
        name if name.starts_with("npukit-") => name.to_owned(),
        name => format!("npukit-{name}"),
    }
}

/// Writes a file with the differences from `revision`.
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
    let stderr = "see its output above".to_owned();
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
