//! Memories as numbers, with what the last step has changed and what the next will use.

use npukit_debug::{Range, Scale};
use npukit_target::{Accessed, AddressRun, BenchMemory, Shown};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::App;

/// Columns of a number, at least.
const NARROWEST: usize = 2;
/// Numbers that are asked for at once at most.
const MOST: usize = 1 << 14;

/// Draws the memories of the view.
pub(super) fn draw(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let Some((view, number, count)) = app.panes.view() else { return };
    let shown = view.shown.clone();
    let scale = Scale::ALL.iter().find(|(_, scale)| *scale == app.panes.scale).map_or("", |(name, _)| name);
    let follows = if app.panes.follows { ", follows" } else { "" };
    let block = app.look.pane(format!("{} ({number} of {count}), {scale}{follows}", view.name));
    let inner = block.inner(area);
    let (width, height) = (usize::from(inner.width), usize::from(inner.height));
    let selected = app.panes.selected();
    let least: Vec<usize> = shown.iter().map(|shown| if is_line(app, shown) { 1 } else { 3 }).collect();
    let first = first_part(&least, selected, height);
    let wanted: Vec<usize> = shown[first..].iter().map(|shown| wanted(app, shown, height)).collect();
    let mut lines = Vec::new();
    for (place, height) in shares(&least[first..], &wanted, selected - first, height).into_iter().enumerate()
    {
        let one = &shown[first + place];
        let (part, addresses) = part(app, one, (width, height), first + place == selected);
        if addresses > 0 {
            app.panes.note(one.memory, addresses);
        }
        lines.extend(part);
    }
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// Whether a memory has all of its numbers behind its name.
fn is_line(app: &App, shown: &Shown) -> bool {
    let memory = memory(app, shown);
    memory.depth == 1 && memory.lanes <= shown.columns.max(shown.lanes.len())
}

fn memory<'a>(app: &'a App, shown: &Shown) -> &'a BenchMemory {
    &app.debugger.session().memories()[shown.memory]
}

/// The first memory that is drawn, so that there is room for the one that is selected.
fn first_part(least: &[usize], selected: usize, height: usize) -> usize {
    let fits = |first: &usize| least[*first..=selected].iter().sum::<usize>() <= height;
    // Default: there is not even room for that one, so that it begins.
    (0..=selected).find(fits).unwrap_or(selected)
}

/// Lines that a memory would fill, up to `most`.
fn wanted(app: &App, shown: &Shown, most: usize) -> usize {
    if is_line(app, shown) {
        return 1;
    }
    let BenchMemory { depth, lanes, .. } = memory(app, shown);
    let rows = if *lanes == 1 { depth.div_ceil(shown.columns.max(1) as u64) } else { *depth };
    // Lanes may take several lines each.
    let lines = rows.saturating_mul(1 + *lanes as u64 / 8);
    usize::try_from(lines).unwrap_or(most).saturating_add(1).min(most) // Default: more than there is room for.
}

/// The lines of each memory: the least first, then line by line, two for the selected one.
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

/// The lines of a memory, and how many addresses they have.
fn part(
    app: &App,
    shown: &Shown,
    (width, height): (usize, usize),
    is_selected: bool,
) -> (Vec<Line<'static>>, u64) {
    if height == 0 {
        return (Vec::new(), 0);
    }
    let memory = memory(app, shown);
    let mark = if is_selected { ">" } else { " " };
    let name = Span::styled(format!("{mark}{:<8} ", memory.name), app.look.name());
    if is_line(app, shown) {
        let (mut lines, addresses) = rows(app, shown, (width.saturating_sub(name.width()), 1));
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
    let (lines, addresses) = rows(app, shown, (width, height - 1));
    ([head].into_iter().chain(lines).collect(), addresses)
}

/// What a memory is, and its numbers at an address.
fn about(Shown { about, lanes, .. }: &Shown) -> String {
    let about = if about.is_empty() { String::new() } else { format!("  {about}") };
    if lanes.is_empty() { about } else { format!("{about}: {}", lanes.join(", ")) }
}

/// The numbers of a memory from its first address on, and how many addresses they are.
fn rows(app: &App, shown: &Shown, (width, height): (usize, usize)) -> (Vec<Line<'static>>, u64) {
    let memory = memory(app, shown);
    let (lanes, columns) = (memory.lanes.max(1), shown.columns.max(1));
    let first = app.panes.first(shown.memory);
    let per_line = if lanes == 1 { columns } else { 1 };
    let asked = (height * per_line).min(MOST / lanes).max(1) as u64;
    let end = first.saturating_add(asked).min(memory.depth);
    if height == 0 || end <= first {
        return (Vec::new(), 0);
    }
    let range = Range { text: String::new(), memory: shown.memory, start: first, end, lane: None };
    let (range, texts) = match readable(app, range) {
        Ok(found) => found,
        Err(told) => return (vec![Line::styled(format!("  {told}"), app.look.quiet())], 0),
    };
    let styles = styles(app, &range, lanes);
    // Default: there are numbers, as there are addresses.
    let cell = texts.iter().map(String::len).max().unwrap_or(0).max(NARROWEST);
    let label = memory.depth.saturating_sub(1).to_string().len().max(3);
    let fits = (width.saturating_sub(label + 2) / (cell + 1)).max(1);
    let in_line = halved(if lanes == 1 { columns } else { lanes }, fits);
    let row = if lanes == 1 { in_line } else { lanes };
    let (mut lines, mut addresses) = (Vec::new(), 0);
    for (place, row) in texts.chunks(row).enumerate() {
        let from = if lanes == 1 { place * in_line } else { place };
        for (part, numbers) in row.chunks(in_line).enumerate() {
            if lines.len() == height {
                return (lines, addresses);
            }
            let label = match part {
                0 => format!(" {:>label$} ", first + from as u64),
                part => format!(" {:>label$} ", format!(".{}", part * in_line)),
            };
            let mut spans = vec![Span::styled(label, app.look.quiet())];
            let begin = if lanes == 1 { from } else { place * lanes + part * in_line };
            for (offset, number) in numbers.iter().enumerate() {
                spans.push(" ".into());
                // Default: a number that nothing is known of.
                let style = styles.get(begin + offset).copied().unwrap_or_default();
                spans.push(Span::styled(format!("{number:>cell$}"), style));
            }
            lines.push(Line::from(spans));
        }
        addresses += if lanes == 1 { row.len() as u64 } else { 1 };
    }
    (lines, addresses)
}

/// Half of a number as often as it takes to be `most` or less.
fn halved(number: usize, most: usize) -> usize {
    // Default: one of anything fits.
    std::iter::successors(Some(number), |number| Some(number.div_ceil(2)))
        .find(|number| *number <= most)
        .unwrap_or(1)
}

/// The first addresses of a range that can be read, and their numbers: a buffer may be smaller than its memory now.
fn readable(app: &App, mut range: Range) -> Result<(Range, Vec<String>), String> {
    let first_told = match app.debugger.numbers(&range, app.panes.scale) {
        Ok(texts) => return Ok((range, texts)),
        Err(told) => told,
    };
    let (mut good, mut bad) = (range.start, range.end);
    while bad - good > 1 {
        range.end = good + (bad - good) / 2;
        match app.debugger.numbers(&range, app.panes.scale) {
            Ok(_) => good = range.end,
            Err(_) => bad = range.end,
        }
    }
    range.end = good;
    if good == range.start {
        return Err(first_told);
    }
    app.debugger.numbers(&range, app.panes.scale).map(|texts| (range, texts))
}

/// How each number of some addresses is drawn.
fn styles(app: &App, range: &Range, lanes: usize) -> Vec<Style> {
    let (debugger, look) = (&app.debugger, app.look);
    let (position, run) = (debugger.position(), range.run());
    let count = (range.end - range.start) as usize * lanes;
    let mut styles = vec![Style::new(); count];
    let mut paint = |used: AddressRun, style: &dyn Fn(usize) -> Style| {
        if !used.meets(range.memory, range.start, range.end) {
            return;
        }
        for address in (range.start..range.end).filter(|address| used.place(*address).is_some()) {
            let from = (address - range.start) as usize * lanes;
            (from..from + lanes).for_each(|place| styles[place] = style(place));
        }
    };
    for Accessed { run, is_write } in debugger.session().accesses(position) {
        let style = if is_write { look.written() } else { look.read() };
        paint(run, &|_| style);
    }
    let Some(before) = &app.before else { return styles };
    // Default: what cannot be read has not changed.
    let now = debugger.read(run).unwrap_or_default();
    let old = before.read(run.memory, run.first, run.count).unwrap_or_default();
    let is_changed = |place: usize| now.get(place) != old.get(place);
    let written = before.accesses(position - 1).into_iter().filter(|accessed| accessed.is_write);
    for Accessed { run, .. } in written {
        paint(run, &|place| if is_changed(place) { look.changed() } else { look.rewritten() });
    }
    // Also where nobody says that it writes.
    (0..count).filter(|place| is_changed(*place)).for_each(|place| styles[place] = look.changed());
    styles
}
