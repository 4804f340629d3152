//! Test suite that every target passes. A [`Suite`] describes a target; [`suite!`] generates its
//! tests.
//!
//! | test | checks that |
//! |---|---|
//! | [`Suite::vectors`] | every golden vector passes, and none is missing |
//! | [`Suite::tables`] | the instruction set is consistent; random words survive their text form |
//! | [`Suite::words`] | any bytes have a listing, which assembles to them |
//! | [`Suite::programs`] | the text of compiled graphs assembles; its words survive their listing |
//! | [`Suite::lowering`] | programs compute the graph's results; `check` and `compile` agree |
//! | [`Suite::bounds`] | observed errors stay below the error bounds, if the instance has bounds |
//! | [`Suite::times`] | the parts of a time report add up |
//! | [`Suite::writes`] | in the debugger, numbers only change in steps that report the write |
//! | [`Suite::operands`] | a result changes only with the operands that its step reports |
//! | [`Suite::floats`] | the machine's float values equal the graph's |
//! | [`Suite::segments`] | the debugger runs through all segments of a divided model |
//! | [`Suite::damage`] | damaged configurations, vectors and artifacts never cause a panic |
//!
//! A function panics if its check fails.

mod bounds;
mod compiled;
mod damage;
mod disk;
mod graphs;
mod lowering;
mod machines;
mod random;
mod text;
mod time;
mod vectors;

use std::path::{Path, PathBuf};

use npukit_target::{Instance, InstanceSpec, Target};

pub use graphs::{random_graph, small_graphs};
pub use npukit_shared::{Rewritten, expect_rewritten, golden, needs, shared, shared_bytes};
pub use random::Random;

/// Description of a target for the suite.
#[derive(Clone, Copy)]
pub struct Suite {
    /// Target under test.
    pub target: &'static Target,
    /// Folder of the target: `env!("CARGO_MANIFEST_DIR")`.
    pub folder: &'static str,
    /// Files of vectors, or folders with a trailing `/`, with the numbers of passed and skipped
    /// vectors. A file that is not listed must not skip any.
    pub vectors: &'static [(&'static str, usize, usize)],
    /// Number of measurements in the vectors that are only met within their tolerance.
    pub inexact: usize,
    /// Presets to test, each with the names of the [`small_graphs`] that it refuses to compile.
    pub presets: &'static [(&'static str, &'static [&'static str])],
    /// Source of the text of a compiled program.
    pub text: Text,
    /// Maximum error of a result, as a share of the largest value of its tensor.
    pub tolerance: f64,
    /// Maximum error of a debugger's float value of an output, as a share of the largest value of
    /// its tensor.
    pub floats: f64,
    /// Registers that change with every instruction. The debugger does not report these changes.
    pub counters: &'static [&'static str],
    /// Minimum share of reported operands that change a result. The others are multiplied by zero,
    /// rounded away, or below a maximum.
    pub operands_with_effect: f64,
}

/// Source of the text of a compiled program.
#[derive(Clone, Copy, Debug)]
pub enum Text {
    /// Text of the compiler after a stage. Words in files are concatenated.
    Stage(&'static str),
    /// Files of the artifact with this suffix. Words in files are text themselves.
    Files(&'static str),
}

impl Suite {
    /// Folder of the vectors: `golden` in the target's folder or, if that does not exist,
    /// `tests/golden/TARGET`.
    fn golden(&self) -> PathBuf {
        let own = Path::new(self.folder).join("golden");
        if own.is_dir() { own } else { golden(self.target.name) }
    }

    /// Instances to test, each with the names of the [`small_graphs`] that it refuses.
    fn instances(&self) -> Vec<(Box<dyn Instance>, &'static [&'static str])> {
        let instance = |&(name, refused): &(&'static str, _)| {
            let instance = self.target.instance(InstanceSpec::Preset(name));
            (instance.unwrap_or_else(|error| panic!("{name}: {error}")), refused)
        };
        self.presets.iter().map(instance).collect()
    }
}

/// Generates the tests of the suite for a target. A module of its test binary contains
/// `suite!(SUITE);`.
#[macro_export]
macro_rules! suite {
    ($suite:expr) => {
        #[test]
        fn every_golden_vector_passes() {
            $suite.vectors();
        }

        #[test]
        fn instructions_survive_their_text() {
            $suite.tables();
        }

        #[test]
        fn any_words_survive_their_listing() {
            $suite.words();
        }

        #[test]
        fn compiled_programs_survive_their_text() {
            $suite.programs();
        }

        #[test]
        fn small_graphs_compute_what_they_say() {
            $suite.lowering();
        }

        #[test]
        fn no_error_is_above_its_bound() {
            $suite.bounds();
        }

        #[test]
        fn parts_of_the_time_add_up() {
            $suite.times();
        }

        #[test]
        fn no_memory_is_overfull() {
            $suite.fills();
        }

        #[test]
        fn no_number_changes_untold() {
            $suite.writes();
        }

        #[test]
        fn no_operand_is_untold() {
            $suite.operands();
        }

        #[test]
        fn segments_are_gone_through() {
            $suite.segments();
        }

        #[test]
        fn floats_are_those_of_the_graph() {
            $suite.floats();
        }

        #[test]
        fn damaged_files_are_refused_or_read() {
            $suite.damage();
        }
    };
}
