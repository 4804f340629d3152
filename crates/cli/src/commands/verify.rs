//! `npu verify`

use npukit::verbs::verify::bounds::{
    OutputReport as OutputBounds, Report as BoundsReport, Request as BoundsRequest,
};
use npukit::verbs::verify::{Counterexample, ElementReport, Report, Request, verify};

use super::{context, input_files, model_source, preprocess, remarks};
use crate::answer::Answer;
use crate::args::{BoundsArgs, VerifyArgs};
use crate::disk::settle;
use crate::failure::Failure;
use crate::printable::line;
use crate::table::{Column, counted, facts, table};

pub fn run(args: &VerifyArgs) -> Result<Answer, Failure> {
    let mut source = model_source(&args.source, &args.lowering, &args.calibration, &args.preprocess)?;
    if let Some(artifact) = &args.artifact {
        settle(artifact);
        source.target = None;
    }
    let bounds = args.bounds.bounds.then(|| bounds(args));
    let request = Request { source, artifact: args.artifact.clone(), seeds: args.seeds.clone(), bounds };
    let report = verify(&request, context())?;
    let holds = report.bounds.as_ref().is_none_or(|bounds| bounds.holds != Some(false));
    Ok(Answer::new(text(&report), &report).with_success(report.proved && holds))
}

fn bounds(args: &VerifyArgs) -> BoundsRequest {
    let BoundsArgs { inputs, radius, range, random, .. } = &args.bounds;
    BoundsRequest {
        inputs: input_files(inputs),
        preprocess: preprocess(&args.preprocess),
        range: *range,
        radius: *radius,
        random: *random,
    }
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
    text.extend(report.bounds.iter().map(bounds_text));
    text.extend(report.assumptions.iter().map(|told| line(&format!("assumed: {told}"))));
    text + &remarks(&report.notes, &report.warnings)
}

/// How far the machine's numbers may be from real arithmetic, and where they may saturate.
fn bounds_text(bounds: &BoundsReport) -> String {
    let saturation = match &bounds.saturations[..] {
        [] => "impossible".to_owned(),
        all => format!("possible in {}", counted(all.len() as u64, "place")),
    };
    let decided = format!("{} of {}", bounds.decided, counted(bounds.boxes as u64, "range"));
    let mut text = facts([
        ("bounds hold for", bounds.inputs.clone()),
        ("saturation", saturation),
        ("class decided", decided),
        ("inputs run", counted(bounds.observed_inputs as u64, "input")),
    ]);
    let columns = [
        Column::left("output"),
        Column::right("certified error"),
        Column::right("observed"),
        Column::right("slack"),
    ];
    // Default: a dash stands for what is not known.
    let number = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |number| format!("{number:.4}"));
    let slack = |slack: Option<f64>| slack.map_or_else(|| "-".to_owned(), |slack| format!("{slack:.1} x"));
    let row = |output: &OutputBounds| {
        vec![output.name.clone(), number(output.certified), number(output.observed), slack(output.slack)]
    };
    text += &table(&columns, bounds.outputs.iter().map(row));
    text.extend(bounds.layers().into_iter().map(|layer| line(&format!("may saturate: {layer}"))));
    if bounds.holds == Some(false) {
        text += &line("an observed error is above its bound: this is a defect of npukit; please report it");
    }
    text
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
