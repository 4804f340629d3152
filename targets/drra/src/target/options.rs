//! [`OPTIONS`] of `npu time`; the compiler has none.

use std::collections::BTreeMap;

use npukit_target::{Chosen, OptionSpec, Stage, TargetError, Values};

/// Every option of this target.
#[rustfmt::skip] // A table.
pub(super) const OPTIONS: [OptionSpec; 1] = [
    OptionSpec {
        key: "clock-mhz",
        values: Values::Real { least: 0.001, most: 1e6 },
        default: "not known",
        doc: "clock, of which milliseconds are; fabrics have none of their own",
        stage: Stage::Time,
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
