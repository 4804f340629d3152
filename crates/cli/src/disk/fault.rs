//! Faults on purpose, for tests: [`step`] is called before every operation on the file system that writes.
//!
//! `NPUKIT_FAULT=HOW@N` makes the N-th of them fail (`fail`), it and all later ones (`fails`), the system kill the process
//! there (`kill`), the process wait a while (`pause`), or write half of what it is given (`short`). Builds for debugging
//! only.

use std::io;

/// What is to be done at an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The operation.
    Go,
    /// Half of it, for a write.
    #[cfg_attr(not(debug_assertions), expect(dead_code, reason = "release builds know no faults"))]
    Short,
}

/// Release builds know no faults.
#[cfg(not(debug_assertions))]
pub fn step() -> io::Result<Step> {
    Ok(Step::Go)
}

/// What `NPUKIT_FAULT` says of this operation.
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

/// Nothing is tidied up.
#[cfg(debug_assertions)]
fn kill() -> ! {
    #[cfg(unix)]
    let _ = signal_hook::low_level::raise(signal_hook::consts::SIGKILL);
    std::process::abort()
}

#[cfg(debug_assertions)]
const PAUSE_MS: u64 = 400;
