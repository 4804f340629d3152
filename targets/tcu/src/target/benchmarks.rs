//! [`BENCHMARKS`]: published figures of Tensil's programs, and npukit's goals.
//!
//! Sources: the TCU specification, 10.1 to 10.4. A figure of a board is the result of `npu time`
//! for its instance without options; clock, bus and latency come from its file, with their sources.
//! The architecture files of the three boards of 10.4 are not published; `SOURCES.md` describes the
//! assumptions. ResNet-50v2 has 25.6 million weights and therefore needs a deeper DRAM1 than the
//! first two boards have.

use npukit_target::{Bar, Benchmark, Figure, Measure};

/// All rows of the tables, by network and instance.
pub(crate) const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        network: "resnet20v2",
        preset: "zcu104_uram",
        changes: &[],
        figures: &[estimated(217_263.0, "10.3, best of four strategies", 150_000.0)],
    },
    Benchmark {
        network: "resnet20v2",
        preset: "zcu104_uram@512bit",
        changes: &[],
        figures: &[Figure {
            what: "hw clock",
            measure: Measure::Cycles(&[]),
            published: Some((340_600.0, "10.2: 293.58 fps at 100 MHz on the board")),
            layers: &[],
            bar: Bar::AtMost(220_000.0),
        }],
    },
    Benchmark {
        network: "resnet20v2",
        preset: "zcu104",
        changes: &[],
        figures: &[
            Figure {
                what: "hw clock",
                measure: Measure::Cycles(&[]),
                published: Some((750_526.0, "10.3: the published program")),
                layers: &[],
                bar: Bar::AtMost(400_000.0),
            },
            SIMULATED,
            Figure {
                what: "a batch on two cores, relative to one",
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
        figures: &[estimated(647_002.0, "10.1", 400_000.0)],
    },
    Benchmark {
        network: "resnet20v2",
        preset: "pynqz1",
        changes: &[],
        figures: &[estimated(1_916_000.0, "10.1", 1_250_000.0)],
    },
    Benchmark { network: "resnet20v2", preset: ARTY, changes: &[], figures: &[on_board(21.0)] },
    Benchmark { network: "resnet20v2", preset: PYNQ, changes: &[], figures: &[on_board(14.0)] },
    Benchmark { network: "resnet20v2", preset: ULTRA96, changes: &[], figures: &[on_board(4.0)] },
    Benchmark {
        network: "yolov4_tiny_192",
        preset: "ultra96v2",
        changes: &[],
        figures: &[estimated(5_051_000.0, "10.1", 3_400_000.0), SIMULATED],
    },
    Benchmark { network: "yolov4_tiny_192", preset: ARTY, changes: &[], figures: &[on_board(175.0)] },
    Benchmark { network: "yolov4_tiny_192", preset: PYNQ, changes: &[], figures: &[on_board(112.0)] },
    Benchmark { network: "yolov4_tiny_192", preset: ULTRA96, changes: &[], figures: &[on_board(36.0)] },
    Benchmark { network: "resnet50v2", preset: ARTY, changes: DEEP, figures: &[on_board(1969.0)] },
    Benchmark { network: "resnet50v2", preset: PYNQ, changes: DEEP, figures: &[on_board(833.0)] },
    Benchmark {
        network: "resnet50v2",
        preset: ULTRA96,
        changes: &[],
        figures: &[on_board(260.0), SIMULATED],
    },
    Benchmark { network: "resnet50v2", preset: "ultra96v2", changes: &[], figures: &[compiled(2.0)] },
    Benchmark { network: "resnet50v2", preset: PYNQ, changes: DEEP, figures: &[compiled(5.0)] },
    Benchmark { network: "resnet50v2", preset: "artya7100t", changes: DEEP, figures: &[compiled(8.0)] },
    Benchmark { network: "yolov4_tiny_192", preset: "ultra96v2", changes: &[], figures: &[compiled(0.6)] },
    Benchmark { network: "yolov4_tiny_192", preset: PYNQ, changes: &[], figures: &[compiled(1.5)] },
    Benchmark { network: "yolov4_tiny_192", preset: "artya7100t", changes: &[], figures: &[compiled(2.0)] },
    Benchmark { network: "resnet50", preset: "ultra96v2", changes: &[], figures: &[CHECKED] },
];

/// The Arty A7-35 of the benchmark page.
const ARTY: &str = "artya735t";
/// The Pynq Z1 of the benchmark page.
const PYNQ: &str = "pynqz1_12x12";
/// The Ultra96-V2 of the benchmark page.
const ULTRA96: &str = "ultra96v2@300mhz";

/// DRAM1 depth for the weights of ResNet-50v2 at 8 scalars per vector: 64 MiB.
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

/// Returns a row of the benchmark page; the goal is at most 60 % of the published time.
const fn on_board(published_ms: f64) -> Figure {
    Figure {
        what: "hw clock",
        measure: Measure::Milliseconds(&[]),
        published: Some((published_ms, "10.4")),
        layers: &[],
        bar: Bar::AtMost(0.6 * published_ms),
    }
}

/// Returns the goal for the compile time on two cores of a host of 2026.
const fn compiled(bar_seconds: f64) -> Figure {
    Figure {
        what: "compile",
        measure: Measure::CompileSeconds,
        published: None,
        layers: &[],
        bar: Bar::AtMost(bar_seconds),
    }
}

/// Goal for checking a model without compiling it.
const CHECKED: Figure = Figure {
    what: "check",
    measure: Measure::CheckSeconds,
    published: None,
    layers: &[],
    bar: Bar::AtMost(1.0),
};

/// Time of simulating an image; without a goal, since hosts differ.
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
    use npukit_target::InstanceSpec;

    use super::*;
    use crate::TCU;

    #[test]
    fn every_row_is_of_an_instance_and_stricter_than_what_is_published() {
        for benchmark in BENCHMARKS {
            let instance = TCU.instance(InstanceSpec::Preset(benchmark.preset)).unwrap();
            for (key, _) in benchmark.changes {
                assert!(instance.info().config.clone().get(key).is_some(), "{key}");
            }
            for figure in benchmark.figures {
                let published = figure.published.map(|(value, _)| value);
                assert!(published.is_none_or(|published| figure.bar.value() < Some(published)), "{figure:?}");
                let depends = matches!(figure.measure, Measure::HostMilliseconds | Measure::Speedup(_));
                assert_eq!(figure.bar == Bar::None, depends, "{figure:?}");
            }
        }
    }

    /// The bench reports the same figures as `npu time`: no row has its own options, and every
    /// board with a clock of its own specifies bus and latency.
    #[test]
    fn boards_are_measured_as_their_files_say() {
        for benchmark in BENCHMARKS {
            let system = TCU.instance(InstanceSpec::Preset(benchmark.preset)).unwrap().info().system.clone();
            let states = |key: &str| system.as_ref().is_some_and(|system| system.get(key).is_some());
            for figure in benchmark.figures {
                match figure.measure {
                    Measure::Cycles([("clock", "estimator")])
                    | Measure::HostMilliseconds
                    | Measure::CompileSeconds
                    | Measure::CheckSeconds
                    | Measure::Speedup(_) => {}
                    Measure::Cycles([]) | Measure::Milliseconds([]) => {
                        let keys = ["clock_mhz", "axi_width_bits", "dram_latency_cycles", "memory_source"];
                        assert!(keys.into_iter().all(states), "{}", benchmark.preset);
                    }
                    _ => panic!("{}: {figure:?}", benchmark.preset),
                }
            }
        }
    }

    /// The goals of 10.4, one for each network and board.
    #[test]
    fn there_are_nine_rows_of_the_benchmark_page() {
        let figures = BENCHMARKS.iter().flat_map(|benchmark| benchmark.figures);
        assert_eq!(figures.filter(|figure| matches!(figure.measure, Measure::Milliseconds(_))).count(), 9);
    }
}
