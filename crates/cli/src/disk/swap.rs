//! [`swap`]: puts a set of files in their places atomically.
//!
//! The existing files are kept under other names, an [`Undo`] is written, the files are renamed,
//! and the undo is removed: after that, the new set is valid. After an error, the process undoes
//! the set; if it is killed, the next `npu` does so.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::fault::step;
use super::folder::Folder;
use super::place::folder;
use super::signals;
use super::temporary::Temporary;
use super::undo::Undo;

/// Temporary file and its final place.
pub type Move = (Temporary, PathBuf);

/// Reason why a set could not be put in place.
#[derive(Debug)]
pub struct SwapError {
    /// Place at which it failed.
    pub place: PathBuf,
    /// Error of the system.
    pub source: io::Error,
    /// Places that could not be restored: the new file is there, or may be.
    pub new: Vec<PathBuf>,
}

/// Renames all files in order. If this process is killed, a set in several folders is only
/// consistent within each folder.
pub fn swap(moves: Vec<Move>) -> Result<(), SwapError> {
    let folder_of = |(_, place): &Move| {
        let whole = fs::canonicalize(folder(place)).map_err(|source| failed(place, source))?;
        Ok((whole, folder(place).to_owned()))
    };
    let folders = moves.iter().map(folder_of).collect::<Result<BTreeMap<PathBuf, PathBuf>, SwapError>>()?;
    if let [_] = &moves[..] {
        folders.values().for_each(|folder| Folder::tidy(folder));
        let _swapping = signals::swapping();
        return rename(moves);
    }
    // Locks are taken in a fixed order, which prevents deadlocks.
    let lock = |folder: &PathBuf| Folder::lock(folder).map_err(|source| failed(folder, source));
    let _locks = folders.values().map(lock).collect::<Result<Vec<_>, _>>()?;
    let _swapping = signals::swapping();
    let mut undos = Undos::default();
    undos.keep(&moves).or_else(|error| undos.undo(error))?;
    rename(moves).and_then(|()| undos.remove()).or_else(|error| undos.undo(error))?;
    undos.all.values().for_each(Undo::forget);
    Ok(())
}

fn failed(place: &Path, source: io::Error) -> SwapError {
    SwapError { place: place.to_owned(), source, new: Vec::new() }
}

fn rename(moves: Vec<Move>) -> Result<(), SwapError> {
    let folders: Vec<PathBuf> = moves.iter().map(|(_, place)| folder(place).to_owned()).collect();
    for (file, place) in moves {
        file.rename(&place).map_err(|(_, source)| failed(&place, source))?;
    }
    folders.iter().for_each(|folder| sync(folder));
    Ok(())
}

/// Flushes the folder's names to the disk, if the system supports it.
fn sync(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// Undo data by folder, and the files that contain it.
#[derive(Default)]
struct Undos {
    all: BTreeMap<PathBuf, Undo>,
    written: Vec<PathBuf>,
}

impl Undos {
    /// Keeps the existing files of all places.
    fn keep(&mut self, moves: &[Move]) -> Result<(), SwapError> {
        for (file, place) in moves {
            let folder = folder(place);
            let undo = self.all.entry(folder.to_owned()).or_insert_with(|| Undo::new(folder));
            undo.keep(place, file).map_err(|source| failed(place, source))?;
        }
        for (folder, undo) in &self.all {
            self.written.push(undo.write().map_err(|source| failed(folder, source))?);
            sync(folder);
        }
        Ok(())
    }

    /// Removes the undo data; after this, nothing is undone.
    fn remove(&mut self) -> Result<(), SwapError> {
        while let Some(path) = self.written.last() {
            step().and_then(|_| fs::remove_file(path)).map_err(|source| failed(path, source))?;
            self.written.pop();
        }
        Ok(())
    }

    /// Restores everything, and returns the error with the places that could not be restored.
    fn undo(&mut self, error: SwapError) -> Result<(), SwapError> {
        let new: Vec<PathBuf> = self.all.values().filter_map(|undo| undo.apply().err()).flatten().collect();
        if new.is_empty() {
            // Undoing again has no effect.
            self.written.iter().for_each(|path| drop(fs::remove_file(path)));
        }
        Err(SwapError { new, ..error })
    }
}
