//! [`Stored`]: the bytes that were written, the instruction that wrote them, and whether they have
//! been read since.

use npukit_target::sim::Paged;

/// Bytes per line; a mask has one bit for each.
const LINE: u64 = 64;

/// Bytes that the program has written.
pub(super) struct Stored(Paged<Line>);

/// State of a line of 64 bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    written: u64,
    /// Mask of the bytes that were written and not read since.
    unread: u64,
    /// Index of the last instruction that wrote to this line, and its layer.
    writer: [usize; 2],
}

impl Default for Stored {
    fn default() -> Self {
        Self(Paged::new(1))
    }
}

impl Stored {
    /// Returns the first byte of a range that is written neither here nor in `other`.
    pub fn missing(&self, other: &Self, first: u64, bytes: u64) -> Option<u64> {
        masks(first, bytes).find_map(|(index, mask)| {
            let missing = mask & !(self.line(index).written | other.line(index).written);
            (missing != 0).then(|| index * LINE + u64::from(missing.trailing_zeros()))
        })
    }

    /// Records that `writer` (instruction and layer) writes a range. Returns another instruction of
    /// the same layer that wrote some of these bytes, if they were not read since.
    pub fn write(&mut self, first: u64, bytes: u64, writer: [usize; 2]) -> Option<usize> {
        let mut other = None;
        for (index, mask) in masks(first, bytes) {
            let Line { written, unread, writer: [last, layer] } = self.line(index);
            if unread & mask != 0 && layer == writer[1] && last != writer[0] {
                other = other.or(Some(last));
            }
            self.0.write(index, &[Line { written: written | mask, unread: unread | mask, writer }]);
        }
        other
    }

    /// Records a read of a range.
    pub fn read(&mut self, first: u64, bytes: u64) {
        for (index, mask) in masks(first, bytes) {
            let line = self.line(index);
            if line.unread & mask != 0 {
                self.0.write(index, &[Line { unread: line.unread & !mask, ..line }]);
            }
        }
    }

    fn line(&self, index: u64) -> Line {
        let mut line = [Line::default()];
        self.0.read(index, &mut line);
        line[0]
    }
}

/// Returns the lines of a range, with a mask of the bytes in each.
fn masks(first: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = first + bytes;
    (first / LINE..end.div_ceil(LINE)).map(move |index| {
        let from = first.max(index * LINE) - index * LINE;
        let count = end.min((index + 1) * LINE) - index * LINE - from;
        (index, u64::MAX >> (LINE - count) << from)
    })
}
