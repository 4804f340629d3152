//! [`Stored`]: which bytes were written, by whom, and whether anybody has read them since.

use npukit_target::sim::Paged;

/// Bytes of a line, a bit each in its masks.
const LINE: u64 = 64;

/// Bytes that were written.
pub(super) struct Stored(Paged<Line>);

/// What is known of 64 bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    written: u64,
    /// Written and not read since.
    unread: u64,
    /// The last who wrote here, and his layer.
    writer: [usize; 2],
}

impl Default for Stored {
    fn default() -> Self {
        Self(Paged::new(1))
    }
}

impl Stored {
    /// The first of a run of bytes that is neither written here nor in `other`.
    pub fn missing(&self, other: &Self, first: u64, bytes: u64) -> Option<u64> {
        masks(first, bytes).find_map(|(index, mask)| {
            let missing = mask & !(self.line(index).written | other.line(index).written);
            (missing != 0).then(|| index * LINE + u64::from(missing.trailing_zeros()))
        })
    }

    /// Notes a run of bytes that `writer` of a layer writes. Gives another one of the same layer who wrote some of
    /// them that was not read since.
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

    /// Notes that a run of bytes is read.
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

/// The lines of a run of bytes, and which bytes of each.
fn masks(first: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = first + bytes;
    (first / LINE..end.div_ceil(LINE)).map(move |index| {
        let from = first.max(index * LINE) - index * LINE;
        let count = end.min((index + 1) * LINE) - index * LINE - from;
        (index, u64::MAX >> (LINE - count) << from)
    })
}
