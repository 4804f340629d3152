//! Key help, drawn over the screen.

use ratatui_core::layout::{Constraint, Layout};
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Span};

use crate::tui::pane::Pane;
use crate::tui::{App, KEYS};

/// Columns for the names of keys.
const KEY: usize = 12;
/// Columns of the whole box.
const WIDTH: u16 = 78;

/// Draws the help in the middle of the screen.
pub(super) fn draw(app: &App, frame: &mut Frame<'_>) {
    let look = app.look;
    let mut lines: Vec<Line<'_>> = KEYS
        .iter()
        .map(|key| {
            Line::from(vec![Span::styled(format!("{:<KEY$}", key.text), look.name()), key.meaning.into()])
        })
        .collect();
    let legend = [
        ("changed by the last step", look.changed()),
        ("written but unchanged", look.rewritten()),
        ("read by the next", look.read()),
        ("written by the next", look.written()),
    ];
    lines.push(Line::default());
    lines.extend(legend.map(|(text, style)| {
        Line::from(vec![format!("{:<KEY$}", "numbers").into(), Span::styled(text, style)])
    }));
    lines.push(Line::raw("`help` on the command line lists the commands. Press any key to return."));
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX); // Default: there are few keys.
    let [area] = Layout::vertical([Constraint::Max(height)])
        .flex(ratatui_core::layout::Flex::Center)
        .areas(frame.area());
    let [area] =
        Layout::horizontal([Constraint::Max(WIDTH)]).flex(ratatui_core::layout::Flex::Center).areas(area);
    for place in area.positions() {
        frame.buffer_mut()[place].reset();
    }
    frame.render_widget(Pane::new(lines).wrapping().framed(look.frame("keys")), area);
}
