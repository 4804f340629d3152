//! [`Cache`]: results of long searches, kept for the next compilation of the same model.
//!
//! The cache holds choices, never programs: a program is always generated again from the choices.
//! Stale or damaged entries are therefore harmless, as long as the reader checks that the choices
//! can be followed.

mod folder;

use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexMap;
use serde::Serialize;
use serde::de::DeserializeOwned;

use folder::Folder;

/// Maximum number of bytes kept in memory; the oldest entries are removed first.
const MAX_BYTES: usize = 16 << 20;

/// Results of searches, in the memory of this process and optionally in a folder. The default keeps
/// nothing. Clones share their content, also between threads.
#[derive(Clone, Default)]
pub struct Cache(Option<Arc<CacheState>>);

struct CacheState {
    build: String,
    memory: Mutex<Memory>,
    folder: Option<Folder>,
}

#[derive(Default)]
struct Memory {
    entries: IndexMap<u64, Arc<[u8]>>,
    bytes: usize,
}

/// Hash of the content of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheKey(u64);

impl Cache {
    /// Creates a cache in memory and in `folder`, which is created when needed. Other builds of
    /// npukit choose differently, so only entries of the same `build` are found.
    ///
    /// Processes may share a folder. It holds at most 4,096 entries and 64 MiB; the least recently
    /// used entries are removed first. If the folder cannot be written, nothing is kept there, and
    /// only the log reports it.
    pub fn new(build: String, folder: Option<PathBuf>) -> Self {
        let (memory, folder) = (Mutex::default(), folder.map(Folder::new));
        Self(Some(Arc::new(CacheState { build, memory, folder })))
    }

    /// Returns the key of `content` for this kind of search. `None` if nothing is kept; `content`
    /// is then not evaluated.
    pub fn key<T: Hash>(&self, kind: &str, content: impl FnOnce() -> T) -> Option<CacheKey> {
        let kept = self.0.as_deref()?;
        Some(CacheKey(digest(&(&kept.build, kind, content()))))
    }

    /// Returns the entry for `key`; `None` if it does not exist or cannot be read.
    pub fn find<T: DeserializeOwned>(&self, key: CacheKey) -> Option<T> {
        let kept = self.0.as_deref()?;
        let bytes = kept.find(key)?;
        // An unreadable entry is searched for again.
        serde_json::from_slice(&bytes).inspect_err(|error| tracing::debug!(%error, "cache not read")).ok()
    }

    /// Stores `found` under `key`.
    pub fn keep(&self, key: CacheKey, found: &impl Serialize) {
        let Some(kept) = self.0.as_deref() else { return };
        match serde_json::to_vec(found) {
            Ok(bytes) => kept.keep(key, bytes.into()),
            Err(error) => tracing::debug!(%error, "not kept"),
        }
    }
}

impl CacheState {
    fn find(&self, key: CacheKey) -> Option<Arc<[u8]>> {
        let known = self.memory(|memory| memory.entries.get(&key.0).cloned());
        known.or_else(|| {
            let bytes: Arc<[u8]> = self.folder.as_ref()?.find(key)?.into();
            self.memory(|memory| memory.keep(key, Arc::clone(&bytes)));
            Some(bytes)
        })
    }

    fn keep(&self, key: CacheKey, bytes: Arc<[u8]>) {
        if let Some(folder) = &self.folder
            && let Err(error) = folder.keep(key, &bytes)
        {
            tracing::debug!(%error, "not kept in the folder");
        }
        self.memory(|memory| memory.keep(key, bytes));
    }

    fn memory<T>(&self, what: impl FnOnce(&mut Memory) -> T) -> T {
        // If a thread panicked while it held the memory, at worst the byte count is wrong.
        what(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Memory {
    fn keep(&mut self, key: CacheKey, bytes: Arc<[u8]>) {
        self.bytes += bytes.len();
        if let Some(before) = self.entries.insert(key.0, bytes) {
            self.bytes -= before.len();
        }
        while self.bytes > MAX_BYTES
            && let Some((_, first)) = self.entries.shift_remove_index(0)
        {
            self.bytes -= first.len();
        }
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder = self.0.as_ref().and_then(|kept| kept.folder.as_ref());
        f.debug_struct("Cache").field("keeps", &self.0.is_some()).field("folder", &folder).finish()
    }
}

/// Returns a hash of the content that is the same in every process of a build.
pub fn digest(content: &impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(cache: &Cache, content: u32) -> CacheKey {
        cache.key("numbers", || content).expect("a cache that keeps")
    }

    #[test]
    fn what_was_kept_is_found_by_content_kind_and_build() {
        let cache = Cache::new("one".to_owned(), None);
        cache.keep(key(&cache, 7), &[1, 2]);
        assert_eq!(cache.clone().find::<[u8; 2]>(key(&cache, 7)), Some([1, 2]), "copies share");
        assert_eq!(cache.find::<[u8; 2]>(key(&cache, 8)), None);
        assert_eq!(cache.find::<String>(key(&cache, 7)), None, "not a text");
        assert_ne!(cache.key("letters", || 7), cache.key("numbers", || 7));
        assert_ne!(Cache::new("two".to_owned(), None).key("numbers", || 7), cache.key("numbers", || 7));
    }

    #[test]
    fn the_default_keeps_and_asks_nothing() {
        let cache = Cache::default();
        assert_eq!(cache.key("numbers", || -> u32 { unreachable!("no key is needed") }), None);
        cache.keep(CacheKey(3), &3);
        assert_eq!(cache.find::<u32>(CacheKey(3)), None);
    }

    #[test]
    fn memory_is_bounded() {
        let mut memory = Memory::default();
        let bytes: Arc<[u8]> = vec![0; MAX_BYTES / 4].into();
        (0..6).for_each(|key| memory.keep(CacheKey(key), Arc::clone(&bytes)));
        memory.keep(CacheKey(5), Arc::clone(&bytes));
        assert_eq!(memory.entries.keys().copied().collect::<Vec<_>>(), [2, 3, 4, 5]);
        assert_eq!(memory.bytes, MAX_BYTES);
    }

    #[test]
    fn a_folder_outlives_its_process() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = || Cache::new("one".to_owned(), Some(folder.path().join("a/b")));
        let first = cache();
        first.keep(key(&first, 7), &"found");
        assert_eq!(cache().find::<String>(key(&first, 7)).as_deref(), Some("found"));
        assert_eq!(cache().find::<String>(key(&first, 8)), None);
    }
}
