//! Target of a path: [`OutputPath`]; and whether two paths are the same file: [`Identity`].

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use super::standard::is_standard;
use crate::failure::Failure;

/// Maximum number of links that are followed; more are treated as a circle.
const MAX_LINKS: usize = 40;

/// Target of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputPath {
    /// A regular file or a link, or nothing yet; a new file replaces it. The target of a link is
    /// unchanged.
    File(PathBuf),
    /// A device, pipe or socket, or an open file without a name; it is written directly.
    Through(PathBuf),
    /// Standard output.
    Standard,
}

impl OutputPath {
    /// Returns the place of `path`. Creates the folder of a new file.
    ///
    /// Errors: the path is a folder; errors of the system.
    pub fn of(path: &Path) -> io::Result<Self> {
        if is_standard(path) {
            return Ok(Self::Standard);
        }
        if path.parent().is_some_and(is_standard) {
            return Err(io::Error::new(
                io::ErrorKind::NotADirectory,
                "`-` is standard output, which accepts only one file",
            ));
        }
        let found = fs::metadata(path);
        if found.as_ref().is_ok_and(fs::Metadata::is_dir) {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        if is_link(path) && !is_of_system(path) {
            return Ok(Self::File(path.to_owned()));
        }
        match found {
            Ok(found) if !found.is_file() => Ok(Self::Through(path.to_owned())),
            Ok(_) => Ok(fs::canonicalize(path).map_or_else(|_| Self::Through(path.to_owned()), Self::File)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(folder(path))?;
                Ok(Self::File(path.to_owned()))
            }
            Err(error) => Err(error),
        }
    }
}

/// Returns the folder that contains a path.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether the path is a link, whatever its target.
fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}

/// Whether a link belongs to the system, like `/dev/stdout`: it represents an open file, and cannot
/// be replaced by a new file.
fn is_of_system(path: &Path) -> bool {
    let folder = fs::canonicalize(folder(path));
    // Folders below `/dev` belong to users, or are links to `/proc`.
    folder.is_ok_and(|folder| folder == Path::new("/dev") || folder.starts_with("/proc"))
}

/// Follows links to the final path, which need not exist.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut end = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&end) {
            Ok(next) => end = folder(&end).join(next),
            Err(_) => return Ok(end),
        }
    }
    Err(io::Error::other("it is a link in a circle of links"))
}

/// Identity of a regular file, whatever its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Device and inode number of a file.
    #[cfg(unix)]
    Node(u64, u64),
    /// Standard output.
    Standard,
    /// Absolute path of a file, which need not exist yet.
    Path(PathBuf),
}

impl Identity {
    /// Returns the identity of the file at `path`; `None` for devices, folders and the like.
    pub fn of(path: &Path) -> Option<Self> {
        if is_standard(path) {
            return Some(Self::Standard);
        }
        match fs::metadata(path) {
            Ok(found) if found.is_file() => Some(Self::of_file(path, &found)),
            Ok(_) => None,
            Err(_) => {
                let end = end_of_links(path).ok()?;
                let folder = folder(&end);
                let whole = fs::canonicalize(folder).or_else(|_| std::path::absolute(folder)).ok()?;
                Some(Self::Path(whole.join(end.file_name()?)))
            }
        }
    }

    #[cfg(unix)]
    fn of_file(_path: &Path, found: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self::Node(found.dev(), found.ino())
    }

    #[cfg(not(unix))]
    fn of_file(path: &Path, _found: &fs::Metadata) -> Self {
        Self::Path(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
    }
}

/// Files that this command has read, as `npu` runs one command per process.
static READ: Mutex<Vec<(PathBuf, Identity)>> = Mutex::new(Vec::new());

/// Records that the file at `path` is read.
pub fn note_read(path: &Path) {
    if let Some(identity) = Identity::of(path) {
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        if !read.iter().any(|(_, known)| *known == identity) {
            read.push((path.to_owned(), identity));
        }
    }
}

/// Allows the command to overwrite the file at `path` although it has read it, as it writes back
/// what it has read, with additions.
pub fn allow_overwriting(path: &Path) {
    if let Some(identity) = Identity::of(path) {
        READ.lock().unwrap_or_else(PoisonError::into_inner).retain(|(_, known)| *known != identity);
    }
}

/// Rejects outputs that are the same file, or a file that this command has read.
///
/// Errors: [`Failure::SameOutput`], [`Failure::SameFile`].
pub fn check_apart<'a>(outputs: impl IntoIterator<Item = &'a Path>) -> Result<(), Failure> {
    let text = |path: &Path| path.display().to_string();
    let mut seen: Vec<(&Path, Identity)> = Vec::new();
    let read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    for path in outputs {
        let Some(identity) = Identity::of(path) else { continue };
        if let Some((other, _)) = seen.iter().find(|(_, known)| *known == identity) {
            return Err(Failure::SameOutput { path: text(path), other: text(other) });
        }
        if let Some((input, _)) = read.iter().find(|(_, known)| *known == identity) {
            return Err(Failure::SameFile { path: text(path), input: text(input) });
        }
        seen.push((path, identity));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn new_files_are_known_by_their_whole_path() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| Identity::of(&folder.path().join(name));
        assert_eq!(at("new"), at("./new"));
        assert_ne!(at("new"), at("newer"));
        assert_eq!(Identity::of(folder.path()), None);
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_to_what_they_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "x").unwrap();
        for (link, end) in [("link", "file"), ("dangling", "later"), ("first", "second"), ("second", "first")]
        {
            std::os::unix::fs::symlink(end, at(link)).unwrap();
        }
        fs::hard_link(at("file"), at("hard")).unwrap();
        assert_eq!(Identity::of(&at("link")), Identity::of(&at("file")));
        assert_eq!(Identity::of(&at("hard")), Identity::of(&at("file")));
        assert_eq!(Identity::of(&at("dangling")), Identity::of(&at("later")));
        let real = fs::canonicalize(at("file")).unwrap();
        assert_eq!(OutputPath::of(&at("file")).unwrap(), OutputPath::File(real));
        std::os::unix::fs::symlink("/dev/null", at("device")).unwrap();
        for link in ["link", "dangling", "first", "device"] {
            assert_eq!(OutputPath::of(&at(link)).unwrap(), OutputPath::File(at(link)), "{link}");
        }
        std::os::unix::fs::symlink(".", at("folder")).unwrap();
        assert!(OutputPath::of(&at("folder")).is_err() && OutputPath::of(folder.path()).is_err());
        assert!(is_of_system(Path::new("/dev/stdout")) && !is_of_system(&at("link")));
        assert_eq!(OutputPath::of(Path::new("/dev/null")).unwrap(), OutputPath::Through("/dev/null".into()));
    }
}
