//! What was published of Tensil's programs, and what ours are to reach: [`BENCHMARKS`].
//!
//! Sources: the TCU specification, 10.1 to 10.4. The architecture files of the three boards of 10.4
//! are not published. We take the documented instances of the same array size: artya7100t for the
//! Arty A7 (N = 8), pynqz1_12x12 for the Pynq Z1 (N = 12), ultra96v2 for the Ultra96-V2 (N = 16), at the
//! clocks of the page. ResNet-50v2 has 25.6 million weights, so that it needs a deeper DRAM1 than the
//! first two have. A bus of 128 bits does not carry whole vectors of 12 scalars: they get 64 bits.

use npukit_target::{Bar, Benchmark, Figure, Measure};

/// Every row of the tables, by network and instance.
pub(crate) const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        network: "resnet20v2",
        preset: "zcu104_uram",
        changes: &[],
        figures: &[
            estimated(217_263.0, "10.3, best of four strategies", 150_000.0),
            Figure {
                what: "clock, one beat a vector, latency 18",
                measure: Measure::Cycles(&[("axi-bits", "512"), ("clock-mhz", "100"), ("latency", "18")]),
                published: Some((340_600.0, "10.2: 293.58 fps at 100 MHz on the board")),
                layers: &[],
                bar: Bar::AtMost(220_000.0),
            },
        ],
    },
    Benchmark {
        network: "resnet20v2",
        preset: "zcu104",
        changes: &[],
        figures: &[
            Figure {
                what: "clock, four beats a vector, latency 18",
                measure: Measure::Cycles(&[("axi-bits", "128"), ("clock-mhz", "100"), ("latency", "18")]),
                published: Some((750_526.0, "10.3: the published program")),
                layers: &[],
                bar: Bar::AtMost(400_000.0),
            },
            SIMULATED,
            Figure {
                what: "a batch on two cores, against one",
                measure: Measure::Speedup(2),
                published: None,
                layers: &[],
                bar: Bar::None,
            },
        ],
    },
    Benchmark {
        network: "resnet20v2",
        preset: "ultra96v2",
        changes: &[],
        figures: &[estimated(647_002.0, "10.1", 400_000.0), on_ultra96(4.0)],
    },
    Benchmark {
        network: "resnet20v2",
        preset: "pynqz1",
        changes: &[],
        figures: &[estimated(1_916_000.0, "10.1", 1_250_000.0)],
    },
    Benchmark { network: "resnet20v2", preset: "artya7100t", changes: &[], figures: &[on_arty(21.0)] },
    Benchmark { network: "resnet20v2", preset: "pynqz1_12x12", changes: &[], figures: &[on_pynq(14.0)] },
    Benchmark {
        network: "yolov4_tiny_192",
        preset: "ultra96v2",
        changes: &[],
        figures: &[estimated(5_051_000.0, "10.1", 3_400_000.0), on_ultra96(36.0), SIMULATED],
    },
    Benchmark { network: "yolov4_tiny_192", preset: "artya7100t", changes: &[], figures: &[on_arty(175.0)] },
    Benchmark {
        network: "yolov4_tiny_192",
        preset: "pynqz1_12x12",
        changes: &[],
        figures: &[on_pynq(112.0)],
    },
    Benchmark {
        network: "resnet50v2",
        preset: "ultra96v2",
        changes: &[],
        figures: &[on_ultra96(260.0), SIMULATED],
    },
    Benchmark { network: "resnet50v2", preset: "artya7100t", changes: DEEP, figures: &[on_arty(1969.0)] },
    Benchmark { network: "resnet50v2", preset: "pynqz1_12x12", changes: DEEP, figures: &[on_pynq(833.0)] },
];

/// Vectors of DRAM1 that hold the weights of ResNet-50v2 at 8 scalars each: 64 MiB.
const DEEP: &[(&str, u64)] = &[("dram1_depth", 1 << 22)];

const fn estimated(published: f64, source: &'static str, bar: f64) -> Figure {
    Figure {
        what: "published estimator",
        measure: Measure::Cycles(&[("clock", "estimator")]),
        published: Some((published, source)),
        layers: &[],
        bar: Bar::AtMost(bar),
    }
}

const fn on_arty(published_ms: f64) -> Figure {
    let options = &[("axi-bits", "128"), ("clock-mhz", "150"), ("latency", "18")];
    on_board("clock, 150 MHz, 128 bits, latency 18", options, published_ms)
}

const fn on_pynq(published_ms: f64) -> Figure {
    let options = &[("axi-bits", "64"), ("clock-mhz", "150"), ("latency", "18")];
    on_board("clock, 150 MHz, 64 bits, latency 18", options, published_ms)
}

const fn on_ultra96(published_ms: f64) -> Figure {
    let options = &[("axi-bits", "128"), ("clock-mhz", "300"), ("latency", "18")];
    on_board("clock, 300 MHz, 128 bits, latency 18", options, published_ms)
}

/// A row of the benchmark page: ours is to take at most 60 % of it.
const fn on_board(
    what: &'static str,
    options: &'static [(&'static str, &'static str)],
    published_ms: f64,
) -> Figure {
    Figure {
        what,
        measure: Measure::Milliseconds(options),
        published: Some((published_ms, "10.4")),
        layers: &[],
        bar: Bar::AtMost(0.6 * published_ms),
    }
}

/// Without a bar: hosts differ.
const SIMULATED: Figure = Figure {
    what: "simulating an image, one core",
    measure: Measure::HostMilliseconds,
    published: None,
    layers: &[],
    bar: Bar::None,
};

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_target::{Config, Target};

    use super::*;
    use crate::Tcu;

    #[test]
    fn every_row_is_of_an_instance_and_stricter_than_what_is_published() {
        for benchmark in BENCHMARKS {
            let instance = Tcu.instance(Config::Preset(benchmark.preset)).unwrap();
            for (key, _) in benchmark.changes {
                assert!(instance.config().get(key).is_some(), "{key}");
            }
            for figure in benchmark.figures {
                let published = figure.published.map(|(value, _)| value);
                assert!(published.is_none_or(|published| figure.bar.value() < Some(published)), "{figure:?}");
                assert_eq!(figure.bar == Bar::None, !figure.measure.is_of_program(), "{figure:?}");
            }
        }
    }

    /// The bars of 10.4, one for each network and board.
    #[test]
    fn there_are_nine_rows_of_the_benchmark_page() {
        let figures = BENCHMARKS.iter().flat_map(|benchmark| benchmark.figures);
        assert_eq!(figures.filter(|figure| matches!(figure.measure, Measure::Milliseconds(_))).count(), 9);
    }
}
