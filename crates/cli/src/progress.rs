//! [`Bar`]: the progress of a command, as a line on a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use terminal_size::{Width, terminal_size_of};

use crate::table::{fitting, width};

/// Line on standard error, which disappears when it is dropped.
pub struct Bar {
    shared: Arc<Shared>,
    /// Thread that updates the elapsed time.
    ticker: Option<JoinHandle<()>>,
}

struct Shared {
    line: Mutex<Line>,
    ended: Condvar,
}

/// Contents of the line.
struct Line {
    begin: Instant,
    what: String,
    counted: Option<Counted>,
    ticks: usize,
    /// Time of the last update.
    drawn: Option<Instant>,
    /// Number of characters on the terminal.
    width: usize,
    has_ended: bool,
}

/// Progress of a phase.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// Time since the phase began.
    pub elapsed: Duration,
    /// Number of completed steps.
    pub done: u64,
    /// Total number of steps.
    pub total: u64,
}

/// Interval of updates of the elapsed time.
const TICK: Duration = Duration::from_millis(100);
/// Minimum time between two updates.
const PAUSE: Duration = Duration::from_millis(50);
/// Frames of the spinner.
const SPINNER: [char; 29] = [
    '⠁', '⠁', '⠉', '⠙', '⠚', '⠒', '⠂', '⠂', '⠒', '⠲', '⠴', '⠤', '⠄', '⠄', '⠤', '⠠', '⠠', '⠤', '⠦', '⠖', '⠒',
    '⠐', '⠐', '⠒', '⠓', '⠋', '⠉', '⠈', '⠈',
];
/// Width of the bar, in characters.
const BAR: usize = 30;

impl Bar {
    /// Creates a bar; `None` if standard error is not a terminal.
    pub fn new() -> Option<Self> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let shared = Arc::new(Shared { line: Mutex::new(Line::new()), ended: Condvar::new() });
        let ticking = Arc::clone(&shared);
        // Without the thread, the elapsed time is updated less often.
        let ticker = thread::Builder::new().name("progress".to_owned()).spawn(move || ticking.tick()).ok();
        Some(Self { shared, ticker })
    }

    /// Shows the current phase and its progress.
    pub fn show(&self, what: &str, counted: Option<Counted>) {
        let mut line = self.shared.line();
        what.clone_into(&mut line.what);
        line.counted = counted;
        if line.drawn.is_none_or(|drawn| drawn.elapsed() >= PAUSE) {
            line.draw();
        }
    }

    /// Runs `write`, which writes to standard error, with the bar hidden.
    pub fn beside<T>(&self, write: impl FnOnce() -> T) -> T {
        let mut line = self.shared.line();
        line.clear();
        let done = write();
        line.draw();
        done
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        let mut line = self.shared.line();
        line.has_ended = true;
        line.clear();
        drop(line);
        self.shared.ended.notify_all();
        // The thread has no result.
        let _ = self.ticker.take().map(JoinHandle::join);
    }
}

impl Shared {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the line until it ends.
    fn tick(&self) {
        let mut line = self.line();
        while !line.has_ended {
            let waited = self.ended.wait_timeout(line, TICK);
            line = waited.unwrap_or_else(PoisonError::into_inner).0;
            line.ticks += 1;
            line.draw();
        }
    }
}

impl Line {
    /// Creates a line that is not drawn yet.
    fn new() -> Self {
        let (begin, what) = (Instant::now(), String::new());
        Self { begin, what, counted: None, ticks: 0, drawn: None, width: 0, has_ended: false }
    }

    /// Draws the line over the previous one. Errors are ignored.
    fn draw(&mut self) {
        if self.has_ended || self.what.is_empty() {
            return;
        }
        let room = terminal_size_of(io::stderr()).map_or(usize::MAX, |(Width(width), _)| width.into());
        let text = self.text();
        let text = &text[..fitting(text.chars(), room.saturating_sub(1))];
        let width = width(text);
        let rest = " ".repeat(self.width.saturating_sub(width));
        let _ = write!(io::stderr().lock(), "\r{text}{rest}");
        self.width = width.max(self.width);
        self.drawn = Some(Instant::now());
    }

    /// Erases the line.
    fn clear(&mut self) {
        if self.width > 0 {
            let _ = write!(io::stderr().lock(), "\r{}\r", " ".repeat(self.width));
            self.width = 0;
        }
    }

    fn text(&self) -> String {
        let spinner = SPINNER[self.ticks % SPINNER.len()];
        let elapsed = rounded(self.begin.elapsed());
        let text = format!("{spinner} {elapsed} {}", self.what);
        match self.counted {
            Some(counted) => format!("{text} {}", counted.text()),
            None => text,
        }
    }
}

/// Formats a duration in the largest unit in which it is at least 1.5.
fn rounded(duration: Duration) -> String {
    const UNITS: [(u64, &str); 3] = [(24 * 60 * 60, "d"), (60 * 60, "h"), (60, "m")];
    let seconds = (duration.as_millis() as u64 + 500) / 1000;
    let unit = UNITS.into_iter().find(|(unit, _)| seconds >= unit + unit / 2);
    unit.map_or(format!("{seconds}s"), |(unit, name)| format!("{}{name}", (seconds + unit / 2) / unit))
}

impl Counted {
    /// Formats a bar, numbers, and the remaining time.
    fn text(self) -> String {
        let Self { done, total, .. } = self;
        let done = done.min(total);
        let part = if total == 0 { 1.0 } else { done as f64 / total as f64 };
        let full = ((part * BAR as f64) as usize).min(BAR);
        let head = if part > 0.0 && full < BAR { ">" } else { "" };
        let left = self.left();
        format!("[{:BAR$}] {done}/{total} {left}", "=".repeat(full) + head)
    }

    /// Formats the estimated remaining time; empty if unknown.
    fn left(self) -> String {
        let rest = self.total.saturating_sub(self.done);
        if rest == 0 || self.done == 0 {
            return String::new();
        }
        let left = self.elapsed.mul_f64(rest as f64 / self.done as f64);
        format!("{} left", rounded(left.max(Duration::from_secs(1))))
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

    #[test]
    fn durations_are_rounded() {
        let shown = [0.4, 1.5, 89.4, 89.6, 151.0, 5399.0, 5400.0, 129_600.0];
        let shown = shown.map(|seconds| rounded(Duration::from_secs_f64(seconds)));
        assert_eq!(shown, ["0s", "2s", "89s", "2m", "3m", "90m", "2h", "2d"]);
    }

    #[test]
    fn the_bar_grows() {
        let shown = |done, total| Counted { elapsed: Duration::from_secs(8), done, total }.text();
        assert_eq!(shown(0, 4), format!("[{}] 0/4 ", " ".repeat(30)));
        assert_eq!(shown(1, 4), format!("[=======>{}] 1/4 24s left", " ".repeat(22)));
        assert_eq!(shown(5, 4), format!("[{}] 4/4 ", "=".repeat(30)));
    }

    #[test]
    fn a_line_is_no_wider_than_its_room() {
        let fits = |text: &str, room| text[..fitting(text.chars(), room)].to_owned();
        assert_eq!((fits("a層層b", 4).as_str(), width("a層")), ("a層", 3));
        assert_eq!((fits("abc", 9).as_str(), width("abc")), ("abc", 3));
    }
}
