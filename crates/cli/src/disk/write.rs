//! Writes: [`write_all`] the files of a command, [`Staged`] one that is too long for memory, [`commit`] several of these.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use npukit::Phase;

use super::fault::step;
use super::place::{Place, check_apart, folder};
use super::standard::Output;
use super::swap::{Move, SwapError, swap};
use super::temporary::Temporary;
use crate::failure::{Aftermath, Failure};

/// Writes all files, or none; the first takes its place last. Folders are made.
///
/// Errors: files that are one, or that this command has read; what the system says, with what was written.
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
    // What devices have taken cannot be taken back: they come last.
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

/// A file that is written as its content comes, and takes its place when it is committed.
pub struct Staged {
    path: PathBuf,
    sink: Sink,
}

enum Sink {
    /// Beside its place.
    File(PathBuf, BufWriter<Temporary>),
    /// A device or pipe.
    Through(BufWriter<Box<dyn Write>>),
}

impl Staged {
    /// A file for `path`.
    pub fn new(path: &Path) -> Result<Self, Failure> {
        let failed = |source| failure(path, source, Aftermath::default());
        let sink = match step().and_then(|_| Place::of(path)).map_err(failed)? {
            Place::File(place) => {
                let file = Temporary::new(folder(&place)).map_err(failed)?;
                Sink::File(place, BufWriter::new(file))
            }
            Place::Through(place) => {
                let file = OpenOptions::new().write(true).truncate(true).open(place).map_err(failed)?;
                Sink::Through(BufWriter::new(Box::new(file)))
            }
            Place::Standard => Sink::Through(BufWriter::new(Box::new(Output))),
        };
        Ok(Self { path: path.to_owned(), sink })
    }

    /// Takes the content.
    pub fn writer(&mut self) -> &mut dyn Write {
        match &mut self.sink {
            Sink::File(_, file) => file,
            Sink::Through(file) => file,
        }
    }

    const fn is_through(&self) -> bool {
        matches!(self.sink, Sink::Through(_))
    }

    /// All of the content is with the system, on the disk if it is to stay.
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::File(_, file) => file.flush().and_then(|()| file.get_ref().sync()),
            Sink::Through(file) => file.flush(),
        }
    }

    /// The file for its place; none of a device. All is flushed.
    fn into_move(self) -> Option<Move> {
        let Sink::File(place, file) = self.sink else { return None };
        let (file, _) = file.into_parts();
        Some((file, place))
    }
}

/// All files take their places, or none does; the first does last.
///
/// Errors: as [`write_all`].
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

/// Logs that a file is in its place; of what is no file nobody knows the size.
fn log(path: &Path) {
    let bytes = fs::metadata(path).ok().filter(Metadata::is_file).map(|metadata| metadata.len());
    tracing::info!(path = %path.display(), bytes, "file written");
}

fn failure(path: &Path, source: io::Error, aftermath: Aftermath) -> Failure {
    Failure::Write { path: path.display().to_string(), aftermath, source }
}
