//! A module for each command: arguments to a request, the report to text.

mod accuracy;
mod asm;
mod bench;
mod by_hand;
mod check;
mod comparison;
mod compile;
mod completions;
mod conform;
mod cosim;
mod debug;
mod demo;
mod diff;
mod eval;
mod explore;
mod generate;
mod glossary;
mod host;
mod isa;
mod layers;
mod lint;
mod lsp;
mod man;
mod outputs;
mod report;
mod rtl;
mod run;
mod targets;
mod time;
mod trace;
mod values;
mod verify;
mod version;
mod zoo;

use npukit::{
    AccuracyOptions, Calibration, Context, InputFile, Meaning, ModelOptions, OwnInputs, Preprocess,
    RescaleMode, Source, Stateful,
};

use crate::answer::Answer;
use crate::args::{
    AccuracyArgs, CalibrationArgs, Cli, Command, MeaningArgs, ModelArgs, ModelSourceArgs, PreprocessArgs,
    Rescale, Resize, SourceArgs, StateArgs, StrictArgs,
};
use crate::cache;
use crate::disk::{Disk, settle};
use crate::failure::Failure;
use crate::options::CompileOptions;
use crate::parts::Parts;
use crate::printable::line;
use crate::verbosity::is_quiet;
use crate::watch::Watch;

/// Does what the command line says.
pub fn run(cli: &Cli, parts: Option<&Parts>, watch: &Watch) -> Result<Answer, Failure> {
    let Some(command) = cli.command.as_ref().filter(|_| !cli.version) else {
        return Ok(version::run(cli.verbosity.verbose > 0));
    };
    match command {
        Command::Compile(args) => compile::run(args),
        Command::Run(args) => run::run(args),
        Command::Eval(args) => eval::run(args),
        Command::Time(args) => time::run(args),
        Command::Trace(args) => trace::run(args),
        Command::Debug(args) => debug::run(args, cli.json, parts, watch),
        Command::Check(args) => check::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Report(args) => report::run(args),
        Command::Explore(args) => explore::run(args),
        Command::Conform(args) => conform::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Generate(args) => generate::run(args, cli.json),
        Command::Asm(args) => asm::asm(args),
        Command::Disasm(args) => asm::disasm(args),
        Command::Lint(args) => lint::run(args),
        Command::Format(args) => asm::format(args),
        Command::Lsp(args) => lsp::run(args, parts),
        Command::Isa(args) => isa::run(args),
        Command::Rtl(args) => rtl::run(args),
        Command::Cosim(args) => cosim::run(args),
        Command::Glossary(args) => glossary::run(args),
        Command::Host(args) => host::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Zoo(args) => zoo::run(args),
        Command::Targets(args) => targets::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }
}

pub use check::text as refusal;
pub use completions::answer as complete;
pub use verify::text as proof;

/// Files from the disk, and what was found before.
fn context() -> Context<'static> {
    Context::new(&Disk).with_cache(cache::current())
}

fn model_options(args: &ModelArgs) -> ModelOptions {
    ModelOptions {
        batch: args.batch.map(|batch| batch as usize),
        sizes: args.sizes.iter().cloned().collect(),
        input_shapes: args.input_shapes.iter().cloned().collect(),
        values: args.values.iter().cloned().collect(),
        outputs: args.outputs.clone(),
        resize_half_pixel: args.resize.map(|resize| resize == Resize::HalfPixel),
        unlimited: args.no_limit,
    }
}

fn stateful(args: &StateArgs) -> Stateful {
    Stateful { enabled: args.stateful || !args.pairs.is_empty(), pairs: args.pairs.clone() }
}

fn preprocess(args: &PreprocessArgs) -> Preprocess {
    Preprocess { scale: args.scale, mean: args.mean.clone(), std: args.std.clone() }
}

/// How scales are chosen by a verb that runs inputs: these serve where no others are given.
fn calibration_with(args: &CalibrationArgs, inputs: &[String], preprocess: &Preprocess) -> Calibration {
    // One set of options: for the inputs, and for those to calibrate by where there are any.
    let is_used = !args.calibrate.is_empty();
    let own = OwnInputs { files: input_files(inputs), preprocess: preprocess.clone() };
    let preprocess = if is_used { preprocess.clone() } else { Preprocess::default() };
    Calibration { own: Some(own), ..calibration(args, preprocess) }
}

fn calibration(args: &CalibrationArgs, preprocess: Preprocess) -> Calibration {
    let mode = match args.rescale {
        Rescale::Auto => RescaleMode::Auto,
        Rescale::Always => RescaleMode::Always,
        Rescale::Never => RescaleMode::Never,
    };
    let (inputs, ranges) = (input_files(&args.calibrate), args.range.clone());
    Calibration { inputs, ranges, preprocess, mode, method: args.quantise, own: None }
}

fn source(args: &SourceArgs, lowering: &CompileOptions, calibration: Calibration) -> Result<Source, Failure> {
    settle(&args.path);
    Ok(Source {
        path: args.path.clone(),
        target: strictly(&args.target, &args.strict)?,
        options: lowering.0.clone(),
        model: model_options(&args.model),
        calibration,
    })
}

fn model_source(
    args: &ModelSourceArgs,
    lowering: &CompileOptions,
    calibrating: &CalibrationArgs,
    preprocessing: &PreprocessArgs,
) -> Result<Source, Failure> {
    Ok(Source {
        path: args.model.clone(),
        target: strictly(&args.target, &args.strict)?,
        options: lowering.0.clone(),
        model: model_options(&args.reading),
        calibration: calibration(calibrating, preprocess(preprocessing)),
    })
}

/// The target, held to the letter of its document where that is asked for.
fn strictly(target: &Option<String>, strict: &StrictArgs) -> Result<Option<String>, npukit::Error> {
    match target {
        Some(spec) if strict.strict_draft => npukit::strict(spec).map(Some),
        None if strict.strict_draft => Err(npukit::Error::NoTarget),
        _ => Ok(target.clone()),
    }
}

/// The target of a command that cannot do without.
fn needed(target: &Option<String>) -> Result<&str, npukit::Error> {
    target.as_deref().ok_or(npukit::Error::NoTarget)
}

fn accuracy_options(args: &AccuracyArgs) -> Option<AccuracyOptions> {
    let labels = InputFile::parse(args.labels.as_deref()?);
    let mut options = AccuracyOptions::new(labels);
    options.top = args.top as usize;
    options.worst = args.worst as usize;
    options.minimum = args.min_accuracy;
    Some(options)
}

fn meaning(args: &MeaningArgs) -> Meaning {
    match (args.sequential, args.hardware) {
        (true, _) => Meaning::Sequential,
        (_, true) => Meaning::Hardware,
        _ => Meaning::Agreed,
    }
}

/// What a user should know of, a line each, unless it is to be quiet: at the end of a report.
fn remarks(notes: &[String], warnings: &[String]) -> String {
    if is_quiet() {
        return String::new();
    }
    let lines = |kind: &'static str, texts: &[String]| {
        texts.iter().map(|text| line(&format!("{kind}: {text}"))).collect::<String>()
    };
    lines("note", notes) + &lines("warning", warnings)
}

fn input_files(texts: &[String]) -> Vec<InputFile> {
    texts.iter().map(|text| InputFile::parse(text)).collect()
}
