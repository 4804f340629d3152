//! Models of which a machine takes a part: what it takes runs in segments, a program each, and the host computes what lies
//! between them in `f32`, as the graph's evaluator does.
//!
//! A [`SegmentPlan`] says what goes where, by what an instance refuses. A [`SegmentedInstance`] is the instance that
//! compiles by a plan: whoever compiles, runs or times for an instance does so for one of these. Its programs are artifacts
//! of a manifest ([`EXTENSION`]), the constants of the host's steps and the files of every segment, which the target's
//! drivers load one by one.
//!
//! | module | is |
//! |---|---|
//! | `plan` | what the machine takes and what the host does, by names |
//! | `cut` | a graph cut by a plan, and put together again from segments that an instance has prepared |
//! | `instance` | the instance that compiles by a plan |
//! | `program` | the program: segments and host steps in order |
//! | `program/machine` | the program on its machines, step by step |
//! | `program/field` | the program over a prime field, and the model that it is compared with |
//! | `time` | the times of the segments, added up |
//! | `manifest` | the file that says the order, and what the host does; the whole artifact, both ways |

mod cut;
mod instance;
mod manifest;
mod plan;
mod program;
mod time;

use npukit_base::codes;
use npukit_graph::EvalError;
use npukit_numeric::ElementType;

pub use instance::SegmentedInstance;
pub use manifest::{EXTENSION, load_segments, segments_target};
pub use plan::SegmentPlan;

use crate::config::options::{Aliases, OptionSpec, Stage, Values};
use crate::diagnosis::{Diagnose, Diagnosis, Place, failure};

/// The option of every target that says whether models are cut into segments.
///
/// They are unless it says no: a model that compiles whole is never cut, and one that does not would be refused.
pub const SEGMENTS: OptionSpec = OptionSpec {
    key: "segments",
    values: Values::Choice(&["yes", "no"]),
    default: "yes",
    doc: "leaves nodes that the target refuses to the host, between segments on the chip; `no` refuses the model",
    stage: Stage::Compile,
    aliases: Aliases::NONE,
};

/// Why a model in segments cannot be compiled, read or run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// The manifest's text does not hold an operator as it is.
    #[error("step `{name}` of the host ({op}) has attributes that a manifest cannot hold")]
    Attributes {
        /// The node.
        name: String,
        /// Its operator.
        op: &'static str,
    },
    /// The graph has lost a value that goes from one part to another.
    #[error("value `{value}`, which goes from one segment to another, is not in the graph")]
    Lost {
        /// The value.
        value: String,
    },
    /// A value is not there when a part reads it.
    #[error("{reader} reads `{value}`, which no input gives and nothing before it makes")]
    Missing {
        /// Who reads it.
        reader: String,
        /// The value.
        value: String,
    },
    /// A value is made by two parts, or is an input.
    #[error("value `{value}` is made twice")]
    Twice {
        /// The value.
        value: String,
    },
    /// A value changes its type on the way.
    #[error("{reader} takes `{value}` as numbers of type {expected}, and it is made as {found}")]
    Converted {
        /// Who reads it.
        reader: String,
        /// The value.
        value: String,
        /// Type that it has.
        found: ElementType,
        /// Type that it is read as.
        expected: ElementType,
    },
    /// A value has another shape where it is read.
    #[error("{reader} takes `{value}` in shape {expected:?}, and it has shape {found:?}")]
    Shape {
        /// Who reads it.
        reader: String,
        /// The value.
        value: String,
        /// Shape that is read.
        expected: Vec<usize>,
        /// Shape that it has.
        found: Vec<usize>,
    },
    /// The model does not have what goes between parts.
    #[error("{part} reads or makes `{value}`, which is no value of the model")]
    Foreign {
        /// Who.
        part: String,
        /// The value.
        value: String,
    },
    /// The host gives what is no number.
    #[error("a step of the host gives `{value}`, which has no image in the field")]
    NoImage {
        /// The value.
        value: String,
    },
    /// The host cannot compute a step.
    #[error("a step of the host: {0}")]
    Host(#[from] EvalError),
}

/// Why a file is not the manifest of a model in segments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {reason}")]
pub struct ManifestError {
    /// The manifest.
    pub file: String,
    /// What is wrong.
    pub reason: String,
    /// Where, as far as it is known.
    pub place: Box<Place>,
}

codes!(SegmentError {
    Attributes = "host-step-attributes": "a manifest cannot hold the attributes of a step of the host: a defect of npukit";
    Lost = "segment-value-lost": "a pass has taken out a value that goes from one segment to another: a defect of npukit";
    Missing = "segment-value-missing": "a segment or host step reads a value that nothing before it makes";
    Twice = "segment-value-twice": "two parts of a program in segments make the same value";
    Converted = "segment-value-converted": "a value goes from one part of a program to another as numbers of another type";
    Shape = "segment-value-shape": "a value goes from one part of a program to another in another shape";
    Foreign = "segment-value-foreign": "a value that goes from one part of a program to another is not one of the model";
    NoImage = "segment-value-no-number": "a value that the host gives is no number that a proof can have";
    Host = "host-step-failed": "the host cannot compute a step between segments";
});
codes!(ManifestError: failure::ARTIFACT);

impl Diagnose for SegmentError {}

impl Diagnose for ManifestError {
    fn diagnosis(&self) -> Diagnosis {
        let place = (*self.place).clone().in_file(Some(&self.file));
        Diagnosis::at(self, place)
    }
}
