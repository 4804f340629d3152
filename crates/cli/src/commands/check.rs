//! `npu check`

use npukit::verbs::check::{Report, check};

use super::layers::host_steps;
use super::truth::quantisation;
use super::{model_source, remarks, without_bar};
use crate::answer::Answer;
use crate::args::CheckArgs;
use crate::failure::Failure;

pub fn run(args: &CheckArgs) -> Result<Answer, Failure> {
    let source = model_source(&args.source, &args.calibration);
    let report = without_bar(|context| check(&source, context))?;
    let text = text(&report) + &remarks(&report.notes, &report.warnings);
    Ok(Answer::new(text, &report).with_success(report.supported))
}

fn text(report: &Report) -> String {
    if report.supported {
        let quantisation = quantisation(report.quantisation.as_ref());
        return format!("{}{quantisation}supported\n", host_steps(&report.host_steps));
    }
    let mut text = String::new();
    for problem in &report.problems {
        text += &format!("{} ({}): {}\n", problem.node, problem.op, problem.reason);
        if !problem.hint.is_empty() {
            text += &format!("    help: {}\n", problem.hint);
        }
    }
    let count = report.problems.len();
    text + &format!("not supported: {count} {}\n", if count == 1 { "problem" } else { "problems" })
}
