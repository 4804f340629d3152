//! [`Pane`]: lines of text in a part of the screen, with or without a frame.

use ratatui_core::buffer::{Buffer, CellWidth};
use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::Style;
use ratatui_core::symbols::border;
use ratatui_core::text::{Line, StyledGrapheme};
use ratatui_core::widgets::Widget;

/// Lines of text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pane<'a> {
    lines: Vec<Line<'a>>,
    style: Style,
    frame: Option<Border>,
    /// Number of columns that are scrolled out at the left.
    skipped: usize,
    wraps: bool,
}

/// Frame with a title.
#[derive(Clone, Debug)]
pub(crate) struct Border {
    pub title: String,
    pub set: border::Set<'static>,
    pub style: Style,
}

impl Border {
    /// Returns the area inside the frame.
    pub fn inner(&self, area: Rect) -> Rect {
        let (width, height) = (area.width.saturating_sub(2), area.height.saturating_sub(2));
        Rect { x: area.x.saturating_add(1), y: area.y.saturating_add(1), width, height }
    }

    fn draw(&self, area: Rect, buffer: &mut Buffer) {
        let Self { set, style, .. } = self;
        let (right, bottom) = (area.right() - 1, area.bottom() - 1);
        let mut put = |x: u16, y: u16, symbol: &str| {
            buffer[(x, y)].set_symbol(symbol).set_style(*style);
        };
        for y in area.top()..=bottom {
            put(area.x, y, set.vertical_left);
            put(right, y, set.vertical_right);
        }
        for x in area.left()..=right {
            put(x, area.y, set.horizontal_top);
            put(x, bottom, set.horizontal_bottom);
        }
        put(right, bottom, set.bottom_right);
        put(right, area.y, set.top_right);
        put(area.x, bottom, set.bottom_left);
        put(area.x, area.y, set.top_left);
        let room = usize::from(area.width.saturating_sub(2));
        buffer.set_stringn(area.x + 1, area.y, &self.title, room, Style::new());
    }
}

impl<'a> Pane<'a> {
    /// Returns a pane of some lines.
    pub fn new(lines: Vec<Line<'a>>) -> Self {
        Self { lines, ..Self::default() }
    }

    /// Returns a pane of one line with a full-width background.
    pub fn bar(text: impl Into<Line<'a>>, style: Style) -> Self {
        Self { lines: vec![text.into()], style, ..Self::default() }
    }

    /// Puts the pane into a frame.
    pub fn framed(self, frame: Border) -> Self {
        Self { frame: Some(frame), ..self }
    }

    /// Hides the first columns of each line.
    pub fn skipping(self, skipped: usize) -> Self {
        Self { skipped, ..self }
    }

    /// Wraps lines that are too long.
    pub fn wrapping(self) -> Self {
        Self { wraps: true, ..self }
    }
}

impl Widget for Pane<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        if let Some(frame) = &self.frame {
            frame.draw(area, buffer);
        }
        let inner = self.frame.as_ref().map_or(area, |frame| frame.inner(area)).intersection(buffer.area);
        buffer.set_style(inner, self.style);
        let lines = self.lines.iter().flat_map(|line| {
            let line: Vec<_> = line.styled_graphemes(Style::new()).collect();
            if self.wraps { wrapped(&line, inner.width) } else { vec![without(line, self.skipped)] }
        });
        for (y, line) in inner.rows().zip(lines) {
            put(&line, y, buffer);
        }
    }
}

/// Removes the first columns of a line.
fn without(line: Vec<StyledGrapheme<'_>>, columns: usize) -> Vec<StyledGrapheme<'_>> {
    let mut left = columns;
    let is_hidden = |one: &StyledGrapheme<'_>| {
        let is_hidden = left > 0;
        left = left.saturating_sub(usize::from(one.symbol.cell_width()));
        is_hidden
    };
    line.into_iter().skip_while(is_hidden).collect()
}

/// Writes as much of a line as fits.
fn put(line: &[StyledGrapheme<'_>], area: Rect, buffer: &mut Buffer) {
    let mut x = area.x;
    for StyledGrapheme { symbol, style } in line {
        let width = symbol.cell_width();
        if x + width > area.right() {
            return;
        }
        if width > 0 {
            buffer[Position::new(x, area.y)].set_symbol(symbol).set_style(*style);
        }
        x += width;
    }
}

/// Wraps a line into several. It breaks between words, and within words that are wider than a line.
/// The spaces at a break are dropped.
fn wrapped<'a>(line: &[StyledGrapheme<'a>], width: u16) -> Vec<Vec<StyledGrapheme<'a>>> {
    let columns = |part: &[StyledGrapheme<'_>]| part.iter().map(|one| one.symbol.cell_width()).sum::<u16>();
    let mut lines = vec![Vec::new()];
    for word in line.chunk_by(|one, next| one.is_whitespace() == next.is_whitespace()) {
        let Some(last) = lines.last_mut() else {
            return lines;
        };
        if columns(last) + columns(word) <= width {
            last.extend_from_slice(word);
            continue;
        }
        if word[0].is_whitespace() {
            lines.push(Vec::new());
            continue;
        }
        // The spaces before the word stay at the end of the previous line.
        if !last.is_empty() {
            lines.push(Vec::new());
        }
        for one in word {
            let Some(last) = lines.last_mut() else {
                return lines;
            };
            if columns(last) + one.symbol.cell_width() > width {
                lines.push(vec![one.clone()]);
            } else {
                last.push(one.clone());
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, width: u16) -> Vec<String> {
        let line = Line::raw(text);
        let line: Vec<_> = line.styled_graphemes(Style::new()).collect();
        let lines = wrapped(&line, width);
        lines.iter().map(|line| line.iter().map(|one| one.symbol).collect()).collect()
    }

    #[test]
    fn lines_end_between_words() {
        assert_eq!(shown("one two three", 7), ["one two", "three"]);
        assert_eq!(shown("one two three", 8), ["one two ", "three"]);
        assert_eq!(shown("a verylongword b", 6), ["a ", "verylo", "ngword", "b"]);
        assert_eq!(shown("", 6), [""]);
    }

    #[test]
    fn a_long_line_shows_its_end() {
        let line = Line::raw("> a層b");
        let line: Vec<_> = line.styled_graphemes(Style::new()).collect();
        let end: String = without(line, 3).iter().map(|one| one.symbol).collect();
        assert_eq!(end, "層b");
    }
}
