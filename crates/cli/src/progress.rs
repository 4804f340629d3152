//! [`Bar`]: a progress bar on a terminal, nothing in a pipe.

use std::sync::OnceLock;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar that appears when its work begins and goes when it ends.
pub struct Bar {
    what: &'static str,
    bar: OnceLock<ProgressBar>,
}

impl Bar {
    /// A bar for counting `what`.
    pub fn new(what: &'static str) -> Self {
        Self { what, bar: OnceLock::new() }
    }

    /// Shows that `done` of `total` are done.
    pub fn show(&self, done: usize, total: usize) {
        let bar = self.bar.get_or_init(|| bar(self.what, total as u64));
        if bar.length() != Some(total as u64) || done == 0 {
            // Another work begins.
            bar.set_length(total as u64);
            bar.set_position(done as u64);
        }
        // Told from several cores: later news may come first.
        bar.set_position(bar.position().max(done as u64));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

/// Standard error draws only when it is a terminal.
fn bar(what: &'static str, total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{bar:40}] {pos}/{len}, {eta} left");
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()).with_message(what);
    match style {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}
