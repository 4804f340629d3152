//! Text of the results of `--labels`.

use npukit::report::{AccuracyReport, Confusion, FloatAccuracy, Worst};

use crate::table::{Column, facts, percent, table, thousands};

/// Maximum number of classes in a matrix; more would be wider than a terminal, so the most frequent
/// confusions are listed instead.
const MAX_MATRIX_CLASSES: usize = 12;
/// Maximum number of listed confusions.
const LISTED: usize = 10;

/// Formats accuracy, confusion and the worst samples; empty if accuracy was not measured.
pub fn text(report: Option<&AccuracyReport>) -> String {
    let Some(report) = report else { return String::new() };
    let of = |share: f64| counted_share(share, report.labels);
    let in_float = |share: fn(&FloatAccuracy) -> f64| {
        report.float.as_ref().map_or_else(String::new, |float| format!(" (float: {})", of(share(float))))
    };
    let mut lines = vec![
        ("labels", format!("{} for output {}", thousands(report.labels as u64), report.output)),
        ("top-1 accuracy", of(report.top1) + &in_float(|float| float.top1)),
        ("top-5 accuracy", of(report.top5) + &in_float(|float| float.top5)),
    ];
    let top = format!("top-{} accuracy", report.top);
    if ![1, 5].contains(&report.top) {
        lines.push((&top, of(report.top_share)));
    }
    if let Some(FloatAccuracy { only_machine, only_float, .. }) = report.float {
        let sides = format!("{only_machine} right only on the accelerator, {only_float} right only in float");
        lines.push(("disagreements", sides));
    }
    format!("\n{}{}{}", facts(lines), confusion(report), worst(&report.worst))
}

/// Formats a share of labels as a percentage and as a number.
fn counted_share(share: f64, labels: usize) -> String {
    let right = (share * labels as f64).round() as u64;
    format!("{}, {} of {}", percent(share), thousands(right), thousands(labels as u64))
}

fn confusion(report: &AccuracyReport) -> String {
    let is_wrong = |found: &&Confusion| found.predicted != Some(found.label);
    let wrong: Vec<&Confusion> = report.confusion.iter().filter(is_wrong).collect();
    if wrong.is_empty() {
        return String::new();
    }
    if report.classes <= MAX_MATRIX_CLASSES { matrix(report) } else { listing(wrong) }
}

/// Formats a matrix with one row per label, and one column per predicted class.
fn matrix(report: &AccuracyReport) -> String {
    let places = || (0..report.classes).map(Some).chain([None]);
    let count = |label: usize, predicted: Option<usize>| {
        let found =
            report.confusion.iter().find(|found| found.label == label && found.predicted == predicted);
        found.map_or(0, |found| found.count)
    };
    let is_used =
        |place: &Option<usize>| place.is_some() || report.confusion.iter().any(|c| c.predicted.is_none());
    let columns: Vec<_> = places().filter(is_used).collect();
    let heading = |place: &Option<usize>| place.map_or_else(|| "NaN".to_owned(), |class| class.to_string());
    let headings: Vec<String> = columns.iter().map(heading).collect();
    let heads = headings.iter().map(|heading| Column::right(heading));
    let heads: Vec<Column<'_>> = std::iter::once(Column::left("label, predicted as")).chain(heads).collect();
    let row = |label: usize| {
        let cell = |place: &Option<usize>| match count(label, *place) {
            0 => "·".to_owned(),
            count => thousands(count as u64),
        };
        std::iter::once(label.to_string()).chain(columns.iter().map(cell)).collect::<Vec<_>>()
    };
    format!("\n{}", table(&heads, (0..report.classes).map(row)))
}

/// Formats the most frequent confusions.
fn listing(mut wrong: Vec<&Confusion>) -> String {
    wrong.sort_by_key(|found| std::cmp::Reverse(found.count));
    let row = |found: &&Confusion| {
        vec![found.label.to_string(), class(found.predicted), thousands(found.count as u64)]
    };
    let columns = [Column::right("label"), Column::right("predicted as"), Column::right("times")];
    format!("\n{}", table(&columns, wrong.iter().take(LISTED).map(row)))
}

fn worst(worst: &[Worst]) -> String {
    if worst.is_empty() {
        return String::new();
    }
    let has_positions = worst.iter().any(|worst| worst.position > 0);
    let row = |worst: &Worst| {
        let sample = match has_positions {
            true => format!("{} at {}", worst.sample, worst.position),
            false => worst.sample.to_string(),
        };
        let margin = worst.margin.map_or_else(|| "NaN".to_owned(), |margin| format!("{margin:.4}"));
        vec![sample, worst.label.to_string(), class(worst.predicted), margin]
    };
    let is_wrong = |worst: &Worst| worst.predicted != Some(worst.label);
    let name = if worst.iter().any(is_wrong) { "worst sample" } else { "least certain sample (right)" };
    let columns = [
        Column::right(name),
        Column::right("label"),
        Column::right("predicted"),
        Column::right("label's score above the others"),
    ];
    format!("\n{}", table(&columns, worst.iter().map(row)))
}

fn class(predicted: Option<usize>) -> String {
    predicted.map_or_else(|| "NaN".to_owned(), |class| class.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_of_labels_too() {
        assert_eq!(counted_share(1.0, 10), "100.0 %, 10 of 10");
        assert_eq!(counted_share(355.0 / 360.0, 360), "98.6 %, 355 of 360");
    }
}
