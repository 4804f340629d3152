//! [`Reader`]: source of file contents. Libraries do no I/O; the command implements this trait.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file does not exist.
    #[error("cannot read `{path}`: there is no such file")]
    Absent {
        /// Path of the requested file.
        path: String,
    },
    /// The reader could not read the file.
    #[error("cannot read `{path}`: {reason}")]
    Unreadable {
        /// Path of the requested file.
        path: String,
        /// Message of the operating system.
        reason: String,
    },
    /// A file names another file outside of the folder in which it must be.
    #[error("`{location}` leads to `{leads_to}`: files named in `{path}` must be in {legal}")]
    Elsewhere {
        /// The file that contains the name.
        path: String,
        /// The name in the file.
        location: String,
        /// Path that it resolves to.
        leads_to: String,
        /// Folder in which it must be: its path, or `its folder` for that of the file.
        legal: String,
    },
    /// A file names a neighbor by something that is not a plain file name.
    #[error("`{name}` is not a plain file name: files named in `{path}` must be in its folder")]
    NotAName {
        /// The file that contains the name.
        path: String,
        /// The name in the file.
        name: String,
    },
    /// A manifest was changed after it was written.
    #[error("`{manifest}` was changed after it was written, as its `digest` shows; compile the model again")]
    Changed {
        /// Path of the manifest.
        manifest: String,
    },
    /// A file of an artifact comes from another compilation than the rest.
    #[error(
        "`{name}` is {} `{manifest}` was written with{}: the files come from different compilations, compile the model again",
        if .expected.is_some() { "not the file that" } else { "not a file that" }, hashes(.expected.as_deref(), .actual)
    )]
    Mixed {
        /// Name of the file.
        name: String,
        /// The manifest of the artifact.
        manifest: String,
        /// Recorded SHA-256 of the file; `None` if the manifest does not list it.
        expected: Option<String>,
        /// SHA-256 of the file that was read.
        actual: String,
    },
}

impl ReadError {
    /// Converts an I/O error about the file at `path`.
    pub fn of(path: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Absent { path: path.to_owned() },
            _ => Self::Unreadable { path: path.to_owned(), reason: error.to_string() },
        }
    }

    /// Treats an absent file as `None`; other read errors stay errors.
    ///
    /// # Errors
    ///
    /// The error of `read`, unless it is [`ReadError::Absent`].
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
    /// The bytes in the requested range, as far as the file has them.
    pub bytes: Vec<u8>,
    /// Size of the whole file in bytes.
    pub file_bytes: u64,
}

/// Reads files by path, for libraries that do no I/O.
pub trait Reader: Sync {
    /// Returns the content of the file at `path`.
    ///
    /// # Errors
    ///
    /// [`ReadError::Absent`] if the file does not exist, [`ReadError::Unreadable`] if it cannot be
    /// read.
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError>;

    /// Returns the bytes in `range` of the file at `path`, as far as it has them.
    ///
    /// By default the whole file is read and the range is cut from it.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::read`]; a range after the end yields no bytes and is not an error.
    fn read_range(&self, path: &str, range: Range<u64>) -> Result<Part, ReadError> {
        let bytes = self.read(path)?;
        let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let (start, end) = (place(range.start), place(range.end));
        let part = bytes.get(start..end.max(start)).unwrap_or_default();
        Ok(Part { bytes: part.to_vec(), file_bytes: bytes.len() as u64 })
    }

    /// Returns the path of a file that the one at `path` names: `location` is relative to its
    /// folder and has no `..`.
    ///
    /// # Errors
    ///
    /// A path outside of that folder, for example through a symbolic link. If the folder is in one
    /// called `snapshots`, as in a hub's cache, a link may lead to any place in the folder of the
    /// latter. A reader without links only joins the two paths.
    fn beside(&self, path: &str, location: &str) -> Result<String, ReadError> {
        Ok(format!("{}{location}", folder(path)))
    }

    /// Returns the sorted paths of all files below the folder at `path`; for a file, its own path.
    ///
    /// A reader that cannot list returns the path itself.
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

/// Adapts a reader to a function from a path to bytes or an error message.
pub fn bytes_of(files: &dyn Reader) -> impl Fn(&str) -> Result<Vec<u8>, String> + '_ {
    |path| {
        files.read(path).map_err(|error| match error {
            ReadError::Absent { .. } => "there is no such file".to_owned(),
            ReadError::Unreadable { reason, .. } => reason,
            other => other.to_string(),
        })
    }
}

/// A reader without any files.
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

/// Returns whether `rest`, the part of a path after a folder, names a file in that folder. For the
/// path of a file itself, `rest` is empty.
fn is_inside(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['/', '\\'])
}

/// Returns the path of the file called `name` in the folder of the file at `path`.
///
/// # Errors
///
/// A name that is empty or leaves the folder (a separator, `..`, a drive).
pub fn sibling(path: &str, name: &str) -> Result<String, ReadError> {
    let plain = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', '\0']);
    if !plain {
        return Err(ReadError::NotAName { path: path.to_owned(), name: name.to_owned() });
    }
    Ok(format!("{}{name}", folder(path)))
}

/// Returns the folder of the file at `path`, with its trailing separator; empty if the path has no
/// folder.
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
