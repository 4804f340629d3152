//! Arguments that several verbs share, and their headings in the help. Arguments of a single verb
//! are next to its command.

pub mod values;

use clap::{ArgAction, Args, ValueEnum};
use clap_complete::ArgValueCandidates;
use npukit::costs::HostRates;
use npukit::{GivenRange, MemFile, MotionRequest, QuantizeMethod};

use crate::args::values::{
    dimension, fixed, given_range, host_rates, input_shape, mem_file, motion, number, quantize_method, share,
    size, state,
};
use crate::candidates::targets;

/// Heading for the options that every verb has, after its own.
pub const GLOBAL: &str = "Global options";
/// Heading for options of reading a model. Headings of targets' options are in [`crate::options`].
pub const MODEL: &str = "Model";

/// Heading for the accelerator, and options of its use.
pub const TARGET: &str = "Target";

/// Heading for scaling to the number format.
pub const NUMBERS: &str = "Numbers";

/// Heading for the inputs of a computation.
pub const INPUTS: &str = "Inputs";

/// Heading for the choice of a language model's tokens.
pub const TOKENS: &str = "Tokens";

/// Heading for comparisons of results.
pub const ACCURACY: &str = "Accuracy";

/// Heading for costs beyond the accelerator's cycles.
pub const COSTS: &str = "Costs";

/// Heading for files and printed output.
pub const OUTPUT: &str = "Output";

/// Options of reading a model.
#[derive(Debug, Args)]
#[command(next_help_heading = MODEL)]
pub struct ModelArgs {
    /// Size of an open batch, by default 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), action = ArgAction::Set)]
    pub batch: Vec<u32>,
    /// Size of an open dimension, as `batch=8`
    ///
    /// The model leaves the dimension open and gives it this name.
    #[arg(long = "dim", value_name = "NAME=SIZE", value_parser = dimension)]
    pub sizes: Vec<(String, usize)>,
    /// Shape of an input, as `x=1,3,32,32`
    ///
    /// It replaces the shape in the model.
    #[arg(long = "input-shape", value_name = "NAME=SIZES", value_parser = input_shape)]
    pub input_shapes: Vec<(String, Vec<usize>)>,
    /// Number that fixes an input, as `sr=16000`
    ///
    /// All elements of the input have this value, and it is no longer an input. Nodes that depend
    /// only on it, such as the branch that an If takes, are evaluated when the model is read.
    #[arg(long = "const", alias = "set", value_name = "NAME=NUMBER", value_parser = fixed)]
    pub values: Vec<(String, String)>,
    /// Values to compute instead of the outputs
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub outputs: Vec<String>,
    /// Interpretation of Resize at opset 10: by default `asymmetric`, with a warning
    #[arg(long, value_enum, hide_short_help = true, value_name = "MODE")]
    pub resize_mode: Option<Resize>,
    /// Accept a model that takes far more time or memory than its size suggests
    ///
    /// It is evaluated anyway, and the constants that its operators generate are created, however
    /// large.
    #[arg(long, hide_short_help = true)]
    pub no_limit: bool,
}

/// Interpretation of Resize at opset 10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Resize {
    /// As the standard defines it
    Asymmetric,
    /// As TensorFlow's exporter meant it
    HalfPixel,
}

/// Options for samples that are successive calls.
#[derive(Debug, Args)]
#[command(next_help_heading = INPUTS)]
pub struct StateArgs {
    /// Samples are successive calls that pass on state
    ///
    /// Outputs of the previous call become inputs if their shapes are equal and their names match,
    /// as `state` and `stateN`, `h0` and `hn`, `past.key` and `present.key`. The first call starts
    /// with the given values, or with zeros.
    #[arg(long)]
    pub stateful: bool,
    /// Input that is an output of the previous call
    ///
    /// Write it as `state=stateN`. Samples are then successive calls. All inputs of this kind must
    /// be listed.
    #[arg(long = "feedback", alias = "state", value_name = "INPUT=OUTPUT", value_parser = state, hide_short_help = true)]
    pub pairs: Vec<(String, String)>,
}

/// Options for instructions whose hardware behavior differs from their definition.
#[derive(Debug, Args)]
#[command(next_help_heading = TARGET)]
pub struct MeaningArgs {
    /// Execute instructions in order, even if the hardware computes something else
    #[arg(long, conflicts_with = "hardware", hide_short_help = true)]
    pub sequential: bool,
    /// Compute what the hardware computes, even if the instructions define something else
    #[arg(long, hide_short_help = true)]
    pub hardware: bool,
}

/// Options of choosing scales.
#[derive(Debug, Args)]
#[command(next_help_heading = NUMBERS)]
pub struct CalibrationArgs {
    /// Typical inputs from which scales are chosen
    ///
    /// Inputs, weights and values between layers are scaled by powers of two so that the values for
    /// these inputs fit the number format. Without this option, scales follow from the ranges that
    /// the model declares. Otherwise they follow from the first 32 samples of --input if
    /// values do not fit, or from generated inputs if the range of the inputs is known.
    #[arg(long, value_name = "[NAME=]FILE", num_args = 1..)]
    pub calibrate: Vec<String>,
    /// Range of the inputs, as `0..255` or `image`
    ///
    /// `image` is 0 to 255; the prefix `NAME=` selects one input. Without --calibrate, scales
    /// follow from generated inputs of this range. If a model divides or standardizes its inputs,
    /// the range is derived from it. `npu verify --bounds` bounds errors for all inputs in the
    /// range.
    #[arg(long, value_name = "LOW..HIGH", value_parser = given_range, allow_hyphen_values = true)]
    pub range: Vec<GivenRange>,
    /// When to scale
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    pub rescale: Rescale,
    /// `min-max`, `least-squares` or `percentile=P`
    ///
    /// Method by which a target with integers only chooses its scales: `min-max` (nothing saturates
    /// on the inputs of --calibrate), `least-squares` (least error for each tensor) or
    /// `percentile=99.9` (this share does not saturate). By default, the method whose outputs for
    /// these inputs are nearest to float.
    #[arg(long, alias = "quantise", value_name = "METHOD", value_parser = quantize_method)]
    pub quantize: Option<QuantizeMethod>,
}

/// Option of counting the host's time.
#[derive(Debug, Args)]
#[command(next_help_heading = COSTS)]
pub struct HostArgs {
    /// Count the host's time at this speed, as `5,400e6`
    ///
    /// An estimate: each result element of a host step takes NS_PER_ELEMENT nanoseconds, and
    /// inputs, outputs and values between segments are copied at BYTES_PER_S. Nothing overlaps.
    /// There is no default, because no source states these figures for a board: measure them on
    /// yours.
    #[arg(long, value_name = "NS_PER_ELEMENT,BYTES_PER_S", value_parser = host_rates)]
    pub host: Option<HostRates>,
}

/// Options of costs beyond the accelerator's cycles.
#[derive(Debug, Args)]
#[command(next_help_heading = COSTS)]
pub struct CostArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub host: HostArgs,
    /// Report energy by a table: `horowitz-45nm` or a file
    ///
    /// The table has the energy of a multiply-accumulate by type, and of a byte by memory. A file
    /// has `name`, `source`, a part `[mac]` with keys int4, int8, int16, int32, fp16, bf16 and
    /// fp32, as `int8 = { pj = 0.3, source = ".." }`, and a part `[memory]` with `registers` and
    /// `dram`, as `{ pj_per_byte = 100, source = ".." }`, and the list `sram`, as
    /// `[{ bytes = 8192, pj_per_byte = 1.25, source = ".." }]`. A figure that the table lacks is
    /// unknown. The same work costs more on the fabric of an FPGA than by the table of an ASIC.
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub technology: Option<String>,
}

/// Options of preprocessing inputs.
#[derive(Debug, Args)]
#[command(next_help_heading = INPUTS)]
pub struct PreprocessArgs {
    /// Factor for the values of inputs, as `1/255`
    ///
    /// Each value x becomes (x * scale - mean) / std, also in the samples of --calibrate.
    #[arg(long, value_name = "S", value_parser = number, allow_hyphen_values = true)]
    pub scale: Option<f64>,
    /// Subtract after --scale: one or per channel
    #[arg(long, value_name = "M[,M..]", value_parser = number, value_delimiter = ',', allow_hyphen_values = true)]
    pub mean: Vec<f64>,
    /// Divide after --mean: one or per channel
    #[arg(long, value_name = "D[,D..]", value_parser = number, value_delimiter = ',', allow_hyphen_values = true)]
    pub std: Vec<f64>,
    /// Resize images to this size, as `256x256`
    ///
    /// Bilinear, with the results of Pillow. Without --crop, this must be the size of the input.
    #[arg(long, value_name = "WxH", value_parser = size, hide_short_help = true)]
    pub resize: Option<(usize, usize)>,
    /// Crop images to the input's size, around the center
    ///
    /// After --resize. Images must be at least as large as the input.
    #[arg(long, hide_short_help = true)]
    pub crop: bool,
}

/// Option that limits the samples.
#[derive(Debug, Args)]
#[command(next_help_heading = INPUTS)]
pub struct SamplesArgs {
    /// Use only the first N samples
    ///
    /// Of random inputs, N samples are drawn instead of 1.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub samples: Option<u32>,
}

/// When layers are scaled by powers of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Rescale {
    /// If that saturates less on the inputs of --calibrate, and is not further from float
    #[default]
    Auto,
    /// Wherever values do not fit
    Always,
    /// Never
    Never,
}

/// Options for following a target's specification to the letter.
#[derive(Debug, Args)]
#[command(next_help_heading = TARGET)]
pub struct StrictArgs {
    /// Follow the target's specification to the letter, including its known errors
    #[arg(long, hide_short_help = true)]
    pub strict_draft: bool,
}

/// Model to compile for a target.
#[derive(Debug, Args)]
pub struct ModelSourceArgs {
    /// `.onnx` file, frozen TensorFlow graph (`.pb`) or `.tflite` file
    pub model: String,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub reading: ModelArgs,
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    ///
    /// `npu targets` lists them. `@SYSTEM` after a preset or a file selects one of its systems,
    /// `,NAME=VALUE` sets a parameter. Without the option, `NPU_TARGET` or npu.toml selects the
    /// target.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub strict: StrictArgs,
}

/// Model to compile for a target, or artifact.
#[derive(Debug, Args)]
pub struct SourceArgs {
    /// Model (`.onnx`, `.pb`, `.tflite`), artifact manifest, or assembly or binary program
    #[arg(value_name = "MODEL_OR_ARTIFACT")]
    pub path: String,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub model: ModelArgs,
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    ///
    /// `npu targets` lists them; an artifact specifies its own. `@SYSTEM` after a preset or a file
    /// selects one of its systems, `,NAME=VALUE` sets a parameter. Without the option, `NPU_TARGET`
    /// or npu.toml selects the target.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub strict: StrictArgs,
}

/// Options of measuring accuracy.
#[derive(Debug, Args)]
#[command(next_help_heading = ACCURACY)]
pub struct AccuracyArgs {
    /// Labels of the samples: an array or a text
    ///
    /// A text file has one label per line; arrays are `.npy` or `.npz` files.
    #[arg(long, value_name = "[OUTPUT=]FILE")]
    pub labels: Option<String>,
    /// Also report top-K accuracy
    ///
    /// A label is correct for top-K if it is among the K largest scores.
    #[arg(long, value_name = "K", default_value_t = 5, requires = "labels", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: u32,
    /// Number of worst samples to list
    #[arg(long, value_name = "N", default_value_t = 5, requires = "labels", hide_short_help = true)]
    pub worst: u32,
    /// Minimum accuracy, as `0.9` or `90%`
    ///
    /// The exit status is 1 below it.
    #[arg(long, value_name = "SHARE", requires = "labels", value_parser = share)]
    pub min_accuracy: Option<f64>,
}

/// Options for assembly and binary programs.
#[derive(Debug, Args)]
pub struct AsmArgs {
    /// Fill a memory of an assembly program
    ///
    /// Also of a binary program. The values start at address A, by default 0. In `.npy`, `.npz` and
    /// `.csv` files, integers have the memory's own format and floats are rounded to it; each row
    /// starts at a new address. `.hex` files contain bits in hexadecimal.
    #[arg(long, value_name = "NAME[@A]=FILE", help_heading = INPUTS, value_parser = mem_file)]
    pub mem: Vec<MemFile>,
    /// SVG file for the values inside a unit, cycle by cycle, as an animation
    ///
    /// For an assembly or binary program: the step of this number, by default the first one that
    /// has such a drawing. Steps are numbered from 0, as in `npu debug`.
    #[arg(long, value_name = "[STEP=]FILE.svg", help_heading = OUTPUT, value_parser = motion, hide_short_help = true)]
    pub motion: Option<MotionRequest>,
    /// Maximum number of instructions that an assembly or binary program may execute
    #[arg(long, value_name = "N", help_heading = TARGET, hide_short_help = true)]
    pub max_instructions: Option<u64>,
    /// Maximum number of cycles, if the machine counts them
    #[arg(long, value_name = "N", help_heading = TARGET, hide_short_help = true)]
    pub max_cycles: Option<u64>,
}

impl AsmArgs {
    /// Whether any of the options is given.
    pub fn is_used(&self) -> bool {
        !self.mem.is_empty()
            || self.motion.is_some()
            || self.max_instructions.is_some()
            || self.max_cycles.is_some()
    }
}
