//! [`Appended`]: a file that grows by whole lines while a command works, and remains if the command
//! is stopped.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::fault::{Step, step};
use super::read::check_kind;
use crate::failure::{Aftermath, Failure};

/// File to which lines can be added from any thread.
pub struct Appended {
    path: PathBuf,
    file: Mutex<Grown>,
}

struct Grown {
    file: File,
    /// First error.
    failure: Option<io::Error>,
}

impl Appended {
    /// Opens the regular file at `path`, or creates it, and returns its contents.
    ///
    /// Errors: the path is a pipe, a device or a link; errors of the system.
    pub fn open(path: &Path) -> Result<(Self, Vec<u8>), Failure> {
        let failed = |source| Failure::Write {
            path: path.display().to_string(),
            aftermath: Aftermath::default(),
            source,
        };
        step().map_err(failed)?;
        check(path).map_err(failed)?;
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = file.map_err(failed)?;
        // It may have been replaced since the check.
        file.metadata().and_then(|found| check_kind(&found)).map_err(failed)?;
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(failed)?;
        Ok((Self { path: path.to_owned(), file: Mutex::new(Grown { file, failure: None }) }, content))
    }

    /// Truncates the file after the first `bytes`, to remove an incomplete line of a stopped
    /// command.
    pub fn keep(&self, bytes: usize) {
        self.change(|file| {
            file.set_len(bytes as u64)?;
            file.seek(SeekFrom::End(0)).map(drop)
        });
    }

    /// Adds a line with its newline; does nothing after an error.
    pub fn add(&self, line: &str) {
        self.change(|file| match step()? {
            Step::Go => file.write_all(line.as_bytes()),
            Step::Short => {
                file.write_all(&line.as_bytes()[..line.len() / 2])?;
                Err(io::ErrorKind::WriteZero.into())
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut File) -> io::Result<()>) {
        let mut grown = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if grown.failure.is_none() {
            grown.failure = change(&mut grown.file).err();
        }
    }

    /// Reports whether all lines are in the file.
    pub fn finish(self) -> Result<(), Failure> {
        let Grown { file, failure } = self.file.into_inner().unwrap_or_else(PoisonError::into_inner);
        let done = failure.map_or_else(|| file.sync_all(), Err);
        done.map_err(|source| Failure::Write {
            path: self.path.display().to_string(),
            aftermath: Aftermath::default(),
            source,
        })
    }
}

/// Rejects anything except a regular file before it is opened, since opening could block.
fn check(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            Err(io::Error::other("it is a symbolic link: give the path of its target"))
        }
        Ok(found) => check_kind(&found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_file_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        for known in ["", "a\n"] {
            let (file, content) = Appended::open(&path).unwrap();
            assert_eq!(content, known.as_bytes());
            file.add("a\n");
            file.finish().unwrap();
        }
        assert_eq!(fs::read(path).unwrap(), b"a\na\n");
    }

    #[cfg(unix)]
    #[test]
    fn only_regular_files_grow() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let message = |path: &Path| match Appended::open(path) {
            Err(Failure::Write { source, .. }) => source.to_string(),
            Err(other) => other.to_string(),
            Ok(_) => "nothing".to_owned(),
        };
        fs::write(at("file"), "precious").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        std::os::unix::fs::symlink("later", at("dangling")).unwrap();
        for name in ["link", "dangling"] {
            assert!(message(&at(name)).contains("symbolic link"), "{}", message(&at(name)));
        }
        assert!(!at("later").exists());
        for device in ["/dev/zero", "/dev/null"] {
            assert!(message(Path::new(device)).contains("not a regular file"), "{device}");
        }
        let pipe = at("pipe");
        if std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
            assert!(message(&pipe).contains("not a regular file"));
        }
        assert_ne!(message(folder.path()), "nothing");
    }
}
