//! [`Disk`]: reads files and folders for the library. Only regular files are read: a pipe may
//! block, a device may never end.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use npukit::{Part, ReadError, Reader};

use super::place::note_read;
use super::standard::{input, is_standard};

/// Maximum number of bytes that are read at once: 4 GiB.
const MAX_BYTES: u64 = 1 << 32;

/// Reader for files and folders.
pub struct Disk;

impl Reader for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        Ok(self.read_range(path, 0..u64::MAX)?.bytes)
    }

    fn read_range(&self, path: &str, range: Range<u64>) -> Result<Part, ReadError> {
        if is_standard(Path::new(path)) {
            return input(MAX_BYTES).map(|all| cut(all, &range)).map_err(|error| unreadable(path, &error));
        }
        note_read(Path::new(path));
        let part = part(Path::new(path), range).map_err(|error| unreadable(path, &error))?;
        tracing::info!(path, bytes = part.bytes.len(), "file read");
        Ok(part)
    }

    fn beside(&self, path: &str, location: &str) -> Result<String, ReadError> {
        let folder = match Path::new(path).parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let resolved =
            |path: &Path| path.canonicalize().map_err(|error| unreadable(&path.to_string_lossy(), &error));
        let found = resolved(&folder.join(location))?;
        let leads_to = found.to_string_lossy().into_owned();
        let folder = resolved(folder)?;
        let legal = reachable(&folder);
        if found.starts_with(legal) {
            return Ok(leads_to);
        }
        let legal = match legal == folder {
            true => "its folder".to_owned(),
            false => legal.to_string_lossy().into_owned(),
        };
        Err(ReadError::Elsewhere { path: path.to_owned(), location: location.to_owned(), leads_to, legal })
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        let mut files = Vec::new();
        walk(Path::new(path), &mut files)
            .map_err(|(path, error)| unreadable(&path.to_string_lossy(), &error))?;
        files.sort();
        Ok(files)
    }
}

/// Returns the folder in which links of a folder, without links itself, must stay: the folder
/// itself or, in a hub's cache, that of the model, whose `snapshots` have links to its `blobs`.
fn reachable(folder: &Path) -> &Path {
    let snapshots = folder.parent().filter(|parent| parent.file_name() == Some("snapshots".as_ref()));
    // The root folder is not the folder of a model.
    let model = snapshots.and_then(Path::parent).filter(|model| model.file_name().is_some());
    model.unwrap_or(folder)
}

fn unreadable(path: &str, error: &io::Error) -> ReadError {
    // The path is a link whose target does not exist.
    if fs::symlink_metadata(path).is_ok() && error.kind() == io::ErrorKind::NotFound {
        return ReadError::Unreadable { path: path.to_owned(), reason: error.to_string() };
    }
    ReadError::of(path, error)
}

/// Reads the bytes of a regular file in `range`, as far as it has them.
fn part(path: &Path, range: Range<u64>) -> io::Result<Part> {
    // Checked before it is opened: opening a pipe blocks until it has a writer.
    check_kind(&fs::metadata(path)?)?;
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    check_kind(&metadata)?;
    let file_bytes = metadata.len();
    // Files of the system report a size of 0, but are not empty.
    let end = if file_bytes == 0 { MAX_BYTES } else { file_bytes };
    let length = range.end.min(end).saturating_sub(range.start);
    // No memory is reserved for data of unknown size.
    let room = usize::try_from(length.min(file_bytes)).ok().filter(|_| length <= MAX_BYTES);
    let room = room.ok_or_else(|| {
        io::Error::other(format!("it has {file_bytes} bytes: at most {MAX_BYTES} are read at once"))
    })?;
    if range.start > 0 {
        file.seek(SeekFrom::Start(range.start.min(file_bytes)))?;
    }
    let mut bytes = Vec::with_capacity(room);
    file.take(length).read_to_end(&mut bytes)?;
    Ok(Part { file_bytes: file_bytes.max(bytes.len() as u64), bytes })
}

/// Returns the bytes in `range`, as far as they exist.
fn cut(all: &[u8], range: &Range<u64>) -> Part {
    let place = |offset: u64| usize::try_from(offset).map_or(all.len(), |offset| offset.min(all.len()));
    let (start, end) = (place(range.start), place(range.end));
    Part { bytes: all[start..end.max(start)].to_vec(), file_bytes: all.len() as u64 }
}

/// Rejects anything except files and folders; reading a folder gives an error of the system.
pub(super) fn check_kind(metadata: &fs::Metadata) -> io::Result<()> {
    if metadata.is_file() || metadata.is_dir() {
        return Ok(());
    }
    Err(io::Error::other("it is not a regular file but a pipe, a device or a socket"))
}

/// Lists all files at and below `path`. Linked folders are skipped, since they could form circles.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_part_of_a_file_is_read_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.bin");
        // Three gigabytes in a sparse file: reading all of it would be noticed.
        let file = File::create(&path).unwrap();
        file.set_len(3 << 30).unwrap();
        let path = path.to_str().unwrap();
        let part = Disk.read_range(path, 1 << 31..(1 << 31) + 1024).unwrap();
        assert_eq!((part.bytes, part.file_bytes), (vec![0; 1024], 3 << 30));
        let end = Disk.read_range(path, (3 << 30) - 4..u64::MAX).unwrap();
        assert_eq!(end.bytes, [0; 4]);
        assert!(Disk.read_range(path, 1 << 40..u64::MAX).unwrap().bytes.is_empty());
        file.set_len(5 << 30).unwrap();
        assert!(Disk.read(path).unwrap_err().to_string().contains("at most 4294967296 are read"));
    }

    #[cfg(unix)]
    #[test]
    fn links_that_lead_out_of_the_folder_are_refused() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("model/data")).unwrap();
        fs::write(at("model/data/w.bin"), [1]).unwrap();
        fs::write(at("secret"), [2]).unwrap();
        symlink("data/w.bin", at("model/inside")).unwrap();
        symlink("../secret", at("model/outside")).unwrap();
        let model = at("model/m.onnx");
        let read = |name: &str| {
            let path = Disk.beside(model.to_str().unwrap(), name)?;
            Disk.read(&path)
        };
        assert_eq!(read("data/w.bin"), Ok(vec![1]));
        assert_eq!(read("inside"), Ok(vec![1]));
        assert!(matches!(read("outside"), Err(ReadError::Elsewhere { .. })));
        assert!(matches!(read("absent"), Err(ReadError::Absent { .. })));
        symlink("nowhere", at("model/dangling")).unwrap();
        assert!(matches!(read("dangling"), Err(ReadError::Unreadable { .. })));
        assert!(matches!(Disk.read(at("model").to_str().unwrap()), Err(ReadError::Unreadable { .. })));
    }

    /// A hub's cache has the files of a model once, and links to them for each revision.
    #[cfg(unix)]
    #[test]
    fn links_of_a_snapshot_stay_in_the_folder_of_its_model() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("hub/models--a/blobs")).unwrap();
        fs::create_dir_all(at("hub/models--a/snapshots/1/nested")).unwrap();
        fs::create_dir_all(at("hub/models--b/blobs")).unwrap();
        fs::write(at("hub/models--a/blobs/w"), [1]).unwrap();
        fs::write(at("hub/models--b/blobs/w"), [2]).unwrap();
        symlink("../../blobs/w", at("hub/models--a/snapshots/1/own")).unwrap();
        symlink("../../../models--b/blobs/w", at("hub/models--a/snapshots/1/other")).unwrap();
        symlink("../../../blobs/w", at("hub/models--a/snapshots/1/nested/own")).unwrap();
        symlink("hub/models--a/snapshots/1", at("linked")).unwrap();
        let read = |folder: &str, name: &str| {
            let path = Disk.beside(at(folder).join("config.json").to_str().unwrap(), name)?;
            Disk.read(&path)
        };
        let snapshot = "hub/models--a/snapshots/1";
        for folder in [snapshot, "linked"] {
            assert_eq!(read(folder, "own"), Ok(vec![1]));
            assert_eq!(read(folder, "nested/own"), Ok(vec![1]));
            let Err(ReadError::Elsewhere { legal, .. }) = read(folder, "other") else { panic!("{folder}") };
            assert!(legal.ends_with("models--a"), "{legal}");
        }
        // In other folders, and in those within a snapshot, links stay inside.
        assert!(matches!(read("hub/models--a/snapshots/1/nested", "own"), Err(ReadError::Elsewhere { .. })));
        fs::create_dir_all(at("hub/models--a/other/1")).unwrap();
        symlink("../../blobs/w", at("hub/models--a/other/1/own")).unwrap();
        assert!(matches!(read("hub/models--a/other/1", "own"), Err(ReadError::Elsewhere { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_pipes_are_no_files() {
        let read = |path: &str| Disk.read(path).unwrap_err().to_string();
        for device in ["/dev/zero", "/dev/null"] {
            assert!(read(device).contains("not a regular file"), "{device}");
        }
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        if made.is_ok_and(|status| status.success()) {
            assert!(read(pipe.to_str().unwrap()).contains("not a regular file"));
        }
    }
}
