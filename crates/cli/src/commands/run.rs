//! `npu run`

use std::path::PathBuf;

use npukit::report::Waves;
use npukit::verbs::run::{Report, Request, run as run_verb};

use super::by_hand;
use super::comparison::{COMPARED, layer_comparison, quantisation, rescaling};
use super::layers::{choices, comparison, host_steps, latency, on_chip, saturations, underflow};
use super::outputs::outputs;
use super::{accuracy, accuracy_options, stateful};
use super::{calibration_with, context, input_files, meaning, preprocess, remarks, source};
use crate::answer::Answer;
use crate::args::RunArgs;
use crate::disk::{check_apart, write_all};
use crate::endings::{self, ARRAYS};
use crate::failure::Failure;
use crate::printable::line;
use crate::table::{View, counted, facts, thousands};

pub fn run(args: &RunArgs) -> Result<Answer, Failure> {
    let view = args.view.view(&COMPARED)?;
    let preprocess = preprocess(&args.preprocess);
    let calibration = calibration_with(&args.calibration, &args.inputs, &preprocess);
    let mut request = Request {
        source: source(&args.source, &args.lowering, calibration)?,
        inputs: input_files(&args.inputs),
        preprocess,
        stateful: stateful(&args.state),
        like: args.like.clone(),
        raw: args.raw,
        compare: args.compare.as_deref() == Some(""),
        board: args.compare.clone().filter(|file| !file.is_empty()),
        dump: !args.dump.is_empty(),
        meaning: meaning(&args.meaning),
        max_error: args.max_error,
        strict: args.strict,
        check: args.check,
        accuracy: accuracy_options(&args.accuracy),
        waves: args.waves.as_ref().map(|path| path.display().to_string()),
        ..Request::default()
    };
    if request.is_by_hand(context())? {
        return by_hand::run(args, request);
    }
    let dump = dump(args)?;
    if args.hand.is_used() {
        request.hand = by_hand::hand(args)?;
    }
    check_apart(args.output.iter().chain(&dump).chain(&args.waves).map(PathBuf::as_path))?;
    let (report, files) = run_verb(&request, context())?;
    let outputs = args.output.iter().map(|path| (path.clone(), &files.outputs[..]));
    let dump = dump.iter().zip(&files.dump).map(|(path, bytes)| (path.clone(), &bytes[..]));
    write_all(&outputs.chain(dump).chain(waves(args, files.waves.as_ref())).collect::<Vec<_>>())?;
    Ok(Answer::new(text(&report, &view), &report).with_success(report.failures.is_empty()))
}

/// The waveforms, and beside them how viewers show them.
pub(super) fn waves<'a>(
    args: &RunArgs,
    waves: Option<&'a Waves>,
) -> impl Iterator<Item = (PathBuf, &'a [u8])> + use<'a> {
    let files = args.waves.as_ref().zip(waves).map(|(path, waves)| {
        let beside = |ending: &str| path.with_extension(ending);
        [
            (path.clone(), &waves.fst[..]),
            (beside("gtkw"), &waves.gtkwave[..]),
            (beside("sucl"), &waves.surfer[..]),
        ]
    });
    files.into_iter().flatten()
}

/// The file for every tensor of a model.
fn dump(args: &RunArgs) -> Result<Option<PathBuf>, Failure> {
    match &args.dump[..] {
        [] => Ok(None),
        [range] if range.contains('[') && !range.ends_with(".npz") => {
            Err(Failure::Dump { text: range.clone() })
        }
        [path] if endings::check(path.as_ref(), ARRAYS).is_err() => Err(Failure::Dump { text: path.clone() }),
        [path] => Ok(Some(path.into())),
        [_, second, ..] => Err(Failure::Dump { text: second.clone() }),
    }
}

fn text(report: &Report, view: &View) -> String {
    let mut lines = vec![
        ("program", on_chip(&report.name, &report.on_chip)),
        ("target", report.target.clone()),
        ("samples", report.samples.to_string()),
    ];
    if !report.choices.is_empty() {
        lines.push(("chosen", choices(&report.choices)));
    }
    if report.speed.latency_ms.is_some() {
        lines.push(("latency", latency(&report.speed)));
    }
    if let Some(found) = &report.comparison {
        lines.extend(comparison(found));
    }
    let saturated =
        format!("{} ({} of them inputs)", thousands(report.saturations), thousands(report.saturated_inputs));
    lines.push(("saturated values", saturated));
    if let Some(found) = &report.underflow {
        let counts =
            [(found.input_elements, "input"), (found.results, "result"), (found.constants, "constant")];
        let rounded = counts.map(|(count, what)| counted(count, what)).join(", ");
        lines.push(("rounded to zero", rounded));
    }
    lines.push(("seconds", format!("{:.3}", report.seconds)));
    let mut text = format!("{}\n{}", facts(lines), outputs(&report.outputs, report.samples));
    text += &accuracy::text(report.accuracy.as_ref());
    text += &saturations(&report.saturations_by_layer);
    text += &underflow(report.underflow.as_ref());
    text += &rescaling(report.rescaling.as_ref());
    text += &quantisation(report.quantisation.as_ref());
    text += &layer_comparison(report.layer_compare.as_ref(), view);
    text += &host_steps(&report.host_steps);
    text += &remarks(&report.notes, &report.warnings);
    text.extend(report.failures.iter().map(|failure| line(&format!("failed: {failure}"))));
    text
}
