//! [`OPTIONS`] of `npu time`; the compiler has none.

use std::collections::BTreeMap;

use npukit_target::{Aliases, Chosen, OptionSpec, SEGMENTS, Stage, TargetError, Values};

/// Every option of this target.
#[rustfmt::skip] // A table.
pub(super) const OPTIONS: [OptionSpec; 2] = [
    SEGMENTS,
    OptionSpec {
        key: "clock-mhz",
        values: Values::Real { least: 0.001, most: 1e6 },
        default: "the file's",
        doc: "clock, of which milliseconds are; the fabrics that come with npukit have none",
        stage: Stage::Time,
        aliases: Aliases::NONE,
    },
];

/// The options given at `stage`.
///
/// # Errors
///
/// [`TargetError::Option`] for the first that is not legal.
pub(super) fn chosen(stage: Stage, given: &BTreeMap<String, String>) -> Result<Chosen<'_>, TargetError> {
    Ok(Chosen::new("drra", &OPTIONS, stage, given)?)
}
