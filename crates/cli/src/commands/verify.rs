//! `npu verify`

use npukit::verbs::verify::{Counterexample, ElementReport, Report, Request, verify};

use super::{context, model_source, remarks};
use crate::answer::Answer;
use crate::args::VerifyArgs;
use crate::disk::settle;
use crate::failure::Failure;
use crate::printable::line;
use crate::table::{counted, facts};

pub fn run(args: &VerifyArgs) -> Result<Answer, Failure> {
    let mut source = model_source(&args.source, &args.lowering, &args.calibration, &args.preprocess)?;
    if let Some(artifact) = &args.artifact {
        settle(artifact);
        source.target = None;
    }
    let request = Request { source, artifact: args.artifact.clone(), seeds: args.seeds.clone() };
    let report = verify(&request, context())?;
    Ok(Answer::new(text(&report), &report).with_success(report.proved))
}

fn text(report: &Report) -> String {
    let proved = report.outputs.iter().filter(|output| output.proved).count();
    let outputs = counted(report.outputs.len() as u64, "output");
    let verdict = match &report.counterexample {
        _ if report.proved => "proved: the program computes the model, for all inputs".to_owned(),
        Some(_) => "refuted: the program computes something else".to_owned(),
        None => "not proved".to_owned(),
    };
    let mut text = facts([
        ("verdict", verdict),
        ("program", format!("{} for {}", report.name, report.target)),
        ("outputs", format!("{proved} of {outputs} proved")),
        ("field", format!("{}, {}", report.field, counted(report.seeds.len() as u64, "run"))),
        ("compared with", report.order.clone()),
        ("preparation", format!("{:.1e} of the largest output", report.preparation.share)),
    ]);
    text.extend(
        report
            .uncovered
            .iter()
            .map(|gap| line(&format!("not covered: node `{}` ({}): {}", gap.node, gap.op, gap.reason))),
    );
    text.extend(report.counterexample.iter().map(counterexample));
    text.extend(report.assumptions.iter().map(|told| line(&format!("assumed: {told}"))));
    text + &remarks(&report.notes, &report.warnings)
}

/// Where it goes wrong, a line for each thing that is known.
fn counterexample(found: &Counterexample) -> String {
    let mut lines = vec![("first difference", element(&found.output))];
    lines.extend(found.instead.as_ref().map(|place| ("it holds instead", element(place))));
    let layer = found.layer.iter().map(|layer| format!(" of layer `{layer}`")).collect::<String>();
    lines.extend(found.instruction.map(|index| ("written by", format!("instruction {index}{layer}"))));
    if let (Some(memory), Some(address), Some(lane)) = (&found.memory, found.address, found.lane) {
        lines.push(("at", format!("{memory} {address}, lane {lane}")));
    }
    lines.extend(found.wrote.as_ref().map(|place| ("where it wrote", element(place))));
    facts(lines)
}

fn element(place: &ElementReport) -> String {
    format!("`{}` {:?}", place.tensor, place.index)
}
