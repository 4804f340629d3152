//! [`Appended`]: a file that grows by whole lines while a command works, and is there when it is ended.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::fault::{Step, step};
use crate::failure::{Aftermath, Failure};

/// A file to which lines are added, from any thread.
pub struct Appended {
    path: PathBuf,
    file: Mutex<Grown>,
}

struct Grown {
    file: File,
    /// What went wrong first.
    failure: Option<io::Error>,
}

impl Appended {
    /// The file at `path`, which is made where there is none, and its content.
    pub fn open(path: &Path) -> Result<(Self, Vec<u8>), Failure> {
        let failed = |source| Failure::Write {
            path: path.display().to_string(),
            aftermath: Aftermath::default(),
            source,
        };
        step().map_err(failed)?;
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = file.map_err(failed)?;
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(failed)?;
        Ok((Self { path: path.to_owned(), file: Mutex::new(Grown { file, failure: None }) }, content))
    }

    /// Cuts off what follows the first `bytes`: a line that was being written when the command was ended.
    pub fn keep(&self, bytes: usize) {
        self.change(|file| {
            file.set_len(bytes as u64)?;
            file.seek(SeekFrom::End(0)).map(drop)
        });
    }

    /// Adds a line, with its end; after a failure nothing more.
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

    /// That all lines are in the file.
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
