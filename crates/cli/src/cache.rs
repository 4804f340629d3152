//! Cache of compilation results, below the user's cache folder.

use std::env;
use std::path::{PathBuf, absolute};
use std::sync::OnceLock;
use std::time::SystemTime;

use etcetera::BaseStrategy;
use npukit::Cache;

/// Environment variable with another folder for the cache; empty turns the cache off.
const VARIABLE: &str = "NPU_CACHE";

static CURRENT: OnceLock<Cache> = OnceLock::new();
static IS_OFF: OnceLock<bool> = OnceLock::new();

/// Sets up the cache for this process, unless it `is_off`.
pub fn set(is_off: bool) {
    let cache = if is_off { Cache::default() } else { Cache::new(build(), folder()) };
    // The first call wins.
    let _ = CURRENT.set(cache);
    let _ = IS_OFF.set(is_off);
}

/// Returns the cache of this process.
pub fn current() -> &'static Cache {
    CURRENT.get_or_init(Cache::default)
}

/// Returns the folder for simulators of circuits; `None` without a cache.
pub fn simulators() -> Option<PathBuf> {
    let is_off = IS_OFF.get().copied().unwrap_or(true); // Default: the cache is off until it is set up.
    let folder = folder().filter(|_| !is_off)?.join("simulators");
    // The path must be absolute, since programs are started in other folders.
    absolute(folder).ok()
}

/// Returns the folder for entries that outlive the process; `None` if none is known.
fn folder() -> Option<PathBuf> {
    match env::var_os(VARIABLE) {
        Some(folder) if folder.is_empty() => None,
        Some(folder) => Some(folder.into()),
        None => Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("npukit")),
    }
}

/// Returns a key that distinguishes this build from builds with other choices: its version, and the
/// size and time of its file.
fn build() -> String {
    let facts = env::current_exe().and_then(|path| path.metadata());
    // Default: without a file, only the version is used.
    let (size, time) = facts.map_or((0, None), |facts| (facts.len(), facts.modified().ok()));
    let time = time.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    format!("npu {} {size} {time:?}", env!("CARGO_PKG_VERSION"))
}
