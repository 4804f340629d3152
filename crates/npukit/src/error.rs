//! Errors of the verbs: [`Error`], with its code, its help and the kind of its cause.

mod diagnostics;
mod kind;

use std::collections::BTreeSet;

use npukit_base::{closest, codes, counted};
use npukit_graph::EvalError;
use npukit_graph::language::SamplingError;
use npukit_graph::pass::PassError;
use npukit_import::decoder::DecoderFileError;
use npukit_import::llm::LlmError;
use npukit_import::onnx::ImportError;
use npukit_import::{Dimension, OpenInput, open_dimensions};
use npukit_numeric::npy::NpyError;
use npukit_target::{PortError, ReadError, TargetError};
use npukit_verify::CertificateError;

use crate::boards::BoardError;
use crate::explore::{JournalError, SpaceError};
use crate::report::{check, verify};
use crate::run::memory_files::{EXTENSIONS, MemoryFileError};
use crate::targets::list::first_instance;
use crate::verbs::build::BuildError;
use crate::verbs::cosim::SimulatorError;
pub use diagnostics::{codes, described};
pub use kind::Kind;

/// Names of the preprocessing options, for messages.
pub(crate) const PREPROCESSING: &str = "`--scale`, `--mean` or `--std`";

/// Failure of a verb.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum Error {
    /// `--target` names an unknown target.
    #[error("unknown target `{name}`")]
    #[diagnostic(help("{}known targets: {known}; add `:` and a built-in instance or a file", did_you_mean(meant.as_deref())))]
    UnknownTarget {
        /// Name given.
        name: String,
        /// Closest known name; `None` if no name is similar.
        meant: Option<String>,
        /// Known names, as a list for the message.
        known: String,
    },
    /// A file given to a comparison is not a report.
    #[error("`{path}` is not a report of this command: {reason}")]
    #[diagnostic(help("reports are what a verb prints with --json"))]
    NotReport {
        /// Path of the file.
        path: String,
        /// Reason why it cannot be read as a report.
        reason: String,
    },
    /// Reports of different kinds cannot be compared.
    #[error("cannot compare `{before}` (report of `{of}`) with `{after}` (report of `{other}`)")]
    #[diagnostic(help("give two reports of the same verb"))]
    OtherReport {
        /// Path of the first file.
        before: String,
        /// Verb of the first report.
        of: String,
        /// Path of the second file.
        after: String,
        /// Verb of the second report.
        other: String,
    },
    /// An operand of a comparison has no values.
    #[error("`{given}` cannot be compared: {reason}")]
    #[diagnostic(help(
        "compare two reports (.json), or any two of: a model, MODEL@TARGET, an artifact, arrays (.npz, NAME=FILE.npy), MEMORY=FILE"
    ))]
    NotComparable {
        /// Operand as given.
        given: String,
        /// Reason why it has no values.
        reason: String,
    },
    /// Tensors of different networks cannot be compared.
    #[error("`{before}` and `{after}` are tensors of different networks: {reason}")]
    OtherTensors {
        /// Name of the first operand.
        before: String,
        /// Name of the second operand.
        after: String,
        /// First name or size that differs.
        reason: String,
    },
    /// An option for artifacts was given with a model.
    #[error("`{path}` is a model, which has its own names and shapes: `--model` is only for artifacts")]
    NeedlessModel {
        /// Path of the model.
        path: String,
    },
    /// The artifact was not compiled from the model of `--model`.
    #[error("the artifact was not compiled from `{path}`: {reason}")]
    #[diagnostic(help("`--model` takes the model that the artifact was compiled from"))]
    OtherModel {
        /// Path of the model.
        path: String,
        /// First difference between model and artifact.
        reason: String,
    },
    /// No target is given where one is needed.
    #[error("missing target: a model or a program needs one")]
    #[diagnostic(help(
        "choose an accelerator, for example `--target {name}` (small board); `npu targets` lists them; `NPU_TARGET={name}` in the environment or `target = \"{name}\"` in a file npu.toml chooses it for all commands",
        name = first_instance()
    ))]
    NoTarget,
    /// There is no system for a circuit on a board.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Board(#[from] BoardError),
    /// There is no bitstream of a system.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Build(#[from] BuildError),
    /// The simulation of a circuit failed.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Simulator(#[from] SimulatorError),
    /// A folder does not hold a circuit that can be simulated.
    #[error("`{folder}` is not a circuit: {reason}")]
    #[diagnostic(help("`npu rtl TARGET -o DIR` writes a circuit that you can change"))]
    OwnCircuit {
        /// Path of the folder.
        folder: String,
        /// Reason, such as a missing file.
        reason: String,
    },
    /// `--target` was given with an artifact.
    #[error("`{path}` is an artifact, which already has a target")]
    #[diagnostic(help("leave out `--target`; it is only for models"))]
    NeedlessTarget {
        /// Path of the artifact.
        path: String,
    },
    /// An option for models was given with an artifact.
    #[error("`{path}` is an artifact; {option} is only for models")]
    #[diagnostic(help("{advice}"))]
    NeedlessOption {
        /// Path of the artifact.
        path: String,
        /// Name of the option.
        option: String,
        /// Advice on what to do instead.
        advice: &'static str,
    },
    /// An option for models or artifacts was given with an assembly program.
    #[error("`{path}` is an assembly or binary program; {option} is only for models and artifacts")]
    #[diagnostic(help(
        "`--mem`, `--input`, `--dump`, `--max-instructions` and `--max-cycles` apply to such programs"
    ))]
    NotAssembly {
        /// Path of the program.
        path: String,
        /// Name of the option.
        option: String,
    },
    /// An option for assembly programs was given with a model or an artifact.
    #[error(
        "`{path}` is not an assembly or binary program: `--mem`, `--dump NAME[A:B]`, `--motion`, `--max-instructions` and `--max-cycles` need one"
    )]
    #[diagnostic(help("`--input` gives a model its inputs, `--dump FILE.npz` writes its tensors"))]
    OnlyAssembly {
        /// Path of the model or artifact.
        path: String,
    },
    /// A step to draw in motion has no drawing.
    #[error("{} in motion on {target}", undrawn(*.step, *.steps))]
    #[diagnostic(help(
        "`--motion FILE.svg` draws the first step that has one; `motion` of `npu debug` shows any step"
    ))]
    NoMotion {
        /// Number of the requested step; `None` if all were searched.
        step: Option<usize>,
        /// Number of steps of the program.
        steps: usize,
        /// Target and instance.
        target: String,
    },
    /// A memory cannot be filled or read as requested.
    #[error(transparent)]
    MemoryFile(Box<MemoryFileError>),
    /// An exploration space is invalid, or no point of it meets the conditions.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// A technology table is malformed.
    #[error("{path}, line {line}: {reason}")]
    #[diagnostic(help(
        "a table has `name`, `source`, [mac] with `int8 = {{ pj = 0.3, source = \"..\" }}`, and [memory]; `npu time --help` shows its keys"
    ))]
    Technology {
        /// Path of the file.
        path: String,
        /// Line number, from 1.
        line: usize,
        /// Description of the error, with the legal keys or values.
        reason: String,
    },
    /// A file of points belongs to another exploration or is damaged.
    #[error("cannot resume the exploration in `{path}`")]
    #[diagnostic(help("give the models, space and samples that it was started with, or another file"))]
    Journal {
        /// Path of the file.
        path: String,
        /// Reason why it cannot be resumed.
        source: JournalError,
    },
    /// No point of an exploration is best by an objective.
    #[error("no point is best by `{objective}`: {reason}")]
    NoBest {
        /// Objective that was requested.
        objective: String,
        /// Reason, such as an unknown figure.
        reason: String,
    },
    /// An input of an assembly program has no values.
    #[error("missing values for input `{name}`")]
    #[diagnostic(help("`--input {name}=FILE` gives them, or values after its range in the program's text"))]
    AssemblyInput {
        /// Name of the input.
        name: String,
    },
    /// A line of a file of numbers is malformed.
    #[error("{path}, line {line}: {reason}")]
    Numbers {
        /// Path of the file.
        path: String,
        /// Line number, from 1.
        line: usize,
        /// Reason why the line is invalid.
        reason: String,
    },
    /// An archive lacks the requested array.
    #[error("`{path}` has no array `{name}`: it has {known}")]
    NoArray {
        /// Path of the archive.
        path: String,
        /// Name of the array.
        name: String,
        /// Names of the arrays in the archive.
        known: String,
    },
    /// A memory cannot be written to a file of this type.
    #[error("cannot write memory to `{path}`: legal file types are {EXTENSIONS}")]
    UnknownDump {
        /// Path of the file.
        path: String,
    },
    /// An option does not apply to the target.
    #[error("{option} does not apply to {target}")]
    #[diagnostic(help("--quantize is for integer-only targets, --rescale for all others"))]
    UnfitOption {
        /// Name of the option.
        option: &'static str,
        /// Name of target and instance.
        target: String,
    },
    /// `--rescale always` was given without samples that show the range of the values.
    #[error("`--rescale always` needs `--calibrate` with typical inputs")]
    NoCalibration,
    /// A named instruction, stage, form or network does not exist.
    #[error("unknown {what} `{name}`")]
    #[diagnostic(help("{}", known_names(name, known)))]
    UnknownName {
        /// Kind of thing that was named, such as `instruction`.
        what: &'static str,
        /// Name given.
        name: String,
        /// Known names of this kind.
        known: Vec<String>,
    },
    /// A word is neither a term nor another name that can be explained.
    #[error("`{word}` is not in the glossary")]
    #[diagnostic(help("{}`npu explain` lists all terms; error codes, lint findings and instructions are explained, too", did_you_mean(meant.as_deref())))]
    UnknownTerm {
        /// Word given.
        word: String,
        /// Closest word of the glossary; `None` if no word is similar.
        meant: Option<String>,
    },
    /// A lint code does not exist.
    #[error("unknown lint finding `{code}`")]
    #[diagnostic(help("known: {}", near.join(", ")))]
    UnknownFinding {
        /// Code given.
        code: String,
        /// Similar codes, or all codes if none is similar.
        near: Vec<String>,
    },
    /// The requested layers of a trace do not exist.
    #[error("`{range}` does not name layers: {reason}")]
    #[diagnostic(help(
        "give a name that `npu time` lists, a pattern with `*`, or first and last layer as `A..B`"
    ))]
    TraceRange {
        /// Layers as requested.
        range: String,
        /// Reason why it names no layers.
        reason: String,
    },
    /// No trace is written to files with this extension.
    #[error("cannot write a trace with the extension .{extension}: legal are {legal}")]
    TraceExtension {
        /// Extension without the dot.
        extension: String,
        /// Legal extensions.
        legal: String,
    },
    /// The operating system does not provide this number of threads.
    #[error("cannot start {cores} threads: {reason}")]
    Cores {
        /// Number of threads requested.
        cores: usize,
        /// Message of the operating system.
        reason: String,
    },
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file is neither a model nor an artifact.
    #[error("unknown file type: `{path}`")]
    #[diagnostic(help("models have the extension .onnx, .pb or .tflite, artifacts {artifacts}"))]
    UnknownFile {
        /// Path of the file.
        path: String,
        /// Extensions of artifacts, as a list for the message.
        artifacts: String,
    },
    /// A file given to be disassembled or linted is not a binary program.
    #[error("`{path}` is {what}, not a binary program")]
    #[diagnostic(help("{todo}"))]
    NotWords {
        /// Path of the file.
        path: String,
        /// Kind of the file.
        what: &'static str,
        /// Advice on what to do instead.
        todo: &'static str,
    },
    /// A binary program belongs to another instance of the target.
    #[error("`{path}` is not a program for {target}: {wrong} are invalid there, all are valid on {}", .fits.join(", "))]
    #[diagnostic(help("name the instance that it was made for: `--target {}`", .fits.first().map_or("", String::as_str)))]
    OtherInstance {
        /// Path of the program.
        path: String,
        /// Number of invalid words, with its noun.
        wrong: String,
        /// Instance that was named.
        target: String,
        /// Instances on which all words are valid.
        fits: Vec<String>,
    },
    /// A file is a model in a format that npukit does not read.
    #[error("`{path}` is {what}, which is not supported: export the network to ONNX")]
    #[diagnostic(help("{export}"))]
    ForeignModel {
        /// Path of the file or folder.
        path: String,
        /// Format of the file.
        what: &'static str,
        /// Command that exports it to ONNX.
        export: String,
    },
    /// A folder is given instead of an artifact in it.
    #[error("`{path}` is a folder; the artifact is a file in it")]
    #[diagnostic(help("give {}", inside.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>().join(" or ")))]
    Folder {
        /// Path of the folder.
        path: String,
        /// Artifacts in it; never empty.
        inside: Vec<String>,
    },
    /// A file given as a model is something else.
    #[error("`{path}` is {what}, not a model")]
    #[diagnostic(help("{advice}"))]
    NotModel {
        /// Path of the file.
        path: String,
        /// Kind of the file.
        what: &'static str,
        /// Advice on what to do instead.
        advice: &'static str,
    },
    /// A model cannot be imported.
    #[error("cannot import `{path}`")]
    #[diagnostic(forward(source))]
    Import {
        /// Path of the model.
        path: String,
        /// Error of the import.
        source: Box<ImportError>,
    },
    /// Nodes of a model cannot be imported or compiled for the target; the report lists all of
    /// them.
    #[error("the model is not supported: {} of {}", counted(report.problems.len() as u64, "problem"), counted(report.groups.len() as u64, "kind"))]
    Refused {
        /// Report of `npu check`.
        report: Box<check::Report>,
    },
    /// Neither the model nor the options nor the inputs give a size.
    #[error("`{path}` does not fix the sizes of its inputs: {}", open_dimensions(inputs))]
    #[diagnostic(help("{}", size_options(inputs)))]
    OpenDimensions {
        /// Path of the model.
        path: String,
        /// Inputs of the model, with the known part of their shapes.
        inputs: Vec<OpenInput>,
    },
    /// An output of a call cannot be an input of the next call.
    #[error("outputs of one call cannot feed the next: {reason}; inputs: {inputs}; outputs: {outputs}")]
    #[diagnostic(help("`--feedback INPUT=OUTPUT` connects an input with an output of the previous call"))]
    State {
        /// Reason why they do not match.
        reason: String,
        /// Inputs with their shapes, as a list for the message.
        inputs: String,
        /// Outputs with their shapes, as a list for the message.
        outputs: String,
    },
    /// A language model cannot be read.
    #[error("cannot read the model `{path}`")]
    #[diagnostic(forward(source))]
    Description {
        /// Path of its description.
        path: String,
        /// Error of the reader.
        source: Box<DecoderFileError>,
    },
    /// A GGUF file or a folder cannot be read as a language model.
    #[error("cannot read the model `{path}`")]
    #[diagnostic(forward(source))]
    Checkpoint {
        /// Path of the file or folder.
        path: String,
        /// Error of the reader.
        source: Box<LlmError>,
    },
    /// A file or folder is not a language model as its authors publish it.
    #[error("`{path}` is neither a GGUF file nor a folder with `config.json`")]
    NotCheckpoint {
        /// Path of the file or folder.
        path: String,
    },
    /// An option does not apply to the kind of model.
    #[error("{option} does not apply to `{path}`, which is {found}")]
    #[diagnostic(help("leave it out"))]
    Inapplicable {
        /// Path of the model.
        path: String,
        /// Name of the option.
        option: String,
        /// Kind of the model.
        found: &'static str,
    },
    /// A file of a kept text cannot be continued.
    #[error("`{path}` {reason}")]
    #[diagnostic(help("give another file, or remove this one: then a new one is written"))]
    KeptText {
        /// Path of the file.
        path: String,
        /// Fault of the file.
        reason: &'static str,
    },
    /// A text is longer than the model is made for.
    #[error("text {text} has {found} tokens, but the model reads at most {limit}")]
    #[diagnostic(help("`--truncate` leaves out the end of such texts"))]
    LongText {
        /// Number of the text, from 1.
        text: usize,
        /// Number of its tokens, including the tokens that the model adds.
        found: usize,
        /// Maximum number of tokens.
        limit: usize,
    },
    /// A prompt contains characters that the model cannot encode.
    #[error("the prompt contains characters that `{model}` cannot encode")]
    Prompt {
        /// Path of the model's description.
        model: String,
        /// Error of the encoder.
        source: Box<DecoderFileError>,
    },
    /// A language model's description does not map tokens to text.
    #[error("`{path}` does not map the model's tokens to text")]
    #[diagnostic(help("add a table `text` with an `alphabet`"))]
    NoText {
        /// Path of the description.
        path: String,
    },
    /// A line of held-out texts is malformed.
    #[error("line {line} of `{path}` has no tab between prompt and answer")]
    HeldOut {
        /// Path of the file.
        path: String,
        /// Line number, from 1.
        line: usize,
    },
    /// The model cannot process a prompt of the held-out texts.
    #[error("the prompt in line {line} of `{path}` has no answer")]
    HeldOutPrompt {
        /// Path of the file.
        path: String,
        /// Line number, from 1.
        line: usize,
        /// Error for this prompt.
        source: Box<Error>,
    },
    /// A language model comes without held-out texts.
    #[error("`{path}` comes without held-out texts")]
    #[diagnostic(help("`--eval-set FILE` reads them: one per line, as prompt, tab and answer"))]
    NoHeldOut {
        /// Path of the model.
        path: String,
    },
    /// An option of choosing tokens is illegal.
    #[error("cannot choose tokens: {0}")]
    Sampling(#[from] SamplingError),
    /// A smaller model has other tokens than the model for which it proposes them.
    #[error("`{path}` cannot propose tokens for `{model}`: {reason}")]
    #[diagnostic(help("`--draft` takes a smaller model of the same family, with the same tokenizer"))]
    OtherTokens {
        /// Path of the smaller model.
        path: String,
        /// Path of the model.
        model: String,
        /// First difference.
        reason: String,
    },
    /// A text that ends the answer is empty.
    #[error("a text that ends the answer is empty")]
    #[diagnostic(help("give at least one character, or leave it out"))]
    EmptyStop,
    /// A text is too short for its perplexity.
    #[error("the text `{path}` has {found} tokens; its perplexity needs at least 2")]
    ShortText {
        /// Path of the text.
        path: String,
        /// Number of its tokens.
        found: usize,
    },
    /// The graph of a model cannot be simplified.
    #[error("cannot simplify `{path}`")]
    Simplify {
        /// Path of the model.
        path: String,
        /// Error of the failed pass.
        source: Box<PassError>,
    },
    /// An array cannot be read.
    #[error("cannot read an array")]
    Array(#[from] NpyError),
    /// A file of inputs has an unsupported type.
    #[error("unknown type of input file: `{path}`")]
    #[diagnostic(help("legal extensions are {legal}"))]
    UnknownInput {
        /// Path of the file.
        path: String,
        /// Legal extensions, as a list for the message.
        legal: &'static str,
    },
    /// A sample holds NaN or an infinity where a finite number is needed.
    #[error(
        "element {element} of input `{name}` is {value} in sample {sample} (both numbered from 0), but must be finite"
    )]
    #[diagnostic(help("leave out the sample, or replace the element by a finite number"))]
    NotFinite {
        /// Name of the input.
        name: String,
        /// Index of the sample, from 0.
        sample: usize,
        /// Index of the element in the sample, from 0, in memory order.
        element: usize,
        /// Value of the element: NaN or an infinity.
        value: f32,
    },
    /// A folder of inputs holds neither images nor audio.
    #[error("no image or audio files in `{path}`, which holds {}", counted(*files as u64, "file"))]
    #[diagnostic(help("files with the extension .png, .jpg or .wav are read, one sample per file"))]
    NoMedia {
        /// Path of the folder.
        path: String,
        /// Number of files in the folder.
        files: usize,
    },
    /// An image or audio file cannot be decoded.
    #[error("cannot decode `{path}`: {reason}")]
    Media {
        /// Path of the file.
        path: String,
        /// Message of the decoder.
        reason: String,
    },
    /// An image has another size than the input.
    #[error(
        "`{path}` is {width} x {height} pixels, but input `{input}` takes {wanted_width} x {wanted_height} (width x \
         height)"
    )]
    #[diagnostic(help(
        "resize it as in training: `--resize {wanted_width}x{wanted_height}`, or `--crop` for the center of a larger image"
    ))]
    PictureSize {
        /// Path of the image.
        path: String,
        /// Width of the image in pixels.
        width: usize,
        /// Height of the image in pixels.
        height: usize,
        /// Name of the input.
        input: String,
        /// Width of the input in pixels.
        wanted_width: usize,
        /// Height of the input in pixels.
        wanted_height: usize,
    },
    /// An audio file has another length than the input.
    #[error("`{path}` has {frames} values at {rate_hz} Hz, but input `{input}` takes {wanted}")]
    #[diagnostic(help("cut it or pad it as in training"))]
    SoundLength {
        /// Path of the audio file.
        path: String,
        /// Number of values per channel.
        frames: usize,
        /// Sampling rate in hertz.
        rate_hz: u32,
        /// Name of the input.
        input: String,
        /// Number of values that the input takes.
        wanted: usize,
    },
    /// An image or audio file was given for an input of another kind.
    #[error("input `{input}` (shape {shape:?}) cannot be read from `{path}`")]
    #[diagnostic(help("{legal}"))]
    NotForMedia {
        /// Path of the file.
        path: String,
        /// Name of the input.
        input: String,
        /// Shape of a sample.
        shape: Vec<usize>,
        /// Inputs that such a file is for.
        legal: &'static str,
    },
    /// Preprocessing options do not fit the inputs.
    #[error("cannot preprocess the inputs: {reason}")]
    #[diagnostic(help(
        "preprocessing computes (x * scale - mean) / std; give one number or one per channel"
    ))]
    Preprocess {
        /// Reason why they do not fit.
        reason: String,
    },
    /// Preprocessing options were given without inputs.
    #[error("{PREPROCESSING} needs inputs")]
    #[diagnostic(help("give them with --input, or typical ones with --calibrate"))]
    NothingToPrepare,
    /// Labels do not fit the outputs, or are malformed.
    #[error("cannot read labels from `{path}`: {reason}")]
    #[diagnostic(help(
        "labels are integers from 0, one per sample (or one per position of it), in `.npy`, `.npz` or a text file with one per line"
    ))]
    Labels {
        /// Path of the file.
        path: String,
        /// Reason why they cannot be used.
        reason: String,
    },
    /// The number of classes is unknown: only padded vectors of an output are known.
    #[error(
        "the artifact does not give the number of classes of output `{output}`: it is stored as vectors {shape:?}, and padding lanes are not classes"
    )]
    #[diagnostic(help("`--model MODEL` takes the shape from the model that the artifact was compiled from"))]
    UnknownClasses {
        /// Name of the output.
        output: String,
        /// Shape of a sample as vectors.
        shape: Vec<usize>,
    },
    /// Samples do not fit an artifact that only knows rows of scalars.
    #[error(
        "input `{input}` has shape {actual:?}, but the artifact only knows a sample as {rows} rows of {lanes}"
    )]
    #[diagnostic(help(
        "give [H, W, C] or [N, H, W, C] with H x W = {rows} and the channels last, fewer than {lanes}, or whole rows; `--model MODEL` takes the shape from the model that the artifact was compiled from"
    ))]
    UnknownShape {
        /// Name of the input.
        input: String,
        /// Shape that was given.
        actual: Vec<usize>,
        /// Number of rows of a sample.
        rows: usize,
        /// Number of scalars in a row.
        lanes: usize,
    },
    /// A source file is not text.
    #[error("{path}: byte {offset} is not UTF-8 text")]
    NotText {
        /// Path of the file.
        path: String,
        /// Byte offset of the first invalid character.
        offset: usize,
    },
    /// A source file is UTF-16 text.
    #[error("{path} is UTF-16 text")]
    #[diagnostic(help("save it as UTF-8"))]
    Utf16 {
        /// Path of the file.
        path: String,
    },
    /// Inputs do not fit the program.
    #[error(transparent)]
    Port(#[from] PortError),
    /// An artifact was not compiled from the model it is compared with.
    #[error("the artifact does not belong to the model: {message}")]
    #[diagnostic(help("compile the model again, or name the model that it was compiled from"))]
    UnfitArtifact {
        /// First difference.
        message: String,
    },
    /// A certificate is malformed, was changed, or belongs to another model or program.
    #[error("the certificate `{path}` is not valid for these files")]
    #[diagnostic(help("`npu verify ... -o FILE` writes a new one"))]
    Certificate {
        /// Path of the certificate.
        path: String,
        /// First mismatch.
        source: CertificateError,
    },
    /// A program that should be proved could not be.
    #[error("the program could not be proved to compute the model")]
    #[diagnostic(help("nothing was written; without `--verify` the program is written unproved"))]
    NotProved {
        /// Result of the proof attempt.
        report: Box<verify::Report>,
    },
    /// The float evaluator failed.
    #[error("the float evaluator failed")]
    Eval(#[from] EvalError),
    /// Evaluating the model takes far more operations than its size suggests.
    #[error(
        "evaluating `{model}` takes {operations} operations, more than the limit of {limit} for a model of its size"
    )]
    #[diagnostic(help("node `{costliest}` takes most of them; --no-limit evaluates it anyway"))]
    Operations {
        /// Path of the model.
        model: String,
        /// Number of elements computed plus terms added.
        operations: u64,
        /// Limit for a model of this size.
        limit: u64,
        /// Node with the most operations.
        costliest: String,
    },
    /// Evaluating the model takes far more memory than its size suggests.
    #[error(
        "evaluating `{model}` needs {bytes} bytes at once, more than the limit of {limit} for a model of its size"
    )]
    #[diagnostic(help("--no-limit evaluates it anyway"))]
    Memory {
        /// Path of the model.
        model: String,
        /// Peak size of intermediate results in bytes.
        bytes: u64,
        /// Limit in bytes for a model of this size.
        limit: u64,
    },
    /// Constants computed by the operators of a model take far more memory than its size suggests.
    #[error(
        "the operators of `{model}` compute constants of {bytes} bytes, most of them in node `{largest}`: more than the \
         limit of {limit} for a model of its size"
    )]
    #[diagnostic(help("fold the constants before exporting the model, or give --no-limit to compute them"))]
    Constants {
        /// Path of the model.
        model: String,
        /// Size in bytes of the constants computed from constants.
        bytes: u64,
        /// Limit in bytes for a model of this size.
        limit: u64,
        /// Node that computes the largest constant.
        largest: String,
    },
    /// The target failed.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Target(#[from] TargetError),
    /// A program that stores the results of its layers computes other outputs.
    #[error("storing the results of layers changes output `{output}`")]
    #[diagnostic(help("this is a bug of the target's compiler, not of the model: please report it"))]
    KeptDiffers {
        /// Name of the output.
        output: String,
    },
    /// Output that is written as a stream cannot be written.
    #[error("cannot write")]
    Write(#[source] std::io::Error),
    /// An output cannot be written as an array.
    #[error("cannot write array `{name}`: {reason}")]
    Output {
        /// Name of the output.
        name: String,
        /// Reason why it cannot be written.
        reason: String,
    },
}

/// Returns the text of the file at `path`.
///
/// # Errors
///
/// [`Error::NotText`] with the first byte that is not UTF-8.
pub(crate) fn text_of<'a>(path: &str, bytes: &'a [u8]) -> Result<&'a str, Error> {
    let not_text =
        |error: std::str::Utf8Error| Error::NotText { path: path.to_owned(), offset: error.valid_up_to() };
    std::str::from_utf8(bytes).map_err(not_text)
}

codes!(Error {
    UnknownTarget = "unknown-target": "`--target` names an unknown target";
    NotReport = "not-a-report": "a file to compare is not a report that a verb printed with `--json`";
    OtherReport = "other-report": "the reports to compare are of different verbs";
    NotComparable = "not-comparable": "an operand of a comparison has no values, or does not name them";
    OtherTensors = "other-tensors": "the tensors to compare are of different networks";
    NeedlessModel = "needless-model": "`--model` is given with a model, which has its own names and shapes";
    OtherModel = "other-model": "an artifact was not compiled from the model of `--model`";
    Space = "invalid-space": "an exploration space is invalid, or no point of it meets the conditions";
    Technology = "invalid-technology": "a technology table has an unknown key, lacks one, or a figure is out of range";
    Journal = "other-exploration": "a file of points belongs to another exploration, or is damaged";
    NoBest = "no-best-point": "no point of an exploration is best by the objective";
    NoTarget = "missing-target": "a model or a program needs a target";
    OwnCircuit = "no-circuit-folder": "a folder does not contain the files of a circuit";
    NeedlessTarget = "needless-target": "`--target` is given with an artifact, which already has one";
    NeedlessOption = "needless-option": "an option for models is given with an artifact";
    NotAssembly = "not-assembly": "an option for models is given with an assembly program";
    OnlyAssembly = "only-assembly": "an option for assembly programs is given with a model or an artifact";
    NoMotion = "no-motion": "a step to draw in motion has no drawing";
    MemoryFile = "memory": "a memory cannot be filled or read as requested";
    AssemblyInput = "assembly-input": "an input of an assembly program has no values";
    Numbers = "invalid-numbers": "a line of a file of numbers is malformed";
    NoArray = "no-array": "an archive lacks the requested array";
    UnknownDump = "unknown-dump": "memory cannot be written to a file of this type";
    UnfitOption = "unfit-option": "an option does not apply to the target";
    NoCalibration = "missing-calibration": "`--rescale always` is given without samples that show the range of the values";
    UnknownName = "unknown-name": "no instruction, stage, form or network has this name";
    UnknownTerm = "unknown-term": "the word is not in the glossary";
    UnknownFinding = "unknown-finding": "no lint finding has this code";
    Cores = "no-threads": "the operating system does not provide this number of threads";
    TraceRange = "no-layers-to-trace": "`--trace-range` names no layers";
    TraceExtension = "unknown-trace": "no trace is written to a file of this type";
    NotWords = "not-words": "a file to disassemble or lint is not a binary program";
    OtherInstance = "other-instance": "a program belongs to another instance of the target";
    ForeignModel = "foreign-model": "a file is a model in an unsupported format";
    Folder = "folder": "a folder is given instead of an artifact in it";
    NotModel = "not-a-model": "a file given as a model is something else";
    UnknownFile = "unknown-file-type": "a file is neither a model nor an artifact";
    Refused = "unsupported-model": "nodes of a model cannot be imported or compiled for the target";
    State = "no-state": "an output of a call cannot be an input of the next";
    OpenDimensions = "open-dimensions": "neither the model nor the options state the size of a dimension";
    NotCheckpoint = "not-checkpoint": "a file or folder is not a language model as its authors publish it";
    Inapplicable = "inapplicable-option": "an option does not apply to the kind of model";
    KeptText = "kept-text": "a file of a kept text is not one, is damaged, or is of another model";
    LongText = "long-text": "a text has more tokens than a language model reads";
    NoText = "no-alphabet": "a language model's description does not map its tokens to text";
    HeldOut = "invalid-held-out": "a line of held-out texts has no tab between prompt and answer";
    HeldOutPrompt = "held-out-prompt": "the model cannot take a prompt among held-out texts";
    NoHeldOut = "missing-held-out": "a language model comes without held-out texts";
    Sampling = "invalid-sampling": "an option of choosing a language model's tokens is illegal";
    OtherTokens = "other-tokens": "a smaller language model has other tokens than the model for which it proposes them";
    EmptyStop = "empty-stop": "a text that ends a language model's answer is empty";
    ShortText = "short-text": "a text has too few tokens for a perplexity";
    Simplify = "not-simplified": "a model's graph cannot be simplified";
    UnknownInput = "unknown-input-type": "a file of inputs has an unsupported type";
    NotFinite = "not-finite": "a sample holds NaN or infinity where only finite numbers are valid";
    NoMedia = "no-media": "a folder of inputs holds neither images nor audio";
    Media = "not-decoded": "an image or audio file cannot be decoded";
    PictureSize = "picture-size": "an image does not have the input's size";
    SoundLength = "sound-length": "an audio file does not have the input's length";
    NotForMedia = "not-for-media": "an input cannot be read from image or audio files";
    Preprocess = "invalid-preprocessing": "preprocessing options do not fit the inputs";
    NothingToPrepare = "nothing-to-prepare": "preprocessing options are given without inputs";
    Labels = "invalid-labels": "labels do not fit the outputs, or are malformed";
    UnknownClasses = "unknown-classes": "labels are given for an artifact that does not give the number of classes";
    UnknownShape = "unknown-shape": "an input does not fit the rows of an artifact that only knows rows of scalars";
    NotText = "not-text": "a source file is not UTF-8 text";
    Utf16 = "utf-16-text": "a source file is UTF-16 text, not UTF-8";
    UnfitArtifact = "unfit-artifact": "an artifact was not compiled from the model it is compared with";
    Certificate = "invalid-certificate": "a certificate is malformed, was changed, or belongs to another model or program";
    NotProved = "not-proved": "a program could not be proved: it differs from the model, or a part was not compared";
    Eval = "not-evaluated": "the float evaluator cannot compute a model";
    Operations = "too-many-operations": "evaluating takes far more time than the model's size suggests";
    Memory = "too-much-memory": "evaluating takes far more memory than the model's size suggests";
    Constants = "too-large-constants": "constants computed by operators take far more memory than the model's size suggests";
    KeptDiffers = "kept-differs": "a program that stores the results of its layers computes other outputs: a bug of npukit";
    Write = "not-streamed": "output that is written as a stream cannot be written";
    Output = "invalid-output": "an output cannot be written as an array";
} carries {
    Read.0, Import.source, Description.source, Checkpoint.source, Prompt.source, Array.0, Port.0, Target.0, Simulator.0, Board.0, Build.0 });

/// Names the step that cannot be drawn, or all steps.
fn undrawn(step: Option<usize>, steps: usize) -> String {
    match step {
        Some(step) => format!("step {step} of {steps} cannot be drawn"),
        None => format!("none of the {steps} steps can be drawn"),
    }
}

/// Help that lists the known names, after the closest one.
fn known_names(name: &str, known: &[String]) -> String {
    let near = closest(name, known.iter().map(String::as_str));
    format!("{}known: {}", did_you_mean(near), known.join(", "))
}

/// Question for the closest name; empty if no name is similar.
fn did_you_mean(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("did you mean `{near}`? "))
}

/// Options that fix the open sizes: by name if all dimensions have names, and by shape.
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
    format!("give {either}`{by_shape}`; `run`, `eval` and `--calibrate` also take them from inputs")
}

impl From<MemoryFileError> for Error {
    fn from(error: MemoryFileError) -> Self {
        Self::MemoryFile(Box::new(error))
    }
}
