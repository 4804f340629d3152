//! `npu eval`

use npukit::verbs::eval::{Request, eval};

use super::outputs::outputs;
use super::{accuracy, accuracy_options, stateful};
use super::{context, input_files, model_options, preprocess, remarks};
use crate::answer::Answer;
use crate::args::EvalArgs;
use crate::disk::write_all;
use crate::failure::Failure;
use crate::printable::line;
use crate::table::facts;

pub fn run(args: &EvalArgs) -> Result<Answer, Failure> {
    let request = Request {
        path: args.model.clone(),
        model: model_options(&args.reading),
        inputs: input_files(&args.inputs),
        preprocess: preprocess(&args.preprocess),
        stateful: stateful(&args.state),
        unlimited: args.reading.no_limit,
        accuracy: accuracy_options(&args.accuracy),
    };
    let (report, npz) = eval(&request, context())?;
    if let Some(path) = &args.output {
        write_all(&[(path.clone(), &npz)])?;
    }
    let lines = facts([
        ("model", report.name.clone()),
        ("samples", report.samples.to_string()),
        ("seconds", format!("{:.3}", report.seconds)),
    ]);
    let mut text = format!("{lines}\n{}", outputs(&report.outputs, report.samples));
    text += &accuracy::text(report.accuracy.as_ref());
    text += &remarks(&report.notes, &report.warnings);
    text.extend(report.failures.iter().map(|failure| line(&format!("failed: {failure}"))));
    Ok(Answer::new(text, &report).with_success(report.failures.is_empty()))
}
