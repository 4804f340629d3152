//! Published figures for OPU's programs, and our own goals: [`BENCHMARKS`].
//!
//! Sources: the OPU specification, 8.4, with cycles of each layer of Tiny YOLO by upstream's
//! compiler and with the costs of upstream's profiler; and 8.6, with the share of time in which the
//! multipliers work on a network, 91 % on average over nine networks.

use npukit_target::{Bar, Benchmark, Figure, Measure};

/// Every network with figures that are checked.
pub(crate) const BENCHMARKS: &[Benchmark] = &[
    tiny_yolo(
        "ideal",
        &[Figure {
            what: "clock, no latencies",
            measure: Measure::Cycles(&[]),
            published: Some((3_791_199.0, "8.4: the scheduler's estimate")),
            layers: &[
                218_467.0,
                401_783.0,
                199_127.0,
                198_063.0,
                196_727.0,
                227_979.0,
                782_260.0,
                1_561_012.0,
                5_781.0,
            ],
            bar: Bar::AtMost(3_790_000.0),
        }],
    ),
    tiny_yolo(
        "detailed",
        &[Figure {
            what: "clock, costs of the profiler",
            measure: Measure::Cycles(&[]),
            published: Some((4_108_309.0, "8.4: events with the profiler's costs")),
            layers: &[
                353_991.0,
                444_509.0,
                209_353.0,
                203_695.0,
                200_897.0,
                241_060.0,
                817_990.0,
                1_630_406.0,
                6_408.0,
            ],
            bar: Bar::AtMost(4_110_000.0),
        }],
    ),
    tiny_yolo(
        "reference",
        &[Figure {
            what: "simulating an image, one core",
            measure: Measure::HostMilliseconds,
            published: None,
            layers: &[],
            bar: Bar::None,
        }],
    ),
    Benchmark { network: "vgg16_features", preset: "ideal", changes: &[], figures: &[efficiency(91.0)] },
    Benchmark { network: "resnet50", preset: "ideal", changes: &[], figures: &[efficiency(80.0)] },
];

const fn tiny_yolo(preset: &'static str, figures: &'static [Figure]) -> Benchmark {
    Benchmark { network: "tiny_yolo", preset, changes: &[], figures }
}

/// Efficiency of the multipliers; the only published figure to compare with is the average of nine
/// networks.
const fn efficiency(bar_percent: f64) -> Figure {
    Figure {
        what: "multipliers at work, idealized: no latencies",
        measure: Measure::Efficiency(&[]),
        published: Some((91.0, "8.6: average of nine networks")),
        layers: &[],
        bar: Bar::AtLeast(bar_percent),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_target::InstanceSpec;

    use super::*;
    use crate::OPU;

    #[test]
    fn every_row_is_of_an_instance_and_layers_add_up_to_what_is_published() {
        for benchmark in BENCHMARKS {
            assert!(OPU.instance(InstanceSpec::Preset(benchmark.preset)).is_ok(), "{}", benchmark.preset);
            for figure in benchmark.figures.iter().filter(|figure| !figure.layers.is_empty()) {
                assert_eq!(figure.published.unwrap().0, figure.layers.iter().sum::<f64>(), "{figure:?}");
            }
        }
    }
}
