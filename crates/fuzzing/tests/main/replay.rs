//! [`replay`]: a corpus through its reader, case by case, each within its time and memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use npukit_fuzzing::Reader;

use crate::corpus::corpus;
use crate::damage::{Random, damaged};

/// Time of a case: some thousand times what the usual one takes.
const MAX_TIME: Duration = Duration::from_secs(10);
/// Memory of a case, whose input has some KiB.
const MAX_KIB: u64 = 256 << 10;

/// A case: the file it is of, and its bytes.
type Case = (String, Vec<u8>);

/// Gives every file of the corpus called `name`, and what is made of them, to `reader`; what goes wrong comes back.
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

/// What became of a case: begun, or what is wrong with it.
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

/// What is wrong at the end of the cases, or when one takes too long.
fn await_all(news: &Receiver<News>) -> Vec<String> {
    let (mut current, mut wrong) = (Case::default(), Vec::new());
    loop {
        match news.recv_timeout(MAX_TIME) {
            Ok((case, None)) => current = case,
            Ok((case, Some(reason))) => wrong.push(told(&case, &reason)),
            Err(RecvTimeoutError::Disconnected) => return wrong,
            Err(RecvTimeoutError::Timeout) => {
                wrong.push(told(&current, &format!("takes more than {MAX_TIME:?}")));
                return wrong;
            }
        }
    }
}

fn told((file, bytes): &Case, reason: &str) -> String {
    format!("{file} {reason}: b\"{}\"", bytes.escape_ascii())
}

/// Memory of this process, where the system tells it.
#[cfg(target_os = "linux")]
mod memory {
    /// Forgets the peak; gives what is taken now.
    pub fn begin() -> u64 {
        // Not every container lets us: then peaks of earlier cases count as their own only.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        peak_kib()
    }

    /// Most memory taken since.
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
