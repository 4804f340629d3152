//! [`Crossterm`]: output to a terminal.

use std::io::{self, Stdout, Write, stdout};

use crossterm::cursor::{Hide, MoveTo, Show, position};
use crossterm::style::{Attribute, Color as TerminalColor, Print, SetAttribute, SetForegroundColor};
use crossterm::terminal::{Clear, ClearType as TerminalClear, size, window_size};
use crossterm::{execute, queue};
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};

/// Text modifiers, and the terminal attribute of each.
const ATTRIBUTES: [(Modifier, Attribute); 4] = [
    (Modifier::BOLD, Attribute::Bold),
    (Modifier::ITALIC, Attribute::Italic),
    (Modifier::UNDERLINED, Attribute::Underlined),
    (Modifier::REVERSED, Attribute::Reverse),
];

/// Terminal at standard output.
#[derive(Debug)]
pub(crate) struct Crossterm(Stdout);

impl Crossterm {
    pub fn new() -> Self {
        Self(stdout())
    }

    fn style(&mut self, color: Color, modifier: Modifier) -> io::Result<()> {
        queue!(self.0, SetAttribute(Attribute::Reset))?;
        for (_, attribute) in ATTRIBUTES.into_iter().filter(|(one, _)| modifier.contains(*one)) {
            queue!(self.0, SetAttribute(attribute))?;
        }
        if color == Color::Reset { Ok(()) } else { queue!(self.0, SetForegroundColor(terminal_color(color))) }
    }
}

/// Converts a color of a [`Look`](super::Look) to a color of the terminal.
fn terminal_color(color: Color) -> TerminalColor {
    match color {
        Color::Red => TerminalColor::DarkRed,
        Color::Green => TerminalColor::DarkGreen,
        Color::Yellow => TerminalColor::DarkYellow,
        Color::Magenta => TerminalColor::DarkMagenta,
        Color::Cyan => TerminalColor::DarkCyan,
        Color::DarkGray => TerminalColor::DarkGrey,
        _ => TerminalColor::Reset,
    }
}

impl Backend for Crossterm {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let (mut style, mut next) = ((Color::Reset, Modifier::empty()), None);
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                queue!(self.0, MoveTo(x, y))?;
            }
            next = Some((x + 1, y));
            if (cell.fg, cell.modifier) != style {
                style = (cell.fg, cell.modifier);
                self.style(cell.fg, cell.modifier)?;
            }
            queue!(self.0, Print(cell.symbol()))?;
        }
        queue!(self.0, SetAttribute(Attribute::Reset))
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        execute!(self.0, Hide)
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        execute!(self.0, Show)
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        position().map(Position::from)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        execute!(self.0, MoveTo(x, y))
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        let region = match region {
            ClearType::All => TerminalClear::All,
            ClearType::AfterCursor => TerminalClear::FromCursorDown,
            ClearType::BeforeCursor => TerminalClear::FromCursorUp,
            ClearType::CurrentLine => TerminalClear::CurrentLine,
            ClearType::UntilNewLine => TerminalClear::UntilNewLine,
        };
        execute!(self.0, Clear(region))
    }

    fn size(&self) -> io::Result<Size> {
        size().map(Size::from)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        let window = window_size()?;
        Ok(WindowSize {
            columns_rows: Size::new(window.columns, window.rows),
            pixels: Size::new(window.width, window.height),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
