//! The verb `npu diff` for values: where two sides diverge, and how the error grows after that.

use npukit::Source;
use npukit::report::Instructions;
use npukit::verbs::diff::values::{
    Difference, Explanation, Parting, Report, Request, SideReport, TensorReport, diff_values,
};

use crate::answer::Answer;
use crate::color::Mark;
use crate::commands::diff::DiffArgs;
use crate::disk::settle;
use crate::failure::Failure;
use crate::printable::line;
use crate::requests::{calibration_with, context, input_files, model_options, preprocess};
use crate::table::{Cell, Column, Row, View, facts, percent, thousands, viewed};
use crate::text::remarks;

pub fn run(args: &DiffArgs) -> Result<Answer, Failure> {
    let view = args.view.view(&TENSORS)?;
    [&args.before, &args.after].into_iter().for_each(|path| settle(path));
    let preprocess = preprocess(&args.preprocess);
    let request = Request {
        before: args.before.clone(),
        after: args.after.clone(),
        source: Source {
            options: args.lowering.0.clone(),
            model: model_options(&args.reading),
            calibration: calibration_with(&args.calibration, &args.inputs, &preprocess),
            ..Source::default()
        },
        model: args.of.clone(),
        program: args.program.clone(),
        inputs: input_files(&args.inputs),
        preprocess,
        threshold: args.threshold,
    };
    let report = diff_values(&request, context())?;
    Ok(Answer::new(text(&report, &view), &report).with_success(report.failures.is_empty()))
}

/// Columns of the table of tensors.
const TENSORS: [Column<'_>; 10] = [
    Column::left("tensor"),
    Column::left("layer").minor(4),
    Column::right("differ").minor(2),
    Column::right("largest error"),
    Column::right("RMS").minor(1),
    Column::right("of the range").leads(),
    Column::right("signal to noise").minor(5),
    Column::right("correlation").minor(3),
    Column::right("rounding explains"),
    Column::left("").named("verdict"),
];

fn text(report: &Report, view: &View) -> String {
    let lines = [
        ("first", side(&report.before)),
        ("second", side(&report.after)),
        // Two files are compared as they are, whatever their samples.
        ("samples", if report.samples > 1 { report.samples.to_string() } else { String::new() }),
        ("seconds", format!("{:.3}", report.seconds)),
    ];
    let mut text = format!("{}\n{}", facts(lines), viewed(&TENSORS, report.tensors.iter().map(row), view));
    for (side, names) in [(&report.before, &report.only_before), (&report.after, &report.only_after)] {
        if !names.is_empty() {
            text += &line(&format!("only in {}: {}", side.name, names.join(", ")));
        }
    }
    text += &verdict(report);
    text += &remarks(&report.notes, &[]);
    text.extend(report.failures.iter().map(|failure| line(&format!("failed: {failure}"))));
    text
}

fn side(side: &SideReport) -> String {
    let what = match (side.kind.as_str(), &side.target) {
        ("float", _) => "in float".to_owned(),
        (kind, Some(target)) => format!("{kind}, {target}"),
        (kind, None) => kind.to_owned(),
    };
    format!("{} ({what})", side.name)
}

fn row(tensor: &TensorReport) -> Row {
    let unknown = || Cell::from("-");
    let number = |value: f64| Cell::figure(format!("{value:.6}"), value);
    let cells = vec![
        tensor.name.as_str().into(),
        // Default: a tensor that is not the result of a layer.
        tensor.layer.clone().unwrap_or_default().into(),
        Cell::count(tensor.differing),
        number(tensor.max_abs_error),
        number(tensor.rms_error),
        tensor.relative_error.map_or_else(unknown, |share| Cell::figure(percent(share), share)),
        tensor
            .signal_to_noise_db
            .map_or_else(unknown, |decibels| Cell::figure(format!("{decibels:.1} dB"), decibels)),
        tensor
            .correlation
            .map_or_else(unknown, |correlation| Cell::figure(format!("{correlation:.6}"), correlation)),
        tensor.rounding_bound.map_or_else(unknown, number),
        explanation(tensor).into(),
    ];
    let is_fault = matches!(tensor.explanation, Explanation::Saturation | Explanation::BeyondRounding);
    Row::new(cells, is_fault.then_some(Mark::Fault))
}

fn explanation(tensor: &TensorReport) -> String {
    match tensor.explanation {
        Explanation::Same => "the same".to_owned(),
        Explanation::Rounding => "rounding".to_owned(),
        Explanation::Saturation => format!("saturates: {}", thousands(tensor.saturations)),
        Explanation::BeyondRounding => format!("beyond rounding: {}", thousands(tensor.beyond_rounding)),
        _ => "unknown bound".to_owned(),
    }
}

/// Formats where the sides diverge, and whether rounding explains it.
fn verdict(report: &Report) -> String {
    let Some(first) = &report.first_difference else {
        let elements = thousands(report.same);
        return format!("no tensor differs: {elements} elements are equal\n");
    };
    let mut text = line(&format!("first difference at {}", place(first)));
    text += &both(first, report);
    let parted = report.parts_at.as_ref().map(|parting| &parting.tensor);
    if let Some(tensor) = report.tensors.iter().find(|tensor| parted == Some(&tensor.name)) {
        text += &parting(report.parts_at.as_ref(), tensor, report);
    }
    let unknown = report.tensors.iter().filter(|tensor| tensor.explanation == Explanation::NoBound);
    let unknown: Vec<String> = unknown.map(|tensor| format!("`{}`", tensor.name)).collect();
    match (parted, unknown.is_empty()) {
        (None, true) => text += "rounding explains all differences\n",
        (_, false) => text += &line(&format!("the rounding error is not bounded for {}", unknown.join(", "))),
        (Some(_), true) => {}
    }
    text
}

/// Formats the first tensor that rounding does not explain.
fn parting(parting: Option<&Parting>, tensor: &TensorReport, report: &Report) -> String {
    let why = match parting.map(|parting| parting.why) {
        Some(Explanation::Saturation) => {
            let of = if tensor.layer.is_some() { "values of its layer" } else { "values" };
            format!("{} {of} do not fit the number format", thousands(tensor.saturations))
        }
        _ if tensor.layer.is_none() => {
            format!("{} elements differ by more than rounding explains", thousands(tensor.beyond_rounding))
        }
        _ => format!(
            "{} elements differ from the layer in float on the same operands by more than rounding explains",
            thousands(tensor.beyond_rounding)
        ),
    };
    let mut text = line(&format!("rounding does not explain `{}`: {why}", tensor.name));
    if let Some(worst) = &tensor.worst {
        text += &line(&format!("  largest at {}", place(worst)));
        text += &both(worst, report);
    }
    text
}

/// Formats the values of both sides, and the instruction that wrote it.
fn both(difference: &Difference, report: &Report) -> String {
    let [before, after] = [difference.before, difference.after].map(real);
    line(&format!("  {before} and {after}{}", writer(report, difference)))
}

/// Formats a value with the digits that distinguish it from its neighbors in single precision, if
/// it is a single-precision number.
fn real(value: f64) -> String {
    let single = value as f32;
    if f64::from(single) == value { single.to_string() } else { value.to_string() }
}

/// Formats a place, such as `/conv2 (layer /conv2+/relu2), sample 3, channel 4, row 0, column 7`.
fn place(difference: &Difference) -> String {
    let layer = difference.layer.as_ref().map_or_else(String::new, |layer| format!(" (layer {layer})"));
    let index = match &difference.axes {
        Some(axes) => {
            let named = axes.iter().zip(&difference.index);
            // A sample is a batch of one.
            let shown = named.filter(|(axis, index)| *axis != "batch" || **index > 0);
            shown.map(|(axis, index)| format!(", {axis} {index}")).collect::<String>()
        }
        None => format!(", element {:?}", difference.index),
    };
    format!("`{}`{layer}, sample {}{index}", difference.tensor, difference.sample)
}

/// Formats the instruction that wrote the element, or the instructions of its layer.
fn writer(report: &Report, difference: &Difference) -> String {
    if let (Some(instruction), Some(text)) = (difference.instruction, &difference.instruction_text) {
        return format!("; written by instruction {instruction}: {text}");
    }
    let tensor = report.tensors.iter().find(|tensor| tensor.name == difference.tensor);
    match tensor.and_then(|tensor| tensor.instructions.as_ref()) {
        Some(Instructions { program, first, last, .. }) => {
            let of = if program.is_empty() { String::new() } else { format!(" of {program}") };
            let last = last.map_or_else(|| "the last".to_owned(), |last| last.to_string());
            format!("; its layer is instructions {first} to {last}{of}")
        }
        None => String::new(),
    }
}
