//! Writes: [`write_all`] whole files or none, [`Staged`] one that is too long for memory.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::Failure;

/// Writes all files, or none: each beside its place first, then all are renamed. Folders are made.
pub fn write_all(files: &[(PathBuf, &[u8])]) -> Result<(), Failure> {
    let mut staged = Vec::new();
    for (path, bytes) in files {
        let file = stage(path, bytes).map_err(|source| failure(path, source))?;
        staged.push((path, file));
    }
    for (path, file) in staged {
        file.persist(path).map_err(|error| failure(path, error.error))?;
    }
    Ok(())
}

fn stage(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = beside(path)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// An empty file beside the place of another one, whose folder is made.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    builder().tempfile_in(folder)
}

/// A file that is written as its content comes, and takes its place when it is complete.
pub struct Staged {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
}

impl Staged {
    /// A file for `path`.
    pub fn new(path: &Path) -> Result<Self, Failure> {
        let file = beside(path).map_err(|source| failure(path, source))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file) })
    }

    /// Takes the content.
    pub fn writer(&mut self) -> &mut dyn Write {
        &mut self.file
    }

    /// The content is complete.
    pub fn finish(self) -> Result<(), Failure> {
        let Self { path, file } = self;
        let file = file.into_inner().map_err(|error| failure(&path, error.into_error()))?;
        file.as_file().sync_all().map_err(|source| failure(&path, source))?;
        file.persist(&path).map_err(|error| failure(&path, error.error))?;
        Ok(())
    }
}

/// Temporary files are private unless told otherwise; results are as open as the user's mask allows.
fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".npu-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
}

fn failure(path: &Path, source: io::Error) -> Failure {
    Failure::Write { path: path.display().to_string(), source }
}
