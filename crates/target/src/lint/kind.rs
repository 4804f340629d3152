//! [`Lint`]: a kind of finding; [`lints!`](crate::lints) generates the table of a target's lints.

use serde::Serialize;

use super::Severity;

/// A kind of finding: one row in the table of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Lint {
    /// Stable code, for example `lost-addition`.
    pub code: &'static str,
    /// Highest severity of findings of this kind.
    pub severity: Severity,
    /// Description in one line.
    pub meaning: &'static str,
    /// Effect on the hardware, an example, and the remedy.
    pub explanation: &'static str,
    /// Whether `npu asm` and `npu run` of a text also report it. This is so for deviations of the
    /// hardware from the text.
    #[serde(skip)]
    pub is_told_by_asm: bool,
}

/// Generates the lints of a target: one constant for each, and `LINTS`, the table of all. A finding
/// takes one of the constants, so every code has an explanation in the table.
///
/// A row is `NAME = "code", severity: "meaning"; "explanation";`, ordered by code. The severity is
/// `Warning` or `Error`, preceded by `asm` if `npu asm` also reports it.
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
        /// All lints, ordered by code.
        pub static LINTS: &[&$crate::Lint] = &[$($name),*];
    };
    (@ asm) => { true };
    (@) => { false };
}
