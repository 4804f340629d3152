//! [`Limit`]: how much a program may expand to, so that no text takes all memory.

/// Lines that macros and repetitions may make.
pub const MAX_LINES: usize = 100_000;
/// Bytes of all these lines.
pub const MAX_BYTES: usize = 8 << 20;
/// Bytes of a line that a macro makes.
pub const MAX_LINE_BYTES: usize = 64 << 10;
/// Macros and repetitions within each other.
pub const MAX_CALLS: usize = 64;
/// Bytes of all included files.
pub const MAX_INCLUDED_BYTES: usize = 64 << 20;
/// Files within each other.
pub const MAX_FILES: usize = 16;

/// What there may not be more of.
pub(super) struct Limit {
    pub what: &'static str,
    pub limit: usize,
    pub help: &'static str,
}

#[rustfmt::skip]
impl Limit {
    pub const LINES: Self = Self {
        what: "macros and repetitions make too many lines", limit: MAX_LINES, help: "repeat less, or divide the program",
    };
    pub const BYTES: Self = Self {
        what: "macros and repetitions make too many bytes", limit: MAX_BYTES, help: "repeat less, or divide the program",
    };
    pub const LINE_BYTES: Self = Self {
        what: "a line has too many bytes", limit: MAX_LINE_BYTES, help: "give the macro shorter arguments",
    };
    pub const CALLS: Self = Self {
        what: "macros and repetitions are too deep", limit: MAX_CALLS,
        help: "a macro that calls itself needs an `.if` that ends it",
    };
    pub const INCLUDED: Self = Self {
        what: "included files have too many bytes", limit: MAX_INCLUDED_BYTES, help: "divide the program",
    };
    pub const FILES: Self = Self {
        what: "files include each other too deep", limit: MAX_FILES, help: "include files side by side",
    };
}
