//! `npu diff`

use npukit::verbs::diff::{Figure, Report, TextChange, diff};

use super::context;
use crate::answer::Answer;
use crate::args::DiffArgs;
use crate::failure::Failure;
use crate::printable::line;
use crate::table::{Column, percent, table, thousands};

pub fn run(args: &DiffArgs) -> Result<Answer, Failure> {
    let report = diff(&args.before, &args.after, args.threshold, context())?;
    Ok(Answer::new(text(&report), &report).with_success(report.failures.is_empty()))
}

fn text(report: &Report) -> String {
    let mut text = figures(&report.figures) + &texts(&report.texts);
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

fn figures(figures: &[Figure]) -> String {
    if figures.is_empty() {
        return String::new();
    }
    let row = |figure: &Figure| {
        let change = figure.change.map_or_else(|| "new".to_owned(), signed);
        let verdict = match figure.is_better {
            Some(true) => "better",
            Some(false) => "worse",
            None => "",
        };
        vec![figure.place.clone(), number(figure.before), number(figure.after), change, verdict.to_owned()]
    };
    let columns = [
        Column::Left("figure"),
        Column::Right("before"),
        Column::Right("after"),
        Column::Right("change"),
        Column::Left(""),
    ];
    table(&columns, figures.iter().map(row))
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
