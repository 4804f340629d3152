//! [`Interrupt`]: how somebody else stops a program that runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Who wants a program to stop, in any thread: as long as one is not answered, no way through a program goes on.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// Asks the program to stop where it is.
    pub fn ask(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// One who asked knows that it has stopped.
    pub fn answered(&self) {
        let fewer = |asked: usize| asked.checked_sub(1);
        // Nobody has asked: then there is nothing to do.
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer);
    }

    /// Whether somebody waits for it.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }
}
