//! Writing: [`write_all`] the files of a command, [`Staged`] a single file that is too large for
//! memory, [`commit`] several of these.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use npukit::Phase;

use super::fault::step;
use super::place::{OutputPath, check_apart, folder};
use super::standard::Output;
use super::swap::{Move, SwapError, swap};
use super::temporary::Temporary;
use crate::failure::{Aftermath, Failure};

/// Writes all files, or none; the first is put in place last. Folders are created.
///
/// Errors: two files are the same, or a file was read by this command; errors of the system, with
/// the files that were written.
pub fn write_all(files: &[(PathBuf, &[u8])]) -> Result<(), Failure> {
    check_apart(files.iter().map(|(path, _)| path.as_path()))?;
    write(files)
}

/// Writes a file that this command may have read.
pub fn overwrite(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write(&[(path.to_owned(), bytes)])
}

fn write(files: &[(PathBuf, &[u8])]) -> Result<(), Failure> {
    if files.is_empty() {
        return Ok(());
    }
    let _phase = Phase::begin("write");
    let opened = files.iter().map(|(path, bytes)| Ok((Staged::new(path)?, *bytes)));
    let mut opened = opened.collect::<Result<Vec<_>, Failure>>()?;
    // Data that a device received cannot be undone, so devices come last.
    opened.sort_by_key(|(staged, _)| staged.is_through());
    let mut through = Vec::new();
    for (staged, bytes) in &mut opened {
        let is_through = staged.is_through();
        let written = staged.writer().write_all(bytes);
        let written = written.and_then(|()| if is_through { staged.flush() } else { Ok(()) });
        written.map_err(|source| failure(&staged.path, source, Aftermath::new(&through, &[])))?;
        through.extend(is_through.then(|| staged.path.clone()));
    }
    place(opened.into_iter().map(|(staged, _)| staged).collect())
}

/// File that is written piece by piece, and put in place when it is committed.
pub struct Staged {
    path: PathBuf,
    sink: Sink,
}

enum Sink {
    /// Temporary file next to its place.
    File(PathBuf, BufWriter<Temporary>),
    /// Device or pipe.
    Through(BufWriter<Box<dyn Write>>),
}

impl Staged {
    /// Creates a file for `path`.
    pub fn new(path: &Path) -> Result<Self, Failure> {
        let failed = |source| failure(path, source, Aftermath::default());
        let sink = match step().and_then(|_| OutputPath::of(path)).map_err(failed)? {
            OutputPath::File(place) => {
                let file = Temporary::new(folder(&place)).map_err(failed)?;
                Sink::File(place, BufWriter::new(file))
            }
            OutputPath::Through(place) => {
                let file = OpenOptions::new().write(true).truncate(true).open(place).map_err(failed)?;
                Sink::Through(BufWriter::new(Box::new(file)))
            }
            OutputPath::Standard => Sink::Through(BufWriter::new(Box::new(Output))),
        };
        Ok(Self { path: path.to_owned(), sink })
    }

    /// Writes the whole contents.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = self.writer().write_all(bytes);
        written.map_err(|source| failure(&self.path, source, Aftermath::default()))
    }

    /// Returns the writer for the contents.
    pub fn writer(&mut self) -> &mut dyn Write {
        match &mut self.sink {
            Sink::File(_, file) => file,
            Sink::Through(file) => file,
        }
    }

    const fn is_through(&self) -> bool {
        matches!(self.sink, Sink::Through(_))
    }

    /// Flushes the contents to the system, and a file also to the disk.
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::File(_, file) => file.flush().and_then(|()| file.get_ref().sync()),
            Sink::Through(file) => file.flush(),
        }
    }

    /// Returns the file with its place; `None` for a device. Everything must be flushed.
    fn into_move(self) -> Option<Move> {
        let Sink::File(place, file) = self.sink else { return None };
        let (file, _) = file.into_parts();
        Some((file, place))
    }
}

/// Puts all files in place, or none; the first last.
///
/// Errors: as for [`write_all`].
pub fn commit(files: Vec<Staged>) -> Result<(), Failure> {
    if files.is_empty() {
        return Ok(());
    }
    let _phase = Phase::begin("write");
    check_apart(files.iter().map(|file| file.path.as_path()))?;
    place(files)
}

fn place(mut files: Vec<Staged>) -> Result<(), Failure> {
    let mut through = Vec::new();
    for file in &mut files {
        file.flush().map_err(|source| failure(&file.path, source, Aftermath::new(&through, &[])))?;
        through.extend(file.is_through().then(|| file.path.clone()));
    }
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let moves: Vec<Move> = files.into_iter().rev().filter_map(Staged::into_move).collect();
    if !moves.is_empty() {
        let failed =
            |SwapError { place, source, new }| failure(&place, source, Aftermath::new(&through, &new));
        swap(moves).map_err(failed)?;
    }
    paths.iter().for_each(|path| log(path));
    Ok(())
}

/// Logs that a file is in place; the size is only known for files.
fn log(path: &Path) {
    let bytes = fs::metadata(path).ok().filter(Metadata::is_file).map(|metadata| metadata.len());
    tracing::info!(path = %path.display(), bytes, "file written");
}

fn failure(path: &Path, source: io::Error, aftermath: Aftermath) -> Failure {
    Failure::Write { path: path.display().to_string(), aftermath, source }
}
