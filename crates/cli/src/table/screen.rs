//! [`Screen`]: the output for which reports are formatted.

use std::env;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use supports_unicode::supports_unicode;
use terminal_size::{Width, terminal_size_of};

/// Output for which reports are formatted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    /// Width of a line in characters; `None` for a pipe, which has no limit.
    pub width: Option<usize>,
    /// Whether it supports characters beyond ASCII.
    pub is_unicode: bool,
}

static CURRENT: OnceLock<Screen> = OnceLock::new();

impl Screen {
    /// Returns the screen of standard output, unless [`Screen::set`] was called.
    pub fn current() -> Self {
        *CURRENT.get_or_init(|| Self::of(None))
    }

    /// Sets the current screen: that of standard output, with the width of the command line if
    /// given.
    pub fn set(width: Option<u16>) {
        // Default: the first call wins; there is one command line.
        let _ = CURRENT.set(Self::of(width));
    }

    fn of(width: Option<u16>) -> Self {
        let width = width.map(usize::from).or_else(terminal_width);
        Self { width, is_unicode: width.is_none() || supports_unicode() }
    }

    /// Returns the text for omitted parts of a name.
    pub fn ellipsis(self) -> &'static str {
        if self.is_unicode { "…" } else { ".." }
    }
}

/// Returns `COLUMNS`, otherwise the terminal's own width; `None` if standard output is not a
/// terminal.
fn terminal_width() -> Option<usize> {
    let out = io::stdout();
    if !out.is_terminal() {
        return None;
    }
    // Default: a variable that is not a valid width is ignored.
    let said = env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|&width| width > 0);
    said.or_else(|| terminal_size_of(&out).map(|(Width(width), _)| width.into()))
}
