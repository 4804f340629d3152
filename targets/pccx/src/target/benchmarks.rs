//! Benchmarks derived from the published parameters, with npukit's goals: [`BENCHMARKS`].
//!
//! Source: the pccx specification, 6.2. Measurements of a token on this machine were not published.

use std::sync::LazyLock;

use npukit_models::gemma3n::Gemma3nConfig;
use npukit_numeric::BLOCK;
use npukit_target::{Bar, Benchmark, Figure, Measure};

use crate::Config;
use crate::config::WORD_BYTES;

/// Milliseconds in which two ports of 8 GB/s deliver the weights of a token of Gemma 3N E4B: 3.6
/// tokens per second.
const TWO_PORTS: f64 = 1000.0 / 3.6;

/// Fraction of the bound's speed that is the goal of a program.
const NEAR_ENOUGH: f64 = 0.95;

/// Tokens of a language model in both modes of the compiler: the host or the machine multiplies
/// vectors.
pub(crate) static BENCHMARKS: LazyLock<[Benchmark; 2]> = LazyLock::new(|| {
    let benchmark = |preset, figure| Benchmark {
        network: "gemma3n_e4b",
        preset,
        changes: &[],
        figures: std::slice::from_ref(figure),
    };
    [benchmark("reference", &FIGURES[0]), benchmark("extended", &FIGURES[1])]
});

static FIGURES: LazyLock<[Figure; 2]> = LazyLock::new(|| [&WHAT[0], &WHAT[1]].map(|what| token(what)));

static WHAT: LazyLock<[String; 2]> = LazyLock::new(|| {
    ["the host", "the machine"]
        .map(|who| format!("a token, {who} multiplies vectors; npukit's bound {:.2} ms", two_ports_of_ours()))
});

fn token(what: &'static str) -> Figure {
    let published = Some((TWO_PORTS, "6.2: bound of two weight ports"));
    let bar = Bar::AtMost(two_ports_of_ours() / NEAR_ENOUGH);
    Figure { what, measure: Measure::Milliseconds(&[]), published, layers: &[], bar }
}

/// Returns the milliseconds in which the ports of the vector core deliver all weights of npukit's
/// graph. The published bound omits routers, per-layer inputs, and the creation and merging of
/// streams.
fn two_ports_of_ours() -> f64 {
    let timing = Config::preset("reference").expect("it comes with npukit").timing;
    let bytes_per_cycle = timing.weight_bytes_per_cycle(timing.gemv.ports);
    weight_bytes(&Gemma3nConfig::e4b()) as f64 / bytes_per_cycle / (timing.core_mhz * 1e3)
}

/// Returns the bytes of all matrices of a model: 4 bits per weight, rows of whole beats. Keys and
/// values of attention, which the host makes, are not included.
fn weight_bytes(model: &Gemma3nConfig) -> u64 {
    let &Gemma3nConfig { hidden, streams, laurel, per_layer, feed_forward, .. } = model;
    let matrix = |rows: usize, columns: usize| (rows * columns.div_ceil(BLOCK) * WORD_BYTES) as u64;
    let there_and_back = |width: usize| matrix(width, hidden) + matrix(hidden, width);
    let queries = there_and_back(model.heads * model.head);
    let routers = 2 * matrix(streams, hidden) + matrix(streams * streams, streams) + matrix(streams, streams);
    let gated = there_and_back(feed_forward) + matrix(feed_forward, hidden);
    let layer = queries + there_and_back(laurel) + gated + there_and_back(per_layer) + routers;
    let keys_and_values = 2 * matrix(model.kv_heads * model.head, hidden);
    let of_layers = model.layers as u64 * layer + model.kv_layers as u64 * keys_and_values;
    let inputs = matrix(model.layers * per_layer, hidden) + 2 * (streams as u64 - 1) * matrix(hidden, hidden);
    of_layers + inputs + matrix(model.vocabulary, hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_of_an_instance() {
        for benchmark in &*BENCHMARKS {
            assert!(Config::preset(benchmark.preset).is_some(), "{}", benchmark.preset);
        }
    }

    /// Specification 6.2 counts 2.221 GB: the layers' matrices and the head.
    #[test]
    fn our_bound_is_the_published_one_with_all_weights() {
        let model = Gemma3nConfig::e4b();
        assert_eq!(weight_bytes(&model), 2_243_070_912);
        let ours = two_ports_of_ours();
        assert!((280.38..280.39).contains(&ours), "{ours}");
        let published = 2_221_015_040.0 / 8e6;
        assert!((published / TWO_PORTS - 1.0).abs() < 1e-3 && published < ours, "{published}");
    }
}
