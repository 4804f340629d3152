//! `npu eval`

use npukit::verbs::eval::{Request, eval};

use super::layers::outputs;
use super::{input_files, model_options, remarks, with_bar};
use crate::answer::Answer;
use crate::args::EvalArgs;
use crate::disk::write_all;
use crate::failure::Failure;
use crate::table::facts;

pub fn run(args: &EvalArgs) -> Result<Answer, Failure> {
    let request = Request {
        path: args.model.clone(),
        model: model_options(&args.reading),
        inputs: input_files(&args.inputs),
        unlimited: args.no_limit,
    };
    let (report, npz) = with_bar("samples", |context| eval(&request, context))?;
    if let Some(path) = &args.output {
        write_all(&[(path.clone(), &npz)])?;
    }
    let lines = facts([
        ("model", report.name.clone()),
        ("samples", report.samples.to_string()),
        ("seconds", format!("{:.3}", report.seconds)),
    ]);
    let remarks = remarks(&report.notes, &report.warnings);
    Ok(Answer::new(format!("{lines}\n{}{remarks}", outputs(&report.outputs)), &report))
}
