//! `npu time`

use npukit::report::KindTime;
use npukit::verbs::time::{Report, time};

use super::layers::{cycles, latency, layers};
use super::{source, without_bar};
use crate::answer::Answer;
use crate::args::TimeArgs;
use crate::failure::Failure;
use crate::table::{Column, facts, percent, table, thousands};

pub fn run(args: &TimeArgs) -> Result<Answer, Failure> {
    let report = without_bar(|context| time(&source(&args.source, &args.calibration), context))?;
    Ok(Answer::new(text(&report), &report))
}

fn text(report: &Report) -> String {
    let time = &report.time;
    let unknown = || "unknown: the artifact does not say".to_owned();
    let lines = facts([
        ("program", report.name.clone()),
        ("target", report.target.clone()),
        ("instructions", thousands(report.instructions as u64)),
        ("cycles", cycles(&time.cycles)),
        ("latency", latency(time.milliseconds, time.clock_mhz, time.clock_source.as_deref())),
        ("MACs", report.macs.map_or_else(unknown, thousands)),
        ("utilisation", time.utilisation.map_or_else(unknown, percent)),
        ("array busy", percent(time.array_busy)),
        ("energy", format!("{} units", thousands(time.energy))),
    ]);
    let row = |kind: &KindTime| {
        let numbers = [kind.instructions as u64, kind.vectors, kind.cycles];
        std::iter::once(kind.kind.clone()).chain(numbers.map(thousands)).collect()
    };
    let columns = [
        Column::Left("instruction"),
        Column::Right("number"),
        Column::Right("vectors"),
        Column::Right("cycles"),
    ];
    let assumptions: String = time.assumptions.iter().map(|line| format!("{line}\n")).collect();
    let kinds = table(&columns, time.kinds.iter().map(row));
    format!("{lines}{}\n{kinds}\n{assumptions}", layers(&time.layers))
}
