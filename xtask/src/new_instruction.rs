//! `cargo xtask new-instruction --check [TARGET ...]`: adds an instruction to targets, in a copy of
//! the workspace, and counts the touched files.
//!
//! `xtask/instructions/TARGET.patch` holds the addition. Its first line is `# MNEMONIC: meaning`;
//! the rest is a diff with all parts of an instruction: its row, its function, its cost and a
//! vector. The copy is built. Then `npu isa` must print the instruction's page, and its vector and
//! the suite of its target must pass.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::{Copy, entries, read};
use crate::{Count, Error, root};

/// Summary for the help.
pub const ABOUT: &str =
    "Adds an instruction to each target, in a copy, and counts the files (--check [TARGET ...])";

/// Folder of the additions.
const FOLDER: &str = "xtask/instructions";

/// Maximum number of files that a new instruction touches: its row, its function, its cost and its
/// vector.
const MAX_FILES: usize = 4;

/// An instruction to be added.
struct Addition {
    path: PathBuf,
    target: String,
    mnemonic: String,
    /// Touched files, relative to the root.
    files: Vec<String>,
}

/// Checks the given targets, or all.
///
/// # Errors
///
/// Invalid arguments; a patch that is incomplete or does not apply; or a failing check of the copy.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    let targets = match arguments {
        [check, targets @ ..] if check == "--check" => targets,
        _ => return Err(Error::NewInstruction(arguments.join(" "))),
    };
    let additions = additions(targets)?;
    let copy = Copy::new("new-instruction")?;
    for addition in &additions {
        succeeds(&copy, "git", &["apply", "-C1", &addition.path.display().to_string()])?;
    }
    let mut found = 0;
    for addition in &additions {
        addition.check(&copy)?;
        let count = addition.files.len();
        found += usize::from(count > MAX_FILES);
        let (target, mnemonic) = (&addition.target, &addition.mnemonic);
        println!("{target}: `{mnemonic}` touches {count} files (at most {MAX_FILES})");
        addition.files.iter().for_each(|file| println!("  {file}"));
    }
    if found > 0 { Err(Error::Found(Count(found))) } else { Ok(()) }
}

/// Returns the additions of the given targets, or of all if none is given.
fn additions(targets: &[String]) -> Result<Vec<Addition>, Error> {
    let mut paths = entries(&root().join(FOLDER))?;
    paths.sort();
    let all = paths.iter().map(|path| Addition::read(path)).collect::<Result<Vec<_>, _>>()?;
    if let Some(unknown) =
        targets.iter().find(|target| all.iter().all(|addition| addition.target != **target))
    {
        return Err(Error::NewInstruction(format!("--check {unknown}")));
    }
    Ok(all.into_iter().filter(|addition| targets.is_empty() || targets.contains(&addition.target)).collect())
}

impl Addition {
    fn read(path: &Path) -> Result<Self, Error> {
        let text = read(path)?;
        let faulty = |reason| Error::Patch { path: path.display().to_string(), reason };
        let target = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let mnemonic = text.strip_prefix("# ").and_then(|rest| rest.split_once(':'));
        let files: Vec<String> =
            text.lines().filter_map(|line| line.strip_prefix("+++ b/")).map(str::to_owned).collect();
        let addition = Self {
            path: path
                .canonicalize()
                .map_err(|source| Error::Read { path: path.display().to_string(), source })?,
            target: target.ok_or_else(|| faulty("its file name is not that of a target"))?,
            mnemonic: mnemonic
                .ok_or_else(|| faulty("its first line is not `# MNEMONIC: meaning`"))?
                .0
                .to_owned(),
            files,
        };
        addition.vectors().next().ok_or_else(|| faulty("it does not add a vector to tests/golden"))?;
        Ok(addition)
    }

    /// Files of vectors that it adds or changes.
    fn vectors(&self) -> impl Iterator<Item = &str> {
        self.files
            .iter()
            .map(String::as_str)
            .filter(|file| file.starts_with("tests/golden/") && file.ends_with(".json"))
    }

    /// Checks the instruction's page and vectors with the command, and runs the target's suite.
    fn check(&self, copy: &Copy) -> Result<(), Error> {
        let npu = ["run", "--quiet", "-p", "npukit-cli", "--"];
        succeeds(copy, env!("CARGO"), &[&npu[..], &["isa", &self.target, &self.mnemonic]].concat())?;
        for vector in self.vectors() {
            succeeds(copy, env!("CARGO"), &[&npu[..], &["conform", &self.target, vector]].concat())?;
        }
        let package = format!("npukit-{}", self.target);
        succeeds(copy, env!("CARGO"), &["test", "--quiet", "-p", &package, "--test", "main", "suite"])
    }
}

/// Runs a command in the copy. The error contains its output.
fn succeeds(copy: &Copy, program: &str, arguments: &[&str]) -> Result<(), Error> {
    let command = format!("{program} {}", arguments.join(" "));
    let output = Command::new(program)
        .args(arguments)
        .current_dir(&copy.root)
        .env("CARGO_TARGET_DIR", &copy.target)
        // Otherwise git could use the repository of a checkout that contains the copy.
        .env("GIT_CEILING_DIRECTORIES", copy.root.parent().unwrap_or(&copy.root))
        .output()
        .map_err(|source| Error::Start { command: command.clone(), source })?;
    if output.status.success() {
        return Ok(());
    }
    let stderr =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    Err(Error::Command { command, status: output.status, stderr })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// All patches apply to the current sources one after the other, and touch as few files as
    /// CONTRIBUTING promises.
    #[test]
    fn the_additions_fit() {
        let additions = additions(&[]).unwrap();
        let mut git = Command::new("git");
        git.args(["apply", "--check", "-C1"]).current_dir(root());
        let output = git.args(additions.iter().map(|addition| &addition.path)).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for Addition { path, target, files, .. } in &additions {
            assert!(files.len() <= MAX_FILES, "{files:?}");
            let text = read(path).unwrap();
            let count = text.lines().filter(|line| line.starts_with("diff --git ")).count();
            assert_eq!(count, files.len(), "a file of another instruction in {target}.patch");
        }
    }
}
