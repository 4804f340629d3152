//! Types that all other crates use: positions in a text ([`Span`], shown by [`excerpt`]),
//! [`printable`] text, instruction words ([`Word`], [`BitRange`]), error codes ([`Code`]), and
//! messages of editor protocols ([`frame()`]).

mod code;
mod counted;
mod excerpt;
mod frame;
mod internals;
mod names;
mod percent;
mod printable;
mod span;
mod text;
mod word;

pub use code::{Code, Coded};
pub use counted::{counted, plural};
pub use excerpt::excerpt;
pub use frame::{FrameError, MAX_FRAME_BYTES, frame};
pub use names::{closest, help_for, meant, suggestion};
pub use percent::percent_decoded;
pub use printable::{is_printable, on_a_line, printable};
pub use span::Span;
pub use text::{distinct, is_utf16, without_bom};
pub use word::{BitRange, WORD_BITS, WORD_BYTES, Word};

/// Bits needed for every number below `n`: the ceiling of log2, and 0 if `n` is 0 or 1.
pub const fn clog2(n: u64) -> u32 {
    if n <= 1 { 0 } else { u64::BITS - (n - 1).leading_zeros() }
}

#[cfg(test)]
mod tests {
    use super::clog2;

    #[test]
    fn clog2_rounds_up() {
        let expected = [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (12288, 14), (u64::MAX, 64)];
        for (n, bits) in expected {
            assert_eq!(clog2(n), bits, "clog2({n})");
        }
    }
}
