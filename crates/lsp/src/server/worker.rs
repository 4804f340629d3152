//! [`work`]: checks texts while nobody types.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};
use npukit_target::Reader;

use crate::checks::{Checked, Job, check};
use crate::files::Open;

/// A text to be checked, and the others that are open.
pub struct Task {
    /// The text.
    pub job: Job,
    /// The others, by their paths.
    pub texts: BTreeMap<String, Arc<str>>,
}

/// How long nobody types before texts are checked.
const PAUSE: Duration = Duration::from_millis(150);

/// Checks the texts of `queue`, of each the last version alone, and gives what is found.
pub fn work(queue: &Receiver<Task>, found: &Sender<(String, Checked)>, files: &dyn Reader) {
    while let Ok(first) = queue.recv() {
        let mut waiting = BTreeMap::from([(first.job.uri.clone(), first)]);
        while let Ok(next) = queue.recv_timeout(PAUSE) {
            waiting.insert(next.job.uri.clone(), next);
        }
        for (uri, Task { job, texts }) in waiting {
            let files = Open { texts, files };
            // A defect of ours leaves a text without checks, and the others with theirs.
            let Ok(checked) = catch_unwind(AssertUnwindSafe(|| check(&job, &files))) else { continue };
            if found.send((uri, checked)).is_err() {
                return;
            }
        }
    }
}
