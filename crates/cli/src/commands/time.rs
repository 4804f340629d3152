//! The verb `npu time`.

mod language;

use std::path::PathBuf;

use clap::Args;
use npukit::cost_model_name;
use npukit::report::{FlagTime, KindTime, Roofline, Speed, TraceReport, UnitTime};
use npukit::verbs::time::{Report, Request, Sinks, time_with};

use crate::answer::Answer;
use crate::args::{CalibrationArgs, CostArgs, INPUTS, MeaningArgs, OUTPUT, PreprocessArgs, SourceArgs};
use crate::disk::{Staged, check_apart, commit};
use crate::failure::Failure;
use crate::options::{CompileOptions, TimeOptions};
use crate::printable::line;
use crate::requests::{calibration, context, costs, meaning, preprocess, source};
use crate::table::{Cell, Column, Row, TableArgs, View, counted, facts, percent, table, thousands};
use crate::text::costs::{energy, energy_layers, energy_notes, host_note, latency_with_host};
use crate::text::layers::{
    LAYERS, bottleneck, calculated, clock_source, cycles, host_steps, latency, layers, on_chip,
};
use crate::verbosity::{TimingsArgs, is_quiet, is_verbose};

/// Largest number of tokens of a text that may be asked for.
const MOST_TOKENS: i64 = 1 << 30;

/// Help of `--batch`, which has several numbers for a language model.
const BATCH: &str = "Size of an open batch, or numbers of texts";

/// Arguments of `npu time`.
#[derive(Debug, Args)]
#[command(mut_arg("rows", |arg| arg.visible_alias("top")))]
#[command(mut_arg("batch", |arg| arg.value_delimiter(',').help(BATCH)))]
pub struct TimeArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub source: SourceArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub meaning: MeaningArgs,
    /// Tokens of a text of a language model, as `128,2048`
    ///
    /// The model is a GGUF file, a folder of a model hub, or its `config.json`. The report has the
    /// time of all tokens of a text and of the last one, without the weights.
    #[arg(long, value_name = "N,N", help_heading = INPUTS, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=MOST_TOKENS))]
    pub context: Vec<u32>,
    /// Take only the shapes of a language model in a folder
    ///
    /// They follow from `config.json`. The weights have the type that is stated there, or BF16.
    #[arg(long, help_heading = INPUTS, hide_short_help = true)]
    pub shapes_only: bool,
    /// Report from a file of performance samples instead
    ///
    /// The samples are words of the hardware's sampling unit, written by npukit or by a board.
    #[arg(long, value_name = "FILE", help_heading = INPUTS, hide_short_help = true)]
    pub from_samples: Option<String>,
    /// Write the hardware's performance samples
    ///
    /// They are 64-bit words, as a driver reads them.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT, hide_short_help = true)]
    pub samples: Option<PathBuf>,
    /// Write a trace of all units, for Perfetto
    ///
    /// <https://ui.perfetto.dev> opens it. The extension selects the format: .pftrace and
    /// .perfetto-trace for compact protobuf, .fst for waveforms, .json for Chrome's JSON, and the
    /// extension of the target's own tools for their format. The default is JSON.
    #[arg(long, value_name = "OUT.pftrace", help_heading = OUTPUT)]
    pub trace: Option<PathBuf>,
    /// Layers to trace: a name, a pattern or A..B
    ///
    /// A pattern contains a `*`; A and B are the first and the last layer.
    #[arg(long, value_name = "LAYER", help_heading = OUTPUT, requires = "trace", hide_short_help = true)]
    pub trace_range: Option<String>,
    /// Write what every part does in each cycle
    #[arg(long, value_name = "OUT.txt", help_heading = OUTPUT, hide_short_help = true)]
    pub cycles: Option<PathBuf>,
    /// Write the cycles of each instruction
    #[arg(long, value_name = "OUT.csv", help_heading = OUTPUT)]
    pub by_instruction: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub options: TimeOptions,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub costs: CostArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub view: TableArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub timings: TimingsArgs,
}

pub fn run(args: &TimeArgs) -> Result<Answer, Failure> {
    let source =
        source(&args.source, &args.lowering, calibration(&args.calibration, preprocess(&args.preprocess)))?;
    if let Some(answer) = language::answer(args, &source)? {
        return Ok(answer);
    }
    let view = args.view.view(&LAYERS)?;
    let request = Request {
        source,
        options: args.options.0.clone(),
        from_samples: args.from_samples.clone(),
        meaning: meaning(&args.meaning),
        trace_extension: args.trace.as_ref().and_then(|path| Some(path.extension()?.to_str()?.to_owned())),
        trace_range: args.trace_range.clone(),
        costs: costs(&args.costs)?,
    };
    let paths = [&args.trace, &args.cycles, &args.samples, &args.by_instruction];
    check_apart(paths.into_iter().flatten().map(PathBuf::as_path))?;
    let staged = paths.map(|path| path.as_deref().map(Staged::new).transpose());
    let [mut trace, mut cycles, mut samples, mut instructions] = collect(staged)?;
    let sinks = Sinks {
        trace: trace.as_mut().map(Staged::writer),
        cycles: cycles.as_mut().map(Staged::writer),
        samples: samples.as_mut().map(Staged::writer),
        instructions: instructions.as_mut().map(Staged::writer),
    };
    let report = time_with(&request, sinks, context())?;
    commit([trace, cycles, samples, instructions].into_iter().flatten().collect())?;
    let written = paths.into_iter().flatten().map(|path| format!("wrote {}\n", path.display()));
    let text = text(&report, &view, args.from_samples.is_some());
    Ok(Answer::new(text + &written.collect::<String>(), &report))
}

/// Returns all results, or the first failure.
fn collect<T>(results: [Result<T, Failure>; 4]) -> Result<[T; 4], Failure> {
    let [a, b, c, d] = results;
    Ok([a?, b?, c?, d?])
}

/// Formats a report; `is_measured` if its cycles are a board's samples.
pub(super) fn text(report: &Report, view: &View, is_measured: bool) -> String {
    let (time, speed) = (&report.time, report.speed());
    let unknown = || "unknown: the artifact does not specify it".to_owned();
    let roofline = &time.roofline;
    let bounds = format!(
        "{} (lower bounds: {} for compute, {} for memory)",
        above(roofline),
        thousands(roofline.compute),
        thousands(roofline.memory)
    );
    let trace = report.trace.as_ref().map(|trace| ("trace", traced(trace)));
    let lines = [
        ("program", on_chip(&report.name, &report.on_chip)),
        ("target", report.target.clone()),
        ("instructions", thousands(report.instructions as u64)),
        ("cycles", cycles(&report.target, &time.cycles, &report.cost_model)),
        ("latency", headline(report, &speed)),
        ("energy", energy(report.energy.as_ref())),
        ("MACs", report.macs.map_or_else(unknown, thousands)),
        ("MACs computed", macs_computed(report)),
        ("utilization", time.utilization.map_or_else(unknown, percent)),
        ("cycles with products", percent(time.array_busy)),
        ("roofline", bounds),
    ];
    let mut text = facts(lines.into_iter().chain(trace))
        + &layers(&time.layers, view)
        + &energy_layers(report.energy.as_ref())
        + &kinds(&time.kinds)
        + &units(&time.units);
    text.extend(time.flags.iter().map(flag));
    text += &host_steps(&report.host_steps);
    if is_quiet() {
        return text;
    }
    text += "\n";
    text += &if is_measured { clock_source(&speed) } else { calculated(&speed) };
    text += &host_note(report.host.as_ref());
    text += &energy_notes(report.energy.as_ref());
    text.extend(assumptions(report).chain(&time.notes).map(|note| line(note)));
    text.extend(report.warnings.iter().map(|warning| line(&format!("warning: {warning}"))));
    text
}

/// Formats the time of a run, with the host's time if it was requested.
fn headline(report: &Report, speed: &Speed) -> String {
    match (&report.host, speed.latency_ms.zip(speed.clock_mhz)) {
        (Some(host), Some((ms, mhz))) => latency_with_host(ms, mhz, report.batch, host),
        _ => latency(speed, report.host_steps.len()),
    }
}

/// Returns the assumptions of the cost models whose cycles [`cycles`] shows.
fn assumptions(report: &Report) -> impl Iterator<Item = &String> {
    let models = report.time.cycles.keys().map(|model| cost_model_name(&report.target, model));
    let hidden: Vec<String> = models
        .filter(|name| !is_verbose() && *name != report.cost_model)
        .map(|name| format!("{name}: "))
        .collect();
    let is_shown = move |text: &&String| !hidden.iter().any(|name| text.starts_with(name.as_str()));
    report.time.assumptions.iter().filter(is_shown)
}

/// Formats the multiply-accumulates on which utilization is based; empty if they are the model's.
fn macs_computed(report: &Report) -> String {
    let Some(macs) = report.time.macs_computed else { return String::new() };
    let of_layers = report.time.layers.iter().map(|layer| layer.macs).sum::<u64>();
    let reason = if macs < of_layers {
        "products without effect on an output are left out"
    } else if report.macs.is_some_and(|of_model| macs > of_model) {
        "also products with padding, sums and activations"
    } else {
        return String::new();
    };
    format!("{} ({reason})", thousands(macs))
}

/// Formats the cycles as a multiple of the roofline's.
fn above(roofline: &Roofline) -> String {
    match roofline.distance {
        Some(distance) => format!("{distance:.2} times the bound of {}", roofline.bound.name()),
        None => "no bound".to_owned(),
    }
}

/// Formats the size of a trace.
fn traced(trace: &TraceReport) -> String {
    let counts = [
        (trace.slices, "slices"),
        (trace.waits, "waits"),
        (trace.flows, "flows"),
        (trace.counter_values, "counter values"),
        (trace.tracks as u64, "tracks"),
    ];
    let counts = counts.map(|(count, noun)| format!("{} {noun}", thousands(count))).join(", ");
    let of = |layers: &Vec<String>| format!("{counts}, of {}", layers.join(", "));
    trace.layers.as_ref().map_or_else(|| counts.clone(), of)
}

/// Formats the cycles by kind of instruction.
fn kinds(kinds: &[KindTime]) -> String {
    let most = kinds.iter().map(|kind| kind.cycles).max();
    let row = |kind: &KindTime| {
        let mut cells = vec![kind.kind.as_str().into()];
        cells.extend([kind.instructions as u64, kind.vectors, kind.cycles].map(Cell::count));
        cells.push(Cell::share(kind.share));
        Row::new(cells, bottleneck(kind.cycles, most))
    };
    let columns = [
        Column::left("instruction"),
        Column::right("number"),
        Column::right("vectors"),
        Column::right("cycles"),
        Column::right("share").shares(),
    ];
    format!("\n{}", table(&columns, kinds.iter().map(row)))
}

/// Formats the work and the waits of units, one line each; empty if the cost model has no units.
fn units(units: &[UnitTime]) -> String {
    if units.is_empty() {
        return String::new();
    }
    let most = units.iter().map(|unit| unit.busy).max();
    let row = |unit: &UnitTime| {
        let waits = unit.waits.iter().map(|wait| format!("{} {}", thousands(wait.cycles), wait.on));
        let waits = waits.collect::<Vec<_>>().join(", ");
        let cells =
            vec![unit.unit.as_str().into(), Cell::count(unit.busy), Cell::share(unit.share), waits.into()];
        Row::new(cells, bottleneck(unit.busy, most))
    };
    let columns = [
        Column::left("unit"),
        Column::right("busy cycles"),
        Column::right("share").bars(),
        Column::text("waited with work to do, cycles for"),
    ];
    format!("\n{}", table(&columns, units.iter().map(row)))
}

fn flag(flag: &FlagTime) -> String {
    let FlagTime { flag, times, cycles, first_instruction, first_cycle } = flag;
    let (times, cycles) = (counted(*times, "time"), counted(*cycles, "cycle"));
    let first = format!("first at instruction {first_instruction} in cycle {first_cycle}");
    format!("\n{}", line(&format!("{flag}: set {times}, for {cycles} in total, {first}")))
}
