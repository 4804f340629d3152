//! Outputs of a run: their values if there are few, otherwise statistics.

use std::path::Path;

use npukit::report::OutputReport;

use crate::printable::line;
use crate::table::{Column, counted, table, thousands};

/// Formats statistics of the outputs' elements, and the first samples of outputs that are short or
/// look like classes. `file` is the file that all of them were written to, if any.
pub fn outputs(outputs: &[OutputReport], samples: usize, file: Option<&Path>) -> String {
    summaries(outputs) + &firsts(outputs, samples, file)
}

/// Formats one line per output.
fn summaries(outputs: &[OutputReport]) -> String {
    let is_odd = |output: &OutputReport| output.summary.nan + output.summary.infinite > 0;
    let odd = outputs.iter().any(is_odd);
    let row = |output: &OutputReport| {
        let summary = &output.summary;
        let mut row = vec![output.name.clone(), format!("{:?}", output.shape)];
        row.extend(
            [summary.min, summary.max, summary.mean].map(|value| value.map_or_else(String::new, real)),
        );
        row.extend([summary.nan, summary.infinite].into_iter().filter(|_| odd).map(thousands));
        let counts = &summary.histogram.counts;
        row.push(blocks(counts));
        row.push(counts.iter().map(|&count| thousands(count)).collect::<Vec<_>>().join(" "));
        row
    };
    let mut columns = vec![Column::left("output"), Column::left("shape")];
    columns.extend(["min", "max", "mean"].map(Column::right));
    columns.extend(["NaN", "infinite"].into_iter().filter(|_| odd).map(Column::right));
    columns.extend([Column::left("histogram"), Column::text("elements from min to max").minor(1)]);
    table(&columns, outputs.iter().map(row))
}

/// Formats the first samples of outputs that are short or look like classes.
fn firsts(outputs: &[OutputReport], samples: usize, file: Option<&Path>) -> String {
    const SHOWN: usize = 8;
    let listed: Vec<&OutputReport> = outputs.iter().filter(|output| is_shown(output)).collect();
    if listed.is_empty() {
        return String::new();
    }
    let has_classes = listed.iter().any(|output| output.argmax.is_some());
    let shown = samples.min(SHOWN);
    let rows = listed.iter().flat_map(|output| {
        (0..shown).map(move |sample| {
            let mut row = vec![output.name.clone(), sample.to_string()];
            row.extend(has_classes.then(|| classes(output, sample, samples)));
            row.push(values(output, sample));
            row
        })
    });
    let mut columns = vec![Column::left("output"), Column::right("sample")];
    columns.extend(has_classes.then_some(Column::left("argmax")));
    columns.push(Column::text("values"));
    let more = match (samples - shown, file) {
        (0, _) => String::new(),
        (more, Some(file)) => {
            line(&format!("and {} more, in {}", counted(more as u64, "sample"), file.display()))
        }
        (more, None) => format!("and {} more; use --output to write all\n", counted(more as u64, "sample")),
    };
    format!("\n{}{more}", table(&columns, rows))
}

/// Whether single samples of the output are shown.
fn is_shown(output: &OutputReport) -> bool {
    output.argmax.is_some() || output.values.is_some()
}

/// Formats the class at each position of a sample, with `NaN` for positions without a class.
fn classes(output: &OutputReport, sample: usize, samples: usize) -> String {
    // Default: an output that does not look like classes has none.
    let all = output.argmax.as_deref().unwrap_or_default();
    // Default: without samples there are no classes.
    let positions = all.len().checked_div(samples).unwrap_or_default();
    let place = |place: &Option<usize>| place.map_or_else(|| "NaN".to_owned(), |place| place.to_string());
    all.iter().skip(sample * positions).take(positions).map(place).collect::<Vec<_>>().join(" ")
}

fn values(output: &OutputReport, sample: usize) -> String {
    let values = output.values.as_ref().and_then(|values| values.get(sample));
    // Default: values are only shown for short outputs.
    let values = values.map(Vec::as_slice).unwrap_or_default();
    values.iter().map(|&value| real(value)).collect::<Vec<_>>().join(" ")
}

/// Formats a number in at most about ten characters.
fn real(value: f64) -> String {
    let magnitude = value.abs();
    match value {
        value if value.fract() == 0.0 && magnitude < 1e9 => format!("{value}"),
        value if !value.is_finite() => format!("{value}"),
        value if (1e-3..1e6).contains(&magnitude) => format!("{value:.4}"),
        value => format!("{value:.3e}"),
    }
}

/// Formats counts as blocks, the tallest for the largest count and the lowest for 0.
fn blocks(counts: &[u64]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    // Default: without counts there are no blocks.
    let largest = counts.iter().max().copied().unwrap_or_default();
    let steps = BLOCKS.len() as u64 - 1;
    let height = |count: u64| match (u128::from(count) * u128::from(steps)).checked_div(largest.into()) {
        None | Some(0) if count == 0 => BLOCKS[0],
        found => BLOCKS[found.map_or(1, |height| (height as usize).clamp(1, BLOCKS.len() - 1))],
    };
    counts.iter().map(|&count| height(count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_tell_nothing_from_little() {
        assert_eq!(blocks(&[0, 1, 50, 100]), "▁▂▄█");
        assert_eq!((blocks(&[3]), blocks(&[0, 0]), blocks(&[])), ("█".into(), "▁▁".into(), String::new()));
        assert_eq!(blocks(&[u64::MAX, 1]), "█▂");
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (-7.0, "-7"),
            (0.123_456, "0.1235"),
            (-12.5, "-12.5000"),
            (1.5e-7, "1.500e-7"),
            (2.5e11 + 0.5, "2.500e11"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(real(value), text);
        }
    }
}
