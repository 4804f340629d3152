//! The verb `npu report`.

use std::path::PathBuf;

use clap::Args;
use npukit::verbs::report::{Reported, Request, report};
use npukit::verbs::time;

use crate::answer::Answer;
use crate::args::{CalibrationArgs, INPUTS, MeaningArgs, OUTPUT, PreprocessArgs, SourceArgs};
use crate::disk::write_all;
use crate::endings::named;
use crate::failure::Failure;
use crate::options::{CompileOptions, TimeOptions};
use crate::requests::{calibration_with, context, input_files, meaning, preprocess, source};
use crate::table::facts;
use crate::text::remarks;
use crate::verbosity::TimingsArgs;

/// Arguments of `npu report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub source: SourceArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    /// Samples to run; compares layers with float
    ///
    /// As for `npu run`. Without them, values are unknown.
    #[arg(long = "input", value_name = "[NAME=]FILE", help_heading = INPUTS, num_args = 1..)]
    pub inputs: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub meaning: MeaningArgs,
    /// File for the page, which works offline
    #[arg(short, long, value_name = "FILE.html", help_heading = OUTPUT, value_parser = named(&["html", "htm"]))]
    pub output: Option<PathBuf>,
    /// Page, or output of `npu report --json`, to compare with
    ///
    /// It may be of another target, strategy or version.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub against: Option<String>,
    /// Folder for figures: `roofline.svg`, `breakdown.svg`, `timeline.svg`
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

pub fn run(args: &ReportArgs) -> Result<Answer, Failure> {
    let preprocess = preprocess(&args.preprocess);
    let source =
        source(&args.source, &args.lowering, calibration_with(&args.calibration, &args.inputs, &preprocess))?;
    let time = time::Request {
        source: source.clone(),
        options: args.options.0.clone(),
        meaning: meaning(&args.meaning),
        ..time::Request::default()
    };
    let inputs = input_files(&args.inputs);
    let request = Request { source, inputs, preprocess, time, against: args.against.clone() };
    let reported = report(&request, context())?;
    let written = files(args, &reported);
    let all: Vec<(PathBuf, &[u8])> =
        written.iter().map(|(path, content)| (path.clone(), content.as_bytes())).collect();
    write_all(&all)?;
    let paths: Vec<&PathBuf> = written.iter().map(|(path, _)| path).collect();
    Ok(Answer::new(text(&reported, &paths), &reported.report).with_success(reported.success))
}

/// Returns the page and the figures that were requested.
fn files(args: &ReportArgs, reported: &Reported) -> Vec<(PathBuf, String)> {
    let page = args.output.iter().map(|path| (path.clone(), reported.report.page()));
    let figures = args
        .svg
        .iter()
        .flat_map(|folder| reported.figures.iter().map(|(name, svg)| (folder.join(name), svg.clone())));
    page.chain(figures).collect()
}

fn text(reported: &Reported, written: &[&PathBuf]) -> String {
    let verdict =
        if reported.success { "compiled and timed" } else { "the target does not support the model" };
    let mut text = facts([("report", reported.report.title.clone()), ("program", verdict.to_owned())]);
    text.extend(written.iter().map(|path| format!("wrote {}\n", path.display())));
    let nothing =
        "no file was written: use `-o FILE.html` for the page, `--svg DIR` for the figures".to_owned();
    let notes = if written.is_empty() { vec![nothing] } else { Vec::new() };
    text + &remarks(&notes, &reported.warnings)
}
