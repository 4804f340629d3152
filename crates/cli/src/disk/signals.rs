//! Removal of temporary files when a signal or a panic ends the process: call [`begin`] before
//! creating one; [`live`] contains them.
//!
//! A signal waits while a set of files is renamed ([`swapping`]), which is short, so a set is never
//! renamed halfway.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

static LIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
static SWAPPING: Mutex<()> = Mutex::new(());

/// Returns the existing temporary files.
pub fn live() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // A set of paths is consistent at any time.
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Delays signals while the guard is held.
pub fn swapping() -> MutexGuard<'static, ()> {
    SWAPPING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts handling signals.
#[cfg(unix)]
pub fn begin() -> std::io::Result<()> {
    static BEGUN: Mutex<bool> = Mutex::new(false);
    let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    if !*begun {
        unix::listen()?;
        #[cfg(panic = "abort")]
        unix::end_by_panic();
        *begun = true;
    }
    Ok(())
}

/// Files of an ended process are removed at the next write into their folder.
#[cfg(not(unix))]
pub fn begin() -> std::io::Result<()> {
    Ok(())
}

#[cfg(unix)]
mod unix {
    use std::fs;
    use std::io;
    use std::thread;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    use super::{BTreeSet, PathBuf, live, swapping};

    /// Handles signals. With a handler for it, exceeding the file size limit becomes an error of
    /// the write.
    pub(super) fn listen() -> io::Result<()> {
        let ignored = ignored();
        let ends = [SIGHUP, SIGINT, SIGQUIT, SIGTERM].into_iter();
        let taken = ends.filter(|signal| ignored & (1 << (signal - 1)) == 0).chain([SIGXFSZ]);
        let mut signals = Signals::new(taken)?;
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            signals.forever().filter(|signal| *signal != SIGXFSZ).for_each(end);
        })?;
        Ok(())
    }

    /// Removes all temporary files, and ends the process as the signal does.
    fn end(signal: i32) {
        let _swapping = swapping();
        remove(&live());
        let _ = emulate_default_handler(signal);
    }

    /// Removes all temporary files after a panic is reported, if panics end the process.
    #[cfg(panic = "abort")]
    pub(super) fn end_by_panic() {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            previous(panic);
            // If the set is locked, its owner panicked itself, or is removing the files.
            if let Ok(live) = super::LIVE.try_lock() {
                remove(&live);
            }
        }));
    }

    fn remove(paths: &BTreeSet<PathBuf>) {
        for path in paths {
            // A file that no longer exists is fine.
            let _ = fs::remove_file(path);
        }
    }

    /// Returns the signals that this process must ignore, as under `nohup`: bit N - 1 is signal N.
    fn ignored() -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    }
}
