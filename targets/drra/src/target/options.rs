//! [`OPTIONS`] of `npu time`; the compiler has no options.

use std::collections::BTreeMap;

use npukit_target::{Aliases, Chosen, OptionSpec, SEGMENTS, Stage, TargetError, Values};

/// All options of this target.
#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
pub(super) const OPTIONS: [OptionSpec; 2] = [
    SEGMENTS,
    OptionSpec {
        key: "clock-mhz",
        values: Values::Real { least: 0.001, most: 1e6 },
        default: "the file's",
        doc: "clock frequency in MHz, to convert cycles to milliseconds; built-in fabrics have none",
        stage: Stage::Time,
        aliases: Aliases::NONE,
    },
];

/// Returns the options given at `stage`.
///
/// # Errors
///
/// [`TargetError::Option`] for the first illegal option.
pub(super) fn chosen(stage: Stage, given: &BTreeMap<String, String>) -> Result<Chosen<'_>, TargetError> {
    Ok(Chosen::new("drra", &OPTIONS, stage, given)?)
}
