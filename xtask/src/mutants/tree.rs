//! Copy of the workspace into which mutants are woven, in `target/mutants/tree`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::list::Mutant;
use super::weave;
use crate::Error;

/// Copy of the workspace.
pub struct Tree {
    source: PathBuf,
    pub folder: PathBuf,
}

/// Text ranges that each mutant added to each file of the copy, by mutant number.
pub type Added = BTreeMap<String, Vec<(Range<usize>, usize)>>;

impl Tree {
    /// Copies the files of `source` that git does not ignore to `folder`. Equal files are not
    /// touched; files that no longer exist in `source` are removed.
    pub fn new(source: &Path, folder: &Path) -> Result<Self, Error> {
        let tree = Self { source: source.to_owned(), folder: folder.to_owned() };
        let mut copied = BTreeSet::new();
        for file in tree.files()? {
            if let Ok(bytes) = std::fs::read(tree.source.join(&file)) {
                tree.write(&file, &bytes)?;
                copied.insert(tree.folder.join(&file));
            }
        }
        remove_others(&tree.folder, &copied)?;
        Ok(tree)
    }

    /// Files of the workspace, relative to its folder.
    fn files(&self) -> Result<Vec<String>, Error> {
        let mut command = Command::new("git");
        command.current_dir(&self.source).args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        let output =
            command.output().map_err(|source| Error::Start { command: "git ls-files".to_owned(), source })?;
        let names = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(names.split_terminator('\0').map(str::to_owned).collect())
    }

    /// Writes a file of the copy, unless it already has this content.
    fn write(&self, file: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.folder.join(file);
        if std::fs::read(&path).is_ok_and(|old| old == bytes) {
            return Ok(());
        }
        let written = |source| Error::Write { path: path.display().to_string(), source };
        path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(written)?;
        std::fs::write(&path, bytes).map_err(written)
    }

    /// Weaves the mutants with `numbers`, and no others, into the copy of the crate in `folder`.
    ///
    /// Returns the ranges that each mutant added, and the mutants that cannot be switched.
    pub fn weave(
        &self,
        folder: &str,
        mutants: &[Mutant],
        numbers: &BTreeSet<usize>,
    ) -> Result<(Added, Vec<usize>), Error> {
        let root = ["lib.rs", "main.rs"]
            .map(|name| format!("{folder}/src/{name}"))
            .into_iter()
            .find(|name| self.source.join(name).is_file())
            .unwrap_or_default();
        let mut files: BTreeMap<&str, Vec<usize>> = BTreeMap::from([(root.as_str(), Vec::new())]);
        for (number, mutant) in mutants.iter().enumerate() {
            if mutant.file.starts_with(&format!("{folder}/")) {
                let woven = files.entry(&mutant.file).or_default();
                woven.extend(numbers.contains(&number).then_some(number));
            }
        }
        let (mut added, mut lost) = (Added::new(), Vec::new());
        for (file, numbers) in files {
            let text = self.read(file)?;
            let mutants: Vec<(usize, &Mutant)> =
                numbers.iter().map(|&number| (number, &mutants[number])).collect();
            let Ok(mut woven) = weave::weave(&text, &mutants) else {
                lost.extend(numbers);
                continue;
            };
            let before = if file == root { HEAD } else { "" };
            let after = if file == root { "\nmod mutants_switch;\n" } else { "" };
            for (range, _) in &mut woven.added {
                *range = range.start + before.len()..range.end + before.len();
            }
            self.write(file, format!("{before}{}{after}", woven.text).as_bytes())?;
            lost.extend(woven.lost);
            added.insert(file.to_owned(), woven.added);
        }
        let switch = include_str!("switch.rs")
            .replace("MUTANTS: usize = 0", &format!("MUTANTS: usize = {}", mutants.len()));
        self.write(&format!("{folder}/src/mutants_switch.rs"), switch.as_bytes())?;
        Ok((added, lost))
    }

    /// Reads a file of the workspace, without mutants.
    fn read(&self, file: &str) -> Result<String, Error> {
        let path = self.source.join(file);
        std::fs::read_to_string(&path)
            .map_err(|source| Error::Read { path: path.display().to_string(), source })
    }
}

/// Removes the files below `folder` that are not in `kept`.
fn remove_others(folder: &Path, kept: &BTreeSet<PathBuf>) -> Result<(), Error> {
    let failed = |source| Error::Write { path: folder.display().to_string(), source };
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            remove_others(&path, kept)?;
        } else if !kept.contains(&path) {
            std::fs::remove_file(&path).map_err(failed)?;
        }
    }
    Ok(())
}

const HEAD: &str = "#![feature(core_intrinsics, const_eval_select)]\n#![allow(warnings, clippy::all)]\n";
