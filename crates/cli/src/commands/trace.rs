//! `npu trace`

use npukit::Source;
use npukit::report::TensorKind;
use npukit::verbs::trace::{Report, Request, TracedTensor, trace};

use super::{calibration_with, context, input_files, model_options, preprocess, remarks, strictly};
use crate::answer::Answer;
use crate::args::TraceArgs;
use crate::disk::{Staged, commit, settle};
use crate::failure::Failure;
use crate::table::{Column, facts, table};

pub fn run(args: &TraceArgs) -> Result<Answer, Failure> {
    settle(&args.path);
    let preprocess = preprocess(&args.preprocess);
    let request = Request {
        source: Source {
            path: args.path.clone(),
            target: strictly(&args.target, &args.strict)?,
            options: args.lowering.0.clone(),
            model: model_options(&args.reading),
            calibration: calibration_with(&args.calibration, &args.inputs, &preprocess),
        },
        model: args.of.clone(),
        inputs: input_files(&args.inputs),
        preprocess,
        unlimited: args.reading.no_limit,
    };
    let mut staged = Staged::new(&args.output)?;
    let report = trace(&request, staged.writer(), context())?;
    commit(vec![staged])?;
    let wrote = format!("wrote {}\n", args.output.display());
    Ok(Answer::new(text(&report) + &wrote + &remarks(&report.notes, &[]), &report))
}

fn text(report: &Report) -> String {
    let target = report.target.clone().unwrap_or_else(|| "float".to_owned());
    let lines = facts([
        ("traced", report.source.clone()),
        ("on", target),
        ("samples", report.samples.to_string()),
        ("seconds", format!("{:.3}", report.seconds)),
    ]);
    let row = |tensor: &TracedTensor| {
        // Default: a tensor in which no layer ends.
        let layer = tensor.layer.clone().unwrap_or_default();
        vec![tensor.name.clone(), kind(tensor.kind).to_owned(), format!("{:?}", tensor.shape), layer]
    };
    let columns = [Column::left("tensor"), Column::left("is"), Column::left("shape"), Column::left("layer")];
    format!("{lines}\n{}", table(&columns, report.tensors.iter().map(row)))
}

/// What a tensor is to the network, in a word.
pub(super) fn kind(kind: TensorKind) -> &'static str {
    match kind {
        TensorKind::Input => "input",
        TensorKind::Layer => "layer",
        TensorKind::Output => "output",
        _ => "value",
    }
}
