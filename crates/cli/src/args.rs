//! The command line. Inputs are `String`s, outputs are `PathBuf`s: by that a test finds all outputs.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::ArgValueCandidates;
use npukit::{MaxError, QuantiseMethod};

use crate::candidates::{networks, target_names, targets};
use crate::options::{CompileOptions, TimeOptions, key_and_value};
use crate::verbosity::{TimingsArgs, Verbosity};

/// One toolchain for open neural-network accelerators.
///
/// `-` in place of a file is standard input or, for an output, standard output. Where content does not say what it is, an
/// ending does: `--input=-.csv`, `npu run -- -.pcp`. A file of that name is `./-`.
#[derive(Debug, Parser)]
#[command(name = "npu", version, about, propagate_version = true)]
pub struct Cli {
    /// Print a report for programs instead of tables
    #[arg(long, global = true)]
    pub json: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub verbosity: Verbosity,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compile a model to the files the board's driver loads
    Compile(CompileArgs),
    /// Run a model or an artifact bit-exactly; a model is compared with float
    Run(RunArgs),
    /// Compute a model in float alone
    Eval(EvalArgs),
    /// Tell how long a model or an artifact takes, and where the time goes
    #[command(visible_alias = "profile")]
    Time(Box<TimeArgs>),
    /// List every node of a model that the target cannot take, and what to change
    Check(CheckArgs),
    /// Check golden vectors, all that are found in the paths
    Conform(ConformArgs),
    /// Run the embedded network over its held-out images
    Demo(DemoArgs),
    /// Let a language model continue a text, token by token
    Generate(GenerateArgs),
    /// List the reference networks, or write one of them as an ONNX file
    Zoo(ZooArgs),
    /// Measure programs and the simulator beside published figures
    Bench(BenchArgs),
    /// Assemble a program
    Asm(AsmArgs),
    /// Disassemble a program
    Disasm(DisasmArgs),
    /// Find what is wrong with a program or an artifact without running it
    Lint(LintArgs),
    /// Lay out the text of a program
    Format(FormatArgs),
    /// Print an instruction set, or one of its instructions
    Isa(IsaArgs),
    /// List the targets and their instances, or the options of a target
    Targets(TargetsArgs),
    /// Compare two reports that other commands have printed with --json
    Diff(DiffArgs),
    /// Print the script that lets a shell complete this command
    Completions(CompletionsArgs),
    /// Write the manual pages of this command
    Man(ManArgs),
}

/// How a model is read.
#[derive(Debug, Args)]
pub struct ModelArgs {
    /// Size of the batch where the model leaves it open, 1 when not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: Option<u32>,
    /// Size of a dimension that the model leaves open and names, as `batch=8`
    #[arg(long = "dim", value_name = "NAME=SIZE", value_parser = dimension)]
    pub sizes: Vec<(String, usize)>,
    /// Shape of an input instead of the model's, as `x=1,3,32,32`
    #[arg(long = "input-shape", value_name = "NAME=SIZES", value_parser = input_shape)]
    pub input_shapes: Vec<(String, Vec<usize>)>,
    /// Values wanted instead of the model's outputs
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub outputs: Vec<String>,
    /// How Resize at opset 10 is read: `asymmetric` with a warning when not given
    #[arg(long, value_enum)]
    pub resize: Option<Resize>,
}

/// How Resize at opset 10 is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Resize {
    /// As the standard says
    Asymmetric,
    /// As TensorFlow's exporter meant it
    HalfPixel,
}

/// What a program means where hardware computes something else than its instructions say.
#[derive(Debug, Args)]
pub struct MeaningArgs {
    /// Take the instructions one after the other even where the hardware computes something else
    #[arg(long, conflicts_with = "hardware")]
    pub sequential: bool,
    /// Compute what the hardware computes, even where the instructions say something else
    #[arg(long)]
    pub hardware: bool,
}

/// How a model's numeric range is chosen.
#[derive(Debug, Args)]
pub struct CalibrationArgs {
    /// Typical inputs: weights and values between layers are scaled by powers of two so that what
    /// these reach fits the number format. Without them nothing is scaled, and a target that takes
    /// integers only is calibrated by made-up inputs
    #[arg(long, value_name = "[NAME=]FILE", num_args = 1..)]
    pub calibrate: Vec<String>,
    /// When to scale
    #[arg(long, value_enum, default_value_t)]
    pub rescale: Rescale,
    /// How a target that takes integers only chooses their scales: `min-max` (nothing saturates on the inputs of
    /// --calibrate), `least-squares` (least error of each tensor) or `percentile=99.9` (so much does not
    /// saturate). Without it `min-max`, unless the outputs for those inputs are nearer to float with `least-squares`
    #[arg(long, alias = "quantize", value_name = "METHOD", value_parser = quantise_method)]
    pub quantise: Option<QuantiseMethod>,
}

/// What is done to the values of inputs.
#[derive(Debug, Args)]
pub struct PreprocessArgs {
    /// Factor for the values of inputs, as `1/255`: each value x becomes (x * scale - mean) / std, also those of
    /// --calibrate
    #[arg(long, value_name = "S", value_parser = number, allow_hyphen_values = true)]
    pub scale: Option<f64>,
    /// What is taken from the values of inputs after --scale: one number, or one for each channel
    #[arg(long, value_name = "M[,M..]", value_parser = number, value_delimiter = ',', allow_hyphen_values = true)]
    pub mean: Vec<f64>,
    /// What the values of inputs are divided by after --mean: one number, or one for each channel
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

/// A model for a target.
#[derive(Debug, Args)]
pub struct ModelSourceArgs {
    /// `.onnx` file, or frozen TensorFlow graph (`.pb`)
    pub model: String,
    /// A target of `npu targets`, alone, as `TARGET:PRESET` or as `TARGET:path/to/file`, the last two with `@SYSTEM` for
    /// one of their systems; else `NPU_TARGET` or npu.toml says it
    #[arg(long, value_name = "TARGET", add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub reading: ModelArgs,
}

/// A model for a target, or an artifact.
#[derive(Debug, Args)]
pub struct SourceArgs {
    /// `.onnx` file, frozen TensorFlow graph (`.pb`), or an artifact's manifest
    #[arg(value_name = "MODEL_OR_ARTIFACT")]
    pub path: String,
    /// For a model: a target of `npu targets`, alone, as `TARGET:PRESET` or as `TARGET:path/to/file`, the last two with
    /// `@SYSTEM` for one of their systems; else `NPU_TARGET` or npu.toml says it
    #[arg(long, value_name = "TARGET", add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub model: ModelArgs,
}

/// `npu compile`
#[derive(Debug, Args)]
pub struct CompileArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub source: ModelSourceArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    /// Folder for the files
    #[arg(short, long, value_name = "DIR", required_unless_present = "emit")]
    pub output: Option<PathBuf>,
    /// Print what the compiler has after a stage: `graph`, or one of the target's
    #[arg(long, value_name = "STAGE", conflicts_with_all = ["output", "timings"])]
    pub emit: Option<String>,
    /// Write test vectors beside the program: these samples, or one made up where no file is given, and what the machine
    /// makes of them bit for bit, as `.npy` and in the format of the target's drivers
    #[arg(long, value_name = "[NAME=]FILE", num_args = 0.., conflicts_with = "emit")]
    pub test_vectors: Option<Vec<String>>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub timings: TimingsArgs,
}

/// How accuracy is measured.
#[derive(Debug, Args)]
pub struct AccuracyArgs {
    /// Labels of the samples, to measure accuracy: `.npy`, `.npz` or a text with one a line
    #[arg(long, value_name = "[OUTPUT=]FILE")]
    pub labels: Option<String>,
    /// Count a label as found among so many of the largest scores, too
    #[arg(long, value_name = "K", default_value_t = 5, requires = "labels", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: u32,
    /// How many of the worst samples to name
    #[arg(long, value_name = "N", default_value_t = 5, requires = "labels")]
    pub worst: u32,
    /// Least accuracy that counts as a success, as `0.9` or `90%`; the exit status is 1 below it
    #[arg(long, value_name = "SHARE", requires = "labels", value_parser = share)]
    pub min_accuracy: Option<f64>,
}

/// `npu run`
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub source: SourceArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    /// Inputs: `.npy`, `.npz`, the target's CSV, pictures (`.png`, `.jpg`), sounds (`.wav`) or folders of these; several
    /// samples follow each other along the first axis, each picture and each sound is one
    #[arg(long = "input", value_name = "[NAME=]FILE", num_args = 1..)]
    pub inputs: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    /// For an artifact: the model it was compiled from, whose names and shapes its inputs and outputs take
    #[arg(long, value_name = "MODEL")]
    pub like: Option<String>,
    /// `.npz` file for the outputs
    #[arg(short, long, value_name = "OUT.npz")]
    pub output: Option<PathBuf>,
    /// Write the machine's integers
    #[arg(long, requires = "output")]
    pub raw: bool,
    /// Compare every layer of a model with float, and tell where the two part ways
    ///
    /// A layer's own error is the machine's result against the layer in float on the machine's own
    /// operands; the chain's is against the whole network in float. They part ways at the first
    /// layer that saturates, or where an element's own error is larger than rounding explains:
    /// half a step for each constant and each product, carried through the layer's operators.
    /// Lookups and the like have no such bound: they part by saturation alone. What is suggested was
    /// tried on these inputs.
    #[arg(long)]
    pub compare: bool,
    /// `.npz` file for every tensor of a model
    ///
    /// `machine/NAME` is what the machine has for the value NAME: inputs, results of layers, outputs.
    /// With --compare, `float/NAME` is the whole network in float, and `layer/NAME` the layer in
    /// float on the machine's operands. All are real values in the model's scale.
    #[arg(long, value_name = "DUMP.npz")]
    pub dump: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub meaning: MeaningArgs,
    /// Largest difference to float that counts as a success, as `0.05` or, of the output's range, `5%`
    ///
    /// The exit status is 1 where an output differs by more, and where outputs tell nothing of the network's: they
    /// differ from float by as much as float's own outputs do from their mean.
    #[arg(long, value_name = "ERROR", value_parser = max_error)]
    pub max_error: Option<MaxError>,
    /// Stop at an instruction that reads memory which nobody has written
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub accuracy: AccuracyArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub timings: TimingsArgs,
}

/// `npu eval`
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// `.onnx` file, or frozen TensorFlow graph (`.pb`)
    pub model: String,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub reading: ModelArgs,
    /// Inputs: `.npy`, `.npz`, pictures (`.png`, `.jpg`), sounds (`.wav`) or folders of these; several samples follow
    /// each other along the first axis, each picture and each sound is one
    #[arg(long = "input", value_name = "[NAME=]FILE", num_args = 1..)]
    pub inputs: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    /// `.npz` file for the outputs
    #[arg(short, long, value_name = "OUT.npz")]
    pub output: Option<PathBuf>,
    /// Evaluate a model that takes far more time or memory than its size suggests, too
    #[arg(long)]
    pub no_limit: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub accuracy: AccuracyArgs,
}

/// `npu time`
#[derive(Debug, Args)]
pub struct TimeArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub source: SourceArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub options: TimeOptions,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub meaning: MeaningArgs,
    /// Report from a file of the hardware's performance samples instead
    #[arg(long, value_name = "FILE")]
    pub from_samples: Option<String>,
    /// Write the performance samples that the hardware would give, 64-bit words as its driver finds them
    #[arg(long, value_name = "FILE")]
    pub samples: Option<PathBuf>,
    /// Write what each unit does when, for <https://ui.perfetto.dev>: as protobuf, which is small, when
    /// the name ends in .pftrace or .perfetto-trace; in the format of the target's own tools when it ends
    /// as theirs do; else as Chrome's JSON
    #[arg(long, value_name = "OUT.pftrace")]
    pub trace: Option<PathBuf>,
    /// Trace these layers only: a name, a pattern with *, or the first and the last one as A..B
    #[arg(long, value_name = "LAYER", requires = "trace")]
    pub trace_range: Option<String>,
    /// Write what every part of the machine does in each cycle, as text
    #[arg(long, value_name = "OUT.txt")]
    pub cycles: Option<PathBuf>,
    /// Write the cycles of each instruction
    #[arg(long, value_name = "OUT.csv")]
    pub by_instruction: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub timings: TimingsArgs,
}

/// `npu check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub source: ModelSourceArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub timings: TimingsArgs,
}

/// `npu conform`
#[derive(Debug, Args)]
pub struct ConformArgs {
    /// A target of `npu targets`
    #[arg(add = ArgValueCandidates::new(target_names))]
    pub target: String,
    /// Files, and folders that are searched
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<String>,
}

/// `npu demo`
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// A target of `npu targets`, alone, as `TARGET:PRESET` or as `TARGET:path/to/file`, the last two with `@SYSTEM` for
    /// one of their systems; else `NPU_TARGET` or npu.toml says it
    #[arg(long, value_name = "TARGET", add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
}

/// `npu generate`
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// Text to continue, as `123+456=`
    #[arg(required_unless_present = "accuracy", conflicts_with = "accuracy")]
    pub prompt: Option<String>,
    /// Description of the model, a `.toml` file with its weights beside it; the embedded adder when not given
    #[arg(long, value_name = "MODEL.toml")]
    pub model: Option<String>,
    /// Machine to run it on; float when not given, whatever `NPU_TARGET` and npu.toml say
    #[arg(long, value_name = "TARGET", add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    /// An option of the target's own, as `npu targets TARGET --options` lists them; may be given several times
    #[arg(long = "option", value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub options: Vec<(String, String)>,
    /// Most tokens to generate, as far as the model has room; 256 when not given
    #[arg(long, value_name = "N")]
    pub tokens: Option<usize>,
    /// Tell where the time of the last token goes
    #[arg(long, conflicts_with = "accuracy")]
    pub profile: bool,
    /// Folder for the files of the last token's program
    #[arg(short, long, value_name = "DIR", conflicts_with = "accuracy")]
    pub output: Option<PathBuf>,
    /// Ask about held-out texts instead, and tell how many answers are exactly right
    #[arg(long)]
    pub accuracy: bool,
    /// Held-out texts, lines of a prompt, a tab and the answer; those of the embedded model when not given
    #[arg(long, value_name = "FILE", requires = "accuracy")]
    pub held_out: Option<String>,
}

/// `npu zoo`
#[derive(Debug, Args)]
pub struct ZooArgs {
    /// The network to write
    #[arg(requires = "output", add = ArgValueCandidates::new(networks))]
    pub network: Option<String>,
    /// `.onnx` file
    #[arg(short, long, value_name = "OUT.onnx", requires = "network")]
    pub output: Option<PathBuf>,
    /// What the weights follow from
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

/// `npu bench`
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Only this table
    #[arg(value_enum)]
    pub table: Option<BenchTable>,
    /// Only these networks and instances, as `resnet20v2` or `zcu104`
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<String>,
    /// How often the host's time is taken; the median counts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// What weights and inputs follow from
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

/// A table of `npu bench`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchTable {
    /// How good compiled programs are
    Programs,
    /// How fast the simulator is
    Speed,
}

/// `npu asm`
#[derive(Debug, Args)]
pub struct AsmArgs {
    /// Source file
    pub file: String,
    /// A target of `npu targets`, alone, as `TARGET:PRESET` or as `TARGET:path/to/file`, the last two with `@SYSTEM` for
    /// one of their systems; else `NPU_TARGET` or npu.toml says it
    #[arg(long, value_name = "TARGET", add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    /// File for the words
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
}

/// `npu disasm`
#[derive(Debug, Args)]
pub struct DisasmArgs {
    /// Program file
    pub file: String,
    /// A target of `npu targets`, alone, as `TARGET:PRESET` or as `TARGET:path/to/file`, the last two with `@SYSTEM` for
    /// one of their systems; else `NPU_TARGET` or npu.toml says it
    #[arg(long, value_name = "TARGET", add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    /// Form of the listing: `npukit` (the default, it assembles again) or `upstream`
    #[arg(long, value_name = "FORM")]
    pub format: Option<String>,
    /// File for the listing instead of standard output
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
}

/// `npu lint`
#[derive(Debug, Args)]
pub struct LintArgs {
    /// An artifact's manifest, a file of words, or assembly text
    #[arg(value_name = "PROGRAM_OR_ARTIFACT")]
    pub path: String,
    /// A target of `npu targets`, alone, as `TARGET:PRESET` or as `TARGET:path/to/file`; an artifact knows it,
    /// and else `NPU_TARGET` or npu.toml says it
    #[arg(long, value_name = "TARGET", add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
}

/// `npu format`
#[derive(Debug, Args)]
pub struct FormatArgs {
    /// Source file
    pub file: String,
    /// A target whose programs have a layout, as in other commands
    #[arg(long, value_name = "TARGET", add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    /// Print nothing, and fail if the file is laid out otherwise
    #[arg(long, conflicts_with = "output")]
    pub check: bool,
    /// File for the text instead of standard output; may be the source file
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
}

/// `npu targets`
#[derive(Debug, Args)]
pub struct TargetsArgs {
    /// Only this one
    #[arg(value_name = "TARGET", add = ArgValueCandidates::new(target_names))]
    pub target: Option<String>,
    /// List its options instead of its instances
    #[arg(long, requires = "target")]
    pub options: bool,
}

/// `npu diff`
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// What a command has printed with --json
    #[arg(value_name = "A.json")]
    pub before: String,
    /// What the same command has printed another time
    #[arg(value_name = "B.json")]
    pub after: String,
    /// How much worse a figure may become, in percent of the first; the exit status is 1 where one becomes worse
    ///
    /// Fewer is better for cycles, times, bytes, errors and what saturates; more is better for accuracy, utilisation
    /// and signal to noise. What is neither, as the number of layers, is shown and not judged.
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub threshold: Option<f64>,
}

/// `npu completions`
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell; its start file evaluates the script, as `source <(npu completions bash)`
    #[arg(value_enum)]
    pub shell: Shell,
}

/// A shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash
    Bash,
    /// The Z shell
    Zsh,
    /// fish
    Fish,
}

/// `npu man`
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Folder for the pages
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Date that the pages bear, none when not given
    #[arg(long, value_name = "YYYY-MM-DD", default_value = "", hide_default_value = true)]
    pub date: String,
}

/// `npu isa`
#[derive(Debug, Args)]
pub struct IsaArgs {
    /// A target of `npu targets`, alone, as `TARGET:PRESET` or as `TARGET:path/to/file`; the last two with `@SYSTEM`
    /// for one of their systems
    #[arg(add = ArgValueCandidates::new(targets))]
    pub target: String,
    /// Only this one
    pub instruction: Option<String>,
    /// Form of the page
    #[arg(long, value_enum, default_value_t)]
    pub format: PageFormat,
}

/// Form of a reference page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PageFormat {
    /// For a terminal
    #[default]
    Text,
    /// For a book
    Markdown,
    /// For programs
    Json,
}

/// `batch=8`
fn dimension(text: &str) -> Result<(String, usize), String> {
    // Exporters call dimensions `a=b` at times: the last sign counts.
    let (name, size) = text.rsplit_once('=').ok_or("must be NAME=SIZE, as `batch=8`")?;
    let size =
        size.trim().parse().map_err(|_| format!("`{size}` is no size: sizes are whole numbers from 0"))?;
    Ok((name.to_owned(), size))
}

/// `0.5` or `1/255`
fn number(text: &str) -> Result<f64, String> {
    let (dividend, divisor) = text.split_once('/').unwrap_or((text, "1"));
    let finite = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let quotient = finite(dividend).zip(finite(divisor)).map(|(dividend, divisor)| dividend / divisor);
    quotient
        .filter(|number| number.is_finite())
        .ok_or_else(|| "must be a number, as `0.5` or `1/255`".to_owned())
}

fn max_error(text: &str) -> Result<MaxError, String> {
    MaxError::parse(text)
        .ok_or_else(|| "give a number from 0, as `0.05`, or a share of the range, as `5%`".to_owned())
}

/// `0.9` or `90%`
fn share(text: &str) -> Result<f64, String> {
    let (number, whole) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.trim().parse::<f64>().ok().map(|number| number / whole);
    let legal = share.filter(|share| (0.0..=1.0).contains(share));
    legal.ok_or_else(|| "must be a share from 0 to 1, as `0.9` or `90%`".to_owned())
}

/// `2.5`
fn percentage(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>().ok();
    number.filter(|number| *number >= 0.0).ok_or_else(|| "must be a number from 0, as `2.5`".to_owned())
}

/// `least-squares`
fn quantise_method(text: &str) -> Result<QuantiseMethod, String> {
    let legal = "must be `least-squares`, `min-max` or `percentile=P` with 50 to 100 for P";
    npukit::quantise_method(text).ok_or_else(|| legal.to_owned())
}

/// `x=1,3,32,32`
fn input_shape(text: &str) -> Result<(String, Vec<usize>), String> {
    let (name, sizes) = text.split_once('=').ok_or("must be NAME=SIZES, as `x=1,3,32,32`")?;
    let size = |size: &str| {
        let size = size.trim();
        size.parse().map_err(|_| format!("`{size}` is no size: sizes are whole numbers from 0"))
    };
    Ok((name.to_owned(), sizes.split(',').map(size).collect::<Result<_, _>>()?))
}

#[cfg(test)]
#[path = "../tests/main/faults/table.rs"]
#[expect(dead_code, reason = "the fault suite in `tests` has use for all of it")]
mod table;

#[cfg(test)]
mod tests {
    use std::any::TypeId;

    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Every verb that writes is in the fault suite with every option that names an output.
    #[test]
    fn every_output_has_a_row_of_the_fault_suite() {
        let lines: Vec<Vec<&str>> =
            table::ROWS.iter().flat_map(|row| [row.makes(), row.replaces()]).collect();
        let mut verbs = Vec::new();
        for verb in Cli::command().get_subcommands() {
            let is_output = |arg: &&clap::Arg| arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
            for output in verb.get_arguments().filter(is_output) {
                let name = verb.get_name().to_owned();
                let long = output.get_long().map(|long| format!("--{long}"));
                let short = output.get_short().map(|short| format!("-{short}"));
                let is_named =
                    |word: &&str| long.as_deref() == Some(*word) || short.as_deref() == Some(*word);
                let has_row = lines.iter().any(|line| line[0] == name && line.iter().any(&is_named));
                assert!(has_row, "{name} {long:?} is in no row of tests/main/faults/table.rs");
                verbs.push(name);
            }
        }
        verbs.dedup();
        assert_eq!(
            verbs,
            ["compile", "run", "eval", "time", "generate", "zoo", "asm", "disasm", "format", "man"]
        );
    }

    #[test]
    fn numbers_may_be_quotients() {
        assert_eq!(number("0.5"), Ok(0.5));
        assert_eq!(number("-1/ 4"), Ok(-0.25));
        for none in ["", "x", "1/0", "nan", "inf", "1/2/3", "/2"] {
            assert!(number(none).is_err(), "{none}");
        }
    }

    #[test]
    fn shapes_are_parsed() {
        assert_eq!(input_shape("x=1, 3,8"), Ok(("x".to_owned(), vec![1, 3, 8])));
        assert!(input_shape("x").is_err() && input_shape("x=1,a").is_err());
        assert_eq!(dimension("batch=8"), Ok(("batch".to_owned(), 8)));
        assert_eq!(dimension("n//2=x=4"), Ok(("n//2=x".to_owned(), 4)));
        assert!(dimension("batch").is_err() && dimension("batch=-1").is_err());
    }
}
