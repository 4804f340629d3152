//! [`replay`]: passes a corpus to its reader, case by case, each within limits of time and memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use npukit_fuzzing::Reader;

use crate::corpus::corpus;
use crate::damage::{Random, damaged};

/// Time limit of a case: about a thousand times the usual time.
const MAX_TIME: Duration = Duration::from_secs(10);
/// Memory limit of a case, whose input has some KiB.
const MAX_KIB: u64 = 256 << 10;

/// A case: the name of its file, and its bytes.
type Case = (String, Vec<u8>);

/// Passes every file of the corpus called `name`, and its damaged variants, to `reader`; returns
/// the errors.
pub fn replay(name: &'static str, reader: Reader) -> Vec<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || read(&cases(name), reader, &sender));
    await_all(&receiver).into_iter().map(|wrong| format!("{name}/{wrong}")).collect()
}

fn cases(name: &str) -> Vec<Case> {
    let (files, count) = (corpus(name), count());
    let mut random = Random::new(20_261_122);
    let mut cases = files.clone();
    for (index, (file, bytes)) in files.iter().enumerate() {
        let (_, other) = &files[(index * 7 + 1) % files.len()];
        cases.extend(
            (0..count).map(|number| (format!("{file}, damage {number}"), damaged(bytes, other, &mut random))),
        );
    }
    cases
}

fn count() -> usize {
    std::env::var("NPUKIT_FUZZ_CASES").map_or(128, |count| count.parse().unwrap())
}

/// Progress of a case: started, or failed with a reason.
type News = (Case, Option<String>);

fn read(cases: &[Case], reader: Reader, news: &Sender<News>) {
    for case in cases {
        news.send((case.clone(), None)).unwrap();
        let before = memory::begin();
        let outcome = catch_unwind(AssertUnwindSafe(|| reader(&case.1)));
        let taken = memory::peak_kib().saturating_sub(before);
        if outcome.is_err() {
            news.send((case.clone(), Some("panics".to_owned()))).unwrap();
        } else if taken > MAX_KIB {
            news.send((case.clone(), Some(format!("takes {taken} KiB; {MAX_KIB} are allowed")))).unwrap();
        }
    }
}

/// Returns the errors after all cases, or when one takes too long.
fn await_all(news: &Receiver<News>) -> Vec<String> {
    let (mut current, mut wrong) = (Case::default(), Vec::new());
    loop {
        match news.recv_timeout(MAX_TIME) {
            Ok((case, None)) => current = case,
            Ok((case, Some(reason))) => wrong.push(message(&case, &reason)),
            Err(RecvTimeoutError::Disconnected) => return wrong,
            Err(RecvTimeoutError::Timeout) => {
                wrong.push(message(&current, &format!("takes more than {MAX_TIME:?}")));
                return wrong;
            }
        }
    }
}

fn message((file, bytes): &Case, reason: &str) -> String {
    format!("{file} {reason}: b\"{}\"", bytes.escape_ascii())
}

/// Memory of this process, if the system reports it.
#[cfg(target_os = "linux")]
mod memory {
    /// Resets the peak; returns the current use.
    pub fn begin() -> u64 {
        // Some containers do not allow it: then an earlier peak hides the peak of a case.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        peak_kib()
    }

    /// Returns the peak since the reset.
    pub fn peak_kib() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

#[cfg(not(target_os = "linux"))]
mod memory {
    pub fn begin() -> u64 {
        0
    }

    pub fn peak_kib() -> u64 {
        0
    }
}
