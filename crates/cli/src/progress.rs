//! [`Bar`]: how far a command is, in a line on a terminal.

use std::fmt;
use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::style::ProgressTracker;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// A line on standard error that goes when it is dropped.
pub struct Bar {
    bar: ProgressBar,
    /// For a phase whose length is known.
    counting: ProgressStyle,
    /// For one whose length is not.
    waiting: ProgressStyle,
}

/// How far a phase is.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// Since it began.
    pub elapsed: Duration,
    /// Steps done.
    pub done: u64,
    /// All of them.
    pub total: u64,
}

/// How often the line shows that time goes on.
const TICK: Duration = Duration::from_millis(100);

impl Bar {
    /// A line; none where standard error is no terminal.
    pub fn new() -> Option<Self> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let style = |template| ProgressStyle::with_template(template).ok();
        let counting =
            style("{spinner} {elapsed} {prefix} [{bar:30}] {pos}/{len} {left}")?.progress_chars("=> ");
        let waiting = style("{spinner} {elapsed} {prefix}")?;
        let bar =
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(waiting.clone());
        bar.enable_steady_tick(TICK);
        Some(Self { bar, counting, waiting })
    }

    /// Shows what is done, and how far it is.
    pub fn show(&self, what: &str, counted: Option<Counted>) {
        match counted {
            Some(counted) => {
                let style = self.counting.clone().with_key("left", shown(counted.left()));
                self.bar.set_style(style);
                self.bar.update(|state| {
                    state.set_len(counted.total);
                    state.set_pos(counted.done.min(counted.total));
                });
            }
            None => self.bar.set_style(self.waiting.clone()),
        }
        // This alone draws, so that nobody sees half of it.
        self.bar.set_prefix(what.to_owned());
    }

    /// Does what writes to standard error, with the line out of the way.
    pub fn beside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// What a key of a template is replaced by.
fn shown(text: String) -> impl ProgressTracker + 'static {
    move |_: &ProgressState, out: &mut dyn fmt::Write| {
        // Where the line cannot take it, it goes without.
        let _ = out.write_str(&text);
    }
}

impl Counted {
    /// How long the rest takes if it goes on like this; nothing where that is not known.
    fn left(self) -> String {
        let rest = self.total.saturating_sub(self.done);
        if rest == 0 || self.done == 0 {
            return String::new();
        }
        let left = self.elapsed.mul_f64(rest as f64 / self.done as f64);
        format!("{:#} left", HumanDuration(left.max(Duration::from_secs(1))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_goes_by_what_is_done() {
        let left =
            |seconds, done, total| Counted { elapsed: Duration::from_secs(seconds), done, total }.left();
        assert_eq!(left(10, 10, 40), "30s left");
        assert_eq!(left(1, 90, 100), "1s left", "never none");
        for (done, total) in [(0, 10), (10, 10), (11, 10), (0, 0)] {
            assert_eq!(left(1, done, total), "", "{done} of {total}");
        }
    }
}
