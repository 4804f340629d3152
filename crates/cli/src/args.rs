//! The command line. Inputs are `String`s, outputs are `PathBuf`s: by that a test finds all outputs.

use std::path::PathBuf;

use clap::{Arg, Args, ColorChoice, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::ArgValueCandidates;
use npukit::verbs::verify::bounds::Radius;
use npukit::{GivenRange, MaxError, MemFile, QuantiseMethod};

use crate::candidates::{instructions, lints, networks, stages, target_names, targets, terms};
use crate::endings::{ARRAYS, named};
use crate::examples;
use crate::options::{CompileOptions, TimeOptions, key_and_value};
use crate::table::TableArgs;

/// Heading in the help: how a model is read. Those of the options of targets are in [`crate::options`].
const MODEL: &str = "Model";
/// The accelerator, and how it takes the model.
pub const TARGET: &str = "Target";
/// How numbers fit the number format.
const NUMBERS: &str = "Numbers";
/// What is computed with.
const INPUTS: &str = "Inputs";
/// What results are compared with.
const ACCURACY: &str = "Accuracy";
/// What is written and printed.
const OUTPUT: &str = "Output";
use crate::verbosity::{TimingsArgs, Verbosity};

/// One toolchain for open neural-network accelerators.
///
/// `-` in place of a file is standard input or, for an output, standard output. Where content does not say what it is, an
/// ending does: `--input=-.csv`, `npu run -- -.pcp`. A file of that name is `./-`.
#[derive(Debug, Parser)]
#[command(name = "npu", version, propagate_version = true)]
// The flag of our own says more than the parser's, and does not end the parse.
#[command(
    disable_version_flag = true,
    arg_required_else_help = true,
    override_usage = "npu [OPTIONS] <COMMAND>"
)]
pub struct Cli {
    /// Print a report for programs instead of tables
    #[arg(long, global = true)]
    pub json: bool,
    /// When to colour: a terminal has colours unless told otherwise
    ///
    /// `NO_COLOR` and `TERM=dumb` say no, `CLICOLOR_FORCE` yes.
    #[arg(long, global = true, value_name = "WHEN", alias = "colour", hide_short_help = true)]
    #[arg(value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
    /// Lay tables out for lines of N characters
    ///
    /// Without it the terminal says how many; without a terminal there is no end.
    #[arg(long, global = true, value_name = "N", hide_short_help = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(20..))]
    pub width: Option<u16>,
    /// Search anew for what an earlier compilation has found
    ///
    /// Programs are the same with and without: what is kept is how they were found. It lies below the user's cache folder,
    /// at most 64 MiB, or in the folder that `NPU_CACHE` names; where that is empty, it ends with the command.
    #[arg(long, global = true, hide_short_help = true)]
    pub no_cache: bool,
    /// Print the version; with --verbose also what this command is built of
    #[arg(short = 'V', long)]
    pub version: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub verbosity: Verbosity,
    /// What to do
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The command line, with the examples of each verb.
pub fn command() -> clap::Command {
    with_paths(examples::attach(Cli::command()))
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compile a model to the files the board's driver loads
    Compile(CompileArgs),
    /// Run a model or an artifact bit-exactly; a model is compared with float
    Run(Box<RunArgs>),
    /// Compute a model in float alone
    Eval(EvalArgs),
    /// Tell how long a model or an artifact takes, and where the time goes (also `npu profile`)
    #[command(alias = "profile")] // a visible one is offered by shells instead of the name
    Time(Box<TimeArgs>),
    /// Write every tensor of a run as an array: of a model in float, or of a program on the machine
    Trace(TraceArgs),
    /// Step through a program, forwards and backwards, and look into its memories
    Debug(Box<DebugArgs>),
    /// List every node of a model that the target cannot take, and what to change
    Check(CheckArgs),
    /// Prove that a program computes its model, for all inputs
    Verify(VerifyArgs),
    /// Show what a model or an artifact does on a page for a browser, or in figures
    Report(Box<ReportArgs>),
    /// Compile models for many machines, and tell which no other beats
    Explore(Box<ExploreArgs>),
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
    /// Serve an editor: a language server for program text, on standard input and output
    Lsp(LspArgs),
    /// Print an instruction set, or one of its instructions
    Isa(IsaArgs),
    /// Write an accelerator as a circuit: SystemVerilog, and lists of files for tools
    Rtl(RtlArgs),
    /// Run a program on the circuit of its machine, and compare all with the machine and its clock
    Cosim(Box<CosimArgs>),
    /// Tell what a host writes and reads: registers, commands, status, completion
    Host(HostArgs),
    /// Explain the terms of the field, of npukit and of its targets
    Glossary(GlossaryArgs),
    /// List the targets and their instances, or the options of a target
    Targets(TargetsArgs),
    /// Compare reports printed with --json, or values: tensor by tensor, in the order of layers
    Diff(Box<DiffArgs>),
    /// Print the script that lets a shell complete this command
    Completions(CompletionsArgs),
    /// Write the manual pages of this command
    Man(ManArgs),
}

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
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT, required_unless_present = "emit")]
    pub output: Option<PathBuf>,
    /// Print what the compiler has after a stage
    ///
    /// Stages are `graph` and those of the target; an unknown name is answered with the list.
    #[arg(long, value_name = "STAGE", help_heading = OUTPUT, conflicts_with_all = ["output", "timings"])]
    #[arg(add = ArgValueCandidates::new(stages))]
    pub emit: Option<String>,
    /// Write test vectors beside the program: samples and their bit-exact results
    ///
    /// The samples are those of the files, or one made up where no file is given. They and what the machine makes of them
    /// bit for bit are written as `.npy` and in the format of the target's drivers.
    #[arg(long, value_name = "[NAME=]FILE", help_heading = OUTPUT, num_args = 0.., conflicts_with = "emit")]
    pub test_vectors: Option<Vec<String>>,
    /// Prove the program, and write a certificate beside it
    ///
    /// As `npu verify` does, of the program as its files hold it. The certificate is `NAME.certificate.json`, which `npu
    /// verify --certificate` checks. Where the program is not proved, nothing is written and the exit status is 1.
    #[arg(long, help_heading = OUTPUT, conflicts_with = "emit")]
    pub verify: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub timings: TimingsArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
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

/// `npu run`
#[derive(Debug, Args)]
#[command(mut_args(of_comparison))]
pub struct RunArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub source: SourceArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    /// Arrays, pictures, sounds, or folders of these
    ///
    /// Files end in `.npy`, `.npz`, `.csv` (as the target's tools write it), `.png`, `.jpg` or `.wav`. Several samples
    /// follow each other along the first axis, each picture and each sound is one.
    #[arg(long = "input", value_name = "[NAME=]FILE", help_heading = INPUTS, num_args = 1..)]
    pub inputs: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub state: StateArgs,
    /// Model of an artifact, for names and shapes
    ///
    /// The inputs and outputs of the artifact take those of the model it was compiled from.
    #[arg(long, value_name = "MODEL", help_heading = MODEL)]
    pub like: Option<String>,
    /// Compare every layer with float
    ///
    /// Tells where the two part ways, too. A layer's own error is the machine's result against the layer in float on the
    /// machine's own operands; the chain's is against the whole network in float. They part ways at the first layer that
    /// saturates, or where an element's own error is larger than rounding explains: half a step for each constant and
    /// each product, carried through the layer's operators. Lookups and the like have no such bound: they part by
    /// saturation alone. What is suggested was tried on these inputs.
    ///
    /// With a file, an `.npy` or `.npz`, compare its arrays with the outputs bit for bit instead: what a driver read from a
    /// board. Whole numbers are the machine's integers. The exit status is 1 where they differ.
    #[arg(long, value_name = "[NAME=]FILE", help_heading = ACCURACY, num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub compare: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub meaning: MeaningArgs,
    /// Largest error that passes, as `0.05` or `5%`
    ///
    /// It is the largest difference to float; a percentage is one of the output's range.
    /// The exit status is 1 where an output differs by more, and where outputs tell nothing of the network's: they
    /// differ from float by as much as float's own outputs do from their mean.
    #[arg(long, value_name = "ERROR", help_heading = ACCURACY, value_parser = max_error)]
    pub max_error: Option<MaxError>,
    /// Fail where outputs are unreliable
    ///
    /// The exit status is 1 where inputs saturate or the signal-to-noise ratio of the outputs is below 20 dB, as with
    /// --max-error and --min-accuracy. Without these options that is a warning.
    #[arg(long, help_heading = ACCURACY)]
    pub strict: bool,
    /// Stop at a read of memory that nobody has written
    #[arg(long, help_heading = TARGET)]
    pub check: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub accuracy: AccuracyArgs,
    /// `.npz` file for the outputs
    #[arg(short, long, value_name = "OUT.npz", help_heading = OUTPUT, value_parser = named(ARRAYS))]
    pub output: Option<PathBuf>,
    /// Write the machine's integers
    #[arg(long, help_heading = OUTPUT, requires = "output", hide_short_help = true)]
    pub raw: bool,
    /// `.npz` file for every tensor of a model, or a memory
    ///
    /// `machine/NAME` is what the machine has for the value NAME: inputs, results of layers, outputs.
    /// With --compare, `float/NAME` is the whole network in float, and `layer/NAME` the layer in
    /// float on the machine's operands. All are real values in the model's scale.
    ///
    /// Of a program in text or words, `NAME[A:B]` is shown of the memory NAME after the run, as `acc[0:4]`; with `=FILE`
    /// behind it, it is written: `.npy`, `.npz`, `.csv` or `.hex`.
    #[arg(long, value_name = "DUMP", help_heading = OUTPUT)]
    pub dump: Vec<String>,
    /// Waveforms of what each unit does when, for GTKWave and Surfer
    ///
    /// Beside them are how GTKWave (`.gtkw`) and Surfer (`.sucl`) show them: `gtkwave x.gtkw`,
    /// `surfer x.fst --command-file x.sucl`.
    #[arg(long, value_name = "OUT.fst", help_heading = OUTPUT, value_parser = named(&["fst"]), hide_short_help = true)]
    pub waves: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub hand: HandArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub view: TableArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub timings: TimingsArgs,
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

fn mem_file(text: &str) -> Result<MemFile, String> {
    MemFile::parse(text)
        .ok_or_else(|| "must be NAME=FILE or NAME@ADDRESS=FILE, as `dram0@0x100=x.npy`".to_owned())
}

/// `npu eval`
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// `.onnx` file, frozen TensorFlow graph (`.pb`) or `.tflite` file
    pub model: String,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub reading: ModelArgs,
    /// Arrays, pictures, sounds, or folders of these
    ///
    /// Files end in `.npy`, `.npz`, `.png`, `.jpg` or `.wav`. Several samples follow each other along the first axis,
    /// each picture and each sound is one.
    #[arg(long = "input", value_name = "[NAME=]FILE", help_heading = INPUTS, num_args = 1..)]
    pub inputs: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub state: StateArgs,
    /// `.npz` file for the outputs
    #[arg(short, long, value_name = "OUT.npz", help_heading = OUTPUT, value_parser = named(ARRAYS))]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub accuracy: AccuracyArgs,
}

/// `npu time`
#[derive(Debug, Args)]
#[command(mut_arg("rows", |arg| arg.visible_alias("top")))]
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
    pub meaning: MeaningArgs,
    /// Report from a file of performance samples instead
    ///
    /// They are the words of the hardware's sampling unit, ours or a board's.
    #[arg(long, value_name = "FILE", help_heading = INPUTS)]
    pub from_samples: Option<String>,
    /// Write the hardware's performance samples
    ///
    /// They are 64-bit words, as its driver finds them.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub samples: Option<PathBuf>,
    /// Write what each unit does when, for Perfetto
    ///
    /// <https://ui.perfetto.dev> opens it. The trace is protobuf, which is small, when the name ends in .pftrace or .perfetto-trace; waveforms when it ends in .fst; of the format of the
    /// target's own tools when it ends as theirs do; else Chrome's JSON.
    #[arg(long, value_name = "OUT.pftrace", help_heading = OUTPUT)]
    pub trace: Option<PathBuf>,
    /// Layers to trace: a name, a pattern or A..B
    ///
    /// A pattern has a `*`; A and B are the first and the last layer.
    #[arg(long, value_name = "LAYER", help_heading = OUTPUT, requires = "trace")]
    pub trace_range: Option<String>,
    /// Write what every part does in each cycle
    #[arg(long, value_name = "OUT.txt", help_heading = OUTPUT)]
    pub cycles: Option<PathBuf>,
    /// Write the cycles of each instruction
    #[arg(long, value_name = "OUT.csv", help_heading = OUTPUT)]
    pub by_instruction: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub options: TimeOptions,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub view: TableArgs,
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
    /// Compile the model: memories, cycles and latency are those of a program
    ///
    /// `--calibrate` does so too, and measures values on its samples.
    #[arg(long, help_heading = OUTPUT)]
    pub compile: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub timings: TimingsArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
}

/// `npu verify`
#[derive(Debug, Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub source: ModelSourceArgs,
    /// Manifest of an artifact of the model, which is proved as it is
    ///
    /// It knows its target; the model is not compiled.
    #[arg(long, value_name = "ARTIFACT", help_heading = TARGET, conflicts_with = "target")]
    pub artifact: Option<String>,
    /// Certificate to check, by making its proof again
    ///
    /// Model and program have to be the files that it names by their hashes, and the proof is made with its own seeds,
    /// and those of `--seed`. The exit status is 0 only when all that it says is so.
    #[arg(long, value_name = "FILE", help_heading = INPUTS, conflicts_with = "output")]
    pub certificate: Option<String>,
    /// Write a certificate of the proof
    ///
    /// It has the hashes of model and program, seeds, field, what is covered and what is assumed. A program that is not
    /// proved has none.
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    /// Number that the inputs of a run are made of; 1 and 2 when not given
    #[arg(long = "seed", value_name = "N", help_heading = INPUTS, hide_short_help = true)]
    pub seeds: Vec<u64>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub bounds: BoundsArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub timings: TimingsArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
}

/// What `npu verify` says of errors.
#[derive(Debug, Args)]
pub struct BoundsArgs {
    /// Bounds errors and saturation for all inputs of their ranges, too
    #[arg(long, help_heading = INPUTS)]
    pub bounds: bool,
    /// Samples that inputs are about
    ///
    /// As for `npu run`. Each has a range of its own, of itself alone where `--radius` does not say more. They are run as
    /// well, to be compared with the bounds.
    #[arg(long = "input", value_name = "[NAME=]FILE", help_heading = INPUTS, num_args = 1.., requires = "bounds")]
    pub inputs: Vec<String>,
    /// Each number is at most so far from a sample's; `half` is half a step of the machine's numbers
    ///
    /// With `half` inputs are those that the machine cannot tell from a sample: it rounds them to the same numbers.
    #[arg(long, value_name = "R|half", help_heading = INPUTS, requires = "inputs", value_parser = radius)]
    pub radius: Option<Radius>,
    /// One range for all samples: each number is anywhere between the least and the largest that it is in them
    #[arg(long, help_heading = INPUTS, requires = "inputs")]
    pub hull: bool,
    /// Bounds errors also for results that are rounded by half a step whichever way, not as the machine does
    ///
    /// Then a bound does not depend on luck with the numbers of a sample.
    #[arg(long, help_heading = INPUTS, requires = "bounds")]
    pub any_rounding: bool,
    /// Inputs to draw from the ranges and to run, to be compared with the bounds
    #[arg(long, value_name = "N", help_heading = INPUTS, requires = "bounds", default_value_t = 100, hide_short_help = true)]
    pub random: usize,
}

/// A distance: no less than 0, and finite.
fn radius(text: &str) -> Result<Radius, String> {
    if text == "half" {
        return Ok(Radius::Half);
    }
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.map(Radius::Of).ok_or_else(|| "a radius is a number, 0 or more, or `half`".to_owned())
}

/// `npu report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub source: SourceArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    /// Samples to run, each layer beside float
    ///
    /// As for `npu run`. Without them nothing is known of values.
    #[arg(long = "input", value_name = "[NAME=]FILE", help_heading = INPUTS, num_args = 1..)]
    pub inputs: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub meaning: MeaningArgs,
    /// The page: one file, which opens without a network
    #[arg(short, long, value_name = "FILE.html", help_heading = OUTPUT, value_parser = named(&["html", "htm"]))]
    pub output: Option<PathBuf>,
    /// A page, or what `npu report --json` printed, to stand beside this one
    ///
    /// Of another target, another strategy or another version.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub against: Option<String>,
    /// Folder for figures: `roofline.svg`, `timeline.svg`
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub svg: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub options: TimeOptions,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub timings: TimingsArgs,
}

/// `npu explore`
#[derive(Debug, Args)]
pub struct ExploreArgs {
    /// `.onnx` files, frozen TensorFlow graphs (`.pb`) or `.tflite` files
    ///
    /// A point is a machine for all of them.
    #[arg(value_name = "MODEL", required = true)]
    pub models: Vec<String>,
    /// What may be chosen: targets, parameters, options, conditions and objectives
    #[arg(long, value_name = "SPACE.toml")]
    pub space: String,
    /// So many points of the space, by chance, instead of all
    #[arg(long, value_name = "N")]
    pub sample: Option<usize>,
    /// What the chance follows from
    #[arg(long, default_value_t = 0, hide_short_help = true)]
    pub seed: u64,
    /// Compile points too of which a bound tells that others beat them
    #[arg(long)]
    pub exhaustive: bool,
    /// Compile the first layers for all points, and all layers for those that did best
    ///
    /// Three rounds compile an eighth, a quarter and a half of the products, and after each the better half of the points
    /// goes on. Nothing proves that those left behind are worse; they are told apart.
    #[arg(long)]
    pub halve: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub reading: ModelArgs,
    /// Samples on which each program runs, beside float
    ///
    /// As for `npu run`. Without them nothing is known of errors and accuracy.
    #[arg(long = "input", value_name = "[NAME=]FILE", help_heading = INPUTS, num_args = 1..)]
    pub inputs: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    /// Every point: `.csv`, or `.jsonl` for a line of JSON each
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT, value_parser = named(&["csv", "jsonl"]))]
    pub output: Option<PathBuf>,
    /// A file to which each point is added as it is known, and from which an exploration goes on
    ///
    /// It may be ended at any moment: started again with the same file it does nothing twice, and loses nothing.
    // An input, too: it grows, and never takes the place of another.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub resume: Option<String>,
    /// A picture of the points by the first two objectives
    #[arg(long, value_name = "FILE.svg", help_heading = OUTPUT, value_parser = named(&["svg"]))]
    pub svg: Option<PathBuf>,
    /// A page for a browser with all points, to choose among them
    #[arg(long, value_name = "FILE.html", help_heading = OUTPUT, value_parser = named(&["html", "htm"]))]
    pub html: Option<PathBuf>,
    /// The best point by a figure, as `latency`
    #[arg(long, value_name = "FIGURE", help_heading = OUTPUT)]
    pub best: Option<String>,
    /// What the best point must be, as `bram <= 140 and argmax_agree >= 0.99`
    #[arg(long = "where", value_name = "CONDITION", help_heading = OUTPUT, requires = "best")]
    pub condition: Option<String>,
    /// Folder for the architecture file of the best point and for its programs
    #[arg(long, value_name = "DIR", help_heading = OUTPUT, requires = "best")]
    pub write: Option<PathBuf>,
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
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub view: TableArgs,
}

/// `npu demo`
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    ///
    /// `npu targets` lists them. `@SYSTEM` behind a preset or a file is one of its systems,
    /// `,NAME=VALUE` a parameter of its own. Without the option
    /// `NPU_TARGET` or npu.toml says it.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
}

/// `npu generate`
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// Text to continue, as `123+456=`
    #[arg(required_unless_present = "accuracy", conflicts_with = "accuracy")]
    pub prompt: Option<String>,
    /// Description of the model, else the embedded adder
    ///
    /// A `.toml` file with its weights beside it.
    #[arg(long, value_name = "MODEL.toml", help_heading = MODEL)]
    pub model: Option<String>,
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE, else float
    ///
    /// `npu targets` lists them. `NPU_TARGET` and npu.toml do not count here.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    /// Option of the target's own; `npu targets TARGET --options` lists them
    ///
    /// May be given several times.
    #[arg(long = "option", value_name = "KEY=VALUE", help_heading = TARGET, value_parser = key_and_value)]
    pub options: Vec<(String, String)>,
    /// Most tokens to generate, as far as the model has room; 256 when not given
    #[arg(long, value_name = "N", help_heading = OUTPUT)]
    pub tokens: Option<usize>,
    /// Tell where the time of the last token goes
    #[arg(long, help_heading = OUTPUT, conflicts_with = "accuracy")]
    pub profile: bool,
    /// Folder for the files of the last token's program
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT, conflicts_with = "accuracy")]
    pub output: Option<PathBuf>,
    /// Ask about held-out texts instead, and tell how many answers are exactly right
    #[arg(long, help_heading = ACCURACY)]
    pub accuracy: bool,
    /// Held-out texts, else those of the embedded model
    ///
    /// Lines of a prompt, a tab and the answer.
    #[arg(long, value_name = "FILE", help_heading = ACCURACY, requires = "accuracy")]
    pub held_out: Option<String>,
}

/// `npu zoo`
#[derive(Debug, Args)]
pub struct ZooArgs {
    /// The network to write
    #[arg(requires = "output", add = ArgValueCandidates::new(networks))]
    pub network: Option<String>,
    /// `.onnx` file
    #[arg(short, long, value_name = "OUT.onnx", help_heading = OUTPUT, value_parser = named(&["onnx"]), requires = "network")]
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
    /// Folder of the networks of MLPerf Tiny (`*.tflite`), for `npu bench accuracy`
    #[arg(long, value_name = "DIR")]
    pub models: Option<String>,
    /// Accelerators of `npu bench accuracy`; the default instance of each when not given
    #[arg(long, value_name = "TARGET", num_args = 1.., add = ArgValueCandidates::new(targets))]
    pub targets: Vec<String>,
    /// Seeded inputs of each network, for `npu bench accuracy`
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub samples: u32,
    /// Do this task of the compiler alone, and print its seconds and its memory: what `npu bench compile` starts
    #[arg(long, value_name = "TASK", hide = true)]
    pub alone: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub view: TableArgs,
}

/// A table of `npu bench`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchTable {
    /// How good compiled programs are
    Programs,
    /// How fast the simulator is
    Speed,
    /// How fast the compiler is, with the memory it takes
    Compile,
    /// How accurate the trained networks of a folder are on the machines
    Accuracy,
}

/// `npu asm`
#[derive(Debug, Args)]
pub struct AsmArgs {
    /// Source file
    pub file: String,
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
    /// File for the words
    #[arg(short, long, value_name = "OUT", help_heading = OUTPUT)]
    pub output: PathBuf,
    /// File for the source map instead of OUT.map
    ///
    /// It says where each word comes from in the text, which it has with it. `npu run`, `npu lint` and `npu disasm` of words
    /// with a map beside them tell lines and show them. Words on standard output have none unless it is named.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT, conflicts_with = "no_map")]
    pub map: Option<PathBuf>,
    /// Write no source map
    #[arg(long, help_heading = OUTPUT)]
    pub no_map: bool,
    /// File for a listing: each line with the address and the bytes of what it becomes, then the symbols
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub listing: Option<PathBuf>,
}

/// `npu host`
#[derive(Debug, Args)]
pub struct HostArgs {
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    #[arg(add = ArgValueCandidates::new(targets))]
    pub target: String,
    /// What is asked
    #[arg(value_enum)]
    pub what: HostQuestion,
    /// Commands in text or words, words of status, or a program
    #[arg(required_if_eq_any([("what", "commands"), ("what", "status"), ("what", "accesses"), ("what", "answers")]))]
    pub file: Option<String>,
    /// Description of the language model that answers, else the embedded adder
    #[arg(long, value_name = "MODEL.toml", help_heading = MODEL)]
    pub model: Option<String>,
    /// First address of the driver's memory
    #[arg(long, value_name = "ADDRESS", help_heading = TARGET, value_parser = address, default_value = "0x10000000")]
    pub base: u64,
    /// File for the other form: words of a text, text of words, status of answers
    #[arg(short, long, value_name = "OUT", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
}

/// What is asked of the host's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HostQuestion {
    /// Registers, and the bits of words
    Map,
    /// A stream of commands: text to words, and words to text
    Commands,
    /// Words of status
    Status,
    /// What a driver writes and reads to run a program in text or words, and what tells that it is complete
    Accesses,
    /// What the device answers to commands
    Answers,
}

fn address(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x");
    let value = digits.map_or_else(|| text.parse().ok(), |digits| u64::from_str_radix(digits, 16).ok());
    value.ok_or_else(|| "must be an address, as 0x10000000".to_owned())
}

/// `npu disasm`
#[derive(Debug, Args)]
pub struct DisasmArgs {
    /// A file of words, or an artifact's manifest
    #[arg(value_name = "PROGRAM_OR_ARTIFACT")]
    pub path: String,
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    ///
    /// `npu targets` lists them; an artifact knows its own. `@SYSTEM` behind a preset or a file is one of its systems,
    /// `,NAME=VALUE` a parameter of its own.
    /// Without the option `NPU_TARGET` or npu.toml says it.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    /// Form of the listing: `npukit` (the default, it assembles again) or `upstream`
    #[arg(long, value_name = "FORM", help_heading = OUTPUT)]
    pub format: Option<String>,
    /// Instructions alone, without addresses, words and layers
    ///
    /// Those stand in comments, so that the listing assembles to the same words with and without them.
    #[arg(long, help_heading = OUTPUT)]
    pub plain: bool,
    /// File for the listing instead of standard output
    #[arg(short, long, value_name = "OUT", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
}

/// `npu lint`
#[derive(Debug, Args)]
pub struct LintArgs {
    /// An artifact's manifest, a file of words, or assembly text
    #[arg(value_name = "PROGRAM_OR_ARTIFACT", required_unless_present = "explain")]
    pub path: Option<String>,
    /// Say what a finding means, of every target or of the given one
    #[arg(long, value_name = "CODE", conflicts_with_all = ["path", "strict_draft"], add = ArgValueCandidates::new(lints))]
    pub explain: Option<String>,
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    ///
    /// `npu targets` lists them; an artifact knows its own. Without the option `NPU_TARGET` or npu.toml says it.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub strict: StrictArgs,
}

/// `npu lsp`
#[derive(Debug, Args)]
pub struct LspArgs {
    /// What texts are for that do not say so, in folders without an npu.toml that does
    ///
    /// A text says it in a comment, as `; npu: target NAME:PRESET`. Without the option `NPU_TARGET` or npu.toml says it.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
}

/// `npu format`
#[derive(Debug, Args)]
pub struct FormatArgs {
    /// Source file
    pub file: String,
    /// A target whose programs have a layout, as in other commands
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    /// Print nothing, and fail if the file is laid out otherwise
    #[arg(long, help_heading = OUTPUT, conflicts_with = "output")]
    pub check: bool,
    /// File for the text instead of standard output; may be the source file
    #[arg(short, long, value_name = "OUT", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
}

/// `npu targets`
#[derive(Debug, Args)]
pub struct TargetsArgs {
    /// Only this one; of an instance, the parameters that may be set behind its name
    #[arg(value_name = "TARGET", add = ArgValueCandidates::new(target_names))]
    pub target: Option<String>,
    /// List its options instead of its instances
    #[arg(long, requires = "target")]
    pub options: bool,
}

/// `npu trace`
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Model (`.onnx`, `.pb`, `.tflite`), or an artifact's manifest
    ///
    /// Of a model without --target the values are those of float, all that lie between its nodes; with it those that the
    /// machine has: inputs as it rounds them, results of layers, outputs.
    #[arg(value_name = "MODEL_OR_ARTIFACT")]
    pub path: String,
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE, else float
    ///
    /// `npu targets` lists them; an artifact knows its own. `NPU_TARGET` and npu.toml do not count here.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub strict: StrictArgs,
    /// Model of an artifact, which says what its layers end in
    ///
    /// It is compiled for the artifact's own instance, with the same options, and must give the artifact's outputs bit for
    /// bit; without it only inputs and outputs of an artifact are known.
    #[arg(long = "model", value_name = "MODEL", help_heading = MODEL)]
    pub of: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub reading: ModelArgs,
    /// Arrays, pictures, sounds, or folders of these
    ///
    /// As for `npu run`. Several samples follow each other along the first axis, in the arrays that are written too.
    #[arg(long = "input", value_name = "[NAME=]FILE", help_heading = INPUTS, num_args = 1..)]
    pub inputs: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    /// `.npz` file: an array for each tensor, by its name in the model
    ///
    /// Real values in the model's scale and its order of axes.
    #[arg(short, long, value_name = "OUT.npz", help_heading = OUTPUT, value_parser = named(ARRAYS))]
    pub output: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
}

/// `npu debug`
#[derive(Debug, Args)]
pub struct DebugArgs {
    /// Program in text or words, artifact's manifest, or model
    ///
    /// A model is compiled. Without --script and --dap it is shown on the terminal; where there is none, commands are read
    /// from standard input, a line each. Not with --dap, where whoever connects names it.
    #[arg(value_name = "PROGRAM", required_unless_present = "dap", conflicts_with = "dap")]
    pub path: Option<String>,
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    ///
    /// `npu targets` lists them; an artifact knows its own.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub strict: StrictArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub meaning: MeaningArgs,
    /// Model of an artifact, which is computed in float beside the program
    ///
    /// Of a model that is compiled here it is that model.
    #[arg(long = "model", value_name = "MODEL", help_heading = MODEL)]
    pub of: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub reading: ModelArgs,
    /// Arrays, pictures or sounds, of which the first sample counts; zeros without
    #[arg(long = "input", value_name = "[NAME=]FILE", help_heading = INPUTS, num_args = 1..)]
    pub inputs: Vec<String>,
    /// Fill a memory of a program in text or words
    ///
    /// As for `npu run`.
    #[arg(long, value_name = "NAME[@A]=FILE", help_heading = INPUTS, value_parser = mem_file)]
    pub mem: Vec<MemFile>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    /// Do what a file of commands says, and fail where it expects something else
    ///
    /// A command a line, `# ` before comments; lines behind one that begin with `> ` are what it is to print. `docs/debug.md`
    /// has all commands.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT, conflicts_with = "dap")]
    pub script: Option<String>,
    /// Speak the Debug Adapter Protocol on standard input and output, for an editor
    #[arg(long, help_heading = OUTPUT)]
    pub dap: bool,
    /// Read commands a line each on a terminal, too
    #[arg(long, help_heading = OUTPUT, conflicts_with_all = ["dap", "script"])]
    pub plain: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
}

/// `npu diff`
#[derive(Debug, Args)]
#[command(mut_args(of_values))]
pub struct DiffArgs {
    /// A report, or something that has values
    ///
    /// A report is what a command has printed with --json (`.json`); two of one command are compared figure by figure.
    /// Values have: a model in float (`m.onnx`), a model compiled for a target (`m.onnx@TARGET`), an artifact
    /// (`m.tmodel`), arrays by tensor name (`.npz`, of `npu trace` or of a board; `y=FILE.npy`), and a memory of a board as
    /// its bytes (`dram0=board.bin`). Two of these are compared tensor by tensor, in the order of layers.
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    pub before: String,
    /// Another: the second is held against the first
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    pub after: String,
    /// How much worse a figure may become, in percent of the first
    ///
    /// The exit status is 1 where one becomes worse.
    /// Fewer is better for cycles, times, bytes, errors and what saturates; more is better for accuracy, utilisation
    /// and signal to noise. What is neither, as the number of layers, is shown and not judged.
    ///
    /// Of values: how far a tensor may differ, in percent of its range. Without it the exit status is 1 where a tensor
    /// saturates or differs by more than rounding explains, and where arrays or a memory differ from the other side at all.
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub threshold: Option<f64>,
    /// Inputs of the sides that compute, as for `npu run`
    #[arg(long = "input", value_name = "[NAME=]FILE", help_heading = INPUTS, num_args = 1..)]
    pub inputs: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    /// Model that an artifact was compiled from
    ///
    /// It says what the artifact's layers end in. Needless where the other side is the model.
    #[arg(long = "model", value_name = "MODEL", help_heading = MODEL)]
    pub of: Option<String>,
    /// Program whose memory `MEMORY=FILE` is
    ///
    /// An artifact, or MODEL@TARGET. Needless where the other side is the program.
    #[arg(long, value_name = "ARTIFACT", help_heading = INPUTS)]
    pub program: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub reading: ModelArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub view: TableArgs,
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
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    pub output: PathBuf,
    /// Date that the pages bear, none when not given
    #[arg(long, value_name = "YYYY-MM-DD", help_heading = OUTPUT, default_value = "", hide_default_value = true)]
    pub date: String,
}

/// `npu isa`
#[derive(Debug, Args)]
pub struct IsaArgs {
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    ///
    /// `npu targets` lists them. `@SYSTEM` behind a preset or a file is one of its systems,
    /// `,NAME=VALUE` a parameter of its own.
    #[arg(add = ArgValueCandidates::new(targets))]
    pub target: String,
    /// Only this one
    #[arg(add = ArgValueCandidates::new(instructions))]
    pub instruction: Option<String>,
    /// Form of the page
    #[arg(long, help_heading = OUTPUT, value_enum, default_value_t)]
    pub format: PageFormat,
}

/// `npu rtl`
#[derive(Debug, Args)]
pub struct RtlArgs {
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    ///
    /// `npu targets` lists them. `@SYSTEM` behind a preset or a file is one of its systems,
    /// `,NAME=VALUE` a parameter of its own.
    #[arg(add = ArgValueCandidates::new(targets))]
    pub target: String,
    /// Folder for the files
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    pub output: PathBuf,
    /// Write the circuit as it was released, with its defects
    ///
    /// Without the option it computes what the instructions say everywhere.
    #[arg(long, help_heading = TARGET)]
    pub released: bool,
}

/// `npu cosim`
#[derive(Debug, Args)]
pub struct CosimArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub source: SourceArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    /// Arrays, pictures, sounds, or folders of these; a sample is made up where none is given
    ///
    /// As for `npu run`. All samples are run, each from a reset, up to the first that differs.
    #[arg(long = "input", value_name = "[NAME=]FILE", help_heading = INPUTS, num_args = 1..)]
    pub inputs: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    /// Take the circuit as it was released, with its defects, and a machine that has them, too
    #[arg(long, help_heading = TARGET)]
    pub released: bool,
    /// Cycles from the address of a read to its data; those of the board when not given
    #[arg(long, value_name = "N", help_heading = TARGET, value_parser = clap::value_parser!(u64).range(1..=65535))]
    pub latency: Option<u64>,
    /// Cycles from written data to the response; as for reads when not given
    #[arg(long, value_name = "N", help_heading = TARGET, value_parser = clap::value_parser!(u64).range(1..=65535))]
    pub response_latency: Option<u64>,
    /// Let memory and streams wait at random, by this seed
    ///
    /// Values are compared, and cycles are not: the clock knows memory that answers in a constant time.
    #[arg(long, value_name = "SEED", help_heading = TARGET)]
    pub stalls: Option<u64>,
    /// Circuit to take instead: a folder as `npu rtl` writes it
    ///
    /// Its list of files, `NAME.f`, says what is read. A bench in it (`*_bench.sv`, `harness.cpp`) counts, too.
    #[arg(long, value_name = "DIR", help_heading = TARGET)]
    pub rtl: Option<String>,
    /// Write waveforms around the first difference, or of the beginning where there is none
    #[arg(long, value_name = "OUT.fst", help_heading = OUTPUT, value_parser = named(&["fst"]))]
    pub waves: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub timings: TimingsArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
}

/// `npu glossary`
#[derive(Debug, Args)]
pub struct GlossaryArgs {
    /// A term, as `saturation` or `systolic array`; all of them when not given
    #[arg(value_name = "WORD", add = ArgValueCandidates::new(terms))]
    pub words: Vec<String>,
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

/// The command line with what a shell completes as a path: values that are called a file, a folder or what is written.
fn with_paths(command: clap::Command) -> clap::Command {
    let is_path = |name: &clap::builder::Str| {
        ["FILE", "DIR", "OUT", "MODEL", "PATH", "ARTIFACT", "json", "npz"]
            .iter()
            .any(|part| name.contains(part))
    };
    let hinted = |arg: Arg| {
        let names = arg.get_value_names().filter(|_| arg.get_action().takes_values()).unwrap_or_default();
        if arg.get::<ArgValueCandidates>().is_none() && names.iter().any(is_path) {
            arg.value_hint(ValueHint::FilePath)
        } else {
            arg
        }
    };
    command.mut_subcommands(|verb| verb.mut_args(hinted))
}

/// What is of the table of `--compare` alone.
fn of_comparison(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "columns" | "sort" | "rows" => arg.requires("compare").hide_short_help(true),
        _ => arg,
    }
}

/// What is of values alone, and in the long help only but for what most need.
fn of_values(arg: Arg) -> Arg {
    const SHOWN: [&str; 9] =
        ["before", "after", "threshold", "inputs", "of", "program", "columns", "sort", "rows"];
    let is_shown = SHOWN.contains(&arg.get_id().as_str());
    arg.hide_short_help(!is_shown)
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

/// A range of an input.
fn given_range(text: &str) -> Result<GivenRange, String> {
    let legal = "must be `[NAME=]LOW..HIGH`, as `0..255`, with the smaller number first, or `[NAME=]image`";
    GivenRange::parse(text).ok_or_else(|| legal.to_owned())
}

/// `least-squares`
fn quantise_method(text: &str) -> Result<QuantiseMethod, String> {
    let legal = "must be `least-squares`, `min-max` or `percentile=P` with 50 to 100 for P";
    npukit::quantise_method(text).ok_or_else(|| legal.to_owned())
}

/// `state=stateN`
fn state(text: &str) -> Result<(String, String), String> {
    let (input, output) = text.split_once('=').ok_or("must be INPUT=OUTPUT, as `state=stateN`")?;
    Ok((input.to_owned(), output.to_owned()))
}

/// `sr=16000`
fn fixed(text: &str) -> Result<(String, String), String> {
    let (name, number) = text.split_once('=').ok_or("must be NAME=NUMBER, as `sr=16000`")?;
    Ok((name.to_owned(), number.to_owned()))
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

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    /// What `-h` prints of a verb fits a screen.
    #[test]
    fn short_help_is_short() {
        let mut command = command().term_width(80);
        command.build();
        for verb in command.get_subcommands_mut() {
            let help = verb.render_help().to_string();
            let lines = help.lines().count();
            assert!(lines <= 56, "{}: {lines} lines\n{help}", verb.get_name());
        }
    }

    /// A verb that writes what a simulator of circuits gives, which is not everywhere: its test is in `tests/main/rtl.rs`.
    const NEEDS_SIMULATOR: &str = "cosim";

    /// Every verb that writes is in the fault suite with every option that names an output.
    #[test]
    fn every_output_has_a_row_of_the_fault_suite() {
        let lines: Vec<Vec<&str>> =
            table::ROWS.iter().flat_map(|row| [row.makes(), row.replaces()]).collect();
        let mut verbs = Vec::new();
        for verb in Cli::command().get_subcommands() {
            let is_output = |arg: &&Arg| arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
            for output in verb.get_arguments().filter(is_output) {
                let name = verb.get_name().to_owned();
                if name == NEEDS_SIMULATOR {
                    continue;
                }
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
            [
                "compile", "run", "eval", "time", "trace", "verify", "report", "explore", "generate", "zoo",
                "asm", "disasm", "format", "rtl", "host", "man"
            ]
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
