//! [`Limit`]: limits of the expansion of a program, so that no text uses up all memory.

/// Maximum lines that macros and repetitions may generate.
pub const MAX_LINES: usize = 100_000;
/// Maximum bytes of all these lines.
pub const MAX_BYTES: usize = 8 << 20;
/// Maximum bytes of a line that a macro generates.
pub const MAX_LINE_BYTES: usize = 64 << 10;
/// Maximum nesting depth of macros and repetitions.
pub const MAX_CALLS: usize = 64;
/// Maximum bytes of all included files.
pub const MAX_INCLUDED_BYTES: usize = 64 << 20;
/// Maximum nesting depth of included files.
pub const MAX_FILES: usize = 16;

/// Limit with its description and a hint.
pub(super) struct Limit {
    pub what: &'static str,
    pub limit: usize,
    pub help: &'static str,
}

#[rustfmt::skip]
impl Limit {
    pub const LINES: Self = Self {
        what: "macros and repetitions generate too many lines", limit: MAX_LINES, help: "repeat less, or divide the program",
    };
    pub const BYTES: Self = Self {
        what: "macros and repetitions generate too many bytes", limit: MAX_BYTES, help: "repeat less, or divide the program",
    };
    pub const LINE_BYTES: Self = Self {
        what: "a line has too many bytes", limit: MAX_LINE_BYTES, help: "give the macro shorter arguments",
    };
    pub const CALLS: Self = Self {
        what: "macros and repetitions are nested too deeply", limit: MAX_CALLS,
        help: "a macro that calls itself needs an `.if` that ends it",
    };
    pub const INCLUDED: Self = Self {
        what: "included files have too many bytes", limit: MAX_INCLUDED_BYTES, help: "divide the program",
    };
    pub const FILES: Self = Self {
        what: "included files are nested too deeply", limit: MAX_FILES, help: "include the files from one place",
    };
}
