//! npukit for programs: the list of accelerators, and the verbs of the command as functions.
//!
//! Each verb is a module of [`verbs`] with a request, a function and a report that serialises to
//! the command's `--json`. Files come in through a [`Reader`] and go out as bytes; nothing here
//! touches the disk, the terminal or the environment.
//!
//! [`targets`] is the list; a new accelerator is a line in it.

mod batch;
mod classes;
mod comparison;
mod convert;
mod error;
mod eval_limits;
mod finite;
mod groups;
mod inputs;
mod layer_compare;
mod max_error;
mod model;
pub mod options;
mod origin;
mod quantise;
mod refusal;
mod remarks;
mod rescale;
mod samples;
mod source;
mod targets;
mod underflow;
pub mod verbs;
mod weights;

pub use error::Error;
pub use inputs::InputFile;
pub use max_error::MaxError;
pub use model::ModelOptions;
pub use npukit_base::{is_printable, on_a_line, printable};
pub use npukit_graph::quantise::Method as QuantiseMethod;
pub use npukit_target::{ArtifactFile, Meaning, Part, ReadError, Reader, TargetError};
pub use quantise::method as quantise_method;
pub use rescale::{Calibration, Mode as RescaleMode};
pub use targets::{default_target, resolve, target, targets};

/// What reports are made of.
pub mod report {
    pub use crate::finite::NonFinite;
    pub use crate::layer_compare::{Figures, FirstDivergence, LayerError, Report as LayerCompareReport};
    pub use crate::quantise::{
        Candidate as QuantisationCandidate, QuantisedTensor, Report as QuantisationReport,
    };
    pub use crate::rescale::{LayerExponent, Measured, Remaining, Report as RescaleReport};
    pub use crate::underflow::{Report as UnderflowReport, Used};
    pub use crate::weights::Weight;
    pub use npukit_target::{
        Finding, FlagTime, HostStepReport, KindTime, LayerTime, MemoryReport, Preset, Problem, Roofline,
        Saturation, Severity, TimeReport, UnitTime,
    };
}

/// Told how far long work is: how much is done, and how much there is.
pub type Progress<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// Where a verb reads files, and whom it tells how far it is.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Gives files.
    pub reader: &'a dyn Reader,
    /// Is told the progress of long work.
    pub progress: &'a Progress<'a>,
}
