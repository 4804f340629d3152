//! [`OPTIONS`] of the compiler and of `npu time`.

use std::collections::BTreeMap;

use npukit_target::{Aliases, Chosen, OptionSpec, SEGMENTS, Stage, TargetError, Values};

/// Every option of this target. `hw` was once called `model`, after its key in reports.
#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
pub(super) const OPTIONS: [OptionSpec; 14] = [
    SEGMENTS,
    OptionSpec {
        key: "functions",
        values: Values::Choice(&["exact", "lines"]),
        default: "exact",
        doc: "Sigmoid, Tanh, Swish and Gelu without lookup tables: `exact` refuses them, `lines` approximates them piecewise linearly",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "strategy",
        values: Values::Choice(&["local-isolated", "local-vars", "local-consts", "local-vars-and-consts"]),
        default: "the cheapest",
        doc: "placement of variables and constants",
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
        key: "minimize",
        values: Values::Choice(&["hw", "estimator"]),
        default: "hw",
        doc: "cost model that the compiler minimizes: `hw` is the hardware's clock, `estimator` the published estimator",
        stage: Stage::Compile,
        aliases: Aliases { keys: &["minimise"], values: &[("model", "hw")] },
    },
    OptionSpec {
        key: "search",
        values: Values::Choice(&["thorough", "quick"]),
        default: "thorough",
        doc: "effort of the search for the cheapest program: `quick` compares few variants per layer, for exploring many machines",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "driver",
        values: Values::Choice(&["pynq", "embedded"]),
        default: "pynq",
        doc: "driver to write files for: `embedded` adds `architecture_params.h`, with which the C driver is compiled",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "clock",
        values: Values::Choice(&["hw", "estimator"]),
        default: "hw",
        doc: "cost model of the report: `hw` is the hardware's clock, `estimator` the published estimator",
        stage: Stage::Time,
        aliases: Aliases { keys: &[], values: &[("model", "hw")] },
    },
    OptionSpec {
        key: "clock-mhz",
        values: Values::Real { least: 0.001, most: 100_000.0 },
        default: "the board's",
        doc: "clock frequency in MHz; memory keeps its latency in nanoseconds",
        stage: Stage::Time,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "latency",
        values: Values::Whole { least: 0, most: 65_535 },
        default: "the board's",
        doc: "read latency of memory in cycles",
        stage: Stage::Time,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "write-latency",
        values: Values::Whole { least: 0, most: 65_535 },
        default: "the read latency",
        doc: "write latency of memory in cycles",
        stage: Stage::Time,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "axi-bits",
        values: Values::Whole { least: 8, most: 1024 },
        default: "the board's",
        doc: "width of the data bus of each DRAM bank in bits",
        stage: Stage::Time,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "sample-interval",
        values: Values::Whole { least: 0, most: 65_535 },
        default: "1000",
        doc: "cycles between performance samples; 0 disables them",
        stage: Stage::Time,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "sample-block",
        values: Values::Whole { least: 1, most: 4_294_967_295 },
        default: "the file's",
        doc: "performance samples per block; only whole blocks are written, and TLAST comes with the last sample",
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
