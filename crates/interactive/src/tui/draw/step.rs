//! Panes for the accesses of the next step and for its timing.

use npukit_target::{Accessed, Moment};
use ratatui_core::layout::Rect;
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Span};

use crate::tui::App;
use crate::tui::pane::Pane;

/// Draws the reads and writes of the next step, and the messages of the last one.
pub(super) fn draw(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let (debugger, machine, look) = (&app.debugger, app.debugger.machine(), app.look);
    let position = debugger.position();
    let one = |Accessed { run, is_write }: Accessed| {
        let (word, style) = if is_write { ("writes ", look.written()) } else { ("reads  ", look.read()) };
        Line::from(vec![word.into(), Span::styled(debugger.run_text(run, None), style)])
    };
    let mut lines: Vec<Line<'_>> = machine.accesses(position).into_iter().map(one).collect();
    if let Some(step) = position.checked_sub(1) {
        let remarks = debugger.remarks(step).iter();
        lines.extend(remarks.map(|remark| Line::styled(format!("remark: {remark}"), look.stops())));
    }
    if machine.saturations() > 0 {
        let message = format!("{} saturated so far", counted(machine.saturations(), "result"));
        lines.push(Line::styled(message, look.stops()));
    }
    let title = if position < debugger.steps() { "next step" } else { "no next step" };
    frame.render_widget(Pane::new(lines).framed(look.frame(title)), area);
}

/// Draws the cycles of the next step, and the units that wait.
pub(super) fn draw_clock(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let lines: Vec<Line<'_>> = if app.awaits_clock() { vec![Line::raw("...")] } else { clock(app) };
    frame.render_widget(Pane::new(lines).wrapping().framed(app.look.frame("clock")), area);
}

fn clock(app: &App) -> Vec<Line<'static>> {
    let moments = match app.debugger.moments() {
        Ok(moments) => moments,
        Err(message) => return vec![Line::raw(message.to_owned())],
    };
    let Some(Moment { start, end, waits }) = moments.get(app.debugger.position()) else {
        let end = moments.last().map_or(0, |moment| moment.end);
        return vec![Line::raw(format!("end, after cycle {end}"))];
    };
    let last = end.saturating_sub(1);
    let cycles = if last > *start { format!("cycles {start} to {last}") } else { format!("cycle {start}") };
    let mut lines = vec![Line::raw(cycles)];
    lines.extend(waits.iter().map(|(unit, on, cycles)| {
        Line::from(vec![
            Span::styled(unit.clone(), app.look.name()),
            format!(" waits {cycles} on {on}").into(),
        ])
    }));
    lines
}

fn counted(count: u64, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}
