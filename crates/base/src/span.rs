//! [`Span`]: position in a text.

use std::ops::Range;

/// Half-open range of byte offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// Creates the span `start..end`; if `end` is before `start`, it is empty.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end: if end < start { start } else { end } }
    }

    /// Number of bytes.
    pub const fn size_bytes(self) -> usize {
        self.end - self.start
    }

    /// Returns the smallest span that contains both.
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

impl From<Span> for Range<usize> {
    fn from(span: Span) -> Self {
        span.start..span.end
    }
}

#[cfg(test)]
mod tests {
    use super::Span;

    #[test]
    fn spans_join_in_either_order() {
        let (a, b) = (Span::new(2, 5), Span::new(9, 11));
        assert_eq!(a.to(b), Span::new(2, 11));
        assert_eq!(b.to(a), a.to(b));
        assert_eq!(Span::new(7, 3).size_bytes(), 0);
    }
}
