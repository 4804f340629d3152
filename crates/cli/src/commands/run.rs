//! The verb `npu run`.

pub(super) mod asm_run;
mod in_float;
mod tensors;

use std::path::PathBuf;

use clap::{Arg, Args};
use npukit::MaxError;
use npukit::report::Waves;
use npukit::verbs::run::{Report, Request, run as run_verb};

use crate::answer::Answer;
use crate::args::{
    ACCURACY, AccuracyArgs, AsmArgs, CalibrationArgs, INPUTS, MODEL, MeaningArgs, OUTPUT, PreprocessArgs,
    SamplesArgs, SourceArgs, StateArgs, TARGET,
};
use crate::disk::{check_apart, write_all};
use crate::endings::{self, ARRAYS, named};
use crate::failure::Failure;
use crate::options::CompileOptions;
use crate::printable::line;
use crate::requests::{
    accuracy_options, calibration_with, context, input_files, meaning, preprocess_samples, source, stateful,
};
use crate::table::{TableArgs, View, counted, facts, thousands};
use crate::text::comparison::{COMPARED, layer_comparison, quantization, rescaling};
use crate::text::layers::{
    calculated, choices, clock_source, comparison, host_steps, latency, on_chip, saturations, underflow,
};
use crate::text::outputs::outputs;
use crate::text::{accuracy, remarks, written};
use crate::verbosity::TimingsArgs;

/// Arguments of `npu run`.
#[derive(Debug, Args)]
#[command(mut_args(of_comparison))]
pub struct RunArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub source: SourceArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    /// Arrays, images, audio, folders; or `random:SEED`
    ///
    /// Files are `.npy`, `.npz`, `.csv` (in the format of the target's tools), `.png`, `.jpg` or
    /// `.wav`. The first axis of an array is the samples; each image and each audio file is one
    /// sample. `random:SEED` draws numbers uniformly from the range of each input that is not
    /// given otherwise; --range sets it.
    #[arg(long = "input", value_name = "[NAME=]FILE", help_heading = INPUTS, num_args = 1..)]
    pub inputs: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub samples: SamplesArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub state: StateArgs,
    /// Model of an artifact, to compare it with float
    ///
    /// The inputs and outputs of the artifact get the names and shapes of the model from which it
    /// was compiled, and outputs are compared with the model in float. The artifact contains the
    /// options with which its model is read, as `--resize-mode`; given ones take precedence.
    #[arg(long = "model", aliases = ["shapes-from", "like"], value_name = "MODEL", help_heading = MODEL)]
    pub of: Option<String>,
    /// Compare every layer with float
    ///
    /// Also reports where the machine diverges from float. A layer's own error is the machine's
    /// result compared with the layer in float on the machine's own operands; the chain's error is
    /// compared with the whole network in float. Results diverge at the first layer that saturates,
    /// or where an element's own error is larger than rounding explains: half a step for each
    /// constant and each product, propagated through the layer's operators. Lookups and similar
    /// operators have no such bound: they only diverge by saturation. Suggestions were tested on
    /// these inputs.
    ///
    /// With an `.npy` or `.npz` file, compare its arrays with the outputs bit for bit instead: data
    /// that a driver read from a board. Integers are the machine's integers, or the values of an
    /// integer output. The exit status is 1 if they differ.
    #[arg(long, value_name = "[NAME=]FILE", help_heading = ACCURACY, num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub compare: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub meaning: MeaningArgs,
    /// Maximum error, as `0.05` or `5%`
    ///
    /// The error is the largest difference to float; a percentage is relative to the output's
    /// range. The exit status is 1 if an output differs by more, and if outputs are meaningless:
    /// they differ from float by as much as float's own outputs differ from their mean.
    #[arg(long, value_name = "ERROR", help_heading = ACCURACY, value_parser = max_error)]
    pub max_error: Option<MaxError>,
    /// Fail if outputs are unreliable
    ///
    /// The exit status is 1 if inputs saturate or the signal-to-noise ratio of the outputs is below
    /// 20 dB, as with --max-error and --min-accuracy. Without these options there is a warning.
    #[arg(long, help_heading = ACCURACY)]
    pub strict: bool,
    /// Stop at a read of unwritten memory
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
    /// Each is called by its name in the model: inputs, results of layers, outputs. With --compare,
    /// `machine/NAME` is the machine's value, `float/NAME` the whole network in float, and
    /// `layer/NAME` the layer in float on the machine's operands. All are real values in the
    /// model's scale. Without a target, or with `--target float`, the file has every value between
    /// the model's nodes. An artifact has inputs and outputs; --model adds the results of its
    /// layers.
    ///
    /// For an assembly or binary program, `NAME[A:B]` shows the memory NAME after the run, as
    /// `acc[0:4]`; `NAME[A:B]=FILE` writes it as `.npy`, `.npz`, `.csv` or `.hex`.
    #[arg(long, value_name = "DUMP", help_heading = OUTPUT)]
    pub dump: Vec<String>,
    /// Waveforms of all units, for GTKWave and Surfer
    ///
    /// View settings for GTKWave (`.gtkw`) and Surfer (`.sucl`) are written next to it: `gtkwave
    /// x.gtkw`, `surfer x.fst --command-file x.sucl`.
    #[arg(long, value_name = "OUT.fst", help_heading = OUTPUT, value_parser = named(&["fst"]), hide_short_help = true)]
    pub waves: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub asm_options: AsmArgs,
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

/// Hides options that only apply to the table of `--compare` in the short help.
fn of_comparison(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "columns" | "sort" | "rows" => arg.requires("compare").hide_short_help(true),
        _ => arg,
    }
}

fn max_error(text: &str) -> Result<MaxError, String> {
    MaxError::parse(text)
        .ok_or_else(|| "give a non-negative number, as `0.05`, or a share of the range, as `5%`".to_owned())
}

pub fn run(args: &RunArgs) -> Result<Answer, Failure> {
    let view = args.view.view(&COMPARED)?;
    let preprocess = preprocess_samples(&args.preprocess, &args.samples, &args.calibration.range);
    let calibration = calibration_with(&args.calibration, &args.inputs, &preprocess);
    let mut request = Request {
        source: source(&args.source, &args.lowering, calibration)?,
        inputs: input_files(&args.inputs),
        preprocess,
        stateful: stateful(&args.state),
        model: args.of.clone(),
        raw: args.raw,
        compare: args.compare.as_deref() == Some(""),
        board: args.compare.clone().filter(|file| !file.is_empty()),
        dump: !args.dump.is_empty(),
        meaning: meaning(&args.meaning),
        max_error: args.max_error,
        strict: args.strict,
        check: args.check,
        accuracy: accuracy_options(&args.accuracy),
        waves: args.waves.as_ref().map(|path| path.display().to_string()),
        ..Request::default()
    };
    if in_float::is_meant(args) {
        return in_float::run(args, request, dump(args)?);
    }
    if request.is_asm(context())? {
        return asm_run::run(args, request);
    }
    let dump = dump(args)?;
    if args.asm_options.is_used() {
        request.asm_options = asm_run::asm_options(args)?;
    }
    check_apart(args.output.iter().chain(&dump).chain(&args.waves).map(PathBuf::as_path))?;
    let is_apart = request.dump && tensors::are_apart(&request);
    request.dump &= !is_apart;
    let (mut report, mut files) = run_verb(&request, context())?;
    let mut tables = String::new();
    if is_apart {
        let (mut npz, unlimited) = (Vec::new(), args.source.model.no_limit);
        let traced = tensors::traced(&request, request.source.clone(), unlimited, &mut npz)?;
        (report.dump, tables) = tensors::listed(traced);
        files.dump = Some(npz);
    }
    let outputs = args.output.iter().map(|path| (path.clone(), &files.outputs[..]));
    let dump = dump.iter().zip(&files.dump).map(|(path, bytes)| (path.clone(), &bytes[..]));
    let all: Vec<(PathBuf, &[u8])> = outputs.chain(dump).chain(waves(args, files.waves.as_ref())).collect();
    write_all(&all)?;
    let text = text(&report, &tables, &view, args) + &written(all.iter().map(|(path, _)| &**path));
    Ok(Answer::new(text, &report).with_success(report.failures.is_empty()))
}

/// Returns the waveforms, and the view settings next to them.
pub(super) fn waves<'a>(
    args: &RunArgs,
    waves: Option<&'a Waves>,
) -> impl Iterator<Item = (PathBuf, &'a [u8])> + use<'a> {
    let files = args.waves.as_ref().zip(waves).map(|(path, waves)| {
        let beside = |ending: &str| path.with_extension(ending);
        [
            (path.clone(), &waves.fst[..]),
            (beside("gtkw"), &waves.gtkwave[..]),
            (beside("sucl"), &waves.surfer[..]),
        ]
    });
    files.into_iter().flatten()
}

/// Returns the file for every tensor of a model.
fn dump(args: &RunArgs) -> Result<Option<PathBuf>, Failure> {
    match &args.dump[..] {
        [] => Ok(None),
        [range] if range.contains('[') && !range.ends_with(".npz") => {
            Err(Failure::Dump { text: range.clone() })
        }
        [path] if endings::check(path.as_ref(), ARRAYS).is_err() => Err(Failure::Dump { text: path.clone() }),
        [path] => Ok(Some(path.into())),
        [_, second, ..] => Err(Failure::Dump { text: second.clone() }),
    }
}

/// Formats a report, with the tables of dumped tensors before its notes.
fn text(report: &Report, tables: &str, view: &View, args: &RunArgs) -> String {
    let file = args.output.as_deref();
    // A board has run the program if its outputs are compared.
    let is_on_board = args.compare.as_ref().is_some_and(|file| !file.is_empty());
    let mut lines = vec![
        ("program", on_chip(&report.name, &report.on_chip)),
        ("target", report.target.clone()),
        ("samples", report.samples.to_string()),
    ];
    if !report.choices.is_empty() {
        lines.push(("chosen", choices(&report.choices)));
    }
    lines.push(("latency", latency(&report.speed, report.host_steps.len())));
    if let Some(found) = &report.comparison {
        lines.extend(comparison(found));
    }
    let saturated =
        format!("{} ({} of them inputs)", thousands(report.saturations), thousands(report.saturated_inputs));
    lines.push(("saturated values", saturated));
    if let Some(found) = &report.underflow {
        let counts =
            [(found.input_elements, "input"), (found.results, "result"), (found.constants, "constant")];
        let rounded = counts.map(|(count, what)| counted(count, what)).join(", ");
        lines.push(("rounded to zero", rounded));
    }
    lines.push(("seconds", format!("{:.3}", report.seconds)));
    // Warnings are next to the figures that they question.
    let warnings = remarks(&[], &report.warnings);
    let outputs = outputs(&report.outputs, report.samples, file);
    let mut text = format!("{}{warnings}\n{outputs}", facts(lines));
    text += &accuracy::text(report.accuracy.as_ref());
    text += &saturations(&report.saturations_by_layer);
    text += &underflow(report.underflow.as_ref());
    text += &rescaling(report.rescaling.as_ref());
    text += &quantization(report.quantization.as_ref());
    text += &layer_comparison(report.layer_compare.as_ref(), view);
    text += &host_steps(&report.host_steps);
    text += tables;
    text += &if is_on_board { clock_source(&report.speed) } else { calculated(&report.speed) };
    text += &remarks(&report.notes, &[]);
    text.extend(report.failures.iter().map(|failure| line(&format!("failed: {failure}"))));
    text
}
