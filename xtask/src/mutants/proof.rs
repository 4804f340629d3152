//! `--proof`: defects of the compilers, checked by `npu verify`.
//!
//! The seeded [`defects`] and, without `--seeded`, all mutants of the compiling files
//! ([`COMPILING`]) are woven into one build of the judge (`crates/npukit/examples/judge`). One
//! process of the judge, with a mutant switched on, compiles the subjects that reach the mutant. A
//! second process, without mutants, proves and runs the programs that changed. Outcomes are stored
//! in `target/mutants/proof.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::build::{self, Build, Wanted};
use super::list::{self, Mutant};
use super::tree::{Added, Tree};
use super::{defects, split};
use crate::{Count, Error};

mod judging;
mod table;

use judging::Judge;
use table::Outcomes;

/// Files that make programs: graph passes, code shared by the compilers, and the compiler and
/// encoder of each target.
const COMPILING: [(&str, &[&str]); 6] = [
    ("graph", &["crates/graph/src/pass.rs", "crates/graph/src/pass/**"]),
    ("lower", &["crates/lower/src/**"]),
    ("tcu", &["targets/tcu/src/lower.rs", "targets/tcu/src/lower/**"]),
    ("opu", &["targets/opu/src/lower.rs", "targets/opu/src/lower/**"]),
    ("pccx", &["targets/pccx/src/lower.rs", "targets/pccx/src/lower/**"]),
    (
        "drra",
        &[
            "targets/drra/src/lower.rs",
            "targets/drra/src/lower/**",
            "targets/drra/src/config/column.rs",
            "targets/drra/src/program/call.rs",
            "targets/drra/src/program/gather.rs",
            "targets/drra/src/program/plan.rs",
            "targets/drra/src/isa/pasm/schedule.rs",
            "targets/drra/src/isa/pasm/schedule/**",
            "targets/drra/src/isa/layout.rs",
        ],
    ),
];

/// Number of mutants after which outcomes are stored.
const KEPT_AT_ONCE: usize = 50;

/// Runs the mutants of the crates that come first in `arguments`, or of all crates. Other arguments
/// are passed to `cargo mutants --list`.
pub fn run(folder: &Path, mut arguments: Vec<String>, is_again: bool) -> Result<(), Error> {
    let is_seeded = super::taken(&mut arguments, "--seeded");
    let mut mutants = defects::defects(&crate::root())?;
    let seeded = mutants.iter().map(|mutant| mutant.name.clone()).collect();
    let (crates, others) = split(&arguments);
    if !crates.is_empty() {
        let packages: BTreeSet<String> = crates.iter().map(|name| super::package(name)).collect();
        mutants.retain(|mutant| packages.contains(&mutant.package));
    }
    if !is_seeded {
        mutants.extend(list::list(&crate::root(), &chosen(crates, others))?);
    }
    let mut known = if is_again { table::read(folder)? } else { Outcomes::default() };
    known.retain(|name, outcomes| !table::is_missed(outcomes) && mutants.iter().any(|m| m.name == *name));
    let is_wanted = |&number: &usize| !known.contains_key(&mutants[number].name);
    let numbers: BTreeSet<usize> = (0..mutants.len()).filter(is_wanted).collect();
    judged(folder, (&mutants, &seeded), numbers, &mut known)?;
    let packages = mutants.iter().map(|mutant| (mutant.name.as_str(), mutant.package.as_str())).collect();
    match table::tell(&known, &packages) + table::tell_seeded(&known, &seeded) {
        0 => Ok(()),
        problems => Err(Error::Found(Count(problems))),
    }
}

/// Arguments for `cargo mutants --list`.
fn chosen(crates: &[String], others: &[String]) -> Vec<String> {
    let is_chosen = |name: &str| {
        crates.is_empty() || crates.iter().any(|chosen| super::package(chosen) == super::package(name))
    };
    let files = COMPILING.iter().filter(|(name, _)| is_chosen(name)).flat_map(|(_, files)| *files);
    let mut chosen = vec!["--workspace".to_owned()];
    chosen.extend(files.flat_map(|file| ["--file".to_owned(), (*file).to_owned()]));
    chosen.extend_from_slice(others);
    chosen
}

/// Runs the mutants of `numbers`; outcomes are added to `known` and stored as they arrive. A seeded
/// defect that does not compile is an error.
fn judged(
    folder: &Path,
    (mutants, seeded): (&[Mutant], &BTreeSet<String>),
    numbers: BTreeSet<usize>,
    known: &mut Outcomes,
) -> Result<(), Error> {
    let (alone, mut viable): (BTreeSet<usize>, BTreeSet<usize>) =
        numbers.iter().partition(|&&number| mutants[number].is_alone());
    eprintln!("{} mutants, {} of them cannot be switched", numbers.len(), alone.len());
    let command = woven(folder, mutants, &mut viable)?;
    let unviable = numbers.difference(&viable).map(|&number| &mutants[number].name);
    let unviable: Vec<&str> = unviable.filter(|name| seeded.contains(*name)).map(String::as_str).collect();
    if !unviable.is_empty() {
        return Err(Error::Defects(unviable.join("\n")));
    }
    let judge = Judge::new(command, folder.join("proof"))?;
    let mut viable: Vec<usize> = viable.into_iter().collect();
    // Seeded ones first, then the others in mixed order, so that an interrupted run covers all
    // files.
    let mixed = |number: usize| (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    viable.sort_by_key(|&number| (!seeded.contains(&mutants[number].name), mixed(number)));
    for (part, numbers) in viable.chunks(KEPT_AT_ONCE).enumerate() {
        for (number, outcomes) in judge.judge(numbers)? {
            let name = &mutants[number].name;
            outcomes.iter().filter(|(_, found)| found.is_missed()).for_each(|(target, found)| {
                eprintln!("missed on {target}: {name}: {}", found.message);
            });
            known.insert(name.clone(), outcomes);
        }
        table::write(folder, known)?;
        eprintln!("{} of {} judged", (part * KEPT_AT_ONCE + numbers.len()), viable.len());
    }
    Ok(())
}

/// Builds the judge with the viable mutants, and removes mutants that do not compile.
fn woven(folder: &Path, mutants: &[Mutant], viable: &mut BTreeSet<usize>) -> Result<PathBuf, Error> {
    let tree = Tree::new(&crate::root(), &folder.join("tree"))?;
    let crates: BTreeSet<String> = mutants.iter().filter_map(crate_folder).collect();
    loop {
        let mut added = Added::new();
        for folder in &crates {
            let (own, lost) = tree.weave(folder, mutants, viable)?;
            viable.retain(|number| !lost.contains(number));
            added.extend(own);
        }
        match build::build(&tree.folder, &folder.join("build"), "npukit", &added, Wanted::Example("judge"))? {
            Build::Binaries(binaries) => {
                let lost = || Error::NoJudge;
                return binaries.into_iter().find(|path| path.ends_with("judge")).ok_or_else(lost);
            }
            Build::Unviable(unviable) => viable.retain(|number| !unviable.contains(number)),
        }
    }
}

/// Folder of the crate of a mutant.
fn crate_folder(mutant: &Mutant) -> Option<String> {
    mutant.file.split_once("/src/").map(|(folder, _)| folder.to_owned())
}

/// Outcomes by target.
pub type ByTarget = BTreeMap<String, table::TargetOutcome>;
