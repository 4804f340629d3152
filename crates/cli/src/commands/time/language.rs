//! `npu time` of a language model.

use npukit::Source;
use npukit::report::{LanguageLayers, LanguagePart, LanguagePoint, LanguageStep, Traffic};
use npukit::verbs::time::{LanguageReport, LanguageRequest, language};

use super::{TimeArgs, kinds, units};
use crate::answer::Answer;
use crate::failure::Failure;
use crate::printable::line;
use crate::requests::context;
use crate::table::{Cell, Column, Row, View, counted, facts, table, thousands, viewed};
use crate::text::layers::bottleneck;
use crate::verbosity::is_quiet;

/// Columns of the table of contexts and batches.
const POINTS: [Column<'_>; 12] = [
    Column::right("context"),
    Column::right("batch"),
    Column::right("prefill ms").leads(),
    Column::right("prefill tokens/s"),
    Column::left("prefill bound"),
    Column::right("prefill x").minor(2),
    Column::right("decode ms").leads(),
    Column::right("decode tokens/s"),
    Column::left("decode bound"),
    Column::right("decode x").minor(2),
    Column::right("weights MB").minor(3),
    Column::right("cache MB").minor(3),
];

/// Times the source if it is a language model; `None` for another kind of file.
pub fn answer(args: &TimeArgs, source: &Source) -> Result<Option<Answer>, Failure> {
    let numbers = |numbers: &[u32]| numbers.iter().map(|&number| number as usize).collect();
    let request = LanguageRequest {
        source: source.clone(),
        contexts: numbers(&args.context),
        batches: numbers(&args.source.model.batch),
        shapes_only: args.shapes_only,
        others: others(args),
    };
    let Some(report) = language(&request, context())? else { return Ok(None) };
    let view = args.view.view(&POINTS)?;
    Ok(Some(Answer::new(text(&report, &view), &report)))
}

/// Returns the names of given options that only apply to programs.
fn others(args: &TimeArgs) -> Vec<&'static str> {
    let given = [
        ("--from-samples", args.from_samples.is_some()),
        ("--samples", args.samples.is_some()),
        ("--trace", args.trace.is_some()),
        ("--cycles", args.cycles.is_some()),
        ("--by-instruction", args.by_instruction.is_some()),
        ("--host", args.costs.host.host.is_some()),
        ("--technology", args.costs.technology.is_some()),
    ];
    given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
}

fn text(report: &LanguageReport, view: &View) -> String {
    let time = &report.time;
    let lines = [
        ("model", report.name.clone()),
        ("target", report.target.clone()),
        ("weights", thousands(report.weights)),
        ("layers", report.layers.to_string()),
        ("clock", format!("{} MHz: {}", time.clock_mhz, time.clock_source)),
    ];
    let mut text = facts(lines) + "\n" + &viewed(&POINTS, time.points.iter().map(point), view);
    for LanguagePoint { context, batch, refused, .. } in &time.points {
        let texts = counted(*batch as u64, "text");
        let named =
            |reason: &String| line(&format!("{} tokens, {texts}: {reason}", thousands(*context as u64)));
        text.extend(refused.iter().map(named));
    }
    if let [LanguagePoint { prefill: Some(prefill), decode: Some(decode), .. }] = &time.points[..] {
        text += &format!("\nPrefill{}", step(prefill));
        text += &format!("\nDecoding of a token{}", step(decode));
    }
    if is_quiet() {
        return text;
    }
    text += "\n";
    if time.points.len() > 1 {
        text += &line(
            "a bound is the largest lower bound of the cycles, and x the multiple of it that they are; with one context and one batch the report has layers, engines and causes",
        );
    }
    text.extend(time.assumptions.iter().chain(&time.notes).map(|note| line(note)));
    text.extend(report.warnings.iter().map(|warning| line(&format!("warning: {warning}"))));
    text
}

/// Returns the row of a context and a batch.
fn point(point: &LanguagePoint) -> Row {
    let mut cells = vec![Cell::count(point.context as u64), Cell::count(point.batch as u64)];
    for step in [&point.prefill, &point.decode] {
        let Some(step) = step else {
            cells.extend(["-", "", "", ""].map(Cell::from));
            continue;
        };
        cells.extend([
            Cell::figure(format!("{:.2}", step.milliseconds), step.milliseconds),
            Cell::figure(format!("{:.2}", step.tokens_per_second), step.tokens_per_second),
            step.bound.as_str().into(),
            step.distance.map_or_else(Cell::default, |x| Cell::figure(format!("{x:.2}"), x)),
        ]);
    }
    let traffic = point.decode.as_ref().map(|step| step.traffic);
    let bytes =
        |of: fn(&Traffic) -> u64| traffic.as_ref().map_or_else(Cell::default, |all| megabytes(of(all)));
    cells.extend([bytes(|all| all.weight_bytes), bytes(|all| all.cache_bytes)]);
    Row::new(cells, None)
}

/// Formats bytes in millions.
fn megabytes(bytes: u64) -> Cell {
    let millions = bytes as f64 / 1e6;
    Cell::figure(format!("{millions:.2}"), bytes as f64)
}

/// Formats the details of some tokens.
fn step(step: &LanguageStep) -> String {
    let programs = match step.interpolated {
        true => format!("{}; {} of them timed", step.programs, step.timed_programs),
        false => step.programs.to_string(),
    };
    let bounds = step.bounds.iter().map(|bound| format!("{} {}", thousands(bound.cycles), bound.what));
    let lines = [
        ("cycles", thousands(step.cycles)),
        ("time", format!("{:.3} ms, {:.2} tokens per second", step.milliseconds, step.tokens_per_second)),
        ("programs", programs),
        ("tokens at once", step.rows.to_string()),
        ("instructions", thousands(step.instructions)),
        ("lower bounds", bounds.collect::<Vec<_>>().join(", ")),
    ];
    let most = step.parts.iter().map(|part| part.cycles).max();
    let part = |part: &LanguagePart| {
        let mut cells = vec![part.part.as_str().into(), Cell::count(part.cycles), Cell::share(part.share)];
        cells.extend(traffic(&part.traffic));
        Row::new(cells, bottleneck(part.cycles, most))
    };
    let parts = [
        Column::left("part"),
        Column::right("cycles"),
        Column::right("share").bars(),
        Column::right("MACs"),
        Column::right("weights"),
        Column::right("cache"),
        Column::right("host"),
    ];
    format!("\n{}\n{}", facts(lines), table(&parts, step.parts.iter().map(part)))
        + &layers(&step.layers)
        + &kinds(&step.kinds)
        + &units(&step.units)
}

/// Returns the cells of multiply-accumulates and bytes.
fn traffic(traffic: &Traffic) -> [Cell; 4] {
    let Traffic { macs, weight_bytes, cache_bytes, host_bytes } = *traffic;
    [macs, weight_bytes, cache_bytes, host_bytes].map(Cell::count)
}

/// Formats the figures of each layer.
fn layers(layers: &[LanguageLayers]) -> String {
    let row = |layers: &LanguageLayers| {
        let name = match (layers.first, layers.count) {
            (None, _) => "the rest".to_owned(),
            (Some(first), 1) => format!("layer {first}"),
            (Some(first), count) => format!("each of layers {first} to {}", first + count - 1),
        };
        let mut cells = vec![name.as_str().into(), Cell::count(layers.cycles)];
        cells.extend(traffic(&layers.traffic));
        Row::new(cells, None)
    };
    let columns = [
        Column::left("layer"),
        Column::right("cycles"),
        Column::right("MACs"),
        Column::right("weights"),
        Column::right("cache"),
        Column::right("host"),
    ];
    format!("\n{}", table(&columns, layers.iter().map(row)))
}
