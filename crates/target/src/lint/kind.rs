//! [`Lint`]: a kind of finding, and [`lints!`](crate::lints), the table of those of a target.

use serde::Serialize;

use super::Severity;

/// A kind of finding: a row of the table of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Lint {
    /// The word that stays the same, as `lost-addition`.
    pub code: &'static str,
    /// How bad the worst finding of this kind is.
    pub severity: Severity,
    /// What it is, in a line.
    pub meaning: &'static str,
    /// What it means on the hardware, an example, and what to do.
    pub explanation: &'static str,
    /// Whether `npu asm` tells it, and `npu run` of a text: what the hardware would not do as written.
    #[serde(skip)]
    pub is_told_by_asm: bool,
}

/// The kinds of findings of a target: a constant of each, and `LINTS`, the table of all of them. A finding takes one of
/// the constants, so that none has a code that the table does not explain.
///
/// A row is `NAME = "code", severity: "meaning"; "explanation";`, by the alphabet of codes, where the severity is
/// `Warning` or `Error`, with `asm` before it when `npu asm` tells it, too.
#[macro_export]
macro_rules! lints {
    ($($name:ident = $code:literal, $($asm:ident)? [$severity:ident]: $meaning:literal; $explanation:literal;)*) => {
        $(
            #[doc = $meaning]
            pub const $name: &$crate::Lint = &$crate::Lint {
                code: $code,
                severity: $crate::Severity::$severity,
                meaning: $meaning,
                explanation: $explanation,
                is_told_by_asm: $crate::lints!(@ $($asm)?),
            };
        )*
        /// All of them, by the alphabet of their codes.
        pub static LINTS: &[&$crate::Lint] = &[$($name),*];
    };
    (@ asm) => { true };
    (@) => { false };
}
