//! Reading, writing and copying of files, with errors that contain the path.

use std::path::{Path, PathBuf};

use crate::{Error, root};

/// Names of files and folders that a copy does not need.
const NOT_COPIED: [&str; 3] = [".git", ".venv", "__pycache__"];

/// Paths in a folder, in any order.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Read { path: folder.display().to_string(), source };
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(failed)).collect()
}

/// Reads the text of a file.
pub fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.display().to_string(), source })
}

/// Creates or replaces a file.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|source| Error::Write { path: path.display().to_string(), source })
}

/// A copy of the workspace for trying changes.
pub struct Copy {
    /// Root folder of the copy.
    pub root: PathBuf,
    /// Build folder of the copy. It is separate, since the crates have the same names as the
    /// workspace's.
    pub target: PathBuf,
}

impl Copy {
    /// Makes a copy called `name` in cargo's build folder, replacing an older one.
    pub fn new(name: &str) -> Result<Self, Error> {
        let workspace = root();
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or(workspace.join("target"), PathBuf::from);
        let copy = Self { root: target.join(name), target: target.join(format!("{name}-build")) };
        remove(&copy.root)?;
        copy_all(&workspace, &copy.root)?;
        Ok(copy)
    }
}

/// Copies a file or a folder, recursively, without what is built or installed.
fn copy_all(from: &Path, to: &Path) -> Result<(), Error> {
    if !from.is_dir() {
        return std::fs::copy(from, to)
            .map(|_| ())
            .map_err(|source| Error::Write { path: to.display().to_string(), source });
    }
    make_folder(to)?;
    for path in entries(from)? {
        let Some(name) = path.file_name() else { continue };
        // Cargo marks its folders by such a file. A crate is called `target`, too.
        let is_made = path.join("CACHEDIR.TAG").exists();
        if !is_made && !NOT_COPIED.iter().any(|other| name == *other) {
            copy_all(&path, &to.join(name))?;
        }
    }
    Ok(())
}

/// Removes a folder recursively, if it exists.
pub fn remove(folder: &Path) -> Result<(), Error> {
    if !folder.exists() {
        return Ok(());
    }
    let failed = |source| Error::Write { path: folder.display().to_string(), source };
    std::fs::remove_dir_all(folder).map_err(failed)
}

/// Creates a folder and its parents.
pub fn make_folder(path: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(path).map_err(|source| Error::Write { path: path.display().to_string(), source })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::process::Command;

    use super::*;

    #[test]
    fn a_copy_has_all_packages() {
        let copy = Copy::new("copied").unwrap();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"]);
        let output = cargo.current_dir(&copy.root).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        remove(&copy.root).unwrap();
    }
}
