//! [`Undo`]: data that restores a folder to its state before a set of files was renamed into it. It
//! is stored as a file in the folder meanwhile, so that another process can undo the set if this
//! one is killed.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::fault::step;
use super::place::Identity;
use super::temporary::Temporary;

/// Suffix of the names of undo files.
pub const ENDING: &str = ".undo";
/// Suffix of the names of backups.
const BACKUP_ENDING: &str = ".old";
/// Maximum size of an undo file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Places of a set in one folder, with their previous files.
#[derive(Debug, Serialize, Deserialize)]
pub struct Undo {
    #[serde(skip)]
    folder: PathBuf,
    entries: Vec<Entry>,
}

/// Place, by names of files in the folder.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    place: String,
    /// Name of the backup of the previous file; `None` if there was none. The key is fixed by
    /// existing undo files.
    #[serde(rename = "kept")]
    backup: Option<String>,
}

impl Undo {
    /// Creates empty undo data for `folder`.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), entries: Vec::new() }
    }

    /// Keeps the file at `place`, which `new` will replace.
    pub fn keep(&mut self, place: &Path, new: &Temporary) -> io::Result<()> {
        let mut backup = None;
        if fs::symlink_metadata(place).is_ok() {
            let name = format!("{}{BACKUP_ENDING}", name(new.path())?);
            backup = Some(name.clone());
            self.entries.push(Entry { place: self::name(place)?, backup });
            return copy(place, &self.folder.join(name));
        }
        self.entries.push(Entry { place: name(place)?, backup });
        Ok(())
    }

    /// Writes the data as a file into the folder, and returns its path.
    pub fn write(&self) -> io::Result<PathBuf> {
        let mut file = Temporary::new(&self.folder)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync()?;
        let path = self.folder.join(format!("{}{ENDING}", name(file.path())?));
        file.rename(&path).map_err(|(_, error)| error)?;
        Ok(path)
    }

    /// Reads the undo file at `path`; `None` if it belongs to another user or is invalid.
    pub fn read(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        if !is_mine(path, &found) || found.len() > MAX_BYTES {
            return None;
        }
        let read: Self = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        let plain = |name: &String| Path::new(name).file_name().is_some_and(|plain| plain == name.as_str());
        let names = read.entries.iter().flat_map(|entry| std::iter::once(&entry.place).chain(&entry.backup));
        if !names.into_iter().all(plain) {
            return None;
        }
        Some(Self { folder: super::place::folder(path).to_owned(), ..read })
    }

    /// Returns the names of the backups.
    pub fn backups(&self) -> impl Iterator<Item = String> {
        self.entries.iter().filter_map(|entry| entry.backup.clone())
    }

    /// Restores everything; places that were already restored are unchanged.
    ///
    /// Errors: the places that could not be restored; all others were.
    pub fn apply(&self) -> Result<(), Vec<PathBuf>> {
        let failed = |entry: &&Entry| self.put_back(entry).is_err();
        let failed: Vec<PathBuf> =
            self.entries.iter().filter(failed).map(|entry| self.folder.join(&entry.place)).collect();
        if failed.is_empty() { Ok(()) } else { Err(failed) }
    }

    fn put_back(&self, entry: &Entry) -> io::Result<()> {
        let place = self.folder.join(&entry.place);
        let Some(backup) = &entry.backup else {
            return if is_there(&place) { remove(&place) } else { Ok(()) };
        };
        let backup = self.folder.join(backup);
        // Both are the same file, or links to it, as long as it was not replaced.
        if is_there(&backup) && !is_same(&backup, &place) {
            step()?;
            fs::rename(&backup, place)?;
        }
        absent(fs::remove_file(backup))
    }

    /// Removes the backups; after this, the previous files are gone.
    pub fn forget(&self) {
        for name in self.backups() {
            // The next write into this folder removes leftovers.
            let _ = fs::remove_file(self.folder.join(name));
        }
    }
}

/// Whether two names are the same file, or links to the same place.
fn is_same(backup: &Path, place: &Path) -> bool {
    match (fs::read_link(backup), fs::read_link(place)) {
        (Ok(backup), Ok(place)) => backup == place,
        (Err(_), Err(_)) => Identity::of(backup) == Identity::of(place),
        _ => false,
    }
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn remove(path: &Path) -> io::Result<()> {
    step()?;
    fs::remove_file(path)
}

/// Treats a missing file as success.
fn absent(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Creates a second name for a file, or a copy if hard links are not supported; a link is copied as
/// a link.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    step()?;
    #[cfg(unix)]
    if let Ok(end) = fs::read_link(from) {
        return std::os::unix::fs::symlink(end, to);
    }
    fs::hard_link(from, to).or_else(|_| {
        let copied = fs::copy(from, to).and_then(|_| fs::File::open(to)?.sync_all());
        // An incomplete copy must never be restored.
        copied.inspect_err(|_| drop(fs::remove_file(to)))
    })
}

fn name(path: &Path) -> io::Result<String> {
    let name = path.file_name().and_then(|name| name.to_str());
    let unfit =
        || io::Error::new(io::ErrorKind::InvalidInput, "the names of a set of files must be UTF-8 text");
    name.map(str::to_owned).ok_or_else(unfit)
}

/// Whether a file belongs to the current user: other users could make the process move files.
#[cfg(unix)]
fn is_mine(path: &Path, found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let mine = tempfile::tempfile_in(super::place::folder(path)).and_then(|file| file.metadata());
    found.is_file() && mine.is_ok_and(|mine| mine.uid() == found.uid())
}

#[cfg(not(unix))]
fn is_mine(_path: &Path, found: &fs::Metadata) -> bool {
    found.is_file()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_link_is_put_back_as_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "precious").unwrap();
        for (link, end) in [("link", "file"), ("dangling", "later")] {
            std::os::unix::fs::symlink(end, at(link)).unwrap();
            let mut undo = Undo::new(folder.path());
            let new = Temporary::new(folder.path()).unwrap();
            undo.keep(&at(link), &new).unwrap();
            // Before the file is replaced, and after.
            for is_new in [false, true] {
                if is_new {
                    undo = Undo::new(folder.path());
                    undo.keep(&at(link), &new).unwrap();
                    fs::remove_file(at(link)).unwrap();
                    fs::write(at(link), "new").unwrap();
                }
                undo.apply().unwrap();
                assert_eq!(fs::read_link(at(link)).unwrap(), Path::new(end), "{link}");
                assert_eq!(fs::read(at("file")).unwrap(), b"precious");
                assert!(undo.backups().all(|name| !is_there(&at(&name))), "{link}");
            }
        }
    }

    #[test]
    fn the_keys_are_those_of_files_that_lie_in_folders() {
        let text = r#"{"entries":[{"place":"a","kept":"a.old"},{"place":"b","kept":null}]}"#;
        let undo: Undo = serde_json::from_str(text).expect("an undo");
        assert_eq!(undo.backups().collect::<Vec<_>>(), ["a.old"]);
        assert_eq!(serde_json::to_string(&undo).expect("text"), text);
    }
}
