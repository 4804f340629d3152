//! What follows from the published parameters, and what ours are to reach: [`BENCHMARKS`].
//!
//! Source: the pccx specification, 6.2. Nobody measured a token on this machine.

use npukit_target::{Bar, Benchmark, Figure, Measure};

/// Milliseconds in which two ports of 8 GB/s bring the weights of a token of Gemma 3N E4B: 3.6 tokens a second.
const TWO_PORTS: f64 = 1000.0 / 3.6;

/// The same with all weights of our graph: 6.2 leaves out routers and what makes streams and brings them back.
const TWO_PORTS_OF_OURS: f64 = 280.7;

/// A token of a language model in each mode of the compiler: the host multiplies vectors, or the machine does.
pub(crate) const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        network: "gemma3n_e4b",
        preset: "reference",
        changes: &[],
        figures: &[token("a token, the host multiplies vectors", Bar::AtMost(TWO_PORTS_OF_OURS / 0.95))],
    },
    Benchmark {
        network: "gemma3n_e4b",
        preset: "extended",
        changes: &[],
        figures: &[token("a token, the machine multiplies vectors", Bar::AtMost(TWO_PORTS_OF_OURS / 0.95))],
    },
];

const fn token(what: &'static str, bar: Bar) -> Figure {
    let published = Some((TWO_PORTS, "6.2: bound of two weight ports"));
    Figure { what, measure: Measure::Milliseconds(&[]), published, layers: &[], bar }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn every_row_is_of_an_instance() {
        for benchmark in BENCHMARKS {
            assert!(Config::preset(benchmark.preset).is_some(), "{}", benchmark.preset);
        }
    }
}
