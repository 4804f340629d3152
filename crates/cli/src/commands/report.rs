//! `npu report`

use std::path::PathBuf;

use npukit::verbs::report::{Reported, Request, report};
use npukit::verbs::time;

use super::{calibration_with, context, input_files, meaning, preprocess, remarks, source};
use crate::answer::Answer;
use crate::args::ReportArgs;
use crate::disk::write_all;
use crate::failure::Failure;
use crate::table::facts;

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

/// The page and the figures, as far as they are asked for.
fn files(args: &ReportArgs, reported: &Reported) -> Vec<(PathBuf, String)> {
    let page = args.output.iter().map(|path| (path.clone(), reported.report.page()));
    let figures = args
        .svg
        .iter()
        .flat_map(|folder| reported.figures.iter().map(|(name, svg)| (folder.join(name), svg.clone())));
    page.chain(figures).collect()
}

fn text(reported: &Reported, written: &[&PathBuf]) -> String {
    let verdict = if reported.success { "compiled and timed" } else { "the target does not take the model" };
    let mut text = facts([("report", reported.report.title.clone()), ("program", verdict.to_owned())]);
    text.extend(written.iter().map(|path| format!("wrote {}\n", path.display())));
    let nothing = "nothing is written: `-o FILE.html` writes the page, `--svg DIR` the figures".to_owned();
    let notes = if written.is_empty() { vec![nothing] } else { Vec::new() };
    text + &remarks(&notes, &reported.warnings)
}
