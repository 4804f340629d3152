//! [`work`]: checks texts while nobody types.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};

use crate::lsp::checks::{Checked, Job, check};
use crate::lsp::files::Open;

/// How long nobody types before texts are checked.
const PAUSE: Duration = Duration::from_millis(150);

/// Checks the texts of `queue`, of each the last version alone, and gives what is found.
pub fn work(queue: &Receiver<Job>, found: &Sender<(String, Checked)>, files: &Open<'_>) {
    let mut waiting = BTreeMap::new();
    while let Ok(first) = queue.recv() {
        waiting.insert(first.uri.clone(), first);
        while let Ok(next) = queue.recv_timeout(PAUSE) {
            waiting.insert(next.uri.clone(), next);
        }
        while let Some((uri, job)) = waiting.pop_first() {
            // A defect of ours leaves a text without checks, and the others with theirs.
            let checked = catch_unwind(AssertUnwindSafe(|| check(&job, files)));
            if checked.is_ok_and(|checked| found.send((uri, checked)).is_err()) {
                return;
            }
            // What has changed since is checked as it is now.
            waiting.extend(queue.try_iter().map(|next| (next.uri.clone(), next)));
        }
    }
}
