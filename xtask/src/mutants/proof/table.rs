//! What became of mutants: [`Found`], kept in `target/mutants/proof.json` and printed as a table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ByTarget;
use crate::Error;

/// What became of the programs of a target, the worst of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    pub outcome: Outcome,
    /// The subject, and what was said of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub told: String,
}

/// In the order in which one counts more than those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every program is as it was, byte by byte.
    NotReached,
    /// Proved, and the same results.
    Harmless,
    /// Proved, and results that are rounded otherwise.
    Rounds,
    /// The compiler refuses the model, panics, or does not end.
    Refused,
    /// Not proved.
    Caught,
    /// Proved, and other results.
    Missed,
}

impl Found {
    pub fn is_missed(&self) -> bool {
        self.outcome == Outcome::Missed
    }

    /// The one that counts more.
    pub fn worse(self, other: Self) -> Self {
        if other.outcome > self.outcome { other } else { self }
    }
}

/// Outcomes by the names of mutants.
pub type Outcomes = BTreeMap<String, ByTarget>;

pub fn is_missed(outcomes: &ByTarget) -> bool {
    outcomes.values().any(Found::is_missed)
}

fn place(folder: &Path) -> PathBuf {
    folder.join("proof.json")
}

/// What is known from the last time; nothing when there was none.
pub fn read(folder: &Path) -> Result<Outcomes, Error> {
    match std::fs::read(place(folder)) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Outcomes::new()),
        Err(source) => Err(Error::Read { path: place(folder).display().to_string(), source }),
    }
}

/// Keeps the outcomes.
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

/// Prints a row for each target and crate, and the names of the missed; says how many these are. `packages` knows the
/// crate of each mutant.
pub fn tell(outcomes: &Outcomes, packages: &BTreeMap<&str, &str>) -> usize {
    let mut rows: BTreeMap<(&str, &str), [usize; 6]> = BTreeMap::new();
    let mut missed = Vec::new();
    for (name, found) in outcomes {
        let Some(&package) = packages.get(name.as_str()) else { continue };
        for (target, Found { outcome, told }) in found {
            let row = rows.entry((target, package)).or_default();
            COLUMNS.iter().position(|column| column == outcome).into_iter().for_each(|at| row[at] += 1);
            missed.extend((*outcome == Outcome::Missed).then(|| format!("{target}: {name}: {told}")));
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

/// Prints what became of the seeded defects that were judged, the worst for the program of all targets; says how many of
/// them nothing saw, which judge nothing.
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
        let found = |outcome| Found { outcome, told: String::new() };
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
        // One that is not of the crates that were asked for is not told of.
        assert_eq!(tell(&outcomes, &BTreeMap::from([("b", graph)])), 0);
    }

    #[test]
    fn a_seeded_defect_is_to_be_seen() {
        let outcome = |outcome| BTreeMap::from([("tcu".to_owned(), Found { outcome, told: String::new() })]);
        let names = ["a", "b", "c", "d"].map(str::to_owned);
        let found = [Outcome::Caught, Outcome::Refused, Outcome::NotReached, Outcome::Harmless].map(outcome);
        let outcomes: Outcomes = names.iter().cloned().zip(found).collect();
        assert_eq!(tell_seeded(&outcomes, &names.iter().cloned().collect()), 2);
        // Those that were not judged are not told of.
        assert_eq!(tell_seeded(&outcomes, &BTreeSet::from(["a".to_owned(), "e".to_owned()])), 0);
    }
}
