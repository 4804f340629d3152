//! Outcomes of the mutants of a crate: `target/mutants/CRATE.json`, and a summary line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::judge::Outcome;
use crate::Error;

/// Outcomes by the names of mutants.
pub type Outcomes = BTreeMap<String, Outcome>;

fn place(folder: &Path, package: &str) -> PathBuf {
    folder.join(format!("{package}.json"))
}

/// Reads the outcomes of the last run; empty if there was none.
pub fn read(folder: &Path, package: &str) -> Result<Outcomes, Error> {
    match std::fs::read(place(folder, package)) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Outcomes::new()),
        Err(source) => Err(Error::Read { path: place(folder, package).display().to_string(), source }),
    }
}

/// Stores the outcomes.
pub fn write(folder: &Path, package: &str, outcomes: &Outcomes) -> Result<(), Error> {
    let path = place(folder, package);
    std::fs::write(&path, serde_json::to_string_pretty(outcomes)?)
        .map_err(|source| Error::Write { path: path.display().to_string(), source })
}

/// Prints the numbers of outcomes, and returns how many mutants survived.
pub fn tell(package: &str, outcomes: &Outcomes) -> usize {
    let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
    outcomes.values().for_each(|&outcome| *counts.entry(outcome).or_default() += 1);
    let counts: Vec<String> = counts.iter().map(|(outcome, count)| format!("{count} {outcome:?}")).collect();
    println!("{package}: {} mutants: {}", outcomes.len(), counts.join(", ").to_lowercase());
    outcomes.values().filter(|outcome| outcome.is_survivor()).count()
}
