//! The suite that every target passes: a [`Suite`] says what is particular to a target, [`suite!`] makes its tests.
//!
//! | test | asks |
//! |---|---|
//! | [`Suite::vectors`] | every golden vector passes, and none is lost |
//! | [`Suite::tables`] | the instruction set is sound; an instruction with random operands survives its text |
//! | [`Suite::words`] | any bytes have a listing, which assembles to them |
//! | [`Suite::programs`] | the text of compiled graphs assembles, and survives its listing |
//! | [`Suite::lowering`] | what is compiled computes what the graph says, on memory that holds anything, and when it is written and read; `check` and `compile` refuse the same |
//! | [`Suite::bounds`] | where an instance bounds errors, none that is observed is above its bound |
//! | [`Suite::times`] | the parts of a report on time add up |
//! | [`Suite::writes`] | where programs are debugged, no number changes in a step that does not say so |
//! | [`Suite::operands`] | no number changes a result but those that the step names as its operands |
//! | [`Suite::floats`] | what a machine computes in float is what the graph says |
//! | [`Suite::segments`] | a model of which the target takes a part is debugged through all segments |
//! | [`Suite::damage`] | damaged configurations, vectors and artifacts are refused or read, without a panic |
//!
//! A function panics where that is not so.

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

use npukit_target::{Config, Instance, Target};

pub use graphs::{random_graph, small_graphs};
pub use npukit_shared::{Rewritten, expect_rewritten, golden, needs, shared, shared_bytes};
pub use random::Random;

/// What is particular to a target.
#[derive(Clone, Copy)]
pub struct Suite {
    /// The target.
    pub target: &'static Target,
    /// Its folder: `env!("CARGO_MANIFEST_DIR")`.
    pub folder: &'static str,
    /// The files of its vectors, or folders, which end in `/`, with the numbers of vectors passed and skipped. A file
    /// that is not named may skip none.
    pub vectors: &'static [(&'static str, usize, usize)],
    /// Measurements among the vectors that are met within their tolerance only.
    pub inexact: usize,
    /// The presets that are tried, and which of [`small_graphs`] each refuses to compile.
    pub presets: &'static [(&'static str, &'static [&'static str])],
    /// Where the text of a compiled program is found.
    pub text: Text,
    /// How far a result may be from the graph's, as a share of the largest one of its tensor.
    pub tolerance: f64,
    /// How far a debugger's float of an output may be from the graph's, as a share of the largest of its tensor.
    pub floats: f64,
    /// Registers that count along with instructions: a debugger does not tell of each change.
    pub counters: &'static [&'static str],
    /// Of the operands that a debugger tells of, the share with which a result changes, at least: others are multiplied by
    /// zero, rounded away or less than a maximum.
    pub operands_with_effect: f64,
}

/// Where the text of a compiled program is found.
#[derive(Clone, Copy, Debug)]
pub enum Text {
    /// What the compiler has after a stage; words in files follow one another.
    Stage(&'static str),
    /// The files of its artifact whose names end so; words in files are text themselves.
    Files(&'static str),
}

impl Suite {
    /// The folder of its vectors: `golden` in its own, or, where that is absent, `tests/golden/TARGET`.
    fn golden(&self) -> PathBuf {
        let own = Path::new(self.folder).join("golden");
        if own.is_dir() { own } else { golden(self.target.name) }
    }

    /// The instances that are tried, and which of [`small_graphs`] each refuses.
    fn instances(&self) -> Vec<(Box<dyn Instance>, &'static [&'static str])> {
        let instance = |&(name, refused): &(&'static str, _)| {
            let instance = self.target.instance(Config::Preset(name));
            (instance.unwrap_or_else(|error| panic!("{name}: {error}")), refused)
        };
        self.presets.iter().map(instance).collect()
    }
}

/// The tests of the suite for a target; a module of its test binary is `suite!(SUITE);`.
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
