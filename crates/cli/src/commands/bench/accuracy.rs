//! The verb `npu bench accuracy`.

use npukit::verbs::bench::accuracy::{Report, Request, Row, accuracy};

use crate::answer::Answer;
use crate::commands::bench::BenchArgs;
use crate::failure::Failure;
use crate::requests::context;
use crate::table::{Column, View, thousands, viewed};

pub fn run(args: &BenchArgs) -> Result<Answer, Failure> {
    let view = args.view.view(&COLUMNS)?;
    let Some(folder) = args.models.clone() else { return Err(Failure::NoModels) };
    let targets = match &args.targets[..] {
        [] => npukit::targets().iter().map(|target| target.name.to_owned()).collect(),
        given => given.to_vec(),
    };
    let request = Request { folder, targets, only: args.only.clone(), samples: args.samples as usize };
    let report = accuracy(&request, context())?;
    let is_complete = report.rows.iter().all(|row| row.error.is_none());
    Ok(Answer::new(text(&report, &view), &report).with_success(is_complete))
}

const COLUMNS: [Column<'_>; 13] = [
    Column::left("network"),
    Column::left("target"),
    Column::left("calibrated"),
    Column::right("top-1"),
    Column::right("own top-1").minor(1),
    Column::right("same class"),
    Column::right("as in float"),
    Column::right("reconstruction off by"),
    Column::right("from float by"),
    Column::right("signal to noise"),
    Column::right("saturated").minor(2),
    Column::right("cycles"),
    Column::right("frames a second").minor(3),
];

fn text(report: &Report, view: &View) -> String {
    let mut text = viewed(&COLUMNS, report.rows.iter().map(cells), view);
    for Row { network, target, error, .. } in &report.rows {
        text.extend(error.iter().map(|error| format!("FAILED {network} on {target}: {error}\n")));
    }
    text + &format!("\n{} seeded inputs for each network; {:.1} s\n", report.samples, report.seconds)
}

fn cells(row: &Row) -> Vec<String> {
    let share =
        |share: Option<f64>| share.map_or_else(String::new, |share| format!("{:.1} %", share * 100.0));
    let fine = |share: Option<f64>| share.map_or_else(String::new, |share| format!("{:.2} %", share * 100.0));
    vec![
        row.network.clone(),
        row.target.clone(),
        if row.calibrated { "yes" } else { "no" }.to_owned(),
        share(row.top1),
        share(row.top1_own),
        share(row.same_class),
        share(row.same_class_float),
        fine(row.reconstruction),
        fine(row.reconstruction_float),
        row.snr_db.map_or_else(String::new, |decibels| format!("{decibels:.1} dB")),
        thousands(row.saturations),
        row.cycles.map_or_else(String::new, thousands),
        row.frames_per_second.map_or_else(String::new, |frames| format!("{frames:.1}")),
    ]
}
