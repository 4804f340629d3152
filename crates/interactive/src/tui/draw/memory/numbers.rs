//! Layout and style of the numbers of a memory.

use npukit_debug::{Range, Scale};
use npukit_target::{Accessed, AddressRun, Shown};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use crate::tui::App;

/// Minimum columns of a number.
const NARROWEST: usize = 2;
/// Minimum columns of an address.
const ADDRESS: usize = 3;
/// Significant digits of a float.
const DIGITS: usize = 6;
/// Maximum number of numbers per read.
const MOST: usize = 1 << 14;

/// Returns the lines of a memory from its first visible address, and how many addresses they show.
pub(super) fn rows(app: &App, shown: &Shown, width: usize, height: usize) -> (Vec<Line<'static>>, u64) {
    let memory = &app.debugger.machine().memories()[shown.memory];
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
        Err(message) => return (vec![Line::styled(format!("  {message}"), app.look.quiet())], 0),
    };
    let texts: Vec<String> = match app.panes.scale {
        Scale::Float | Scale::Error => texts.into_iter().map(short).collect(),
        Scale::Real | Scale::Raw | Scale::Hex => texts,
    };
    // Default: cannot happen: there are addresses, and so numbers.
    let cell = texts.iter().map(String::len).max().unwrap_or(0).max(NARROWEST);
    let label = memory.depth.saturating_sub(1).to_string().len().max(ADDRESS);
    let fits = (width.saturating_sub(label + 2) / (cell + 1)).max(1);
    let in_line = halved(if lanes == 1 { columns } else { lanes }, fits);
    let mut styles = styles(app, &range, lanes);
    styles.resize(texts.len(), Style::new());
    Grid { first, lanes, in_line, label, cell, quiet: app.look.quiet() }.lines(&texts, &styles, height)
}

/// Layout of numbers in lines.
struct Grid {
    /// First address.
    first: u64,
    /// Numbers per address.
    lanes: usize,
    /// Maximum numbers per line.
    in_line: usize,
    /// Columns of an address.
    label: usize,
    /// Columns of a number.
    cell: usize,
    quiet: Style,
}

impl Grid {
    /// Returns at most `height` lines, and how many addresses they show completely.
    fn lines(&self, texts: &[String], styles: &[Style], height: usize) -> (Vec<Line<'static>>, u64) {
        let Self { lanes, in_line, .. } = *self;
        // A line begins with an address; an address with several lines is repeated.
        let breaks = if lanes == 1 { texts.len().max(1) } else { lanes };
        let begins = (0..texts.len()).step_by(breaks).flat_map(|begin| {
            let end = (begin + breaks).min(texts.len());
            (begin..end).step_by(in_line).map(move |from| from..(from + in_line).min(end))
        });
        let (mut lines, mut end) = (Vec::new(), 0);
        for numbers in begins.take(height) {
            end = numbers.end;
            lines.push(self.line(numbers.start, &texts[numbers.clone()], &styles[numbers]));
        }
        (lines, (end / lanes) as u64)
    }

    /// Returns the line that begins with the number at index `from`.
    fn line(&self, from: usize, numbers: &[String], styles: &[Style]) -> Line<'static> {
        let Self { label, cell, .. } = *self;
        let name = match from % self.lanes {
            0 => (self.first + (from / self.lanes) as u64).to_string(),
            lane => format!(".{lane}"),
        };
        let mut spans = vec![Span::styled(format!(" {name:>label$} "), self.quiet)];
        for (number, style) in numbers.iter().zip(styles) {
            spans.extend([Span::raw(" "), Span::styled(format!("{number:>cell$}"), *style)]);
        }
        Line::from(spans)
    }
}

/// Shortens a float to six digits. The machine's numbers are shown unchanged.
fn short(text: String) -> String {
    match text.parse::<f64>() {
        Ok(number) if text.len() > DIGITS + 2 => match number.abs().log10().floor() {
            place if (-4.0..DIGITS as f64).contains(&place) => {
                format!("{number:.*}", (DIGITS as f64 - 1.0 - place) as usize)
            }
            _ => format!("{number:.*e}", DIGITS - 1),
        },
        _ => text,
    }
}

/// Halves a number until it is at most `most`.
fn halved(number: usize, most: usize) -> usize {
    // Default: cannot happen: the sequence reaches 1.
    std::iter::successors(Some(number), |number| Some(number.div_ceil(2)))
        .find(|number| *number <= most)
        .unwrap_or(1)
}

/// Reads the first readable addresses of a range, as a buffer may now be smaller than its memory.
fn readable(app: &App, mut range: Range) -> Result<(Range, Vec<String>), String> {
    let first_message = match app.debugger.numbers(&range, app.panes.scale) {
        Ok(texts) => return Ok((range, texts)),
        Err(message) => message,
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
        return Err(first_message);
    }
    app.debugger.numbers(&range, app.panes.scale).map(|texts| (range, texts))
}

/// Returns the style of each number at some addresses.
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
    for Accessed { run, is_write } in debugger.machine().accesses(position) {
        let style = if is_write { look.written() } else { look.read() };
        paint(run, &|_| style);
    }
    let Some(before) = &app.before else {
        return styles;
    };
    // Default: unreadable before: written numbers count as changed.
    let now = debugger.read(run).unwrap_or_default();
    let old = before.read(run.memory, run.first, run.count).unwrap_or_default();
    let differs = |place: usize| now.get(place) != old.get(place);
    let written = before.accesses(position - 1).into_iter().filter(|accessed| accessed.is_write);
    for Accessed { run, .. } in written {
        paint(run, &|place| {
            if differs(place) { look.changed() } else { look.rewritten() }
        });
    }
    // Compare values too, as a machine may change memory without reporting a write.
    let is_known = |place: &usize| old.get(*place).is_some() && differs(*place);
    (0..count).filter(is_known).for_each(|place| styles[place] = look.changed());
    styles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_six_digits() {
        for (text, expected) in [
            ("0", "0"),
            ("-0.5", "-0.5"),
            ("-0.0137857795", "-0.0137858"),
            ("-10.49800014", "-10.4980"),
            ("123456.789", "123457"),
            ("-0.00034600496", "-0.000346005"),
            ("0.00000123456789", "1.23457e-6"),
            ("12345678901", "1.23457e10"),
            ("NaN", "NaN"),
        ] {
            assert_eq!(short(text.to_owned()), expected);
        }
    }

    #[test]
    fn rows_are_halved_until_they_fit() {
        assert_eq!(
            [(16, 20), (16, 15), (64, 19), (5, 2), (3, 1)].map(|(of, most)| halved(of, most)),
            [16, 8, 16, 2, 1]
        );
    }
}
