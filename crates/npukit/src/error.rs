//! [`Error`]: why a verb failed, and whose fault it is.

use std::collections::BTreeSet;

use npukit_base::{closest, counted};
use npukit_graph::EvalError;
use npukit_graph::pass::PassError;
use npukit_import::decoder::DecoderFileError;
use npukit_import::onnx::ImportError;
use npukit_import::{Dimension, OpenInput, open_dimensions};
use npukit_numeric::npy::NpyError;
use npukit_target::{PortError, ReadError, TargetError};

use crate::refusal;
use crate::targets::default_target;

/// Why a verb failed.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum Error {
    /// `--target` names nothing we know.
    #[error("there is no target `{name}`")]
    #[diagnostic(help("known: {known}; then `:` and a preset, or `:` and a file"))]
    UnknownTarget {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A model needs a target, and none is given.
    #[error("a model needs `--target`")]
    #[diagnostic(help("`--target {}`, for instance; `npu targets` lists them", default_target().name()))]
    NoTarget,
    /// An artifact knows its target.
    #[error("`{path}` is an artifact, which knows its target")]
    #[diagnostic(help("leave `--target` out; it is for models"))]
    NeedlessTarget {
        /// The artifact.
        path: String,
    },
    /// An option for models, given with an artifact.
    #[error("`{path}` is an artifact; {option} is for models")]
    NeedlessOption {
        /// The artifact.
        path: String,
        /// The option.
        option: String,
    },
    /// An option that does not apply to the target.
    #[error("{option} does not apply to {target}")]
    #[diagnostic(help("--quantise is for targets that take integers only, --rescale for all others"))]
    UnfitOption {
        /// The option.
        option: &'static str,
        /// Target and instance.
        target: String,
    },
    /// A rescaling is demanded, and nothing says how large values become.
    #[error("`--rescale always` needs `--calibrate` with inputs that are typical")]
    NoCalibration,
    /// An instruction, stage or form that does not exist.
    #[error("there is no {what} `{name}`")]
    #[diagnostic(help("{}", known_names(name, known)))]
    UnknownName {
        /// What is named.
        what: &'static str,
        /// The name given.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// The host does not give this number of threads.
    #[error("cannot work on {cores} cores: {reason}")]
    Cores {
        /// Threads wanted.
        cores: usize,
        /// What the system says.
        reason: String,
    },
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file is neither a model nor an artifact.
    #[error("unrecognised file type: `{path}`")]
    #[diagnostic(help("models end in .onnx or .pb, artifacts in {artifacts}"))]
    UnknownFile {
        /// The file.
        path: String,
        /// Endings of artifacts.
        artifacts: String,
    },
    /// A model cannot be imported.
    #[error("cannot import `{path}`")]
    #[diagnostic(forward(source))]
    Import {
        /// The model.
        path: String,
        /// What is wrong with it.
        source: Box<ImportError>,
    },
    /// Nodes of a model cannot be imported or compiled for the target; all of them are listed.
    #[error("the model is not supported: {} of {}", counted(report.problems.len() as u64, "problem"), counted(report.groups.len() as u64, "kind"))]
    Refused {
        /// What `npu check` says.
        report: Box<refusal::Report>,
    },
    /// Sizes that neither the model nor the options nor inputs say.
    #[error("`{path}` leaves sizes of its inputs open: {}", open_dimensions(inputs))]
    #[diagnostic(help("{}", size_options(inputs)))]
    OpenDimensions {
        /// The model.
        path: String,
        /// Its inputs, as far as their shapes are known.
        inputs: Vec<OpenInput>,
    },
    /// A language model cannot be read.
    #[error("cannot read the model `{path}`")]
    #[diagnostic(forward(source))]
    Description {
        /// Its description.
        path: String,
        /// What is wrong with it.
        source: Box<DecoderFileError>,
    },
    /// A prompt contains characters that the model cannot encode.
    #[error("the prompt contains characters that `{model}` cannot encode")]
    Prompt {
        /// The model's description.
        model: String,
        /// What is wrong with the prompt.
        source: Box<DecoderFileError>,
    },
    /// A language model's description does not say what its tokens stand for.
    #[error("`{path}` does not say what the model's tokens stand for")]
    #[diagnostic(help("a table `text` with an `alphabet` does"))]
    NoText {
        /// The description.
        path: String,
    },
    /// A line of held-out texts that is none.
    #[error("line {line} of `{path}` has no tab between prompt and answer")]
    HeldOut {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
    },
    /// A prompt among held-out texts that the model cannot take.
    #[error("the prompt in line {line} of `{path}` has no answer")]
    HeldOutPrompt {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// Why.
        source: Box<Error>,
    },
    /// There are no held-out texts.
    #[error("`{path}` comes without held-out texts")]
    #[diagnostic(help("`--held-out FILE` names some: lines of a prompt, a tab and the answer"))]
    NoHeldOut {
        /// The model.
        path: String,
    },
    /// A model's graph cannot be simplified.
    #[error("cannot simplify `{path}`")]
    Simplify {
        /// The model.
        path: String,
        /// What went wrong.
        source: Box<PassError>,
    },
    /// An array cannot be read.
    #[error("cannot read an array")]
    Array(#[from] NpyError),
    /// A file of inputs is of a kind we do not read here.
    #[error("unrecognised type of input: `{path}`")]
    #[diagnostic(help("inputs end in {legal}"))]
    UnknownInput {
        /// The file.
        path: String,
        /// Endings we read.
        legal: &'static str,
    },
    /// A source file is not text.
    #[error("{path}: byte {offset} is not UTF-8 text")]
    NotText {
        /// The file.
        path: String,
        /// Where text ends.
        offset: usize,
    },
    /// Inputs do not fit the program.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The reference evaluator failed.
    #[error("the float evaluator failed")]
    Eval(#[from] EvalError),
    /// Evaluating takes far more time than the model's size suggests.
    #[error("evaluating `{model}` takes {operations} operations, more than the {limit} that fit its size")]
    #[diagnostic(help("node `{costliest}` takes most of them; --no-limit evaluates it all the same"))]
    Operations {
        /// The model.
        model: String,
        /// Elements computed and terms added up.
        operations: u64,
        /// Most of them for a model of the size.
        limit: u64,
        /// The node with most of them.
        costliest: String,
    },
    /// Evaluating takes far more memory than the model's size suggests.
    #[error("evaluating `{model}` takes {bytes} bytes at a time, more than the {limit} that fit its size")]
    #[diagnostic(help("--no-limit evaluates it all the same"))]
    Memory {
        /// The model.
        model: String,
        /// Most bytes of results at a time.
        bytes: u64,
        /// Most of them for a model of the size.
        limit: u64,
    },
    /// The target failed.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Target(#[from] TargetError),
    /// A program that keeps its layers' results computes something else.
    #[error("keeping the results of layers changes output `{output}`")]
    #[diagnostic(help("this is a fault of the target's compiler, and none of the model: please report it"))]
    KeptDiffers {
        /// The output.
        output: String,
    },
    /// Something that is written as it comes cannot be.
    #[error("cannot write")]
    Write(#[source] std::io::Error),
    /// Outputs cannot be written as arrays.
    #[error("cannot write array `{name}`: {reason}")]
    Output {
        /// The output.
        name: String,
        /// What is wrong.
        reason: String,
    },
}

/// The names there are, after the one that is meant.
fn known_names(name: &str, known: &[String]) -> String {
    let near = closest(name, known.iter().map(String::as_str));
    let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    format!("{near}there are {}", known.join(", "))
}

/// The options that say what is open: by name where all have names, by shapes in any case.
fn size_options(inputs: &[OpenInput]) -> String {
    let open = || inputs.iter().filter(|input| input.is_open());
    let has_axes = open().all(|input| input.dimensions.is_some());
    let names: Option<BTreeSet<&str>> = open().flat_map(OpenInput::open).map(|(_, name)| name).collect();
    let names = names.filter(|_| has_axes);
    let by_name = names.map(|names| names.iter().map(|name| format!("--dim {name}=..")).collect::<Vec<_>>());
    let shape = |input: &OpenInput| {
        let size =
            |dimension: &Dimension| dimension.size.map_or_else(|| "..".to_owned(), |size| size.to_string());
        let sizes = input.dimensions.as_ref().map(|all| all.iter().map(size).collect::<Vec<_>>());
        format!("--input-shape {}={}", input.name, sizes.map_or("..".to_owned(), |sizes| sizes.join(",")))
    };
    let by_shape = open().map(shape).collect::<Vec<_>>().join(" ");
    let either = by_name.map_or_else(String::new, |options| format!("`{}` or ", options.join(" ")));
    format!("give {either}`{by_shape}`; inputs say them, too, for `run`, `eval` and `--calibrate`")
}

impl Error {
    /// Whether the command line is at fault (exit status 2), rather than an input (1).
    pub fn is_usage(&self) -> bool {
        match self {
            Self::UnknownTarget { .. }
            | Self::NoTarget
            | Self::NeedlessTarget { .. }
            | Self::NeedlessOption { .. }
            | Self::UnfitOption { .. }
            | Self::NoCalibration
            | Self::UnknownName { .. } => true,
            Self::Port(error) => error.is_usage(),
            Self::Target(TargetError::Option { .. } | TargetError::Unsupported { .. }) => true,
            _ => false,
        }
    }
}
