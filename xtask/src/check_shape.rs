//! `cargo xtask check-shape`: checks that all targets have the same folders, so that a reader of
//! one knows all.
//!
//! Each file and folder at the top of a target's `src` must be one of [`PARTS`], and the parts that
//! every accelerator needs must exist.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{SourceFile, source_files};
use crate::{Count, Error, root};

/// Summary for the help.
pub const ABOUT: &str = "Checks that the targets have the same folders";

/// A part of a target, at the top of its `src`.
pub struct Part {
    /// Name of its file and folder.
    pub name: &'static str,
    /// Whether every target must have it.
    pub is_needed: bool,
}

const fn needed(name: &'static str) -> Part {
    Part { name, is_needed: true }
}

const fn optional(name: &'static str) -> Part {
    Part { name, is_needed: false }
}

/// All parts, each above the parts that it uses.
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

/// Target that `new-target` copies.
pub const SKELETON: &str = "xtask/skeleton";

/// Checks every target, and the skeleton of new ones.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    if let Some(argument) = arguments.first() {
        return Err(Error::Argument { chore: "check-shape", argument: argument.clone() });
    }
    let problems = problems(&source_files(&root())?);
    problems.iter().for_each(|problem| println!("{problem}"));
    if problems.is_empty() { Ok(()) } else { Err(Error::Found(Count(problems.len()))) }
}

/// Returns the target of a path, and the name of its top-level file or folder in `src`.
pub fn part(path: &str) -> Option<(&str, &str)> {
    let (target, inside) = path.split_once("/src/")?;
    let is_target =
        target == SKELETON || target.strip_prefix("targets/").is_some_and(|name| !name.contains('/'));
    let name = inside.split('/').next()?;
    is_target.then(|| (target, name.strip_suffix(".rs").unwrap_or(name)))
}

/// Unknown and missing parts.
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
                "{target}/src/{name}: unknown part; a target has {} at the top of `src`: move it into one of them",
                known.join(", ")
            )
        }));
        let missing = PARTS.iter().filter(|part| part.is_needed && !names.contains(part.name));
        problems.extend(missing.map(|part| format!("{target}/src: `{}` is missing", part.name)));
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
        assert_eq!(problems(&files(&WHOLE[2..])), ["targets/a/src: `clock` is missing"]);
    }

    #[test]
    fn parts_are_those_of_targets_and_of_the_skeleton() {
        assert_eq!(part("targets/a/src/isa/op.rs"), Some(("targets/a", "isa")));
        assert_eq!(part("xtask/skeleton/src/isa.rs"), Some(("xtask/skeleton", "isa")));
        assert_eq!(part("targets/a/tests/main.rs"), None);
        assert_eq!(part("crates/a/src/isa.rs"), None);
    }
}
