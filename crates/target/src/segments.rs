//! Models that a machine computes in part. The supported nodes run in segments, each a program of
//! its own. The host computes the rest in `f32`, as the graph's evaluator does.
//!
//! A [`SegmentPlan`] assigns nodes to machine or host, based on what an instance refuses. A
//! [`SegmentedInstance`] is an instance that compiles by such a plan; callers use it like any other
//! instance. The artifact of its programs is a manifest ([`EXTENSION`]), the constants of the host
//! steps, and the files of every segment. The target's drivers load the segments one by one.
//!
//! | module | content |
//! |---|---|
//! | `plan` | assignment of nodes to machine and host, by names |
//! | `cut` | a graph cut by a plan, and joined again from segments that an instance has prepared |
//! | `instance` | the instance that compiles by a plan |
//! | `program` | the program: segments and host steps in order |
//! | `program/machine` | the program on its machines, step by step |
//! | `program/field` | the program over a prime field, and the model that it is compared with |
//! | `time` | the times of the segments, added up |
//! | `manifest` | order and host steps in a file; reads and writes the artifact |

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
use crate::diagnosis::{Diagnose, Diagnosis, ErrorLocation, failure};

/// Option of every target: whether models may be cut into segments.
///
/// The default is yes. A model that compiles as a whole is never cut; other models would be refused
/// without segments.
pub const SEGMENTS: OptionSpec = OptionSpec {
    key: "segments",
    values: Values::Choice(&["yes", "no"]),
    default: "yes",
    doc: "lets the host compute nodes that the target refuses; `no` refuses the model",
    stage: Stage::Compile,
    aliases: Aliases::NONE,
};

/// Why a segmented model cannot be compiled, read or run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// The manifest format cannot represent the attributes of an operator.
    #[error("host step `{name}` ({op}) has attributes that a manifest cannot represent")]
    Attributes {
        /// Name of the node.
        name: String,
        /// Operator of the node.
        op: &'static str,
    },
    /// A pass removed a value that goes from one part to another.
    #[error("value `{value}`, which goes from one segment to another, is not in the graph")]
    Lost {
        /// Name of the value.
        value: String,
    },
    /// A part reads a value that does not exist yet.
    #[error("{reader} reads `{value}`, which is neither an input nor computed before")]
    Missing {
        /// Name of the part that reads it.
        reader: String,
        /// Name of the value.
        value: String,
    },
    /// Two parts produce the same value, or a part produces an input.
    #[error("value `{value}` is computed twice")]
    Twice {
        /// Name of the value.
        value: String,
    },
    /// A value is read with another type than it was produced with.
    #[error("{reader} reads `{value}` with type {expected}, but it is computed with type {found}")]
    Converted {
        /// Name of the part that reads it.
        reader: String,
        /// Name of the value.
        value: String,
        /// Type of the produced value.
        found: ElementType,
        /// Type that the reader expects.
        expected: ElementType,
    },
    /// A value is read with another shape than it was produced with.
    #[error("{reader} reads `{value}` with shape {expected:?}, but its shape is {found:?}")]
    Shape {
        /// Name of the part that reads it.
        reader: String,
        /// Name of the value.
        value: String,
        /// Shape that the reader expects.
        expected: Vec<usize>,
        /// Shape of the produced value.
        found: Vec<usize>,
    },
    /// A part reads or produces a value that the model does not have.
    #[error("{part} reads or computes `{value}`, which is not a value of the model")]
    Foreign {
        /// Name of the part.
        part: String,
        /// Name of the value.
        value: String,
    },
    /// A host step produces NaN or infinity, which the field cannot represent.
    #[error("a host step computes `{value}`, which the field cannot represent")]
    NoImage {
        /// The value, as text.
        value: String,
    },
    /// The host cannot compute a step.
    #[error("a host step failed: {0}")]
    Host(#[from] EvalError),
}

/// Why a file is not the manifest of a segmented model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {reason}")]
pub struct ManifestError {
    /// Path of the manifest.
    pub file: String,
    /// Description of the fault.
    pub reason: String,
    /// Location of the fault, as far as it is known.
    pub place: Box<ErrorLocation>,
}

codes!(SegmentError {
    Attributes = "host-step-attributes": "a manifest cannot represent the attributes of a host step; this is a defect of npukit";
    Lost = "segment-value-lost": "a pass removed a value that goes from one segment to another; this is a defect of npukit";
    Missing = "segment-value-missing": "a segment or host step reads a value that is not computed before";
    Twice = "segment-value-twice": "two parts of a segmented program compute the same value";
    Converted = "segment-value-converted": "a value changes its type between two parts of a segmented program";
    Shape = "segment-value-shape": "a value changes its shape between two parts of a segmented program";
    Foreign = "segment-value-foreign": "a value that goes from one part of a program to another is not a value of the model";
    NoImage = "segment-value-no-number": "a host step computes a value that a proof cannot represent";
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
