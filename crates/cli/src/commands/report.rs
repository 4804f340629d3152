//! The verb `npu report`.

use std::path::{Path, PathBuf};

use clap::Args;
use npukit::verbs::report::{Reported, Request, report};
use npukit::verbs::time;
use npukit::{AccuracyOptions, InputFile};

use crate::answer::Answer;
use crate::args::{
    CalibrationArgs, CostArgs, INPUTS, MeaningArgs, OUTPUT, PreprocessArgs, SamplesArgs, SourceArgs,
};
use crate::chosen;
use crate::disk::write_all;
use crate::endings::named;
use crate::failure::Failure;
use crate::options::{CompileOptions, TimeOptions};
use crate::requests::{calibration_with, context, costs, input_files, meaning, preprocess_samples, source};
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
    /// Labels of the samples: adds the accuracy
    ///
    /// As for `npu run`: a text file with one label per line, or a `.npy` or `.npz` file.
    #[arg(long, value_name = "[OUTPUT=]FILE", help_heading = INPUTS, requires = "inputs")]
    pub labels: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub samples: SamplesArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub meaning: MeaningArgs,
    /// File for the page, by default MODEL_TARGET.html
    ///
    /// The page works offline. With --svg there is no page by default.
    #[arg(short, long, value_name = "FILE.html", help_heading = OUTPUT, value_parser = named(&["html", "htm"]))]
    pub output: Option<PathBuf>,
    /// Page, or output of `npu report --json`, to compare with
    ///
    /// It may be of another target, strategy or version.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub against: Option<String>,
    /// Folder for figures: `roofline.svg`, `breakdown.svg`, `energy.svg`, `timeline.svg`
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
    pub costs: CostArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub timings: TimingsArgs,
}

pub fn run(args: &ReportArgs) -> Result<Answer, Failure> {
    let preprocess = preprocess_samples(&args.preprocess, &args.samples, &args.calibration.range);
    let source =
        source(&args.source, &args.lowering, calibration_with(&args.calibration, &args.inputs, &preprocess))?;
    let time = time::Request {
        source: source.clone(),
        options: args.options.0.clone(),
        meaning: meaning(&args.meaning),
        costs: costs(&args.costs)?,
        ..time::Request::default()
    };
    let inputs = input_files(&args.inputs);
    let accuracy = args.labels.as_deref().map(|labels| AccuracyOptions::new(InputFile::parse(labels)));
    let request = Request { source, inputs, preprocess, accuracy, time, against: args.against.clone() };
    let reported = report(&request, context())?;
    let written = files(&reported, page(args)?, args.svg.as_deref());
    let all: Vec<(PathBuf, &[u8])> =
        written.iter().map(|(path, content)| (path.clone(), content.as_bytes())).collect();
    write_all(&all)?;
    let paths: Vec<&PathBuf> = written.iter().map(|(path, _)| path).collect();
    Ok(Answer::new(text(&reported, &paths), &reported.report).with_success(reported.success))
}

/// Mark of a page that npukit wrote: the schema of its data.
const SCHEMA: &[u8] = b"npukit.report/";

/// Returns the file for the page, if there is one.
fn page(args: &ReportArgs) -> Result<Option<PathBuf>, Failure> {
    if args.output.is_none() && args.svg.is_some() {
        return Ok(None);
    }
    let name = chosen::of_target(&args.source.path, args.source.target.as_deref());
    let is_page = |old: &[u8]| old.windows(SCHEMA.len()).any(|part| part == SCHEMA);
    chosen::file(args.output.as_ref(), format!("{name}.html"), is_page).map(Some)
}

/// Returns the page and the figures that were requested.
fn files(reported: &Reported, page: Option<PathBuf>, svg: Option<&Path>) -> Vec<(PathBuf, String)> {
    let page = page.into_iter().map(|path| (path, reported.report.page()));
    let figures = svg
        .iter()
        .flat_map(|folder| reported.figures.iter().map(|(name, svg)| (folder.join(name), svg.clone())));
    page.chain(figures).collect()
}

fn text(reported: &Reported, written: &[&PathBuf]) -> String {
    let mut text = facts([("report", reported.report.title.clone()), ("program", reported.program.clone())]);
    text.extend(written.iter().map(|path| format!("wrote {}\n", path.display())));
    text + &remarks(&[], &reported.warnings)
}
