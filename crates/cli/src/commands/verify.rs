//! The verb `npu verify`.

use std::path::{Path, PathBuf};

use clap::Args;
use npukit::verbs::verify::bounds::Radius;
use npukit::verbs::verify::bounds::{
    OutputReport as OutputBounds, Report as BoundsReport, Request as BoundsRequest,
};
use npukit::verbs::verify::{
    CertificateReport, CertificateStatus, Counterexample, ElementReport, Preparation, Report, Request,
    Witness, certify, verify,
};

use crate::answer::Answer;
use crate::args::{CalibrationArgs, INPUTS, ModelSourceArgs, OUTPUT, PreprocessArgs, TARGET};
use crate::color::Mark;
use crate::disk::{settle, write_all};
use crate::failure::Failure;
use crate::options::CompileOptions;
use crate::printable::line;
use crate::requests::{context, input_files, model_source, of_calibration, preprocess};
use crate::table::{Column, counted, facts, table};
use crate::text::remarks;
use crate::verbosity::TimingsArgs;

/// Arguments of `npu verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub source: ModelSourceArgs,
    /// Manifest of an artifact of the model, which is proved unchanged
    ///
    /// It specifies its target; the model is not compiled.
    #[arg(long, value_name = "ARTIFACT", help_heading = TARGET, conflicts_with = "target")]
    pub artifact: Option<String>,
    /// Certificate to check, by repeating its proof
    ///
    /// Model and program must be the files that the certificate lists by their hashes. The proof
    /// uses its seeds, and the seeds of `--seed`. The exit status is 0 only if everything in the
    /// certificate holds.
    #[arg(long, value_name = "FILE", help_heading = INPUTS, conflicts_with = "output")]
    pub certificate: Option<String>,
    /// Write a certificate of the proof
    ///
    /// It contains the hashes of model and program, seeds, field, coverage and assumptions. A
    /// program that is not proved gets none.
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    /// Random seed of the inputs of a run; by default 1 and 2
    #[arg(long = "seed", value_name = "N", help_heading = INPUTS, hide_short_help = true)]
    pub seeds: Vec<u64>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub bounds: BoundsArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub timings: TimingsArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
}

/// Options of `npu verify` for error bounds.
#[derive(Debug, Args)]
pub struct BoundsArgs {
    /// Also bound errors and saturation for all inputs in their ranges
    #[arg(long, help_heading = INPUTS)]
    pub bounds: bool,
    /// Samples around which inputs are bounded
    ///
    /// As for `npu run`. Each sample has its own range, which is the sample alone without
    /// `--radius`. They are also run, to be compared with the bounds.
    #[arg(long = "input", value_name = "[NAME=]FILE", help_heading = INPUTS, num_args = 1.., requires = "bounds")]
    pub inputs: Vec<String>,
    /// Maximum distance of each number from a sample's; `half` is half a step of the machine's
    /// numbers
    ///
    /// With `half`, inputs are the values that the machine cannot distinguish from a sample's: it
    /// rounds them to the same numbers.
    #[arg(long, value_name = "R|half", help_heading = INPUTS, requires = "inputs", value_parser = radius)]
    pub radius: Option<Radius>,
    /// One range for all samples: each number is between its minimum and maximum in them
    #[arg(long, help_heading = INPUTS, requires = "inputs")]
    pub hull: bool,
    /// Also bound errors for results that are rounded by half a step in any direction, not as the
    /// machine rounds
    ///
    /// Then a bound does not depend on luck with the numbers of a sample.
    #[arg(long, help_heading = INPUTS, requires = "bounds")]
    pub any_rounding: bool,
    /// Random inputs from the ranges to run and to compare with the bounds
    #[arg(long, value_name = "N", help_heading = INPUTS, requires = "bounds", default_value_t = 100, hide_short_help = true)]
    pub random: usize,
}

/// Parses a radius: non-negative and finite.
fn radius(text: &str) -> Result<Radius, String> {
    if text == "half" {
        return Ok(Radius::Half);
    }
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.map(Radius::Of).ok_or_else(|| "a radius is a non-negative number or `half`".to_owned())
}

pub fn run(args: &VerifyArgs) -> Result<Answer, Failure> {
    let mut source = model_source(&args.source, &args.lowering, &args.calibration, &args.preprocess)?;
    source.calibration.preprocess = of_calibration(&args.calibration, &args.bounds.inputs, &args.preprocess);
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

/// Makes a proof and writes its certificate to `path`. Returns the report, and a line about the
/// certificate.
fn certificate(request: &Request, path: &Path) -> Result<(Report, String), Failure> {
    let (mut report, certificate) = certify(request, context())?;
    let Some(certificate) = certificate else {
        return Ok((report, "no certificate was written: the program is not proved\n".to_owned()));
    };
    write_all(&[(path.to_owned(), certificate.to_json().as_bytes())])?;
    let name = path.display().to_string();
    let end = format!("wrote {name}\n");
    report.certificate.iter_mut().for_each(|entry| entry.file = Some(name.clone()));
    Ok((report, end))
}

/// Formats the report of a proof, including model and instance.
pub fn text(report: &Report) -> String {
    proof(report) + &remarks(&report.notes, &report.warnings)
}

/// Formats the report of a proof.
pub fn proof(report: &Report) -> String {
    let proved = report.outputs.iter().filter(|output| output.proved).count();
    let outputs = counted(report.outputs.len() as u64, "output");
    let verdict = match &report.witness {
        _ if report.proved => {
            let rest = if report.bounds.is_some() {
                "have the bounds below"
            } else {
                "are not covered: use --bounds"
            };
            format!("proved in exact arithmetic for all inputs; rounding and saturation {rest}")
        }
        Some(_) => "refuted: the program computes something else".to_owned(),
        None => unproved(report),
    };
    let mut lines = vec![
        ("verdict", verdict),
        ("program", format!("{} for {}", report.name, report.target)),
        ("outputs", format!("{proved} of {outputs} proved{}", against(report))),
        ("field", format!("{}, {}", report.field, counted(report.seeds.len() as u64, "run"))),
        ("compared with", report.order.clone()),
        ("preparation", format!("{:.1e} of the largest output", report.preparation.share)),
    ];
    lines.extend(report.certificate.iter().filter_map(checked).map(|entry| ("certificate", entry)));
    let mut text = Mark::of_verdict(report.proved).first_line(&facts(lines));
    text.extend(
        report
            .uncovered
            .iter()
            .map(|gap| line(&format!("not covered: node `{}` ({}): {}", gap.node, gap.op, gap.reason))),
    );
    text.extend(report.counterexample.iter().map(counterexample));
    text.extend(report.witness.iter().map(witness));
    text.extend(report.bounds.iter().map(bounds_text));
    text.extend(report.assumptions.iter().map(|entry| line(&format!("assumed: {entry}"))));
    text
}

/// Returns what the outputs are proved against, if that is not the model.
fn against(report: &Report) -> &'static str {
    if report.preparation.is_rounding { "" } else { " against the compiled graph" }
}

/// Formats the verdict on a program for which there is neither a proof nor a counterexample.
fn unproved(report: &Report) -> String {
    match &report.counterexample {
        Some(_) => {
            "not proved: the comparison differs, but no input was found that shows an error".to_owned()
        }
        None if report.outputs.iter().all(|output| output.proved) && !report.uncovered.is_empty() => {
            let nodes = counted(report.uncovered.len() as u64, "node");
            format!("not proved: {nodes} not covered; the rest is proved in exact arithmetic")
        }
        None if !report.preparation.is_rounding && report.outputs.iter().all(|output| output.proved) => {
            let Preparation { share, limit, .. } = report.preparation;
            format!(
                "not proved for the model: the program computes the compiled graph, whose outputs in float differ from \
                 the model's by {share:.1e} of the largest (limit {limit:.1e}), since passes before the compiler \
                 changed it; `npu run` on typical inputs shows the effect, and a model in float can be proved"
            )
        }
        None => "not proved".to_owned(),
    }
}

/// Formats the input that shows an error.
fn witness(found: &Witness) -> String {
    let Witness { inputs, machine, model, bound, .. } = found;
    facts([
        ("shown by", inputs.clone()),
        ("there", format!("{} is {machine}, {model} in the model", element(&found.element))),
        ("explained", format!("a difference of at most {bound:.4}")),
    ])
}

/// Formats the result of checking a certificate.
fn checked(certificate: &CertificateReport) -> Option<String> {
    let seeds: Vec<String> = certificate.seeds.iter().map(u64::to_string).collect();
    let other = Some(&certificate.npukit).filter(|version| *version != env!("CARGO_PKG_VERSION"));
    let by = other.map(|version| format!("made by npukit {version}, ")).unwrap_or_default(); // Default: by this version.
    let of = format!("{by}proved again with its seeds {}", seeds.join(", "));
    match certificate.status {
        CertificateStatus::Holds => Some(format!("holds: {of}")),
        CertificateStatus::Refuted => Some(format!("does not hold: {of}")),
        _ => None,
    }
}

/// Formats how far the machine's numbers may be from real arithmetic, and where they may saturate.
fn bounds_text(bounds: &BoundsReport) -> String {
    let saturation = match &bounds.saturations[..] {
        [] => "impossible".to_owned(),
        all => format!("possible in {}", counted(all.len() as u64, "place")),
    };
    let any = bounds.decided_any_rounding;
    let any_decided = any.map(|count| format!(", {count} for any rounding")).unwrap_or_default(); // Default: not requested.
    let decided = format!("{} of {}{any_decided}", bounds.decided, counted(bounds.boxes as u64, "range"));
    let run = || counted(bounds.observed_inputs as u64, "input");
    let mut text = facts([
        ("bounds hold for", bounds.inputs.clone()),
        ("saturation", saturation),
        ("class decided", decided),
        ("inputs run", bounds.not_run.as_ref().map_or_else(run, |why| format!("none: {why}"))),
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
    // Default: a dash for an unknown number.
    let number = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |number| short(number, 4));
    let slack = |slack: Option<f64>| slack.map_or_else(|| "-".to_owned(), |slack| short(slack, 1) + " x");
    let row = |output: &OutputBounds| {
        let known = [number(output.certified), number(output.observed), slack(output.slack)];
        let any = any.map(|_| number(output.certified_any_rounding));
        let before = output.before.as_ref().map(|op| format!(", before {op}"));
        // Default: the output itself is bounded.
        let name = output.name.clone() + &before.unwrap_or_default();
        [name].into_iter().chain(known).chain(any).collect::<Vec<_>>()
    };
    text += &table(&columns, bounds.outputs.iter().map(row));
    text.extend(bounds.layers().into_iter().map(|layer| line(&format!("may saturate: {layer}"))));
    if bounds.holds == Some(false) {
        text += &line("an observed error is above its bound: this is a bug in npukit; please report it");
    }
    text
}

/// Formats a number with that many decimals; a large one with a power of ten.
fn short(number: f64, decimals: usize) -> String {
    if number < 1e7 { format!("{number:.decimals$}") } else { format!("{number:.1e}") }
}

/// Formats the known facts about an error, one per line.
fn counterexample(found: &Counterexample) -> String {
    let mut lines = vec![("first difference", element(&found.output))];
    lines.extend(found.instead.as_ref().map(|place| ("it holds instead", element(place))));
    lines.extend(writer(found).map(|writer| ("written by", writer)));
    if let (Some(memory), Some(address), Some(lane)) = (&found.memory, found.address, found.lane) {
        lines.push(("at", format!("{memory} {address}, lane {lane}")));
    }
    lines.extend(found.wrote.as_ref().map(|place| ("written to", element(place))));
    facts(lines)
}

/// Formats the instruction; for a program in segments, the known part, which may be a step of the
/// host.
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
