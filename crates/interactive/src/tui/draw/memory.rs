//! Memories as numbers. Styles mark what the last step changed and what the next one will use.

mod numbers;

use npukit_debug::Scale;
use npukit_target::{MachineMemory, Shown};
use ratatui_core::layout::Rect;
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Span};

use crate::tui::App;
use crate::tui::pane::Pane;
use numbers::rows;

/// Draws the memories of the current view.
pub(super) fn draw(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let Some((view, number, count)) = app.panes.view() else {
        return;
    };
    let shown = view.shown.clone();
    let scale = Scale::ALL.iter().find(|(_, scale)| *scale == app.panes.scale).map_or("", |(name, _)| name);
    let follows = if app.panes.follows { ", follows" } else { "" };
    let border = app.look.frame(&format!("{} ({number} of {count}), {scale}{follows}", view.name));
    let inner = border.inner(area);
    let (width, height) = (usize::from(inner.width), usize::from(inner.height));
    let selected = app.panes.selected();
    let least: Vec<usize> = shown.iter().map(|shown| if is_line(app, shown) { 1 } else { 3 }).collect();
    let first = first_part(&least, selected, height);
    let wanted: Vec<usize> = shown[first..].iter().map(|shown| wanted(app, shown, height)).collect();
    let mut lines = Vec::new();
    for (place, height) in shares(&least[first..], &wanted, selected - first, height).into_iter().enumerate()
    {
        let one = &shown[first + place];
        let (part, addresses) = part(app, one, width, height, first + place == selected);
        if addresses > 0 {
            app.panes.note(one.memory, addresses);
        }
        lines.extend(part);
    }
    frame.render_widget(Pane::new(lines).framed(border), area);
}

/// Whether all numbers of a memory fit in the line of its name.
fn is_line(app: &App, shown: &Shown) -> bool {
    let memory = memory(app, shown);
    memory.depth == 1 && memory.lanes <= shown.columns.max(shown.lanes.len())
}

fn memory<'a>(app: &'a App, shown: &Shown) -> &'a MachineMemory {
    &app.debugger.machine().memories()[shown.memory]
}

/// Returns the first memory to draw, so that the selected one is visible.
fn first_part(least: &[usize], selected: usize, height: usize) -> usize {
    let fits = |first: &usize| least[*first..=selected].iter().sum::<usize>() <= height;
    // Default: there is not enough room even for the selected one, which then comes first.
    (0..=selected).find(fits).unwrap_or(selected)
}

/// Returns the number of lines that a memory would fill, at most `most`.
fn wanted(app: &App, shown: &Shown, most: usize) -> usize {
    if is_line(app, shown) {
        return 1;
    }
    let MachineMemory { depth, lanes, .. } = memory(app, shown);
    let rows = if *lanes == 1 { depth.div_ceil(shown.columns.max(1) as u64) } else { *depth };
    // The lanes of an address may need several lines.
    let lines = rows.saturating_mul(1 + *lanes as u64 / 8);
    usize::try_from(lines).unwrap_or(most).saturating_add(1).min(most) // Default: more lines than fit.
}

/// Distributes the lines over the memories: the minimum first, then line by line, two for the
/// selected one.
fn shares(least: &[usize], wanted: &[usize], selected: usize, height: usize) -> Vec<usize> {
    let mut left = height;
    let mut give = |lines: usize| {
        let given = lines.min(left);
        left -= given;
        given
    };
    let mut shares: Vec<usize> = least.iter().map(|lines| give(*lines)).collect();
    loop {
        let mut is_given = false;
        for (place, share) in shares.iter_mut().enumerate() {
            let more = wanted[place].saturating_sub(*share).min(if place == selected { 2 } else { 1 });
            let given = give(more);
            *share += given;
            is_given |= given > 0;
        }
        if !is_given {
            return shares;
        }
    }
}

/// Returns the lines of a memory, and how many addresses they show.
fn part(
    app: &App,
    shown: &Shown,
    width: usize,
    height: usize,
    is_selected: bool,
) -> (Vec<Line<'static>>, u64) {
    if height == 0 {
        return (Vec::new(), 0);
    }
    let memory = memory(app, shown);
    let mark = if is_selected { ">" } else { " " };
    let name = Span::styled(format!("{mark}{:<8} ", memory.name), app.look.name());
    if is_line(app, shown) {
        let (mut lines, addresses) = rows(app, shown, width.saturating_sub(name.width()), 1);
        let mut spans = vec![name];
        spans.extend(lines.drain(..).flat_map(|line| line.spans).skip(1));
        spans.push(Span::styled(about(shown), app.look.quiet()));
        return (vec![Line::from(spans)], addresses);
    }
    let of = if memory.lanes == 1 {
        memory.depth.to_string()
    } else {
        format!("{} x {}", memory.depth, memory.lanes)
    };
    let head = Line::from(vec![name, Span::styled(of + &about(shown), app.look.quiet())]);
    let (lines, addresses) = rows(app, shown, width, height - 1);
    ([head].into_iter().chain(lines).collect(), addresses)
}

/// Describes a memory and the lanes of an address.
fn about(Shown { about, lanes, .. }: &Shown) -> String {
    let about = if about.is_empty() { String::new() } else { format!("  {about}") };
    if lanes.is_empty() { about } else { format!("{about}: {}", lanes.join(", ")) }
}
