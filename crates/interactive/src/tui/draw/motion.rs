//! The values inside a unit in one cycle of the next step, as a grid.

use npukit_debug::{Piece, PieceKind, frame};
use npukit_target::motion::Motion;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Span};

use crate::tui::App;
use crate::tui::in_motion::InMotion;
use crate::tui::look::Look;
use crate::tui::pane::Pane;

/// Returns the lines that a cycle needs, with the frame; `None` without a grid.
pub(super) fn height(app: &App) -> Option<u16> {
    let InMotion { found, cycle } = app.motion.as_ref()?;
    let motion = found.as_ref().ok()?.as_ref()?;
    u16::try_from(grid(app.look, motion, *cycle).len() + 2).ok()
}

/// Draws a cycle of the next step.
pub(super) fn draw(app: &App, InMotion { found, cycle }: &InMotion, screen: &mut Frame<'_>, area: Rect) {
    let (title, lines) = match found {
        Ok(Some(motion)) => (title(motion, *cycle), grid(app.look, motion, *cycle)),
        Ok(None) => ("motion".to_owned(), vec![Line::raw("the next step has no drawing in motion")]),
        Err(message) => ("motion".to_owned(), vec![Line::styled(message.clone(), app.look.stops())]),
    };
    screen.render_widget(Pane::new(lines).framed(app.look.frame(&title)), area);
}

fn title(motion: &Motion, cycle: u64) -> String {
    match motion.cycles() {
        Some(cycles) => {
            format!("motion, cycle {cycle} of {} to {}; ] next, [ previous", cycles.start(), cycles.end())
        }
        None => "motion".to_owned(),
    }
}

/// Returns the grid, and the legend below it.
fn grid(look: Look, motion: &Motion, cycle: u64) -> Vec<Line<'static>> {
    let style = |kind| match kind {
        PieceKind::Name | PieceKind::Empty => look.quiet(),
        PieceKind::Held => Style::new(),
        PieceKind::Operand => look.read(),
        PieceKind::Sum => look.changed(),
    };
    let span = |Piece { text, kind }: Piece| {
        // Spaces have no style: it would be visible.
        let number = text.trim_start().to_owned();
        [Span::raw(" ".repeat(text.len() - number.len())), Span::styled(number, style(kind))]
    };
    let line = |pieces: Vec<Piece>| Line::from(pieces.into_iter().flat_map(span).collect::<Vec<_>>());
    let mut lines: Vec<Line<'static>> = frame(motion, cycle).into_iter().map(line).collect();
    lines.push(Line::from(vec![
        Span::styled(motion.names.operand, look.read()),
        Span::raw(format!(" * {} = ", motion.names.held)),
        Span::styled(motion.names.sum, look.changed()),
    ]));
    lines
}
