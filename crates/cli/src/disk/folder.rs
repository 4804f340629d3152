//! [`Folder`]: a folder that this process alone writes sets of files into, tidied of what ended processes left.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::temporary::is_ours;
use super::undo::{self, Undo};

/// A folder with a lock on it, which goes with the process or the value.
pub struct Folder {
    /// Held, or none on a file system without locks.
    _lock: Option<File>,
}

impl Folder {
    /// Waits for `folder`, and tidies it.
    pub fn lock(folder: &Path) -> io::Result<Self> {
        let file = File::open(folder)?;
        match file.lock() {
            Ok(()) => {
                tidy(folder);
                Ok(Self { _lock: Some(file) })
            }
            // A file system without locks: hashes tell sets that two processes wrote at a time.
            Err(_) => Ok(Self { _lock: None }),
        }
    }

    /// Tidies `folder`, unless somebody is at work there.
    pub fn tidy(folder: &Path) {
        // Who may not open or lock it leaves it as it is.
        if let Ok(file) = File::open(folder)
            && file.try_lock().is_ok()
        {
            tidy(folder);
        }
    }

    /// Puts a set back of which an ended process has renamed a part, so that who reads it next finds it whole.
    pub fn settle(folder: &Path) {
        if names(folder).iter().any(|name| name.ends_with(undo::ENDING)) {
            // It waits for who is at work; what cannot be put back is found out by its hashes.
            let _ = Self::lock(folder);
        }
    }
}

/// Undoes what was left halfway, then removes temporary files without an owner. The folder is locked.
fn tidy(folder: &Path) {
    let names = names(folder);
    let mut needed = BTreeSet::new();
    for name in names.iter().filter(|name| name.ends_with(undo::ENDING)) {
        let path = folder.join(name);
        match Undo::read(&path).map(|undo| (undo.apply(), undo)) {
            Some((Ok(()), _)) => {
                // It has been done: doing it again does nothing.
                let _ = fs::remove_file(path);
            }
            Some((Err(_), undo)) => needed.extend(undo.backups()),
            None => {}
        }
    }
    let old = names.iter().filter(|name| !name.ends_with(undo::ENDING) && !needed.contains(*name));
    old.map(|name| folder.join(name)).for_each(|path| remove_without_owner(&path));
}

/// Names of our temporary files.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    // A link is what was at a place, under another name.
    let files =
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_symlink()));
    files.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| is_ours(name)).collect()
}

/// Owners hold locks on their files; links have none.
fn remove_without_owner(path: &PathBuf) {
    if fs::read_link(path).is_ok() {
        // Somebody else's may stay.
        let _ = fs::remove_file(path);
    } else if let Ok(file) = File::open(path)
        && file.try_lock().is_ok()
    {
        // Somebody else's may stay.
        let _ = fs::remove_file(path);
    }
}
