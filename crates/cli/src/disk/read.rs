//! [`Disk`]: reads files and folders for the library.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use npukit::{ReadError, Reader};

/// Reads files and folders.
pub struct Disk;

impl Reader for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        fs::read(path).map_err(|error| unreadable(path, &error))
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        let mut files = Vec::new();
        walk(Path::new(path), &mut files)
            .map_err(|(path, error)| unreadable(&path.to_string_lossy(), &error))?;
        files.sort();
        Ok(files)
    }
}

fn unreadable(path: &str, error: &io::Error) -> ReadError {
    ReadError::Unreadable { path: path.to_owned(), reason: error.to_string() }
}

/// All files at and below `path`. Folders reached through links are left out: they could lead in circles.
fn walk(path: &Path, files: &mut Vec<String>) -> Result<(), (PathBuf, io::Error)> {
    let at = |error| (path.to_owned(), error);
    if !fs::metadata(path).map_err(at)?.is_dir() {
        files.push(path.to_string_lossy().into_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path).map_err(at)? {
        let entry = entry.map_err(at)?;
        let linked = entry.file_type().map_err(at)?.is_symlink();
        if !(linked && entry.path().is_dir()) {
            walk(&entry.path(), files)?;
        }
    }
    Ok(())
}
