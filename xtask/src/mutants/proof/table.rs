//! Outcomes of mutants: [`TargetOutcome`], stored in `target/mutants/proof.json` and printed as a
//! table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ByTarget;
use crate::Error;

/// Worst outcome of the programs of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetOutcome {
    pub outcome: Outcome,
    /// Subject, and the message about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// Outcome of a mutant, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every program is unchanged, byte by byte.
    NotReached,
    /// Proved, with equal results.
    Harmless,
    /// Proved, with results that are rounded differently.
    Rounds,
    /// The compiler refuses the model, panics, or does not end.
    Refused,
    /// Not proved.
    Caught,
    /// Proved, with wrong results.
    Missed,
}

impl TargetOutcome {
    pub fn is_missed(&self) -> bool {
        self.outcome == Outcome::Missed
    }

    /// Returns the worse of two outcomes.
    pub fn worse(self, other: Self) -> Self {
        if other.outcome > self.outcome { other } else { self }
    }
}

/// Outcomes by the names of mutants.
pub type Outcomes = BTreeMap<String, ByTarget>;

pub fn is_missed(outcomes: &ByTarget) -> bool {
    outcomes.values().any(TargetOutcome::is_missed)
}

fn place(folder: &Path) -> PathBuf {
    folder.join("proof.json")
}

/// Reads the outcomes of the last run; empty if there was none.
pub fn read(folder: &Path) -> Result<Outcomes, Error> {
    match std::fs::read(place(folder)) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Outcomes::new()),
        Err(source) => Err(Error::Read { path: place(folder).display().to_string(), source }),
    }
}

/// Stores the outcomes.
pub fn write(folder: &Path, outcomes: &Outcomes) -> Result<(), Error> {
    let path = place(folder);
    std::fs::write(&path, serde_json::to_string_pretty(outcomes)?)
        .map_err(|source| Error::Write { path: path.display().to_string(), source })
}

const COLUMNS: [Outcome; 6] = [
    Outcome::NotReached,
    Outcome::Refused,
    Outcome::Caught,
    Outcome::Harmless,
    Outcome::Rounds,
    Outcome::Missed,
];

/// Prints a row for each target and crate, and the names of missed mutants, and returns their
/// number. `packages` maps mutants to crates.
pub fn tell(outcomes: &Outcomes, packages: &BTreeMap<&str, &str>) -> usize {
    let mut rows: BTreeMap<(&str, &str), [usize; 6]> = BTreeMap::new();
    let mut missed = Vec::new();
    for (name, found) in outcomes {
        let Some(&package) = packages.get(name.as_str()) else { continue };
        for (target, TargetOutcome { outcome, message }) in found {
            let row = rows.entry((target, package)).or_default();
            COLUMNS.iter().position(|column| column == outcome).into_iter().for_each(|at| row[at] += 1);
            missed.extend((*outcome == Outcome::Missed).then(|| format!("{target}: {name}: {message}")));
        }
    }
    println!("| target | crate | mutants | not reached | refused | caught | harmless | rounds | missed |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for ((target, package), row) in &rows {
        let cells: Vec<String> = row.iter().map(usize::to_string).collect();
        println!("| {target} | {package} | {} | {} |", row.iter().sum::<usize>(), cells.join(" | "));
    }
    missed.iter().for_each(|line| println!("missed on {line}"));
    missed.len()
}

/// Prints the outcomes of the seeded defects that were run, the worst over all targets for each.
/// Returns how many were not detected at all, which therefore test nothing.
pub fn tell_seeded(outcomes: &Outcomes, seeded: &BTreeSet<String>) -> usize {
    let judged = seeded.iter().filter_map(|name| {
        let worst = outcomes.get(name)?.values().map(|found| found.outcome).max()?;
        Some((name, worst))
    });
    let judged: Vec<_> = judged.collect();
    let count = |wanted: Outcome| judged.iter().filter(|(_, outcome)| *outcome == wanted).count();
    let [caught, refused] = [Outcome::Caught, Outcome::Refused].map(count);
    println!("{} defects are seeded: {caught} caught, {refused} refused by the compiler", judged.len());
    let unseen = judged.iter().filter(|(_, outcome)| *outcome < Outcome::Refused);
    unseen.map(|(name, outcome)| println!("not seen, {outcome:?}: {name}")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missed_counts_more_than_what_is_caught() {
        let found = |outcome| TargetOutcome { outcome, message: String::new() };
        let [missed, caught] = [Outcome::Missed, Outcome::Caught].map(found);
        assert!(caught.clone().worse(missed.clone()).is_missed());
        assert!(missed.clone().worse(caught.clone()).is_missed());
        let [tcu, graph] = ["tcu", "npukit-graph"];
        let outcomes: Outcomes = [
            ("a".to_owned(), BTreeMap::from([(tcu.to_owned(), missed)])),
            ("b".to_owned(), BTreeMap::from([(tcu.to_owned(), caught)])),
        ]
        .into();
        assert_eq!(tell(&outcomes, &BTreeMap::from([("a", graph), ("b", graph)])), 1);
        // A mutant of a crate that was not requested is not reported.
        assert_eq!(tell(&outcomes, &BTreeMap::from([("b", graph)])), 0);
    }

    #[test]
    fn a_seeded_defect_is_to_be_seen() {
        let outcome =
            |outcome| BTreeMap::from([("tcu".to_owned(), TargetOutcome { outcome, message: String::new() })]);
        let names = ["a", "b", "c", "d"].map(str::to_owned);
        let found = [Outcome::Caught, Outcome::Refused, Outcome::NotReached, Outcome::Harmless].map(outcome);
        let outcomes: Outcomes = names.iter().cloned().zip(found).collect();
        assert_eq!(tell_seeded(&outcomes, &names.iter().cloned().collect()), 2);
        // Defects that were not run are not reported.
        assert_eq!(tell_seeded(&outcomes, &BTreeSet::from(["a".to_owned(), "e".to_owned()])), 0);
    }
}
