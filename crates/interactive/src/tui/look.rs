//! [`Look`]: what a terminal can show, and the styles made of it.

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::symbols::border;

use crate::tui::pane::Border;

/// What a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Whether it has colours. Without them letters are bold, underlined or reversed.
    pub has_colours: bool,
    /// Whether it has more characters than ASCII.
    pub has_unicode: bool,
}

/// Frames of ASCII.
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
        if self.has_colours { Style::new().fg(color) } else { Style::new().add_modifier(without) }
    }

    /// The frame of a pane.
    pub(crate) fn frame(self, title: &str) -> Border {
        let set = if self.has_unicode { border::PLAIN } else { ASCII };
        Border { title: format!(" {title} "), set, style: self.quiet() }
    }

    /// Frames, and what is less looked at.
    pub(crate) const fn quiet(self) -> Style {
        self.style(Color::DarkGray, Modifier::empty())
    }

    /// The bar at the top.
    pub(crate) const fn bar(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Instructions of the next step.
    pub(crate) const fn next(self) -> Style {
        self.style(Color::Green, Modifier::BOLD).add_modifier(Modifier::BOLD)
    }

    /// The line that keys are for.
    pub(crate) const fn cursor(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Breakpoints, and what goes wrong.
    pub(crate) const fn stops(self) -> Style {
        self.style(Color::Red, Modifier::BOLD)
    }

    /// Names.
    pub(crate) const fn name(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Numbers that the last step has changed.
    pub(crate) const fn changed(self) -> Style {
        self.style(Color::Yellow, Modifier::REVERSED).add_modifier(Modifier::BOLD)
    }

    /// Numbers that the last step has written as they were before.
    pub(crate) const fn rewritten(self) -> Style {
        self.style(Color::Yellow, Modifier::BOLD)
    }

    /// Numbers that the next step reads.
    pub(crate) const fn read(self) -> Style {
        self.style(Color::Cyan, Modifier::UNDERLINED)
    }

    /// Numbers that the next step writes.
    pub(crate) const fn written(self) -> Style {
        self.style(Color::Magenta, Modifier::ITALIC)
    }
}
