#![doc = include_str!("../README.md")]

pub mod accelerator;
mod accuracy;
mod assumed;
mod batch;
mod classes;
mod comparison;
mod confined;
mod device_dump;
mod doubt;
mod error;
mod eval_limits;
pub mod explore;
mod finite;
mod glossary;
mod groups;
mod hand;
mod hashed;
mod inputs;
mod layer_compare;
mod like;
mod made_up;
mod max_error;
mod model;
#[doc(hidden)] // flags of the command
pub mod options;
mod origin;
mod program;
mod quantise;
mod remarks;
pub mod report;
mod rescale;
mod samples;
mod source;
mod source_map;
mod speed;
mod stack;
mod stateful;
mod summary;
mod targets;
mod test_vectors;
mod traced;
mod underflow;
pub mod verbs;
mod verdict;
mod waves;
mod weights;

pub use accuracy::Options as AccuracyOptions;
pub use assumed::GivenRange;
#[doc(hidden)] // errors of the command
pub use error::described;
pub use error::{Error, Kind as ErrorKind, codes as error_codes};
pub use hand::{DumpRequest, HandError, Held, MemFile, Memories};
pub use inputs::{InputFile, Preprocess};
pub use max_error::MaxError;
pub use model::ModelOptions;
#[doc(hidden)] // what errors of the command are
pub use npukit_base::{Code, Coded, codes};
#[doc(hidden)] // how the command prints
pub use npukit_base::{is_printable, on_a_line, plural, printable, suggestion};
#[doc(inline)]
pub use npukit_graph::quantise::Method as QuantiseMethod;
#[doc(inline)]
pub use npukit_numeric::{ElementType, Tensor, TensorData};
#[doc(inline)]
pub use npukit_target::rtl::{Build, File, Run, Seen};
#[doc(hidden)] // by which the command names what it keeps
pub use npukit_target::sha256;
#[doc(inline)]
pub use npukit_target::{
    ArtifactFile, Assembled, Cache, Compiled, Disassembled, Instance, Limits, Machine, MachineMemory,
    Meaning, NoFiles, Output, PHASES, Part, Phase, Port, ProgramText, ReadError, Reader, RunOptions,
    RunResult, Target, TargetError, Term, TimeOptions, Unset,
};
pub use program::Program;
#[doc(hidden)] // an argument of the command
pub use quantise::method as quantise_method;
pub use report::diagnostic::Diagnostic;
pub use rescale::{Calibration, Mode as RescaleMode, OwnInputs};
pub use samples::Outputs;
pub use source::{Ports, Source};
pub use source_map::MAP;
pub use stateful::Stateful;
pub use targets::{
    artifact_target, cost_model_name, default_target, is_artifact, resolve, strict, target, target_in,
    target_with, targets,
};

/// Where files come from. How far long work is, a subscriber of `tracing` gets to know: see [`Phase`].
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Context<'a> {
    /// Gives files.
    pub reader: &'a dyn Reader,
    /// Where compilations look for what they have found before; nowhere when none.
    pub cache: Option<&'a Cache>,
}

impl<'a> Context<'a> {
    /// Files from `reader`.
    ///
    /// A map from paths to bytes is a reader, and so is a function:
    ///
    /// ```
    /// use npukit::{Context, ReadError};
    ///
    /// let disk = |path: &str| std::fs::read(path).map_err(|error| ReadError::of(path, &error));
    /// let context = Context::new(&disk);
    /// assert!(context.reader.read("no-such-file").is_err());
    /// ```
    pub fn new(reader: &'a dyn Reader) -> Self {
        Self { reader, cache: None }
    }

    /// The same, with a cache: what is compiled again is not searched for again, and the program is the same.
    #[must_use]
    pub fn with_cache(self, cache: &'a Cache) -> Self {
        Self { cache: Some(cache), ..self }
    }
}
