//! What `--calibrate`, `--quantise` and `--compare` found, as text.

use npukit::report::{LayerCompareReport, LayerError, QuantisationReport, QuantisedTensor, RescaleReport};

use super::layers::{decibels, signal_to_noise};
use crate::printable::line;
use crate::table::{Column, facts, table, thousands};

/// What came of a calibration; nothing when there was none.
pub fn rescaling(report: Option<&RescaleReport>) -> String {
    let Some(report) = report else { return String::new() };
    let did = if report.applied { "applied" } else { "not applied" };
    let mut lines = vec![("rescaling by powers of two", format!("{did}: {}", report.reason))];
    lines.push(("calibration samples", report.samples.to_string()));
    if report.tried > 0 {
        lines.push(("programs tried", report.tried.to_string()));
    }
    if let Some(margin) = report.margin {
        lines.push(("range that fits", format!("{margin} times that of the samples")));
    }
    let mut text = format!("\n{}", facts(lines));
    let measured = |name: &str, measured: &npukit::report::Measured| {
        vec![
            name.to_owned(),
            thousands(measured.saturations),
            measured.saturated_constants.map_or_else(|| "unknown".to_owned(), thousands),
            format!("{:.6}", measured.comparison.max_abs_error),
            format!("{:.6}", measured.comparison.rms_error),
            signal_to_noise(&measured.comparison),
        ]
    };
    let rows = std::iter::once(measured("before", &report.before));
    let rows = rows.chain(report.after.iter().map(|after| measured("after", after)));
    let columns = [
        Column::Left("rescaling"),
        Column::Right("results saturated"),
        Column::Right("constants saturated"),
        Column::Right("largest difference"),
        Column::Right("RMS difference"),
        Column::Right("signal to noise"),
    ];
    text += &format!("\n{}", table(&columns, rows));
    if !report.layers.is_empty() {
        let rows = report.layers.iter().map(|layer| vec![layer.layer.clone(), layer.exponent.to_string()]);
        text += &format!("\n{}", table(&[Column::Left("layer"), Column::Right("stored / 2^")], rows));
    }
    text
}

/// What came of a quantisation; nothing when there was none.
pub fn quantisation(report: Option<&QuantisationReport>) -> String {
    let Some(report) = report else { return String::new() };
    let samples = if report.made_up { "made up" } else { "given" };
    let lines = facts([
        ("quantisation", format!("{}: {}", report.method, report.reason)),
        ("calibration samples", format!("{} ({samples})", report.samples)),
    ]);
    let row = |tensor: &QuantisedTensor| {
        vec![
            tensor.name.clone(),
            tensor.kind.to_owned(),
            tensor.bits.to_string(),
            (-tensor.fraction).to_string(),
            format!("{:.4} .. {:.4}", tensor.minimum, tensor.maximum),
            format!("{:.3} %", tensor.saturated * 100.0),
            format!("{:.3} %", tensor.underflowed * 100.0),
            format!("{:.3} %", tensor.relative_rms_error * 100.0),
            tensor.signal_to_noise_db.map_or_else(|| "exact".to_owned(), |db| format!("{db:.1} dB")),
        ]
    };
    let columns = [
        Column::Left("tensor"),
        Column::Left("is"),
        Column::Right("bits"),
        Column::Right("step, 2^"),
        Column::Right("range"),
        Column::Right("saturated"),
        Column::Right("to zero"),
        Column::Right("RMS error"),
        Column::Right("signal to noise"),
    ];
    format!("\n{lines}\n{}", table(&columns, report.tensors.iter().map(row)))
}

/// Every layer beside float, where the two part ways, and what would help; nothing when not asked for.
pub fn layer_comparison(report: Option<&LayerCompareReport>) -> String {
    let Some(report) = report else { return String::new() };
    let columns = [
        Column::Left("layer"),
        Column::Left("operators"),
        Column::Right("own error, largest"),
        Column::Right("RMS"),
        Column::Right("rounding explains"),
        Column::Right("chain's error, largest"),
        Column::Right("RMS"),
        Column::Right("of the range"),
        Column::Right("signal to noise"),
        Column::Right("saturated"),
        Column::Right("to zero"),
        Column::Right("range"),
        Column::Right("in float"),
        Column::Left(""),
    ];
    let parts = report.first_divergence.as_ref();
    let marked = |layer: &LayerError| parts.filter(|parting| !parting.input && parting.at == layer.name);
    let mut first = true;
    let row = |layer: &LayerError| {
        let mark = marked(layer).filter(|_| std::mem::take(&mut first));
        row(layer, mark.map_or(String::new(), |parting| format!("parts here: {}", parting.why)))
    };
    let mut text = format!("\n{}", table(&columns, report.layers.iter().map(row).collect::<Vec<_>>()));
    match parts {
        Some(parting) if parting.input => {
            text += &line(&format!("parts from float at input `{}`: {}", parting.at, parting.why))
        }
        Some(_) => {}
        None => text += &explained(&report.layers),
    }
    text.extend(report.suggestions.iter().map(|suggestion| line(&format!("suggestion: {suggestion}"))));
    text
}

/// That all is rounding, and where that leaves hardly anything.
fn explained(layers: &[LayerError]) -> String {
    const LITTLE_DB: f64 = 10.0;
    let ratio = |layer: &LayerError| layer.figures.and_then(|figures| figures.chain_signal_to_noise_db);
    match layers.iter().find(|layer| ratio(layer).is_some_and(|decibels| decibels < LITTLE_DB)) {
        Some(layer) => line(&format!(
            "all differences are explained by rounding, which from layer `{}` on leaves {} of signal to noise",
            layer.name,
            decibels(ratio(layer))
        )),
        None => "all differences are explained by rounding\n".to_owned(),
    }
}

fn row(layer: &LayerError, mark: String) -> Vec<String> {
    let unknown = || "-".to_owned();
    let figures = layer.figures.as_ref();
    let number = |figure: fn(&npukit::report::Figures) -> f64| {
        figures.map_or_else(unknown, |figures| format!("{:.6}", figure(figures)))
    };
    let range = |low: f64, high: f64| format!("{low:.4} .. {high:.4}");
    vec![
        layer.name.clone(),
        layer.operators.join("+"),
        number(|figures| figures.own_max_abs_error),
        number(|figures| figures.own_rms_error),
        figures
            .and_then(|figures| figures.rounding_bound)
            .map_or_else(unknown, |bound| format!("{bound:.6}")),
        number(|figures| figures.chain_max_abs_error),
        number(|figures| figures.chain_rms_error),
        figures
            .and_then(|figures| figures.chain_relative_error)
            .map_or_else(unknown, |share| format!("{:.3} %", share * 100.0)),
        figures.map_or_else(unknown, |figures| decibels(figures.chain_signal_to_noise_db)),
        thousands(layer.saturations),
        figures.map_or_else(unknown, |figures| thousands(figures.underflows)),
        figures.map_or_else(unknown, |figures| range(figures.minimum, figures.maximum)),
        figures.map_or_else(unknown, |figures| range(figures.float_minimum, figures.float_maximum)),
        mark,
    ]
}
