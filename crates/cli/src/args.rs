//! Arguments that verbs have in common, and the headings under which the help has them. Those of one verb are beside its
//! command.

pub mod values;

use clap::{Args, ValueEnum};
use clap_complete::ArgValueCandidates;
use npukit::{GivenRange, MemFile, QuantiseMethod};

use crate::args::values::{
    dimension, fixed, given_range, input_shape, mem_file, number, quantise_method, share, state,
};
use crate::candidates::targets;

/// Heading of the options that every verb has, after its own.
pub const GLOBAL: &str = "Global options";
/// Heading in the help: how a model is read. Those of the options of targets are in [`crate::options`].
pub const MODEL: &str = "Model";

/// The accelerator, and how it takes the model.
pub const TARGET: &str = "Target";

/// How numbers fit the number format.
pub const NUMBERS: &str = "Numbers";

/// What is computed with.
pub const INPUTS: &str = "Inputs";

/// What results are compared with.
pub const ACCURACY: &str = "Accuracy";

/// What is written and printed.
pub const OUTPUT: &str = "Output";

/// How a model is read.
#[derive(Debug, Args)]
#[command(next_help_heading = MODEL)]
pub struct ModelArgs {
    /// Size of an open batch, 1 when not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: Option<u32>,
    /// Size of an open dimension, as `batch=8`
    ///
    /// The model leaves it open and names it.
    #[arg(long = "dim", value_name = "NAME=SIZE", value_parser = dimension)]
    pub sizes: Vec<(String, usize)>,
    /// Shape of an input, as `x=1,3,32,32`
    ///
    /// It holds instead of the model's.
    #[arg(long = "input-shape", value_name = "NAME=SIZES", value_parser = input_shape)]
    pub input_shapes: Vec<(String, Vec<usize>)>,
    /// Number that fixes an input, as `sr=16000`
    ///
    /// All of its elements are that number, and it is no input any more: what depends on it alone, as the branch that
    /// an If takes, is settled when the model is read.
    #[arg(long = "set", value_name = "NAME=NUMBER", value_parser = fixed)]
    pub values: Vec<(String, String)>,
    /// Values wanted instead of the model's outputs
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub outputs: Vec<String>,
    /// How Resize at opset 10 is read: `asymmetric` with a warning when not given
    #[arg(long, value_enum, hide_short_help = true)]
    pub resize: Option<Resize>,
    /// Take a model that takes far more time or memory than its size suggests, too
    ///
    /// It is evaluated all the same, and constants that its operators make are made, however large.
    #[arg(long, hide_short_help = true)]
    pub no_limit: bool,
}

/// How Resize at opset 10 is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Resize {
    /// As the standard says
    Asymmetric,
    /// As TensorFlow's exporter meant it
    HalfPixel,
}

/// What samples have to do with each other.
#[derive(Debug, Args)]
#[command(next_help_heading = INPUTS)]
pub struct StateArgs {
    /// Samples are successive calls that hand on state
    ///
    /// Inputs are fed from outputs of the call before: those of one shape whose names say the same, as `state` and
    /// `stateN`, `h0` and `hn`, `past.key` and `present.key`. The first call begins with what is given for them, or zeros.
    #[arg(long)]
    pub stateful: bool,
    /// Input that is an output of the call before
    ///
    /// It is given as `state=stateN`. Samples are successive calls then. All inputs that are fed that way must be named.
    #[arg(long = "state", value_name = "INPUT=OUTPUT", value_parser = state)]
    pub pairs: Vec<(String, String)>,
}

/// What a program means where hardware computes something else than its instructions say.
#[derive(Debug, Args)]
#[command(next_help_heading = TARGET)]
pub struct MeaningArgs {
    /// Take the instructions one after the other even where the hardware computes something else
    #[arg(long, conflicts_with = "hardware", hide_short_help = true)]
    pub sequential: bool,
    /// Compute what the hardware computes, even where the instructions say something else
    #[arg(long, hide_short_help = true)]
    pub hardware: bool,
}

/// How a model's numeric range is chosen.
#[derive(Debug, Args)]
#[command(next_help_heading = NUMBERS)]
pub struct CalibrationArgs {
    /// Typical inputs, to which scales are fitted
    ///
    /// Inputs, weights and values between layers are scaled by powers of two so that what these inputs reach fits the
    /// number format. Without them the scales come from the ranges that the model declares, else from the first 32 samples
    /// of --input where values do not fit, else from made-up inputs where the range of the inputs is known.
    #[arg(long, value_name = "[NAME=]FILE", num_args = 1..)]
    pub calibrate: Vec<String>,
    /// Range of the inputs, as `0..255` or `image`
    ///
    /// `image` is 0 to 255; `NAME=` before it is for one input. Without --calibrate, scales then follow from made-up inputs
    /// of this range. A model that divides or standardizes its inputs shows the range itself. `npu verify --bounds` bounds
    /// errors for all inputs of the range.
    #[arg(long, value_name = "LOW..HIGH", value_parser = given_range, allow_hyphen_values = true)]
    pub range: Vec<GivenRange>,
    /// When to scale
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    pub rescale: Rescale,
    /// `min-max`, `least-squares` or `percentile=P`
    ///
    /// How a target that takes integers only chooses its scales: `min-max` (nothing saturates on the inputs of
    /// --calibrate), `least-squares` (least error of each tensor) or `percentile=99.9` (so much does not saturate).
    /// Without it, the one whose outputs for those inputs are nearest to float.
    #[arg(long, alias = "quantize", value_name = "METHOD", value_parser = quantise_method)]
    pub quantise: Option<QuantiseMethod>,
}

/// What is done to the values of inputs.
#[derive(Debug, Args)]
#[command(next_help_heading = INPUTS)]
pub struct PreprocessArgs {
    /// Factor for the values of inputs, as `1/255`
    ///
    /// Each value x becomes (x * scale - mean) / std, also those of --calibrate.
    #[arg(long, value_name = "S", value_parser = number, allow_hyphen_values = true)]
    pub scale: Option<f64>,
    /// Taken off then: a number, or one a channel
    #[arg(long, value_name = "M[,M..]", value_parser = number, value_delimiter = ',', allow_hyphen_values = true)]
    pub mean: Vec<f64>,
    /// Divided by then: a number, or one a channel
    #[arg(long, value_name = "D[,D..]", value_parser = number, value_delimiter = ',', allow_hyphen_values = true)]
    pub std: Vec<f64>,
}

/// When layers are scaled by powers of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Rescale {
    /// When that saturates less on the inputs of --calibrate, and is no further from float there
    #[default]
    Auto,
    /// Wherever something does not fit
    Always,
    /// Not at all
    Never,
}

/// Whether the letter of a target's document counts.
#[derive(Debug, Args)]
#[command(next_help_heading = TARGET)]
pub struct StrictArgs {
    /// Hold the program to the letter of the target's document, also where that is mended
    #[arg(long, hide_short_help = true)]
    pub strict_draft: bool,
}

/// A model for a target.
#[derive(Debug, Args)]
pub struct ModelSourceArgs {
    /// `.onnx` file, frozen TensorFlow graph (`.pb`) or `.tflite` file
    pub model: String,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub reading: ModelArgs,
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    ///
    /// `npu targets` lists them. `@SYSTEM` behind a preset or a file is one of its systems,
    /// `,NAME=VALUE` a parameter of its own. Without the option
    /// `NPU_TARGET` or npu.toml says it.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub strict: StrictArgs,
}

/// A model for a target, or an artifact.
#[derive(Debug, Args)]
pub struct SourceArgs {
    /// Model (`.onnx`, `.pb`, `.tflite`), an artifact's manifest, or a program in text or words
    #[arg(value_name = "MODEL_OR_ARTIFACT")]
    pub path: String,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub model: ModelArgs,
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    ///
    /// `npu targets` lists them; an artifact knows its own. `@SYSTEM` behind a preset or a file is one of its systems,
    /// `,NAME=VALUE` a parameter of its own.
    /// Without the option `NPU_TARGET` or npu.toml says it.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub strict: StrictArgs,
}

/// How accuracy is measured.
#[derive(Debug, Args)]
#[command(next_help_heading = ACCURACY)]
pub struct AccuracyArgs {
    /// Labels of the samples, as an array or a text
    ///
    /// A text has one a line; other files end in `.npy` or `.npz`.
    #[arg(long, value_name = "[OUTPUT=]FILE")]
    pub labels: Option<String>,
    /// Tell top-K accuracy, too
    ///
    /// There a label counts as found when it is among the K largest scores.
    #[arg(long, value_name = "K", default_value_t = 5, requires = "labels", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: u32,
    /// Worst samples to name
    #[arg(long, value_name = "N", default_value_t = 5, requires = "labels", hide_short_help = true)]
    pub worst: u32,
    /// Least accuracy that passes, as `0.9` or `90%`
    ///
    /// The exit status is 1 below it.
    #[arg(long, value_name = "SHARE", requires = "labels", value_parser = share)]
    pub min_accuracy: Option<f64>,
}

/// Options for programs in text or words.
#[derive(Debug, Args)]
pub struct HandArgs {
    /// Fill a memory of a program in text or words
    ///
    /// From the address A on, 0 when not given. `.npy`, `.npz` and `.csv`: integers are the memory's own, floats are
    /// rounded to its format; each row begins at an address of its own. `.hex`: bits in hexadecimal.
    #[arg(long, value_name = "NAME[@A]=FILE", help_heading = INPUTS, value_parser = mem_file)]
    pub mem: Vec<MemFile>,
    /// Most instructions that a program in text or words may execute
    #[arg(long, value_name = "N", help_heading = TARGET, hide_short_help = true)]
    pub max_instructions: Option<u64>,
    /// Most cycles that it may take, where the machine counts them
    #[arg(long, value_name = "N", help_heading = TARGET, hide_short_help = true)]
    pub max_cycles: Option<u64>,
}

impl HandArgs {
    /// Whether any is given.
    pub fn is_used(&self) -> bool {
        !self.mem.is_empty() || self.max_instructions.is_some() || self.max_cycles.is_some()
    }
}
