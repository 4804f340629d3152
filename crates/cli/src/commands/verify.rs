//! `npu verify`

use std::path::Path;

use npukit::verbs::verify::bounds::{
    OutputReport as OutputBounds, Report as BoundsReport, Request as BoundsRequest,
};
use npukit::verbs::verify::{
    CertificateReport, CertificateStatus, Counterexample, ElementReport, Report, Request, Witness, certify,
    verify,
};

use super::{context, input_files, model_source, preprocess, remarks};
use crate::answer::Answer;
use crate::args::{BoundsArgs, VerifyArgs};
use crate::disk::{settle, write_all};
use crate::failure::Failure;
use crate::printable::line;
use crate::table::{Column, counted, facts, table};

pub fn run(args: &VerifyArgs) -> Result<Answer, Failure> {
    let mut source = model_source(&args.source, &args.lowering, &args.calibration, &args.preprocess)?;
    if let Some(artifact) = &args.artifact {
        settle(artifact);
        source.target = None;
    }
    args.certificate.iter().for_each(|path| settle(path));
    let request = Request {
        source,
        artifact: args.artifact.clone(),
        seeds: args.seeds.clone(),
        bounds: args.bounds.bounds.then(|| bounds(args)),
        certificate: args.certificate.clone(),
    };
    let (report, end) = match &args.output {
        Some(path) => certificate(&request, path)?,
        None => (verify(&request, context())?, String::new()),
    };
    let holds = report.bounds.as_ref().is_none_or(|bounds| bounds.holds != Some(false));
    Ok(Answer::new(text(&report) + &end, &report).with_success(report.proved && holds))
}

fn bounds(args: &VerifyArgs) -> BoundsRequest {
    let BoundsArgs { inputs, radius, hull, any_rounding, random, .. } = &args.bounds;
    let range = args.calibration.range.iter().rfind(|range| range.input.is_none());
    BoundsRequest {
        inputs: input_files(inputs),
        preprocess: preprocess(&args.preprocess),
        range: range.map(|range| (range.range[0], range.range[1])),
        // Default: the samples themselves.
        radius: radius.unwrap_or_default(),
        hull: *hull,
        any_rounding: *any_rounding,
        random: *random,
    }
}

/// The report of a proof whose certificate is written to `path`, and what became of it.
fn certificate(request: &Request, path: &Path) -> Result<(Report, String), Failure> {
    let (mut report, certificate) = certify(request, context())?;
    let Some(certificate) = certificate else {
        return Ok((report, "no certificate is written: the program is not proved\n".to_owned()));
    };
    write_all(&[(path.to_owned(), certificate.to_json().as_bytes())])?;
    let name = path.display().to_string();
    let end = format!("wrote {name}\n");
    report.certificate.iter_mut().for_each(|told| told.file = Some(name.clone()));
    Ok((report, end))
}

/// What is known of a proof, with what there is to say of model and instance.
pub fn text(report: &Report) -> String {
    proof(report) + &remarks(&report.notes, &report.warnings)
}

/// What is known of a proof.
pub fn proof(report: &Report) -> String {
    let proved = report.outputs.iter().filter(|output| output.proved).count();
    let outputs = counted(report.outputs.len() as u64, "output");
    let verdict = match &report.witness {
        _ if report.proved => "proved: the program computes the model, for all inputs".to_owned(),
        Some(_) => "refuted: the program computes something else".to_owned(),
        None => unproved(report),
    };
    let mut lines = vec![
        ("verdict", verdict),
        ("program", format!("{} for {}", report.name, report.target)),
        ("outputs", format!("{proved} of {outputs} proved")),
        ("field", format!("{}, {}", report.field, counted(report.seeds.len() as u64, "run"))),
        ("compared with", report.order.clone()),
        ("preparation", format!("{:.1e} of the largest output", report.preparation.share)),
    ];
    lines.extend(report.certificate.iter().filter_map(checked).map(|told| ("certificate", told)));
    let mut text = facts(lines);
    text.extend(
        report
            .uncovered
            .iter()
            .map(|gap| line(&format!("not covered: node `{}` ({}): {}", gap.node, gap.op, gap.reason))),
    );
    text.extend(report.counterexample.iter().map(counterexample));
    text.extend(report.witness.iter().map(witness));
    text.extend(report.bounds.iter().map(bounds_text));
    text.extend(report.assumptions.iter().map(|told| line(&format!("assumed: {told}"))));
    text
}

/// The verdict on a program that neither a proof nor an input decides.
fn unproved(report: &Report) -> String {
    match &report.counterexample {
        Some(_) => {
            "not proved: the comparison differs, and no input was found that shows an error".to_owned()
        }
        None => "not proved".to_owned(),
    }
}

/// The input that shows an error.
fn witness(found: &Witness) -> String {
    let Witness { inputs, machine, model, bound, .. } = found;
    facts([
        ("shown by", inputs.clone()),
        ("there", format!("{} is {machine}, {model} in the model", element(&found.element))),
        ("explained", format!("a difference of {bound:.4} at most")),
    ])
}

/// What became of a certificate that was read.
fn checked(certificate: &CertificateReport) -> Option<String> {
    let seeds: Vec<String> = certificate.seeds.iter().map(u64::to_string).collect();
    let other = Some(&certificate.npukit).filter(|version| *version != env!("CARGO_PKG_VERSION"));
    let by = other.map(|version| format!("made by npukit {version}, ")).unwrap_or_default(); // Default: by this one.
    let of = format!("{by}proved again with its seeds {}", seeds.join(", "));
    match certificate.status {
        CertificateStatus::Holds => Some(format!("holds: {of}")),
        CertificateStatus::Refuted => Some(format!("does not hold: {of}")),
        _ => None,
    }
}

/// How far the machine's numbers may be from real arithmetic, and where they may saturate.
fn bounds_text(bounds: &BoundsReport) -> String {
    let saturation = match &bounds.saturations[..] {
        [] => "impossible".to_owned(),
        all => format!("possible in {}", counted(all.len() as u64, "place")),
    };
    let any = bounds.decided_any_rounding;
    let any_decided = any.map(|count| format!(", {count} whichever way is rounded")).unwrap_or_default(); // Default: not asked for.
    let decided = format!("{} of {}{any_decided}", bounds.decided, counted(bounds.boxes as u64, "range"));
    let mut text = facts([
        ("bounds hold for", bounds.inputs.clone()),
        ("saturation", saturation),
        ("class decided", decided),
        ("inputs run", counted(bounds.observed_inputs as u64, "input")),
    ]);
    let mut columns = vec![
        Column::left("output"),
        Column::right("certified error"),
        Column::right("observed"),
        Column::right("slack"),
    ];
    if any.is_some() {
        columns.push(Column::right("any rounding"));
    }
    // Default: a dash stands for what is not known.
    let number = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |number| short(number, 4));
    let slack = |slack: Option<f64>| slack.map_or_else(|| "-".to_owned(), |slack| short(slack, 1) + " x");
    let row = |output: &OutputBounds| {
        let known = [number(output.certified), number(output.observed), slack(output.slack)];
        let any = any.map(|_| number(output.certified_any_rounding));
        [output.name.clone()].into_iter().chain(known).chain(any).collect::<Vec<_>>()
    };
    text += &table(&columns, bounds.outputs.iter().map(row));
    text.extend(bounds.layers().into_iter().map(|layer| line(&format!("may saturate: {layer}"))));
    if bounds.holds == Some(false) {
        text += &line("an observed error is above its bound: this is a defect of npukit; please report it");
    }
    text
}

/// A number with so many decimals; a large one by its power of ten.
fn short(number: f64, decimals: usize) -> String {
    if number < 1e7 { format!("{number:.decimals$}") } else { format!("{number:.1e}") }
}

/// Where it goes wrong, a line for each thing that is known.
fn counterexample(found: &Counterexample) -> String {
    let mut lines = vec![("first difference", element(&found.output))];
    lines.extend(found.instead.as_ref().map(|place| ("it holds instead", element(place))));
    lines.extend(writer(found).map(|writer| ("written by", writer)));
    if let (Some(memory), Some(address), Some(lane)) = (&found.memory, found.address, found.lane) {
        lines.push(("at", format!("{memory} {address}, lane {lane}")));
    }
    lines.extend(found.wrote.as_ref().map(|place| ("where it wrote", element(place))));
    facts(lines)
}

/// The instruction; of a program in segments what is known of it, which may be a step of the host.
fn writer(found: &Counterexample) -> Option<String> {
    let instruction = found.instruction.map(|index| format!("instruction {index}"));
    let layer = found.layer.as_ref().map(|layer| format!("layer `{layer}`"));
    let segment = found.segment.map(|segment| format!("segment {segment}"));
    let known: Vec<String> = [instruction, layer, segment].into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(" of "))
}

fn element(place: &ElementReport) -> String {
    format!("`{}` {:?}", place.tensor, place.index)
}
