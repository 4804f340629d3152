//! `npu bench`

use npukit::verbs::bench::{LayerRow, Report, Request, Row, Table, bench};

use super::context;
use super::layers::frames;
use crate::answer::Answer;
use crate::args::{BenchArgs, BenchTable};
use crate::failure::Failure;
use crate::table::{Column, table, thousands};

pub fn run(args: &BenchArgs) -> Result<Answer, Failure> {
    let table = args.table.map(|table| match table {
        BenchTable::Programs => Table::Programs,
        BenchTable::Speed => Table::Speed,
    });
    let request = Request { table, only: args.only.clone(), runs: args.runs as usize, seed: args.seed };
    let report = bench(&request, context())?;
    Ok(Answer::new(text(&report), &report).with_success(report.failures.is_empty()))
}

fn text(report: &Report) -> String {
    let of = |table: Table| report.rows.iter().filter(move |row| row.table == table);
    let mut text = String::new();
    if of(Table::Programs).next().is_some() {
        text += &format!("{}\n", programs(of(Table::Programs)));
    }
    let by_layer = report.rows.iter().filter(|row| !row.layers.is_empty());
    text.extend(by_layer.map(|row| format!("{}\n", layers(row))));
    if of(Table::Speed).next().is_some() {
        text += &format!("{}\n", speed(of(Table::Speed)));
    }
    text.extend(report.failures.iter().map(|failure| format!("FAILED {failure}\n")));
    if report.debug_build {
        text += "this is a build for debugging: its simulator and compiler are slow\n";
    }
    let (met, all) = (report.met, report.rows.iter().filter(|row| row.bar.is_some()).count());
    text + &format!(
        "{met} of {all} bars reached; host times are medians of {}; {:.1} s\n",
        report.runs, report.seconds
    )
}

fn programs<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let row = |row: &Row| {
        let mut cells = vec![row.network.clone(), row.instance.clone(), row.what.clone()];
        let published = row.published.map(|published| number(row, published));
        let share = row.published.map(|published| format!("{:.1} %", 100.0 * row.found / published));
        let above = row.above_bound.map(|(distance, bound)| format!("{distance:.2} x {bound}"));
        let rate = row.frames_per_second.map(frames);
        let milliseconds = row.latency_ms.map(|ms| format!("{ms:.3}"));
        let seconds = row.compile_seconds.map(|seconds| format!("{seconds:.2}"));
        cells.extend(
            [published, bar(row), Some(ours(row)), share, milliseconds, rate, above, seconds]
                .map(Option::unwrap_or_default),
        );
        cells
    };
    let columns = [
        Column::Left("network"),
        Column::Left("instance"),
        Column::Left("by"),
        Column::Right("published"),
        Column::Right("bar"),
        Column::Right("ours"),
        Column::Right("of published"),
        Column::Right("ms"),
        Column::Right("frames a second"),
        Column::Right("above its bound"),
        Column::Right("compiled in s"),
    ];
    table(&columns, rows.map(row))
}

/// The layers of a program beside those published.
fn layers(row: &Row) -> String {
    let cycles = |cycles: f64| thousands(cycles.round() as u64);
    let line = |LayerRow { name, published, found, .. }: &LayerRow| {
        let share = format!("{:.1} %", 100.0 * found / published);
        vec![name.clone(), cycles(*published), cycles(*found), share]
    };
    let columns = [
        Column::Left("cycles of the layer"),
        Column::Right("published"),
        Column::Right("ours"),
        Column::Right("of published"),
    ];
    format!("{}, {}:\n{}", row.network, row.what, table(&columns, row.layers.iter().map(line)))
}

fn speed<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let row = |row: &Row| vec![row.network.clone(), row.instance.clone(), row.what.clone(), ours(row)];
    let columns =
        [Column::Left("simulated"), Column::Left("instance"), Column::Left("what"), Column::Right("ours")];
    table(&columns, rows.map(row))
}

fn bar(row: &Row) -> Option<String> {
    let sign = if row.more_is_better { ">=" } else { "<=" };
    Some(format!("{sign} {}", number(row, row.bar?)))
}

/// With a mark where the bar is not reached.
fn ours(row: &Row) -> String {
    format!("{}{}", number(row, row.found), if row.met == Some(false) { " MISSED" } else { "" })
}

/// Cycles as whole numbers, shares with a digit, everything else with two; with the unit.
fn number(row: &Row, value: f64) -> String {
    match row.unit {
        "cycles" => thousands(value.round() as u64),
        "%" => format!("{value:.1} %"),
        unit => format!("{value:.2} {unit}"),
    }
}
