//! Listing of the program: instructions with the next step, breakpoints, layers and lines of the
//! text.

use npukit_debug::PointKind;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Span};

use crate::tui::App;
use crate::tui::pane::Pane;

/// Draws the listing around the cursor.
pub(super) fn draw(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let debugger = &app.debugger;
    let mut height = usize::from(area.height.saturating_sub(2));
    let mut lines = Vec::new();
    let message = debugger.machine().described(debugger.position());
    if let Some(message) = message.filter(|_| height > 0) {
        height -= 1;
        lines.push(Line::styled(format!(">  {message}"), app.look.next()));
    }
    lines.extend(around(app, height));
    let here = debugger.line_here();
    let title = here.map_or_else(|| "program".to_owned(), |here| format!("{}:{}", here.file, here.line));
    frame.render_widget(Pane::new(lines).framed(app.look.frame(&title)), area);
}

/// Returns up to `height` lines around the cursor.
fn around(app: &App, height: usize) -> Vec<Line<'static>> {
    let (debugger, cursor) = (&app.debugger, app.at_cursor());
    let count = match debugger.listing() {
        Ok(listing) => listing.len(),
        Err(message) => return vec![Line::styled(message.to_owned(), app.look.stops())],
    };
    let first = cursor.saturating_sub(height / 2).min(count.saturating_sub(height));
    let mut issued = debugger.machine().issued(debugger.position());
    if debugger.position() >= debugger.steps() {
        issued.clear();
    }
    let (mut lines, mut cursor_at) = (Vec::new(), 0);
    for instruction in first..count.min(first + height) {
        if let Some(layer) = begun_layer(app, instruction) {
            lines.push(Line::styled(format!("   {layer}"), app.look.quiet().patch(app.look.name())));
        }
        if instruction == cursor {
            cursor_at = lines.len();
        }
        lines.push(line(app, instruction, issued.contains(&instruction)));
    }
    // Names of layers take lines: drop lines before the cursor first.
    let skipped = (cursor_at + 1).saturating_sub(height);
    lines.into_iter().skip(skipped).take(height).collect()
}

fn line(app: &App, instruction: usize, is_next: bool) -> Line<'static> {
    let (debugger, look) = (&app.debugger, app.look);
    let kind = PointKind::Instruction(instruction);
    let stops = debugger.points().iter().any(|point| point.kind == kind);
    // Default: a program in words has no source lines.
    let source = debugger.line(instruction).map(|source| format!(":{:<4} ", source.line)).unwrap_or_default();
    let line = Line::from(vec![
        Span::styled(if is_next { ">" } else { " " }, look.next()),
        Span::styled(if stops { "*" } else { " " }, look.stops()),
        Span::styled(format!("{instruction:>5} {source}"), look.quiet()),
        Span::styled(
            debugger.text_of(instruction).to_owned(),
            if is_next { look.next() } else { Style::new() },
        ),
    ]);
    if app.cursor == Some(instruction) { line.style(look.cursor()) } else { line }
}

/// Returns the name of the layer that begins with an instruction.
fn begun_layer(app: &App, instruction: usize) -> Option<&str> {
    let machine = app.debugger.machine();
    if machine.layers().is_empty() {
        return None;
    }
    let of = |instruction: usize| {
        let step = machine.steps_of(instruction).first().copied()?;
        machine.layer(step)
    };
    let layer = of(instruction)?;
    let before = instruction.checked_sub(1).and_then(of);
    (before != Some(layer)).then(|| machine.layers().get(layer).map(String::as_str))?
}
