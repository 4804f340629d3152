//! [`Look`]: capabilities of a terminal, and the styles that follow from them.

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::symbols::border;

use crate::tui::pane::Border;

/// Capabilities of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Whether the terminal has colors. Otherwise letters are bold, underlined or reversed.
    pub has_colors: bool,
    /// Whether the terminal shows characters beyond ASCII.
    pub has_unicode: bool,
}

/// Frame made of ASCII characters.
const ASCII: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

impl Look {
    const fn style(self, color: Color, without: Modifier) -> Style {
        if self.has_colors { Style::new().fg(color) } else { Style::new().add_modifier(without) }
    }

    /// Returns the frame of a pane.
    pub(crate) fn frame(self, title: &str) -> Border {
        let set = if self.has_unicode { border::PLAIN } else { ASCII };
        Border { title: format!(" {title} "), set, style: self.quiet() }
    }

    /// Style of frames and of less important text.
    pub(crate) const fn quiet(self) -> Style {
        self.style(Color::DarkGray, Modifier::empty())
    }

    /// Style of the bar at the top.
    pub(crate) const fn bar(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Style of the instructions of the next step.
    pub(crate) const fn next(self) -> Style {
        self.style(Color::Green, Modifier::BOLD).add_modifier(Modifier::BOLD)
    }

    /// Style of the line at the cursor.
    pub(crate) const fn cursor(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Style of breakpoints and failures.
    pub(crate) const fn stops(self) -> Style {
        self.style(Color::Red, Modifier::BOLD)
    }

    /// Style of names.
    pub(crate) const fn name(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Style of numbers that the last step changed.
    pub(crate) const fn changed(self) -> Style {
        self.style(Color::Yellow, Modifier::REVERSED).add_modifier(Modifier::BOLD)
    }

    /// Style of numbers that the last step wrote without changing them.
    pub(crate) const fn rewritten(self) -> Style {
        self.style(Color::Yellow, Modifier::BOLD)
    }

    /// Style of numbers that the next step reads.
    pub(crate) const fn read(self) -> Style {
        self.style(Color::Cyan, Modifier::UNDERLINED)
    }

    /// Style of numbers that the next step writes.
    pub(crate) const fn written(self) -> Style {
        self.style(Color::Magenta, Modifier::ITALIC)
    }
}
