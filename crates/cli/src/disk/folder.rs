//! [`Folder`]: a locked folder into which only this process writes sets of files; leftovers of
//! ended processes are removed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::temporary::is_ours;
use super::undo::{self, Undo};

/// Folder with a lock, which is released with the process or the value.
pub struct Folder {
    /// Lock; `None` on a file system without locks.
    _lock: Option<File>,
}

impl Folder {
    /// Waits for the lock of `folder`, and cleans it up.
    pub fn lock(folder: &Path) -> io::Result<Self> {
        let file = File::open(folder)?;
        match file.lock() {
            Ok(()) => {
                tidy(folder);
                Ok(Self { _lock: Some(file) })
            }
            // On a file system without locks, hashes detect sets that two processes wrote at the
            // same time.
            Err(_) => Ok(Self { _lock: None }),
        }
    }

    /// Cleans up `folder`, unless another process works there.
    pub fn tidy(folder: &Path) {
        // A folder that cannot be opened or locked stays as it is.
        if let Ok(file) = File::open(folder)
            && file.try_lock().is_ok()
        {
            tidy(folder);
        }
    }

    /// Restores a set that an ended process has partly renamed, so that the next reader finds it
    /// complete.
    pub fn settle(folder: &Path) {
        if names(folder).iter().any(|name| name.ends_with(undo::ENDING)) {
            // It waits for other writers. If the set cannot be restored, its hashes detect that.
            let _ = Self::lock(folder);
        }
    }
}

/// Undoes incomplete writes, then removes temporary files without an owner. The folder is locked.
fn tidy(folder: &Path) {
    let names = names(folder);
    let mut needed = BTreeSet::new();
    for name in names.iter().filter(|name| name.ends_with(undo::ENDING)) {
        let path = folder.join(name);
        match Undo::read(&path).map(|undo| (undo.apply(), undo)) {
            Some((Ok(()), _)) => {
                // It is done; repeating it has no effect.
                let _ = fs::remove_file(path);
            }
            Some((Err(_), undo)) => needed.extend(undo.backups()),
            None => {}
        }
    }
    let old = names.iter().filter(|name| !name.ends_with(undo::ENDING) && !needed.contains(*name));
    old.map(|name| folder.join(name)).for_each(|path| remove_without_owner(&path));
}

/// Returns the names of npukit's temporary files.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    // A link is the previous file of a place, under another name.
    let files =
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_symlink()));
    files.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| is_ours(name)).collect()
}

/// Owners hold locks on their files; links have none.
fn remove_without_owner(path: &PathBuf) {
    if fs::read_link(path).is_ok() {
        // A file of another user may stay.
        let _ = fs::remove_file(path);
    } else if let Ok(file) = File::open(path)
        && file.try_lock().is_ok()
    {
        // A file of another user may stay.
        let _ = fs::remove_file(path);
    }
}
