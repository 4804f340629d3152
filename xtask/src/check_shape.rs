//! `cargo xtask check-shape`: whether the targets have one tree, so that who has read one finds their way in all.
//!
//! What lies at the top of a target's `src` is one of [`PARTS`], and each target has those that every accelerator needs.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{SourceFile, source_files};
use crate::{Count, Error, root};

/// One line for the help.
pub const ABOUT: &str = "Fails where the folders of a target are not those that all targets have";

/// A part of a target, at the top of its `src`.
pub struct Part {
    /// Name of its file and folder.
    pub name: &'static str,
    /// Whether every target has it.
    pub is_needed: bool,
}

const fn needed(name: &'static str) -> Part {
    Part { name, is_needed: true }
}

const fn optional(name: &'static str) -> Part {
    Part { name, is_needed: false }
}

/// All parts, each above those that it uses.
pub const PARTS: &[Part] = &[
    needed("lib"),
    needed("target"),
    optional("circuit"),
    needed("vectors"),
    optional("host"),
    needed("lower"),
    optional("check"),
    needed("program"),
    needed("clock"),
    needed("machine"),
    needed("isa"),
    needed("config"),
];

/// The target that `new-target` copies.
pub const SKELETON: &str = "xtask/skeleton";

/// Looks at every target, and at the one that others are made from.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    if let Some(argument) = arguments.first() {
        return Err(Error::Argument { chore: "check-shape", argument: argument.clone() });
    }
    let problems = problems(&source_files(&root())?);
    problems.iter().for_each(|problem| println!("{problem}"));
    if problems.is_empty() { Ok(()) } else { Err(Error::Found(Count(problems.len()))) }
}

/// The target, and the name that a file has, or is below, at the top of its `src`.
pub fn part(path: &str) -> Option<(&str, &str)> {
    let (target, inside) = path.split_once("/src/")?;
    let is_target =
        target == SKELETON || target.strip_prefix("targets/").is_some_and(|name| !name.contains('/'));
    let name = inside.split('/').next()?;
    is_target.then(|| (target, name.strip_suffix(".rs").unwrap_or(name)))
}

/// Parts that are none, and those that are missing.
fn problems(files: &[SourceFile]) -> Vec<String> {
    let mut targets: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (target, name) in files.iter().filter_map(|file| part(&file.path)) {
        targets.entry(target).or_default().insert(name);
    }
    let known: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
    let mut problems = Vec::new();
    for (target, names) in &targets {
        let others = names.iter().filter(|name| !known.contains(name));
        problems.extend(others.map(|name| {
            format!(
                "{target}/src/{name}: a target has {} at its top; put it into one of them",
                known.join(", ")
            )
        }));
        let missing = PARTS.iter().filter(|part| part.is_needed && !names.contains(part.name));
        problems.extend(missing.map(|part| format!("{target}/src: there is no `{}`", part.name)));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> Vec<SourceFile> {
        let file = |name: &&str| SourceFile { path: format!("targets/a/src/{name}"), text: String::new() };
        names.iter().map(file).collect()
    }

    const WHOLE: [&str; 10] = [
        "check/lints.rs",
        "clock.rs",
        "config.rs",
        "isa.rs",
        "lib.rs",
        "lower.rs",
        "machine/exec.rs",
        "program.rs",
        "target.rs",
        "vectors.rs",
    ];

    #[test]
    fn what_is_not_of_the_tree_or_missing_is_a_problem() {
        assert_eq!(problems(&files(&WHOLE)), [""; 0]);
        assert_eq!(problems(&files(&[&WHOLE[..], &["host.rs", "circuit/bus.rs"]].concat())), [""; 0]);
        let other = problems(&files(&[&WHOLE[..], &["alike.rs"]].concat()));
        assert!(matches!(&other[..], [one] if one.starts_with("targets/a/src/alike: ")), "{other:?}");
        assert_eq!(problems(&files(&WHOLE[1..])), [""; 0]);
        assert_eq!(problems(&files(&WHOLE[2..])), ["targets/a/src: there is no `clock`"]);
    }

    #[test]
    fn parts_are_those_of_targets_and_of_the_skeleton() {
        assert_eq!(part("targets/a/src/isa/op.rs"), Some(("targets/a", "isa")));
        assert_eq!(part("xtask/skeleton/src/isa.rs"), Some(("xtask/skeleton", "isa")));
        assert_eq!(part("targets/a/tests/main.rs"), None);
        assert_eq!(part("crates/a/src/isa.rs"), None);
    }
}
