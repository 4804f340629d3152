//! [`draw`]: draws the whole screen.

mod help;
mod listing;
mod memory;
mod motion;
mod step;

use npukit_debug::Stop;
use ratatui_core::layout::{Constraint, Layout, Rect};
use ratatui_core::style::Style;
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Span};

use crate::tui::App;
use crate::tui::output::Kind;
use crate::tui::pane::Pane;

/// Minimum number of columns for panes next to each other.
const WIDE: u16 = 100;
/// Height of the panes for the next step and the clock, frames included.
const STEP: u16 = 6;
/// The most important keys.
const HINTS: &str =
    "s step  b back  n/p layer  c continue  r reverse  Tab memories  : command  ? keys  q quit";

/// Draws the whole screen.
pub fn draw(app: &mut App, frame: &mut Frame<'_>) {
    let rows = Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)]);
    let [bar, middle, line] = rows.areas(frame.area());
    frame.render_widget(Pane::bar(status(app), app.look.bar()), bar);
    let wanted = motion::height(app);
    let places = if middle.width >= WIDE { wide(middle, wanted) } else { narrow(middle) };
    listing::draw(app, frame, places.listing);
    match &app.motion {
        Some(shown) => motion::draw(app, shown, frame, places.memory),
        None => memory::draw(app, frame, places.memory),
    }
    step::draw(app, frame, places.step);
    step::draw_clock(app, frame, places.clock);
    output(app, frame, places.output);
    command_line(app, frame, line);
    if app.helps {
        help::draw(app, frame);
    }
}

/// Areas of the panes.
struct Places {
    listing: Rect,
    memory: Rect,
    step: Rect,
    clock: Rect,
    output: Rect,
}

/// Places the program at the left and the machine at the right, with `wanted` lines if given.
fn wide(area: Rect, wanted: Option<u16>) -> Places {
    let [left, right] = Layout::horizontal([Constraint::Percentage(45), Constraint::Min(0)]).areas(area);
    let lengths = [Constraint::Min(3), Constraint::Length(STEP), Constraint::Length(STEP)];
    let [listing, step, clock] = Layout::vertical(lengths).areas(left);
    let memory = wanted.map_or(Constraint::Fill(3), Constraint::Length);
    let output = wanted.map_or(Constraint::Fill(2), |_| Constraint::Min(3));
    let [memory, output] = Layout::vertical([memory, output]).areas(right);
    Places { listing, memory, step, clock, output }
}

/// Places all panes below each other.
fn narrow(area: Rect) -> Places {
    let step = if area.height >= 20 { STEP - 1 } else { 0 };
    let lengths = [Constraint::Fill(2), Constraint::Fill(2), Constraint::Length(step), Constraint::Fill(1)];
    let [listing, memory, steps, output] = Layout::vertical(lengths).areas(area);
    let [step, clock] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(steps);
    Places { listing, memory, step, clock, output }
}

/// Returns the status line: program, position, layer, cycle, and the reason for the stop.
fn status(app: &App) -> String {
    let (debugger, machine) = (&app.debugger, app.debugger.machine());
    let (position, steps, unit) = (debugger.position(), debugger.steps(), machine.step_name());
    let mut text = format!("{} on {}  {unit} {position} of {steps}", machine.name(), machine.target());
    if let Some(layer) = machine.layer(position).and_then(|place| machine.layers().get(place)) {
        text += &format!("  layer {layer}");
    }
    match debugger.stop() {
        Stop::Breakpoint(id) => text += &format!("  breakpoint {id}"),
        Stop::Watchpoint(id, step) => text += &format!("  watchpoint {id}, hit by {unit} {step}"),
        Stop::Fault(_) => text += "  the machine stops here",
        Stop::Undecided(undecided) => text += &format!("  watchpoint {} cannot be evaluated", undecided.id),
        Stop::Interrupted => text += "  interrupted",
        Stop::End => text += "  end",
        Stop::Start | Stop::Step | Stop::Layer => {}
    }
    text
}

fn output(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let look = app.look;
    let lines = app.output.shown(usize::from(area.height.saturating_sub(2)));
    let line = |(kind, text): &(Kind, String)| match kind {
        Kind::Command => Line::styled(text.clone(), look.name()),
        Kind::Printed => Line::raw(text.clone()),
        Kind::Failure => Line::styled(text.clone(), look.stops()),
    };
    let lines: Vec<Line<'_>> = lines.iter().map(line).collect();
    frame.render_widget(Pane::new(lines).framed(look.frame("output")), area);
}

fn command_line(app: &App, frame: &mut Frame<'_>, area: Rect) {
    if app.running.is_some() {
        frame.render_widget(Pane::bar("running; Esc interrupts", Style::new()), area);
        return;
    }
    if !app.line.is_open {
        frame.render_widget(Pane::bar(HINTS, app.look.quiet()), area);
        return;
    }
    // A line that is too long is scrolled so that the cursor is visible.
    let before = 2 + Span::raw(app.line.before()).width();
    let hidden = before.saturating_sub(usize::from(area.width.saturating_sub(1)));
    let typed = Pane::bar(format!("> {}", app.line.text()), Style::new());
    frame.render_widget(typed.skipping(hidden), area);
    let column = u16::try_from(before - hidden).unwrap_or(0); // Default: cannot happen: it is less than the width.
    frame.set_cursor_position((area.x + column, area.y));
}
