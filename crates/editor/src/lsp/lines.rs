//! [`Lines`]: byte offsets of the lines of a text, and conversion to positions of the protocol:
//! lines, and units of UTF-16 in them.

use std::ops;

use lsp_types::{Position, Range};
use npukit_base::Span;

/// Byte offsets of the lines of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    /// Finds the lines of a text. A line ends at a line feed, a carriage return or both.
    pub fn of(text: &str) -> Self {
        let ends = 1..=text.len();
        let starts = std::iter::once(0).chain(ends.filter(|at| begins(text.as_bytes(), *at)));
        Self { starts: starts.collect() }
    }

    /// Updates the lines after `range` of the old text was replaced by `bytes` bytes; `text` is the
    /// new text. Reads only the changed part.
    pub fn replace(&mut self, text: &str, range: ops::Range<usize>, bytes: usize) {
        let ops::Range { start, end } = range;
        // The bytes before and after a place determine whether a line begins there.
        let first = self.starts.partition_point(|at| *at < start).max(1);
        let behind = self.starts.partition_point(|at| *at <= end);
        for at in self.starts.iter_mut().skip(behind) {
            *at = *at - end + start + bytes;
        }
        let new = (start.max(1)..=start + bytes).filter(|at| begins(text.as_bytes(), *at));
        self.starts.splice(first..behind.max(first), new);
    }

    /// Returns the number of lines.
    pub const fn count(&self) -> usize {
        self.starts.len()
    }

    /// Returns the first byte of a line, starting at line 0; `None` after the last line.
    pub fn start(&self, line: usize) -> Option<usize> {
        self.starts.get(line).copied()
    }

    /// Returns the line of a byte, starting at 0.
    pub fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// Returns the position of a byte; within a character, the position of its start.
    pub fn position(&self, text: &str, offset: usize) -> Position {
        let offset = floor(text, offset);
        let line = self.line(offset);
        let start = self.start(line).unwrap_or(0); // Default: a text has a line.
        let before = text.get(start..offset).unwrap_or_default();
        Position::new(number(line), number(before.chars().map(char::len_utf16).sum()))
    }

    /// Returns the byte of a position. Positions after the end of a line or of the text are clamped
    /// to it.
    pub fn offset(&self, text: &str, position: Position) -> usize {
        let Some(start) = self.start(position.line as usize) else { return text.len() };
        let (mut at, mut units) = (start, 0);
        for letter in text.get(start..).unwrap_or_default().chars() {
            units += letter.len_utf16();
            if units > position.character as usize || matches!(letter, '\n' | '\r') {
                break;
            }
            at += letter.len_utf8();
        }
        at
    }

    /// Converts a span of bytes to a range of positions.
    pub fn range(&self, text: &str, span: Span) -> Range {
        Range::new(self.position(text, span.start), self.position(text, span.end))
    }
}

/// Whether a line begins at a byte other than the first, because a line ends before it.
fn begins(bytes: &[u8], at: usize) -> bool {
    match bytes.get(at - 1) {
        Some(b'\n') => true,
        Some(b'\r') => bytes.get(at) != Some(&b'\n'),
        _ => false,
    }
}

/// Returns the start of the character that contains a byte.
pub fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// Converts a number to the 32 bits of the protocol.
pub fn number(value: usize) -> u32 {
    // Default: more than any editor shows.
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_units_of_utf16() {
        let text = "aé😀b\r\nx\ry\n";
        let lines = Lines::of(text);
        assert_eq!(lines.count(), 4);
        for (offset, line, character) in
            [(0, 0, 0), (1, 0, 1), (3, 0, 2), (7, 0, 4), (8, 0, 5), (10, 1, 0), (12, 2, 0)]
        {
            let position = Position::new(line, character);
            assert_eq!(lines.position(text, offset), position, "{offset}");
            assert_eq!(lines.offset(text, position), offset, "{offset}");
        }
        // Each change of a few bytes gives the same lines as a scan of the whole text.
        for (start, end) in
            (0..=text.len()).flat_map(|start| (start..=text.len()).map(move |end| (start, end)))
        {
            if !text.is_char_boundary(start) || !text.is_char_boundary(end) {
                continue;
            }
            for new in ["", "\n", "\r", "x\r\ny", "\r\n\r"] {
                let (mut changed, mut lines) = (text.to_owned(), lines.clone());
                changed.replace_range(start..end, new);
                lines.replace(&changed, start..end, new.len());
                assert_eq!(lines, Lines::of(&changed), "{start}..{end} {new:?}");
            }
        }
        // Within a surrogate pair, within the bytes of a character, and after the end of lines and
        // text.
        assert_eq!(lines.offset(text, Position::new(0, 3)), 3);
        assert_eq!(lines.position(text, 5), Position::new(0, 2));
        assert_eq!(lines.offset(text, Position::new(0, 99)), 8);
        assert_eq!(lines.offset(text, Position::new(99, 0)), text.len());
        assert_eq!(lines.position(text, 99), Position::new(3, 0));
    }
}
