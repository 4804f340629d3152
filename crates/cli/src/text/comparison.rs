//! Text of the results of `--calibrate`, `--quantize` and `--compare`.

use npukit::report::{
    Figures, LayerCompareReport, LayerError, QuantizationReport, QuantizedTensor, RescaleReport,
};

use super::layers::{decibels, signal_to_noise};
use crate::color::Mark;
use crate::printable::line;
use crate::table::{Cell, Column, Row, View, facts, table, thousands, viewed};

/// Formats the result of a calibration; empty if there was none.
pub fn rescaling(report: Option<&RescaleReport>) -> String {
    let Some(report) = report else { return String::new() };
    let did = if report.applied { "applied" } else { "not applied" };
    let mut lines = vec![("rescaling by powers of two", format!("{did}: {}", report.reason))];
    lines.push(("calibration samples", report.samples.to_string()));
    if report.tried > 0 {
        lines.push(("programs tried", report.tried.to_string()));
    }
    if let Some(margin) = report.margin {
        lines.push(("supported range", format!("{margin} times that of the samples")));
    }
    if report.equalized {
        lines.push(("channels", "equalized between adjacent layers".to_owned()));
    }
    if report.balanced {
        lines.push(("operands of products", "scaled to give bits to their weights".to_owned()));
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
    let before = if report.after.is_some() { "before" } else { "none" };
    let rows = std::iter::once(measured(before, &report.before));
    let rows = rows.chain(report.after.iter().map(|after| measured("after", after)));
    let columns = [
        Column::left("rescaling"),
        Column::right("results saturated"),
        Column::right("constants saturated"),
        Column::right("largest difference"),
        Column::right("RMS difference"),
        Column::right("signal to noise"),
    ];
    text += &format!("\n{}", table(&columns, rows));
    if !report.layers.is_empty() {
        let rows = report.layers.iter().map(|layer| vec![layer.layer.clone(), layer.exponent.to_string()]);
        text += &format!("\n{}", table(&[Column::left("layer"), Column::right("stored / 2^")], rows));
    }
    text
}

/// Formats the result of a quantization; empty if there was none.
pub fn quantization(report: Option<&QuantizationReport>) -> String {
    let Some(report) = report else { return String::new() };
    let samples = if report.made_up { "made up" } else { "given" };
    let lines = facts([
        ("quantization", format!("{}: {}", report.method, report.reason)),
        ("calibration samples", format!("{} ({samples})", report.samples)),
    ]);
    let row = |tensor: &QuantizedTensor| {
        vec![
            tensor.name.clone(),
            tensor.kind.to_owned(),
            tensor.bits.to_string(),
            (-tensor.fraction).to_string(),
            format!("{:.4} .. {:.4}", tensor.minimum, tensor.maximum),
            share(tensor.saturated),
            share(tensor.underflowed),
            share(tensor.relative_rms_error),
            tensor.signal_to_noise_db.map_or_else(|| "exact".to_owned(), |db| format!("{db:.1} dB")),
        ]
    };
    let columns = [
        Column::left("tensor"),
        Column::left("is").minor(2),
        Column::right("bits").minor(3),
        Column::right("step, 2^"),
        Column::right("range").minor(1),
        Column::right("saturated"),
        Column::right("to zero"),
        Column::right("RMS error").minor(4),
        Column::right("signal to noise"),
    ];
    format!("\n{lines}\n{}", table(&columns, report.tensors.iter().map(row)))
}

/// Formats a share in percent, so that only 0 reads as 0.
fn share(share: f64) -> String {
    const LEAST: f64 = 0.001;
    let percent = share * 100.0;
    if percent > 0.0 && percent < LEAST / 2.0 { format!("< {LEAST} %") } else { format!("{percent:.3} %") }
}

/// Columns of the table of layers compared with float.
pub const COMPARED: [Column<'_>; 14] = [
    Column::left("layer"),
    Column::left("operators").minor(8),
    Column::right("own error, largest"),
    Column::right("RMS").named("own RMS").minor(5),
    Column::right("rounding explains"),
    Column::right("chain's error, largest").minor(4),
    Column::right("RMS").named("chain's RMS").minor(6),
    Column::right("of the range").leads(),
    Column::right("signal to noise"),
    Column::right("saturated").adds(),
    Column::right("to zero").adds().minor(3),
    Column::right("range").minor(7),
    Column::right("in float").minor(7),
    Column::text("").named("parting"),
];

/// Formats every layer compared with float, the first divergence, and suggestions; empty if not
/// requested.
pub fn layer_comparison(report: Option<&LayerCompareReport>, view: &View) -> String {
    let Some(report) = report else { return String::new() };
    let parts = report.first_divergence.as_ref();
    let marked = |layer: &LayerError| parts.filter(|parting| !parting.input && parting.at == layer.name);
    let mut first = true;
    let row = |layer: &LayerError| {
        let mark = marked(layer).filter(|_| std::mem::take(&mut first));
        let text = mark.map_or(String::new(), |parting| format!("parts here: {}", parting.why));
        Row::new(row(layer, text), (layer.saturations > 0).then_some(Mark::Fault))
    };
    // A step of a layer that has no values of the model has nothing to compare.
    let has_figures = |layer: &&LayerError| layer.figures.is_some() || layer.saturations > 0;
    let mut text =
        format!("\n{}", viewed(&COMPARED, report.layers.iter().filter(has_figures).map(row), view));
    match parts {
        Some(parting) if parting.input => {
            text += &line(&format!("diverges from float at input `{}`: {}", parting.at, parting.why))
        }
        Some(_) => {}
        None => text += &explained(&report.layers),
    }
    text.extend(report.suggestions.iter().map(|suggestion| line(&format!("suggestion: {suggestion}"))));
    text
}

/// Formats that rounding explains all differences, with a warning if rounding leaves little signal.
fn explained(layers: &[LayerError]) -> String {
    const LITTLE_DB: f64 = 10.0;
    let ratio = |layer: &LayerError| layer.figures.and_then(|figures| figures.chain_signal_to_noise_db);
    match layers.iter().find(|layer| ratio(layer).is_some_and(|decibels| decibels < LITTLE_DB)) {
        Some(layer) => line(&format!(
            "all differences are explained by rounding, which leaves a signal-to-noise ratio of {1} from layer `{0}`",
            layer.name,
            decibels(ratio(layer))
        )),
        None => "all differences are explained by rounding\n".to_owned(),
    }
}

fn row(layer: &LayerError, mark: String) -> Vec<Cell> {
    let unknown = || Cell::from("-");
    let figures = layer.figures.as_ref();
    let number = |figure: fn(&Figures) -> f64| {
        figures.map(figure).map_or_else(unknown, |figure| Cell::figure(format!("{figure:.6}"), figure))
    };
    let range = |low: f64, high: f64| Cell::figure(format!("{low:.4} .. {high:.4}"), high - low);
    vec![
        layer.name.as_str().into(),
        layer.operators.join("+").into(),
        number(|figures| figures.own_max_abs_error),
        number(|figures| figures.own_rms_error),
        figures
            .and_then(|figures| figures.rounding_bound)
            .map_or_else(unknown, |bound| Cell::figure(format!("{bound:.6}"), bound)),
        number(|figures| figures.chain_max_abs_error),
        number(|figures| figures.chain_rms_error),
        figures
            .and_then(|figures| figures.chain_relative_error)
            .map_or_else(unknown, |share| Cell::figure(format!("{:.3} %", share * 100.0), share)),
        figures.map_or_else(unknown, |figures| noise(figures.chain_signal_to_noise_db)),
        Cell::count(layer.saturations),
        figures.map_or_else(unknown, |figures| Cell::count(figures.underflows)),
        figures.map_or_else(unknown, |figures| range(figures.minimum, figures.maximum)),
        figures.map_or_else(unknown, |figures| range(figures.float_minimum, figures.float_maximum)),
        mark.into(),
    ]
}

/// Formats a signal-to-noise ratio, which is infinite without noise.
fn noise(ratio: Option<f64>) -> Cell {
    // Default: an exact result is above all ratios.
    Cell::figure(decibels(ratio), ratio.unwrap_or(f64::INFINITY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zero_reads_as_zero() {
        let texts = [0.0, 1e-6, 4e-6, 0.000_013, 1.0].map(share);
        assert_eq!(texts, ["0.000 %", "< 0.001 %", "< 0.001 %", "0.001 %", "100.000 %"]);
    }
}
