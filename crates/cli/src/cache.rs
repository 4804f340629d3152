//! What compilations have found, kept below the user's cache folder for the next ones.

use std::env;
use std::path::{PathBuf, absolute};
use std::sync::OnceLock;
use std::time::SystemTime;

use etcetera::BaseStrategy;
use npukit::Cache;

/// Names another folder than the user's for it; empty, none.
const VARIABLE: &str = "NPU_CACHE";

static CURRENT: OnceLock<Cache> = OnceLock::new();
static IS_OFF: OnceLock<bool> = OnceLock::new();

/// From now on there is a cache, unless it `is_off`.
pub fn set(is_off: bool) {
    let cache = if is_off { Cache::default() } else { Cache::new(build(), folder()) };
    // The first one stays.
    let _ = CURRENT.set(cache);
    let _ = IS_OFF.set(is_off);
}

/// The cache of this process.
pub fn current() -> &'static Cache {
    CURRENT.get_or_init(Cache::default)
}

/// Where simulators of circuits are kept; nowhere, where there is no cache.
pub fn simulators() -> Option<PathBuf> {
    let is_off = IS_OFF.get().copied().unwrap_or(true); // Default: nobody has said that there is a cache.
    let folder = folder().filter(|_| !is_off)?.join("simulators");
    // Programs are started from other folders.
    absolute(folder).ok()
}

/// Where entries outlive the process; nowhere, where nobody says.
fn folder() -> Option<PathBuf> {
    match env::var_os(VARIABLE) {
        Some(folder) if folder.is_empty() => None,
        Some(folder) => Some(folder.into()),
        None => Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("npukit")),
    }
}

/// What tells this build from all others that choose otherwise: its version, and the size and time of its file.
fn build() -> String {
    let facts = env::current_exe().and_then(|path| path.metadata());
    // Default: what has no file is told apart by its version.
    let (size, time) = facts.map_or((0, None), |facts| (facts.len(), facts.modified().ok()));
    let time = time.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    format!("npu {} {size} {time:?}", env!("CARGO_PKG_VERSION"))
}
