//! [`Error`]: why a verb failed, and whose fault it is.

mod diagnostics;
mod kind;

use std::collections::BTreeSet;

use npukit_base::{closest, codes, counted};
use npukit_graph::EvalError;
use npukit_graph::pass::PassError;
use npukit_import::decoder::DecoderFileError;
use npukit_import::onnx::ImportError;
use npukit_import::{Dimension, OpenInput, open_dimensions};
use npukit_numeric::npy::NpyError;
use npukit_target::{PortError, ReadError, TargetError};
use npukit_verify::CertificateError;

use crate::explore::{JournalError, SpaceError};
use crate::report::{check, verify};
use crate::run::hand::{EXTENSIONS, HandError};
use crate::targets::default_target;
use crate::verbs::cosim::SimulatorError;
pub use diagnostics::{codes, described};
pub use kind::Kind;

/// The options that change values of inputs, in sentences.
pub(crate) const PREPROCESSING: &str = "`--scale`, `--mean` or `--std`";

/// Why a verb failed.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum Error {
    /// `--target` names nothing we know.
    #[error("there is no target `{name}`")]
    #[diagnostic(help("{}known: {known}; then `:` and a preset, or `:` and a file", did_you_mean(meant.as_deref())))]
    UnknownTarget {
        /// The name given.
        name: String,
        /// What is meant, where something is near.
        meant: Option<String>,
        /// The names there are.
        known: String,
    },
    /// A file that is to be compared is not a report.
    #[error("`{path}` is not a report of this command: {reason}")]
    #[diagnostic(help("reports are what a verb prints with --json"))]
    NotReport {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Reports of different kinds cannot be compared.
    #[error("`{before}` is `{of}` and `{after}` is `{other}`: there is nothing to compare")]
    #[diagnostic(help("give two reports of one verb"))]
    OtherReport {
        /// The first file.
        before: String,
        /// What it is.
        of: String,
        /// The second file.
        after: String,
        /// What that is.
        other: String,
    },
    /// Something that is to be compared has no values.
    #[error("`{given}` cannot be compared: {reason}")]
    #[diagnostic(help(
        "compare two reports (.json), or two of a model, MODEL@TARGET, an artifact, arrays (.npz, NAME=FILE.npy) and MEMORY=FILE"
    ))]
    NotComparable {
        /// What was given.
        given: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Tensors that do not belong together.
    #[error("`{before}` and `{after}` are not of one network: {reason}")]
    OtherTensors {
        /// The first side.
        before: String,
        /// The second.
        after: String,
        /// The first name or size that differs.
        reason: String,
    },
    /// An option for artifacts, given with a model.
    #[error(
        "`{path}` is a model, which knows its names and shapes: `--like` and `--model` are for artifacts"
    )]
    NeedlessLike {
        /// The model.
        path: String,
    },
    /// A model that cannot lend its names and shapes.
    #[error("the artifact is not made of `{path}`: {reason}")]
    #[diagnostic(help("`--like` and `--model` take the model that the artifact was compiled from"))]
    NotLike {
        /// The model.
        path: String,
        /// What is not the same.
        reason: String,
    },
    /// A target is needed, and none is given.
    #[error("no target is given: a model or a program needs one")]
    #[diagnostic(help(
        "`--target {name}`, for instance, `NPU_TARGET={name}` in the environment or `target = \"{name}\"` in a file npu.toml; `npu targets` lists them",
        name = default_target().name
    ))]
    NoTarget,
    /// A circuit could not be simulated.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Simulator(#[from] SimulatorError),
    /// A folder is no circuit that can be simulated.
    #[error("`{folder}` is no circuit: {reason}")]
    #[diagnostic(help("`npu rtl TARGET -o DIR` writes one, which can be changed"))]
    OwnCircuit {
        /// The folder.
        folder: String,
        /// What is wrong with it.
        reason: String,
    },
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
    /// An option for models or artifacts, given with a program that a person wrote.
    #[error("`{path}` is a program in text or words; {option} is for models and artifacts")]
    #[diagnostic(help(
        "`--mem`, `--input`, `--dump`, `--max-instructions` and `--max-cycles` are for such programs"
    ))]
    NotByHand {
        /// The program.
        path: String,
        /// The option.
        option: String,
    },
    /// An option for programs that a person wrote, given with a model or an artifact.
    #[error(
        "`{path}` is no program in text or words: `--mem`, `--dump NAME[A:B]`, `--max-instructions` and `--max-cycles` are for these"
    )]
    #[diagnostic(help("`--input` gives a model its inputs, `--dump FILE.npz` writes its tensors"))]
    OnlyByHand {
        /// The model or artifact.
        path: String,
    },
    /// Memory that cannot be filled or read as asked.
    #[error(transparent)]
    Hand(Box<HandError>),
    /// A space of machines that is none, or in which there is no machine.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// A file of an exploration that does not go on from it.
    #[error("cannot go on with `{path}`")]
    #[diagnostic(help("give the models, the space and the samples that it was begun with, or another file"))]
    Journal {
        /// The file.
        path: String,
        /// Why.
        source: JournalError,
    },
    /// No point is the best one.
    #[error("no point is the best by `{objective}`: {reason}")]
    NoBest {
        /// What was asked for.
        objective: String,
        /// Why there is none.
        reason: String,
    },
    /// Nothing is given for an input of a program that a person wrote.
    #[error("input `{name}` is not given")]
    #[diagnostic(help("`--input {name}=FILE` gives it, and so do values behind its range in the text"))]
    HandInput {
        /// Its name.
        name: String,
    },
    /// A file of numbers is not of its form.
    #[error("{path}, line {line}: {reason}")]
    Numbers {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        reason: String,
    },
    /// An archive without the array that is wanted.
    #[error("`{path}` has no array `{name}`: there are {known}")]
    NoArray {
        /// The file.
        path: String,
        /// The array.
        name: String,
        /// Those there are.
        known: String,
    },
    /// Memories are not written to files of this kind.
    #[error("`{path}`: memories are written to files whose names end in {EXTENSIONS}")]
    UnknownDump {
        /// The file.
        path: String,
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
    /// A word that the glossary does not have.
    #[error("the glossary has no word `{word}`")]
    #[diagnostic(help("{}`npu glossary` has them all", did_you_mean(meant.as_deref())))]
    UnknownTerm {
        /// The word.
        word: String,
        /// What is meant, where something is near.
        meant: Option<String>,
    },
    /// A code that no finding of the linter has.
    #[error("the linter has no finding `{code}`")]
    #[diagnostic(help("known: {}", near.join(", ")))]
    UnknownFinding {
        /// The code.
        code: String,
        /// The nearest ones, or all when none is near.
        near: Vec<String>,
    },
    /// Layers of a trace that do not exist.
    #[error("`{range}` are no layers to trace: {reason}")]
    #[diagnostic(help(
        "a name that `npu time` lists, a pattern with `*`, or the first and the last one as `A..B`"
    ))]
    TraceRange {
        /// What is asked for.
        range: String,
        /// What is wrong with it.
        reason: String,
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
    #[diagnostic(help("models end in .onnx, .pb or .tflite, artifacts in {artifacts}"))]
    UnknownFile {
        /// The file.
        path: String,
        /// Endings of artifacts.
        artifacts: String,
    },
    /// A file is disassembled or linted that holds no words.
    #[error("`{path}` is {what}, no program in words")]
    #[diagnostic(help("{todo}"))]
    NotWords {
        /// The file.
        path: String,
        /// What it is.
        what: &'static str,
        /// What to do instead.
        todo: &'static str,
    },
    /// Words of another instance of the target.
    #[error("`{path}` is no program of {target}: {wrong} have no meaning there, all have one on {}", .fits.join(", "))]
    #[diagnostic(help("name the instance that it was made for, as `--target {}`", .fits.first().map_or("", String::as_str)))]
    OtherInstance {
        /// The file.
        path: String,
        /// How many.
        wrong: String,
        /// The instance that was named.
        target: String,
        /// Those that read all of it.
        fits: Vec<String>,
    },
    /// A file is a model of a kind that is not read.
    #[error("`{path}` is {what}, which is not read: export the network to ONNX")]
    #[diagnostic(help("{export}"))]
    ForeignModel {
        /// The file, or a folder.
        path: String,
        /// What it is.
        what: &'static str,
        /// The command that exports it.
        export: String,
    },
    /// A file that was to be a model is something else.
    #[error("`{path}` is {what}, not a model")]
    #[diagnostic(help("{advice}"))]
    NotModel {
        /// The file.
        path: String,
        /// What it is.
        what: &'static str,
        /// What to do.
        advice: &'static str,
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
        report: Box<check::Report>,
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
    /// An output of a call cannot be an input of the next.
    #[error("calls do not follow each other: {reason}; inputs: {inputs}; outputs: {outputs}")]
    #[diagnostic(help("`--state INPUT=OUTPUT` says which output of the call before an input is"))]
    State {
        /// What stands against it.
        reason: String,
        /// The inputs, with their shapes.
        inputs: String,
        /// The outputs, with theirs.
        outputs: String,
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
    /// A sample holds what is no number.
    #[error(
        "element {element} of input `{name}` is {value} in sample {sample}, both counted from 0: it must be finite here"
    )]
    #[diagnostic(help("leave the sample out, or write a number that can occur in its place"))]
    NotFinite {
        /// The input.
        name: String,
        /// The sample, from 0.
        sample: usize,
        /// The element of the sample, from 0, in the order in memory.
        element: usize,
        /// NaN or an infinity.
        value: f32,
    },
    /// A folder of inputs holds none.
    #[error("there are no pictures and no sounds in `{path}`, which holds {}", counted(*files as u64, "file"))]
    #[diagnostic(help("of a folder, files that end in .png, .jpg or .wav are read, each a sample"))]
    NoMedia {
        /// The folder.
        path: String,
        /// How many files it holds.
        files: usize,
    },
    /// A picture or a sound cannot be decoded.
    #[error("cannot decode `{path}`: {reason}")]
    Media {
        /// The file.
        path: String,
        /// What the decoder says.
        reason: String,
    },
    /// A picture of another size than the input.
    #[error(
        "`{path}` is {width} x {height} pixels, and input `{input}` takes {wanted_width} x {wanted_height} (width x \
         height)"
    )]
    #[diagnostic(help("resize it as the training did, or export the model for the other size"))]
    PictureSize {
        /// The picture.
        path: String,
        /// Its pixels in a row.
        width: usize,
        /// Its rows.
        height: usize,
        /// The input.
        input: String,
        /// Pixels in a row of the input.
        wanted_width: usize,
        /// Rows of the input.
        wanted_height: usize,
    },
    /// A sound of another length than the input.
    #[error("`{path}` has {frames} values at {rate_hz} Hz, and input `{input}` takes {wanted}")]
    #[diagnostic(help("cut it or fill it up as the training did"))]
    SoundLength {
        /// The sound.
        path: String,
        /// Its values, of each channel.
        frames: usize,
        /// Values in a second.
        rate_hz: u32,
        /// The input.
        input: String,
        /// Values of the input.
        wanted: usize,
    },
    /// A picture or a sound for an input that is none.
    #[error("input `{input}` of shape {shape:?} takes no such file as `{path}`")]
    #[diagnostic(help("{legal}"))]
    NotForMedia {
        /// The file.
        path: String,
        /// The input.
        input: String,
        /// Shape of a sample.
        shape: Vec<usize>,
        /// What such a file is for.
        legal: &'static str,
    },
    /// Values of inputs cannot be changed as asked.
    #[error("cannot prepare the inputs: {reason}")]
    #[diagnostic(help("values become (x * scale - mean) / std: one number, or one for each channel"))]
    Preprocess {
        /// What is wrong.
        reason: String,
    },
    /// Values of inputs are to be changed where there are none.
    #[error("{PREPROCESSING} needs inputs")]
    #[diagnostic(help("give them with --calibrate"))]
    NothingToPrepare,
    /// Labels do not fit the outputs, or are none.
    #[error("cannot take labels from `{path}`: {reason}")]
    #[diagnostic(help(
        "labels are whole numbers from 0, one for each sample (or for each position of it), as `.npy`, `.npz` or a text with one a line"
    ))]
    Labels {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Lanes of an output of which nobody knows which are classes.
    #[error(
        "the artifact does not say how many classes output `{output}` has: it is rows of vectors {shape:?}, and lanes that fill a row up are no classes"
    )]
    #[diagnostic(help("`--like MODEL` takes the shape from the model that the artifact was compiled from"))]
    UnknownClasses {
        /// The output.
        output: String,
        /// Shape of a sample as vectors.
        shape: Vec<usize>,
    },
    /// Samples that are no rows of an artifact which knows no other shape.
    #[error(
        "input `{input}` has shape {actual:?}, and the artifact knows a sample only as {rows} rows of {lanes}"
    )]
    #[diagnostic(help(
        "give [H, W, C] or [N, H, W, C] with H x W = {rows} and the channels last, fewer than {lanes}, or whole rows; `--like MODEL` takes the shape from the model that the artifact was compiled from"
    ))]
    UnknownShape {
        /// The input.
        input: String,
        /// Shape given.
        actual: Vec<usize>,
        /// Rows of a sample.
        rows: usize,
        /// Scalars of a row.
        lanes: usize,
    },
    /// A source file is not text.
    #[error("{path}: byte {offset} is not UTF-8 text")]
    NotText {
        /// The file.
        path: String,
        /// Where text ends.
        offset: usize,
    },
    /// A source file is text of another encoding.
    #[error("{path} is UTF-16 text")]
    #[diagnostic(help("save it as UTF-8"))]
    Utf16 {
        /// The file.
        path: String,
    },
    /// Inputs do not fit the program.
    #[error(transparent)]
    Port(#[from] PortError),
    /// An artifact is none of the model's.
    #[error("the artifact does not belong to the model: {told}")]
    #[diagnostic(help("compile the model again, or name the model that it was made of"))]
    UnfitArtifact {
        /// The first that differs.
        told: String,
    },
    /// A certificate is none, or of something else.
    #[error("the certificate `{path}` does not hold")]
    #[diagnostic(help("`npu verify ... -o FILE` makes one of what is here"))]
    Certificate {
        /// The certificate.
        path: String,
        /// The first that is wrong.
        source: CertificateError,
    },
    /// A program that was to be proved is not.
    #[error("the program is not proved to compute the model")]
    #[diagnostic(help("nothing was written; without `--verify` it is compiled all the same"))]
    NotProved {
        /// What is known of it.
        report: Box<verify::Report>,
    },
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
    /// The operators of a model make constants that take far more memory than its size suggests.
    #[error(
        "the operators of `{model}` make constants of {bytes} bytes, most of them node `{largest}`: more than the \
         {limit} that fit its size"
    )]
    #[diagnostic(help(
        "store them in the model, as constant folding does before it is exported, or give --no-limit, which makes them"
    ))]
    Constants {
        /// The model.
        model: String,
        /// Bytes of what the operators make of constants alone.
        bytes: u64,
        /// Most of them for a model of the size.
        limit: u64,
        /// The node that makes most of them.
        largest: String,
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

codes!(Error {
    UnknownTarget = "unknown-target": "`--target` names nothing there is";
    NotReport = "not-a-report": "a file to compare is no report that a verb has printed with `--json`";
    OtherReport = "other-report": "reports to compare are of different verbs";
    NotComparable = "not-comparable": "something that is to be compared has no values, or does not say whose they are";
    OtherTensors = "other-tensors": "tensors that are to be compared are not of one network";
    NeedlessLike = "needless-like": "`--like` or `--model` is given with a model, which knows its own names and shapes";
    NotLike = "not-like": "an artifact is not made of the model of `--like` or `--model`";
    Space = "invalid-space": "a space of machines is none, or no machine is in it";
    Journal = "other-exploration": "a file of an exploration is of another one, or damaged";
    NoBest = "no-best-point": "no point of an exploration is the best one by what was asked for";
    NoTarget = "missing-target": "a model or a program needs a target";
    OwnCircuit = "no-circuit-folder": "a folder does not hold the files of a circuit";
    NeedlessTarget = "needless-target": "`--target` is given with an artifact, which knows its own";
    NeedlessOption = "needless-option": "an option for models is given with an artifact";
    NotByHand = "not-by-hand": "an option for models is given with a program that a person wrote";
    OnlyByHand = "only-by-hand": "an option for programs that a person wrote is given with a model or an artifact";
    Hand = "memory": "a memory cannot be filled or read as asked";
    HandInput = "hand-input": "nothing is given for an input of a program that a person wrote";
    Numbers = "invalid-numbers": "a file of numbers is not of its form";
    NoArray = "no-array": "an archive does not have the array that is wanted";
    UnknownDump = "unknown-dump": "memories are not written to files of this kind";
    UnfitOption = "unfit-option": "an option does not apply to the target";
    NoCalibration = "missing-calibration": "a rescaling is demanded, and nothing says how large values become";
    UnknownName = "unknown-name": "there is no instruction, stage, form or network of that name";
    UnknownTerm = "unknown-term": "the glossary has no such word";
    UnknownFinding = "unknown-finding": "the linter has no finding of that code";
    Cores = "no-threads": "the host does not give that number of threads";
    TraceRange = "no-layers-to-trace": "`--trace-range` names no layers";
    NotWords = "not-words": "a file that is disassembled or linted holds no words";
    OtherInstance = "other-instance": "a program is of another instance of the target";
    ForeignModel = "foreign-model": "a file is a model of a kind that is not read";
    NotModel = "not-a-model": "a file that was to be a model is something else";
    UnknownFile = "unknown-file-type": "a file is neither a model nor an artifact";
    Refused = "unsupported-model": "nodes of a model cannot be imported or compiled for the target";
    State = "no-state": "an output of a call cannot be an input of the next";
    OpenDimensions = "open-dimensions": "neither the model nor the options say the size of a dimension";
    NoText = "no-alphabet": "a language model's description does not say what its tokens stand for";
    HeldOut = "invalid-held-out": "a line of held-out texts has no tab between prompt and answer";
    HeldOutPrompt = "held-out-prompt": "the model cannot take a prompt among held-out texts";
    NoHeldOut = "missing-held-out": "a language model comes without held-out texts";
    Simplify = "not-simplified": "a model's graph cannot be simplified";
    UnknownInput = "unknown-input-type": "a file of inputs is of a kind that is not read";
    NotFinite = "not-finite": "a sample holds NaN or infinity where only finite numbers have a meaning";
    NoMedia = "no-media": "a folder of inputs holds neither pictures nor sounds";
    Media = "not-decoded": "a picture or a sound cannot be decoded";
    PictureSize = "picture-size": "a picture is not of the input's size";
    SoundLength = "sound-length": "a sound is not of the input's length";
    NotForMedia = "not-for-media": "an input takes no pictures or sounds";
    Preprocess = "invalid-preprocessing": "values of inputs cannot be changed as asked";
    NothingToPrepare = "nothing-to-prepare": "values of inputs are to be changed where there are none";
    Labels = "invalid-labels": "labels do not fit the outputs, or are none";
    UnknownClasses = "unknown-classes": "labels are given for an artifact that does not say how many classes there are";
    UnknownShape = "unknown-shape": "an input does not fit the rows of an artifact that knows no other shape";
    NotText = "not-text": "a source file is not UTF-8 text";
    Utf16 = "utf-16-text": "a source file is UTF-16 text, not UTF-8";
    UnfitArtifact = "unfit-artifact": "an artifact is not made of the model it is compared with";
    Certificate = "invalid-certificate": "a certificate is none, was changed, or is of another model or program";
    NotProved = "not-proved": "a program that was to be proved is not: it differs from the model, or a part was not compared";
    Eval = "not-evaluated": "the float evaluator cannot compute a model";
    Operations = "too-many-operations": "evaluating takes far more time than the model's size suggests";
    Memory = "too-much-memory": "evaluating takes far more memory than the model's size suggests";
    Constants = "too-large-constants": "operators make constants that take far more memory than the model's size suggests";
    KeptDiffers = "kept-differs": "a program that keeps its layers' results computes something else: a fault of ours";
    Write = "not-streamed": "something that is written as it comes cannot be";
    Output = "invalid-output": "an output cannot be written as an array";
} carries {
    Read.0, Import.source, Description.source, Prompt.source, Array.0, Port.0, Target.0, Simulator.0 });

/// The names there are, after the one that is meant.
fn known_names(name: &str, known: &[String]) -> String {
    let near = closest(name, known.iter().map(String::as_str));
    format!("{}there are {}", did_you_mean(near), known.join(", "))
}

/// A question, where something is near.
fn did_you_mean(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("did you mean `{near}`? "))
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

impl From<HandError> for Error {
    fn from(error: HandError) -> Self {
        Self::Hand(Box::new(error))
    }
}
