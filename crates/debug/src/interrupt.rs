//! [`Interrupt`]: lets another thread stop a running program.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counter of unanswered requests to stop, shared by threads. The program does not run while a
/// request is unanswered.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// Requests that the program stops.
    pub fn ask(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// Acknowledges one request.
    pub fn answered(&self) {
        let fewer = |asked: usize| asked.checked_sub(1);
        // The update fails only without a request, and then nothing must be done.
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer);
    }

    /// Whether a request is unanswered.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }
}
