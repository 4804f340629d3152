//! Fault injection for tests: [`step`] is called before every write operation on the file system.
//!
//! `NPUKIT_FAULT=HOW@N` affects the N-th operation: it fails (`fail`), it and all later ones fail
//! (`fails`), the process is killed (`kill`), the process waits (`pause`), or half of the data is
//! written (`short`). Debug builds only.

use std::io;

/// Action at an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Execute the operation.
    Go,
    /// Write half of the data.
    #[cfg_attr(not(debug_assertions), expect(dead_code, reason = "release builds have no fault injection"))]
    Short,
}

/// Does nothing in release builds.
#[cfg(not(debug_assertions))]
pub fn step() -> io::Result<Step> {
    Ok(Step::Go)
}

/// Returns the action of `NPUKIT_FAULT` for this operation.
#[cfg(debug_assertions)]
pub fn step() -> io::Result<Step> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static DONE: AtomicUsize = AtomicUsize::new(0);

    let now = DONE.fetch_add(1, Ordering::Relaxed) + 1;
    let Ok(fault) = std::env::var("NPUKIT_FAULT") else { return Ok(Step::Go) };
    let Some((how, at)) = fault.split_once('@') else { return Ok(Step::Go) };
    let Ok(at) = at.parse::<usize>() else { return Ok(Step::Go) };
    match how {
        "fail" if now == at => Err(io::ErrorKind::StorageFull.into()),
        "fails" if now >= at => Err(io::ErrorKind::StorageFull.into()),
        "kill" if now == at => kill(),
        "pause" if now == at => {
            std::thread::sleep(std::time::Duration::from_millis(PAUSE_MS));
            Ok(Step::Go)
        }
        "short" if now == at => Ok(Step::Short),
        _ => Ok(Step::Go),
    }
}

/// Kills the process without cleanup.
#[cfg(debug_assertions)]
fn kill() -> ! {
    #[cfg(unix)]
    let _ = signal_hook::low_level::raise(signal_hook::consts::SIGKILL);
    std::process::abort()
}

#[cfg(debug_assertions)]
const PAUSE_MS: u64 = 400;
