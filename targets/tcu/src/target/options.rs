//! [`OPTIONS`] of the compiler and of `npu time`.

use std::collections::BTreeMap;

use npukit_target::{Aliases, Chosen, OptionSpec, SEGMENTS, Stage, TargetError, Values};

/// Every option of this target. `hw` was once called `model`, after its key in reports.
#[rustfmt::skip] // A table.
pub(super) const OPTIONS: [OptionSpec; 14] = [
    SEGMENTS,
    OptionSpec {
        key: "functions",
        values: Values::Choice(&["exact", "lines"]),
        default: "exact",
        doc: "Sigmoid, Tanh, Swish and Gelu without lookup tables: `exact` refuses them, `lines` takes straight lines for them",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "strategy",
        values: Values::Choice(&["local-isolated", "local-vars", "local-consts", "local-vars-and-consts"]),
        default: "the cheapest",
        doc: "where variables and constants live",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "order",
        values: Values::Choice(&["default", "upstream"]),
        default: "default",
        doc: "order of the passes over an array",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "minimise",
        values: Values::Choice(&["hw", "estimator"]),
        default: "hw",
        doc: "whose cycles the compiler minimises: `hw` has the hardware's, `estimator` the published ones",
        stage: Stage::Compile,
        aliases: Aliases { keys: &["minimize"], values: &[("model", "hw")] },
    },
    OptionSpec {
        key: "search",
        values: Values::Choice(&["thorough", "quick"]),
        default: "thorough",
        doc: "how long is searched for the cheapest program: `quick` compares few ways of a layer, for one of many machines",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "driver",
        values: Values::Choice(&["pynq", "embedded"]),
        default: "pynq",
        doc: "whose files to write: `embedded` adds `architecture_params.h`, with which the C driver is compiled",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "clock",
        values: Values::Choice(&["hw", "estimator"]),
        default: "hw",
        doc: "whose cycles to report: `hw` as the hardware takes them, `estimator` as published",
        stage: Stage::Time,
        aliases: Aliases { keys: &[], values: &[("model", "hw")] },
    },
    OptionSpec {
        key: "clock-mhz",
        values: Values::Real { least: 0.001, most: 100_000.0 },
        default: "the board's",
        doc: "clock; memory keeps its latency in nanoseconds",
        stage: Stage::Time,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "latency",
        values: Values::Whole { least: 0, most: 65_535 },
        default: "the board's",
        doc: "cycles until memory answers",
        stage: Stage::Time,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "write-latency",
        values: Values::Whole { least: 0, most: 65_535 },
        default: "as for reads",
        doc: "cycles until memory answers writes",
        stage: Stage::Time,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "axi-bits",
        values: Values::Whole { least: 8, most: 1024 },
        default: "the board's",
        doc: "width of the data bus of each DRAM bank",
        stage: Stage::Time,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "sample-interval",
        values: Values::Whole { least: 0, most: 65_535 },
        default: "1000",
        doc: "cycles from a performance sample to the next; 0 is off",
        stage: Stage::Time,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "sample-block",
        values: Values::Whole { least: 1, most: 4_294_967_295 },
        default: "the file's",
        doc: "performance samples are written in whole blocks of this many, with the last of which TLAST comes",
        stage: Stage::Samples,
        aliases: Aliases::NONE,
    },
];

/// Checks the options given at `stage`.
///
/// # Errors
///
/// [`TargetError::Option`] for the first illegal option.
pub(super) fn chosen(stage: Stage, given: &BTreeMap<String, String>) -> Result<Chosen<'_>, TargetError> {
    Ok(Chosen::new("tcu", &OPTIONS, stage, given)?)
}
