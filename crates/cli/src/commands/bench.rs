//! The verb `npu bench`.

mod accuracy;
mod alone;

use clap::{Args, ValueEnum};
use clap_complete::ArgValueCandidates;
use npukit::verbs::bench::{LayerRow, Report, Request, Row, Table, bench_with};

use crate::answer::Answer;
use crate::args::HostArgs;
use crate::candidates::targets;
use crate::color::Mark;
use crate::failure::Failure;
use crate::requests::context;
use crate::table::{self, Cell, Column, TableArgs, View, thousands, viewed};
use crate::text::layers::frames;

/// Arguments of `npu bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Print only this table
    #[arg(value_enum)]
    pub table: Option<BenchTable>,
    /// Only these networks and instances, as `resnet20v2` or `zcu104`
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Number of time measurements on the host; the median is reported
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Random seed of weights and inputs
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Folder of the networks of MLPerf Tiny (`*.tflite`), for `npu bench accuracy`
    #[arg(long, value_name = "DIR")]
    pub models: Option<String>,
    /// Accelerators of `npu bench accuracy`; by default the default instance of each
    #[arg(long, value_name = "TARGET", num_args = 1.., add = ArgValueCandidates::new(targets))]
    pub targets: Vec<String>,
    /// Seeded inputs for each network, for `npu bench accuracy`
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub samples: u32,
    /// Run only this task of the compiler, and print its seconds and its memory: started by `npu
    /// bench compile`
    #[arg(long, value_name = "TASK", hide = true)]
    pub alone: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub host: HostArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub view: TableArgs,
}

/// Tables of `npu bench`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchTable {
    /// Quality of compiled programs
    Programs,
    /// Speed of the simulator
    Speed,
    /// Speed and memory of the compiler
    Compile,
    /// Accuracy of the trained networks of a folder on the machines
    Accuracy,
}

pub fn run(args: &BenchArgs) -> Result<Answer, Failure> {
    let table = match args.table {
        None => None,
        Some(BenchTable::Programs) => Some(Table::Programs),
        Some(BenchTable::Speed) => Some(Table::Speed),
        Some(BenchTable::Compile) => Some(Table::Compile),
        Some(BenchTable::Accuracy) => return accuracy::run(args),
    };
    let (only, runs, host) = (args.only.clone(), args.runs as usize, args.host.host);
    let request = Request { table, only, runs, seed: args.seed, host };
    if let Some(task) = &args.alone {
        return alone::run(&request, task);
    }
    let columns = match table {
        Some(Table::Speed) => &SPEED[..],
        Some(Table::Compile) => &COMPILE[..],
        _ => &PROGRAMS[..],
    };
    let view = args.view.view(columns)?;
    let report = bench_with(&request, context(), |task| alone::start(&request, task))?;
    Ok(Answer::new(text(&report, &view), &report).with_success(report.failures.is_empty()))
}

fn text(report: &Report, view: &View) -> String {
    let of = |table: Table| report.rows.iter().filter(move |row| row.table == table);
    let mut text = String::new();
    if of(Table::Programs).next().is_some() {
        text += &format!("{}\n", viewed(&PROGRAMS, of(Table::Programs).map(program), view));
    }
    let by_layer = report.rows.iter().filter(|row| !row.layers.is_empty());
    text.extend(by_layer.map(|row| format!("{}\n", layers(row))));
    if of(Table::Speed).next().is_some() {
        // The view options apply to the first table.
        let view = if text.is_empty() { view } else { &View::default() };
        text += &format!("{}\n", viewed(&SPEED, of(Table::Speed).map(speed), view));
    }
    if of(Table::Compile).next().is_some() {
        let view = if text.is_empty() { view } else { &View::default() };
        text += &format!("{}\n", viewed(&COMPILE, of(Table::Compile).map(compiled), view));
    }
    text.extend(report.failures.iter().map(|failure| format!("FAILED {failure}\n")));
    if report.rows.iter().any(|row| row.published.is_some()) {
        text += "published figures are quoted from the sources that --json names, not computed\n";
    }
    if report.rows.iter().any(|row| row.host_ms.is_some()) {
        text += "ms and frames a second include the host's estimated time (--host)\n";
    }
    if report.debug_build {
        text += "this is a debug build: its simulator and compiler are slow\n";
    }
    let (met, all) = (report.met, report.rows.iter().filter(|row| row.bar.is_some()).count());
    text + &format!(
        "{met} of {all} goals reached; host times are medians of {}; {:.1} s\n",
        report.runs, report.seconds
    )
}

/// Columns of the table of programs.
const PROGRAMS: [Column<'_>; 11] = [
    Column::left("network"),
    Column::left("instance"),
    Column::left("by").minor(1),
    Column::right("published").minor(5),
    Column::right("bar").minor(2),
    Column::right("ours"),
    Column::right("of published"),
    Column::right("ms").minor(3),
    Column::right("frames a second").minor(4),
    Column::right("vs roofline").alias("above its bound").minor(6),
    Column::right("compiled in s").minor(7),
];

/// Columns of the table of the simulator.
const SPEED: [Column<'_>; 4] =
    [Column::left("simulated"), Column::left("instance"), Column::left("what"), Column::right("ours")];

/// Columns of the table of the compiler.
const COMPILE: [Column<'_>; 6] = [
    Column::left("network"),
    Column::left("instance"),
    Column::left("what"),
    Column::right("bar"),
    Column::right("ours"),
    Column::right("most memory"),
];

fn compiled(row: &Row) -> table::Row {
    let mut cells = [&row.network, &row.instance, &row.what].map(|text| Cell::from(text.as_str())).to_vec();
    let memory = |bytes: u64| Cell::figure(format!("{:.1} MB", bytes as f64 / 1e6), bytes as f64);
    // Default: cells are empty if the system does not report the value.
    cells.extend([bar(row), ours(row), row.peak_bytes.map(memory).unwrap_or_default()]);
    marked(row, cells)
}

fn program(row: &Row) -> table::Row {
    let figure = |value: Option<f64>, text: fn(f64) -> String| {
        // Default: the cell is empty if the value is unknown.
        value.map(|value| Cell::figure(text(value), value)).unwrap_or_default()
    };
    let above = |(distance, bound)| Cell::figure(format!("{distance:.2} x {bound}"), distance);
    let published = |published| Cell::figure(number(row, published), published);
    let mut cells = [&row.network, &row.instance, &row.what].map(|text| Cell::from(text.as_str())).to_vec();
    cells.extend([
        row.published.map(published).unwrap_or_default(),
        bar(row),
        ours(row),
        figure(row.published.map(|published| 100.0 * row.found / published), |share| format!("{share:.1} %")),
        figure(row.latency_ms, |ms| format!("{ms:.3}")),
        figure(row.frames_per_second, frames),
        row.above_bound.map(above).unwrap_or_default(),
        figure(row.compile_seconds, |seconds| format!("{seconds:.2}")),
    ]);
    marked(row, cells)
}

/// Formats the layers of a program, compared with published figures.
fn layers(row: &Row) -> String {
    let cycles = |cycles: f64| thousands(cycles.round() as u64);
    let line = |LayerRow { name, published, found, .. }: &LayerRow| {
        let share = format!("{:.1} %", 100.0 * found / published);
        vec![name.clone(), cycles(*published), cycles(*found), share]
    };
    let columns = [
        Column::left("cycles of the layer"),
        Column::right("published"),
        Column::right("ours"),
        Column::right("of published"),
    ];
    format!("{}, {}:\n{}", row.network, row.what, table::table(&columns, row.layers.iter().map(line)))
}

fn speed(row: &Row) -> table::Row {
    let cells = [&row.network, &row.instance, &row.what].map(|text| Cell::from(text.as_str()));
    marked(row, cells.into_iter().chain([ours(row)]).collect())
}

/// Marks a row if the goal is not reached.
fn marked(row: &Row, cells: Vec<Cell>) -> table::Row {
    table::Row::new(cells, (row.met == Some(false)).then_some(Mark::Fault))
}

fn bar(row: &Row) -> Cell {
    let sign = if row.more_is_better { ">=" } else { "<=" };
    let cell = |bar| Cell::figure(format!("{sign} {}", number(row, bar)), bar);
    // Default: the cell is empty without a goal.
    row.bar.map(cell).unwrap_or_default()
}

/// Formats our figure, marked if the goal is not reached.
fn ours(row: &Row) -> Cell {
    let mark = if row.met == Some(false) { " MISSED" } else { "" };
    Cell::figure(format!("{}{mark}", number(row, row.found)), row.found)
}

/// Formats cycles as whole numbers, shares with one digit, everything else with two; with the unit.
fn number(row: &Row, value: f64) -> String {
    match row.unit {
        "cycles" => thousands(value.round() as u64),
        "%" => format!("{value:.1} %"),
        unit => format!("{value:.2} {unit}"),
    }
}
