//! [`work`]: checks texts while the user does not type.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};

use crate::lsp::checks::{Checked, Job, check};
use crate::lsp::files::Open;

/// Time without changes before texts are checked.
const PAUSE: Duration = Duration::from_millis(150);

/// Checks the last version of each text in `queue`, and sends the results.
pub fn work(queue: &Receiver<Job>, found: &Sender<(String, Checked)>, files: &Open<'_>) {
    let mut waiting = BTreeMap::new();
    while let Ok(first) = queue.recv() {
        waiting.insert(first.uri.clone(), first);
        while let Ok(next) = queue.recv_timeout(PAUSE) {
            waiting.insert(next.uri.clone(), next);
        }
        while let Some((uri, job)) = waiting.pop_first() {
            // A panic leaves one text without results and does not affect the others.
            let checked = catch_unwind(AssertUnwindSafe(|| check(&job, files)));
            if checked.is_ok_and(|checked| found.send((uri, checked)).is_err()) {
                return;
            }
            // If a text changed in the meantime, only its latest version is checked.
            waiting.extend(queue.try_iter().map(|next| (next.uri.clone(), next)));
        }
    }
}
