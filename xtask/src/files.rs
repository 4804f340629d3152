//! Reading, writing and copying files, with errors that name them.

use std::path::{Path, PathBuf};

use crate::{Error, root};

/// What the crates of the workspace are built and tested with.
const WORKSPACE: [&str; 8] =
    ["Cargo.toml", "Cargo.lock", "rustfmt.toml", "crates", "targets", "tests", "models", "xtask"];

/// The paths in a folder, in any order.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Read { path: folder.display().to_string(), source };
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(failed)).collect()
}

/// The text of a file.
pub fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.display().to_string(), source })
}

/// Makes or replaces a file.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|source| Error::Write { path: path.display().to_string(), source })
}

/// A copy of the workspace, to try changes on.
pub struct Copy {
    /// Its root.
    pub root: PathBuf,
    /// Where it is built: a folder of its own, for its crates have the names that those of the workspace have.
    pub target: PathBuf,
}

impl Copy {
    /// Makes one called `name` in the folder that cargo builds in, in place of an older one.
    pub fn new(name: &str) -> Result<Self, Error> {
        let workspace = root();
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or(workspace.join("target"), PathBuf::from);
        let copy = Self { root: target.join(name), target: target.join(format!("{name}-build")) };
        remove(&copy.root)?;
        make_folder(&copy.root)?;
        for entry in WORKSPACE {
            copy_all(&workspace.join(entry), &copy.root.join(entry))?;
        }
        Ok(copy)
    }
}

/// Copies a file, or a folder with all that is in it.
fn copy_all(from: &Path, to: &Path) -> Result<(), Error> {
    if !from.is_dir() {
        return std::fs::copy(from, to)
            .map(|_| ())
            .map_err(|source| Error::Write { path: to.display().to_string(), source });
    }
    make_folder(to)?;
    for path in entries(from)? {
        let Some(name) = path.file_name() else { continue };
        copy_all(&path, &to.join(name))?;
    }
    Ok(())
}

/// Removes a folder with all that is in it, if it is there.
pub fn remove(folder: &Path) -> Result<(), Error> {
    if !folder.exists() {
        return Ok(());
    }
    let failed = |source| Error::Write { path: folder.display().to_string(), source };
    std::fs::remove_dir_all(folder).map_err(failed)
}

/// Makes a folder and those above it.
pub fn make_folder(path: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(path).map_err(|source| Error::Write { path: path.display().to_string(), source })
}
