//! [`OPTIONS`] of the compiler and of `npu time`.

use std::collections::BTreeMap;

use npukit_target::{Aliases, Chosen, OptionSpec, SEGMENTS, Stage, TargetError, Values};

/// All options of this target.
#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
pub(super) const OPTIONS: [OptionSpec; 4] = [
    SEGMENTS,
    OptionSpec {
        key: "leaky",
        values: Values::Choice(&["exact", "nearest"]),
        default: "exact",
        doc: "leaky ReLU with slopes other than 1/8: `exact` rejects it, `nearest` approximates it by slope 1/8",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "profile",
        values: Values::Choice(&["reference", "ideal", "detailed", "instance"]),
        default: "instance",
        doc: "cost profile of instructions; `instance` uses the program's own",
        stage: Stage::Time,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "clock-mhz",
        values: Values::Real { least: 0.001, most: 1e6 },
        default: "the profile's",
        doc: "clock",
        stage: Stage::Time,
        aliases: Aliases::NONE,
    },
];

/// Returns the options given at `stage`.
///
/// # Errors
///
/// [`TargetError::Option`] for the first option that is not legal.
pub(super) fn chosen(stage: Stage, given: &BTreeMap<String, String>) -> Result<Chosen<'_>, TargetError> {
    Ok(Chosen::new("opu", &OPTIONS, stage, given)?)
}
