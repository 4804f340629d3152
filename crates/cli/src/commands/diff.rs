//! `npu diff` of reports; `values` has that of tensors.

use npukit::verbs::diff::values::Request;
use npukit::verbs::diff::{Figure, Report, TextChange, diff};

use super::{context, values};
use crate::answer::Answer;
use crate::args::DiffArgs;
use crate::colour::Mark;
use crate::failure::Failure;
use crate::printable::line;
use crate::table::{Cell, Column, Row, View, percent, thousands, viewed};

pub fn run(args: &DiffArgs) -> Result<Answer, Failure> {
    if Request::is_of_values(&args.before, &args.after) {
        return values::run(args);
    }
    let view = args.view.view(&FIGURES)?;
    let report = diff(&args.before, &args.after, args.threshold, context())?;
    Ok(Answer::new(text(&report, &view), &report).with_success(report.failures.is_empty()))
}

fn text(report: &Report, view: &View) -> String {
    let mut text = figures(&report.figures, view) + &texts(&report.texts);
    for (path, places) in [(&report.before, &report.only_before), (&report.after, &report.only_after)] {
        text.extend(places.iter().map(|place| line(&format!("only in {path}: {place}"))));
    }
    let (same, differ) = (thousands(report.same as u64), thousands(report.figures.len() as u64));
    text += &format!("{same} figures are the same, {differ} differ\n");
    if !report.failures.is_empty() {
        text += &line(&format!("worse than the threshold allows: {}", report.failures.join(", ")));
    }
    text
}

/// The table of what differs.
const FIGURES: [Column<'_>; 5] = [
    Column::left("figure"),
    Column::right("before").minor(2),
    Column::right("after").minor(1),
    Column::right("change").leads(),
    Column::left("").named("verdict"),
];

fn figures(figures: &[Figure], view: &View) -> String {
    if figures.is_empty() {
        return String::new();
    }
    let row = |figure: &Figure| {
        let change =
            figure.change.map_or_else(|| "new".into(), |change| Cell::figure(signed(change), change));
        let verdict = match figure.is_better {
            Some(true) => "better",
            Some(false) => "worse",
            None => "",
        };
        let [before, after] = [figure.before, figure.after].map(|value| Cell::figure(number(value), value));
        let cells = vec![figure.place.as_str().into(), before, after, change, verdict.into()];
        Row::new(cells, (figure.is_better == Some(false)).then_some(Mark::Fault))
    };
    viewed(&FIGURES, figures.iter().map(row), view)
}

fn texts(texts: &[TextChange]) -> String {
    let change = |text: &TextChange| line(&format!("{}: {} became {}", text.place, text.before, text.after));
    texts.iter().map(change).collect()
}

/// `+2.5 %`
fn signed(change: f64) -> String {
    let sign = if change > 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(change))
}

/// Whole numbers in groups of three digits, others with what of them counts.
fn number(number: f64) -> String {
    if number.fract() == 0.0 && (0.0..9e15).contains(&number) {
        return thousands(number as u64);
    }
    format!("{number:.6}")
}
