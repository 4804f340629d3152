#![doc = include_str!("../README.md")]

pub mod accelerator;
pub mod boards;
mod compare;
pub mod costs;
mod error;
pub mod explore;
mod glossary;
mod inputs;
mod model;
mod numbers;
#[doc(hidden)] // flags of the command
pub mod options;
pub mod report;
mod run;
mod targets;
pub mod verbs;

#[doc(hidden)] // errors of the command
pub use error::described;
pub use error::{Error, Kind as ErrorKind, codes as error_codes};
pub use inputs::{InputFile, Preprocess};
pub use model::program::Program;
pub use model::source::{Ports, Source};
pub use model::source_map::MAP;
pub use model::{ModelOptions, has_model_extension};
#[doc(hidden)] // what errors of the command are
pub use npukit_base::{Code, Coded, codes};
#[doc(hidden)] // how the command prints
pub use npukit_base::{is_printable, on_a_line, percent_decoded, plural, printable, suggestion};
#[doc(inline)]
pub use npukit_graph::quantize::Method as QuantizeMethod;
#[doc(inline)]
pub use npukit_numeric::{ElementType, Tensor, TensorData};
#[doc(inline)]
pub use npukit_target::rtl::{Build, File, Run, Seen};
#[doc(hidden)] // by which the command names what it keeps
pub use npukit_target::sha256;
#[doc(inline)]
pub use npukit_target::{
    ArtifactFile, Assembled, Cache, Compiled, Disassembled, HazardMode, Instance, Limits, Machine,
    MachineMemory, NoFiles, Output, PHASES, Part, Phase, Port, ProgramText, ReadError, Reader, RunOptions,
    RunResult, Target, TargetError, Term, TimeOptions, UninitMemory,
};
pub use numbers::accuracy::Options as AccuracyOptions;
pub use numbers::assumed::GivenRange;
pub use numbers::max_error::MaxError;
#[doc(hidden)] // an argument of the command
pub use numbers::quantize::method as quantize_method;
pub use numbers::rescale::{Calibration, Mode as RescaleMode, OwnInputs};
pub use report::diagnostic::Diagnostic;
pub use run::memory_files::{DumpRequest, MemFile, Memories, MemoryDump, MemoryFileError, MotionRequest};
pub use run::samples::Outputs;
pub use run::stateful::Stateful;
pub use targets::{
    artifact_target, cost_model_name, default_spec, default_target, first_instance, is_artifact, resolve,
    strict, target, target_in, target_with, targets,
};

/// Sources of files. Progress of long work is reported through `tracing`: see [`Phase`].
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Context<'a> {
    /// Reads files by path.
    pub reader: &'a dyn Reader,
    /// Cache of compilation results; `None` to disable caching.
    pub cache: Option<&'a Cache>,
}

impl<'a> Context<'a> {
    /// Reads files from `reader`.
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

    /// Adds a cache. Compiling the same model again skips the search and gives the same program.
    #[must_use]
    pub fn with_cache(self, cache: &'a Cache) -> Self {
        Self { cache: Some(cache), ..self }
    }
}
