//! The part of a cache that outlives its process: one file per entry.

use std::fs::{self, DirEntry, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{CacheKey, digest};

/// Maximum number of entries of a folder, and their total bytes.
const MOST: Size = Size { entries: 4096, bytes: 64 << 20 };
/// Extension of entry files.
const ENDING: &str = ".found";

/// A folder of entries.
#[derive(Debug)]
pub struct Folder(PathBuf);

#[derive(Clone, Copy)]
struct Size {
    entries: usize,
    bytes: u64,
}

impl Folder {
    /// Returns this folder, which need not exist.
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Returns the entry of `key` if it exists undamaged, and marks it as recently used.
    pub fn find(&self, key: CacheKey) -> Option<Vec<u8>> {
        let path = self.path(key);
        let facts = fs::metadata(&path).ok()?;
        // Reading a pipe would never end, and no entry is larger than the folder's limit.
        if !facts.is_file() || facts.len() > MOST.bytes {
            return None;
        }
        let bytes = fs::read(&path).ok()?;
        let (sum, content) = bytes.split_first_chunk()?;
        if u64::from_le_bytes(*sum) != digest(&content) {
            return None;
        }
        // If the time cannot be set, the entry is only removed earlier.
        let _ = File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(content.to_vec())
    }

    /// Writes an entry atomically, and removes the oldest entries if there are too many.
    ///
    /// # Errors
    ///
    /// A folder that cannot be written.
    pub fn keep(&self, key: CacheKey, content: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.0)?;
        let mut file = tempfile::Builder::new().suffix(ENDING).tempfile_in(&self.0)?;
        file.write_all(&digest(&content).to_le_bytes())?;
        file.write_all(content)?;
        file.persist(self.path(key))?;
        bound(&self.0, MOST)
    }

    fn path(&self, CacheKey(key): CacheKey) -> PathBuf {
        self.0.join(format!("{key:016x}{ENDING}"))
    }
}

/// Removes the oldest entries until a tenth of `most` is free, including temporary files of
/// processes that were killed.
fn bound(folder: &Path, most: Size) -> io::Result<()> {
    let is_entry = |entry: &DirEntry| entry.file_name().to_string_lossy().ends_with(ENDING);
    let facts = |entry: DirEntry| {
        // Another process may just have removed the entry.
        let facts = entry.metadata().ok()?;
        Some((facts.modified().ok()?, facts.len(), entry.path()))
    };
    let mut entries: Vec<_> =
        fs::read_dir(folder)?.filter_map(Result::ok).filter(is_entry).filter_map(facts).collect();
    let mut size = Size { entries: entries.len(), bytes: entries.iter().map(|(_, bytes, _)| bytes).sum() };
    if size.fits(most) {
        return Ok(());
    }
    entries.sort_unstable();
    let room = Size { entries: most.entries / 10 * 9, bytes: most.bytes / 10 * 9 };
    for (_, bytes, path) in entries {
        if size.fits(room) {
            break;
        }
        // Another process may have removed it first.
        let _ = fs::remove_file(path);
        size = Size { entries: size.entries - 1, bytes: size.bytes - bytes };
    }
    Ok(())
}

impl Size {
    fn fits(self, most: Self) -> bool {
        self.entries <= most.entries && self.bytes <= most.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn damaged_entries_are_not_found() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::new(place.path().to_owned());
        folder.keep(CacheKey(1), b"abc").expect("it can be written");
        assert_eq!(folder.find(CacheKey(1)).as_deref(), Some(&b"abc"[..]));
        for damaged in [&b"abc"[..], b"", b"\0\0\0\0\0\0\0\0abc"] {
            fs::write(folder.path(CacheKey(1)), damaged).expect("it can be written");
            assert_eq!(folder.find(CacheKey(1)), None);
        }
    }

    #[test]
    fn what_is_no_entry_is_not_read() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::new(place.path().to_owned());
        fs::create_dir(folder.path(CacheKey(1))).expect("it can be made");
        assert_eq!(folder.find(CacheKey(1)), None, "a folder");
        folder.keep(CacheKey(2), b"abc").expect("it can be written");
        let file = File::options().write(true).open(folder.path(CacheKey(2))).expect("it is there");
        file.set_len(MOST.bytes + 1).expect("it can be longer");
        assert_eq!(folder.find(CacheKey(2)), None, "more than a folder holds");
    }

    /// Recently used entries and foreign files stay.
    #[test]
    fn the_oldest_go_first() {
        let place = tempfile::tempdir().expect("a folder");
        fs::write(place.path().join("a person's.txt"), [0; 100]).expect("it can be written");
        let folder = Folder::new(place.path().to_owned());
        for key in 0..10 {
            folder.keep(CacheKey(key), &[0; 92]).expect("it can be written");
            let age = Duration::from_secs(1000 - key);
            let file = File::options().append(true).open(folder.path(CacheKey(key))).expect("it is there");
            file.set_modified(SystemTime::now() - age).expect("its time can be set");
        }
        assert!(folder.find(CacheKey(0)).is_some());
        bound(place.path(), Size { entries: 10, bytes: 1000 }).expect("a folder");
        assert!((0..10).all(|key| folder.path(CacheKey(key)).exists()), "it fits");
        bound(place.path(), Size { entries: 10, bytes: 999 }).expect("a folder");
        let left: Vec<u64> = (0..10).filter(|&key| folder.path(CacheKey(key)).exists()).collect();
        assert_eq!(left, [0_u64, 3, 4, 5, 6, 7, 8, 9]);
        assert!(place.path().join("a person's.txt").exists());
    }

    #[test]
    fn processes_may_share_a_folder() {
        let place = tempfile::tempdir().expect("a folder");
        let work = |id: u8| {
            let folder = Folder::new(place.path().to_owned());
            for _ in 0..50 {
                folder.keep(CacheKey(1), &vec![id; 1 << 12]).expect("it can be written");
                let found = folder.find(CacheKey(1)).expect("one of them is always there");
                assert!(found.len() == 1 << 12 && found.iter().all(|&byte| byte == found[0]));
            }
        };
        thread::scope(|scope| (0..4).for_each(|id| drop(scope.spawn(move || work(id)))));
    }
}
