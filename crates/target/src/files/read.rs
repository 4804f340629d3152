//! [`Reader`]: where bytes come from. Libraries do no I/O; the command implements this.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is none: not even one that cannot be read.
    #[error("cannot read `{path}`: there is no such file")]
    Absent {
        /// The file asked for.
        path: String,
    },
    /// The reader could not give it.
    #[error("cannot read `{path}`: {reason}")]
    Unreadable {
        /// The file asked for.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// A file names one that lies elsewhere.
    #[error("`{location}` leads to `{leads_to}`: files named in `{path}` lie in its folder")]
    Elsewhere {
        /// The file that names it.
        path: String,
        /// The name found there.
        location: String,
        /// Where it leads.
        leads_to: String,
    },
    /// A file names a neighbour by something that is not a plain file name.
    #[error("`{name}` is not a plain file name: files named in `{path}` lie in its own folder")]
    NotAName {
        /// The file that names it.
        path: String,
        /// The name found there.
        name: String,
    },
    /// A manifest is not as it was written.
    #[error(
        "`{manifest}` is not as it was written: its `digest` is of another text; compile the model again"
    )]
    Changed {
        /// The file.
        manifest: String,
    },
    /// A file of an artifact is from another compilation than the rest.
    #[error(
        "`{name}` is {} `{manifest}` was written with{}: the files are not of one compilation, compile the model again",
        if .expected.is_some() { "not the file that" } else { "no file that" }, hashes(.expected.as_deref(), .actual)
    )]
    Mixed {
        /// The file.
        name: String,
        /// The file that says what belongs to it.
        manifest: String,
        /// SHA-256 of the file that does; none when there is no such file.
        expected: Option<String>,
        /// SHA-256 of the file found.
        actual: String,
    },
}

impl ReadError {
    /// What the system says of the file at `path`.
    pub fn of(path: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Absent { path: path.to_owned() },
            _ => Self::Unreadable { path: path.to_owned(), reason: error.to_string() },
        }
    }

    /// What there is to be read, if anything: a file that is not there is no error, one that cannot be read is.
    ///
    /// # Errors
    ///
    /// That of `read`, unless it is [`ReadError::Absent`].
    pub fn optional<T>(read: Result<T, Self>) -> Result<Option<T>, Self> {
        match read {
            Err(Self::Absent { .. }) => Ok(None),
            read => read.map(Some),
        }
    }
}

fn hashes(expected: Option<&str>, actual: &str) -> String {
    expected.map_or_else(String::new, |expected| format!(" (SHA-256 {actual} instead of {expected})"))
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The bytes asked for, as far as the file has them.
    pub bytes: Vec<u8>,
    /// How many the whole file has.
    pub file_bytes: u64,
}

/// Gives the bytes of files.
pub trait Reader: Sync {
    /// The bytes of the file at `path`.
    ///
    /// # Errors
    ///
    /// [`ReadError::Absent`] when there is no such file, [`ReadError::Unreadable`] when it cannot be read.
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError>;

    /// The bytes in `range` of the file at `path`, as far as it has them.
    ///
    /// A reader that can read no less gives a part of the whole.
    ///
    /// # Errors
    ///
    /// Those of [`Self::read`]; a range that lies after the end gives no bytes and is not an error.
    fn read_range(&self, path: &str, range: Range<u64>) -> Result<Part, ReadError> {
        let bytes = self.read(path)?;
        let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let (start, end) = (place(range.start), place(range.end));
        let part = bytes.get(start..end.max(start)).unwrap_or_default();
        Ok(Part { bytes: part.to_vec(), file_bytes: bytes.len() as u64 })
    }

    /// The path of a file that the one at `path` names: `location` is relative to its folder and has no `..`.
    ///
    /// # Errors
    ///
    /// What leads out of that folder, by a link, say. A reader that knows no links joins the two.
    fn beside(&self, path: &str, location: &str) -> Result<String, ReadError> {
        Ok(format!("{}{location}", folder(path)))
    }

    /// The paths of all files below the folder at `path`, sorted; a file gives itself.
    ///
    /// A reader that cannot list gives the path itself.
    ///
    /// # Errors
    ///
    /// [`ReadError::Absent`] and [`ReadError::Unreadable`] for a folder that cannot be listed.
    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        Ok(vec![path.to_owned()])
    }
}

impl<F: Fn(&str) -> Result<Vec<u8>, ReadError> + Sync> Reader for F {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        self(path)
    }
}

/// The bytes of files for who knows no readers: by path, or why there are none.
pub fn bytes_of(files: &dyn Reader) -> impl Fn(&str) -> Result<Vec<u8>, String> + '_ {
    |path| {
        files.read(path).map_err(|error| match error {
            ReadError::Absent { .. } => "there is no such file".to_owned(),
            ReadError::Unreadable { reason, .. } => reason,
            other => other.to_string(),
        })
    }
}

/// No file at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoFiles;

impl Reader for NoFiles {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        Err(ReadError::Absent { path: path.to_owned() })
    }
}

/// Files in memory, by path.
impl Reader for BTreeMap<String, Vec<u8>> {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        self.get(path).cloned().ok_or_else(|| ReadError::Absent { path: path.to_owned() })
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        let folder = path.strip_suffix(['/', '\\']).unwrap_or(path);
        let is_below = |file: &&String| file.strip_prefix(folder).is_some_and(is_inside);
        let files: Vec<String> = self.keys().filter(is_below).cloned().collect();
        if files.is_empty() { Err(ReadError::Absent { path: path.to_owned() }) } else { Ok(files) }
    }
}

/// Whether what follows the path of a folder in the path of a file names a file in it; of a file, nothing follows.
fn is_inside(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['/', '\\'])
}

/// The path of the file called `name` in the folder of the file at `path`.
///
/// # Errors
///
/// A name that leaves the folder (a separator, `..`, a drive) or is empty.
pub fn sibling(path: &str, name: &str) -> Result<String, ReadError> {
    let plain = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', '\0']);
    if !plain {
        return Err(ReadError::NotAName { path: path.to_owned(), name: name.to_owned() });
    }
    Ok(format!("{}{name}", folder(path)))
}

/// The folder of the file at `path`, with its closing separator; empty when there is none.
pub fn folder(path: &str) -> &str {
    path.rfind(['/', '\\']).map_or("", |end| &path[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_as_much_as_there_is() {
        let reader = |_: &str| Ok(vec![0, 1, 2, 3]);
        let bytes = |range| reader.read_range("x", range).map(|part| (part.bytes, part.file_bytes));
        assert_eq!(bytes(1..3), Ok((vec![1, 2], 4)));
        assert_eq!(bytes(3..u64::MAX), Ok((vec![3], 4)));
        assert_eq!(bytes(9..12), Ok((vec![], 4)));
    }

    #[test]
    fn a_map_is_files() {
        let file = |path: &str| (path.to_owned(), path.as_bytes().to_vec());
        let files = BTreeMap::from(["a/x", "a/y/z", "ab"].map(file));
        assert_eq!(files.read("ab"), Ok(b"ab".to_vec()));
        let absent = |path: &str| ReadError::Absent { path: path.to_owned() };
        assert_eq!(files.read("a"), Err(absent("a")));
        for folder in ["a", "a/"] {
            assert_eq!(files.list(folder), Ok(vec!["a/x".to_owned(), "a/y/z".to_owned()]));
        }
        assert_eq!(files.list("ab"), Ok(vec!["ab".to_owned()]));
        assert_eq!(files.list("b"), Err(absent("b")));
    }

    #[test]
    fn only_what_is_not_there_is_absent() {
        let read = |kind: io::ErrorKind| ReadError::optional::<()>(Err(ReadError::of("x", &kind.into())));
        assert_eq!(read(io::ErrorKind::NotFound), Ok(None));
        for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::IsADirectory, io::ErrorKind::Other] {
            assert!(matches!(read(kind), Err(ReadError::Unreadable { .. })), "{kind}");
        }
        assert_eq!(ReadError::optional(Ok(1)), Ok(Some(1)));
    }

    #[test]
    fn a_sibling_stays_in_its_folder() {
        assert_eq!(sibling("out/m.tmodel", "m.tprog"), Ok("out/m.tprog".to_owned()));
        assert_eq!(sibling("m.tmodel", "m.tprog"), Ok("m.tprog".to_owned()));
        for name in ["", "..", ".", "../x", "a/b", "a\\b", "/etc/passwd"] {
            assert!(sibling("out/m.tmodel", name).is_err(), "{name}");
        }
    }
}
