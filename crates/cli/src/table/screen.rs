//! [`Screen`]: what reports are laid out for.

use std::env;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use supports_unicode::supports_unicode;
use terminal_size::{Width, terminal_size_of};

/// What reports are laid out for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    /// Characters that a line has room for; none for a pipe, which takes lines of any length.
    pub width: Option<usize>,
    /// Whether it shows more than ASCII.
    pub is_unicode: bool,
}

static CURRENT: OnceLock<Screen> = OnceLock::new();

impl Screen {
    /// That of standard output, until [`Screen::set`] says another.
    pub fn current() -> Self {
        *CURRENT.get_or_init(|| Self::of(None))
    }

    /// From now on the current one: that of standard output, of the width that the command line says.
    pub fn set(width: Option<u16>) {
        // Default: the first one stays, there is one command line.
        let _ = CURRENT.set(Self::of(width));
    }

    fn of(width: Option<u16>) -> Self {
        let width = width.map(usize::from).or_else(terminal_width);
        Self { width, is_unicode: width.is_none() || supports_unicode() }
    }

    /// What stands for what is left out of a name.
    pub fn ellipsis(self) -> &'static str {
        if self.is_unicode { "…" } else { ".." }
    }
}

/// `COLUMNS` or else the terminal's own, where standard output is one.
fn terminal_width() -> Option<usize> {
    let out = io::stdout();
    if !out.is_terminal() {
        return None;
    }
    // Default: a variable that is no width says nothing.
    let said = env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|&width| width > 0);
    said.or_else(|| terminal_size_of(&out).map(|(Width(width), _)| width.into()))
}
