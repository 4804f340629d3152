//! Sources of files: files held by Python, and the disk.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::{fs, io};

use npukit::{Cache, Context, Part, ReadError, Reader};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Files by name.
pub type NamedFiles = Arc<BTreeMap<String, Vec<u8>>>;

/// Merges the files of two holders. Equal names with different contents are an error.
pub fn together(one: &NamedFiles, other: &NamedFiles) -> PyResult<NamedFiles> {
    if let Some((name, _)) =
        one.iter().find(|(name, bytes)| other.get(*name).is_some_and(|held| held != *bytes))
    {
        let message = format!("two files are called {name:?}: save one of them under another name");
        return Err(PyValueError::new_err(message));
    }
    let all = one.iter().chain(other.iter());
    Ok(Arc::new(all.map(|(name, bytes)| (name.clone(), bytes.clone())).collect()))
}

/// Search results of compilations, for later compilations in this process.
static CACHE: LazyLock<Cache> =
    LazyLock::new(|| Cache::new(concat!("python ", env!("CARGO_PKG_VERSION")).to_owned(), None));

/// Reader of files held by Python, and of files on the disk.
pub struct Files(pub NamedFiles);

impl Reader for Files {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        match self.0.get(path) {
            Some(bytes) => Ok(bytes.clone()),
            None => fs::read(path).map_err(|error| ReadError::of(path, &error)),
        }
    }

    fn read_range(&self, path: &str, range: Range<u64>) -> Result<Part, ReadError> {
        let Some(bytes) = self.0.get(path) else {
            return part(path, &range).map_err(|error| ReadError::of(path, &error));
        };
        // Default: the end of the file, for what is beyond this computer's memory.
        let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let (start, end) = (place(range.start), place(range.end));
        Ok(Part { bytes: bytes[start..end.max(start)].to_vec(), file_bytes: bytes.len() as u64 })
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        if self.0.contains_key(path) {
            return Ok(vec![path.to_owned()]);
        }
        let mut files = Vec::new();
        walk(Path::new(path), &mut files).map_err(|error| ReadError::of(path, &error))?;
        files.sort();
        Ok(files)
    }
}

/// Reads a part of a file, as far as the file has it.
fn part(path: &str, range: &Range<u64>) -> io::Result<Part> {
    let mut file = File::open(path)?;
    let file_bytes = file.metadata()?.len();
    let (start, end) = (range.start.min(file_bytes), range.end.min(file_bytes));
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(end.saturating_sub(start)).read_to_end(&mut bytes)?;
    Ok(Part { bytes, file_bytes })
}

/// Adds the paths of all files below a folder. Links to folders are not followed.
fn walk(path: &Path, files: &mut Vec<String>) -> io::Result<()> {
    if !fs::metadata(path)?.is_dir() {
        files.push(path.to_string_lossy().into_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if !(entry.file_type()?.is_symlink() && entry.path().is_dir()) {
            walk(&entry.path(), files)?;
        }
    }
    Ok(())
}

impl Files {
    /// Creates a reader of the disk only.
    pub fn of_disk() -> Self {
        Self(NamedFiles::default())
    }

    /// Context in which a verb runs.
    pub fn context(&self) -> Context<'_> {
        Context::new(self).with_cache(&CACHE)
    }
}
