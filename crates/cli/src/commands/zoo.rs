//! The verb `npu zoo`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::ArgValueCandidates;
use npukit::verbs::zoo::{Entry, list, zoo};
use serde_json::json;

use crate::answer::Answer;
use crate::args::OUTPUT;
use crate::candidates::networks;
use crate::chosen;
use crate::disk::write_all;
use crate::endings::named;
use crate::failure::Failure;
use crate::table::{Column, table, thousands};

/// Arguments of `npu zoo`.
#[derive(Debug, Args)]
pub struct ZooArgs {
    /// Network to write
    #[arg(add = ArgValueCandidates::new(networks))]
    pub network: Option<String>,
    /// `.onnx` file, by default NETWORK.onnx
    #[arg(short, long, value_name = "OUT.onnx", help_heading = OUTPUT, value_parser = named(&["onnx"]), requires = "network")]
    pub output: Option<PathBuf>,
    /// Random seed of the weights
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

pub fn run(args: &ZooArgs) -> Result<Answer, Failure> {
    let Some(name) = &args.network else {
        let entries = list();
        return Ok(Answer::new(text(&entries), &json!({ "networks": entries })));
    };
    let (mut report, bytes) = zoo(name, args.seed)?;
    let path = chosen::file(args.output.as_ref(), format!("{name}.onnx"), |old| old == bytes)?;
    write_all(&[(path.clone(), &bytes)])?;
    report.artifact = path.display().to_string();
    let line = format!(
        "wrote {}: {}, {} bytes\n",
        report.artifact,
        report.entry.summary,
        thousands(bytes.len() as u64)
    );
    Ok(Answer::new(line, &report))
}

fn text(entries: &[Entry]) -> String {
    let row = |entry: &Entry| {
        let sizes: Vec<String> = entry.input.iter().map(ToString::to_string).collect();
        let mut row = vec![entry.name.clone(), sizes.join("x")];
        row.extend([entry.parameters, entry.macs, entry.layers].map(thousands));
        row.push(entry.summary.clone());
        row
    };
    let columns = [
        Column::left("network"),
        Column::left("input"),
        Column::right("parameters").minor(1),
        Column::right("MACs"),
        Column::right("layers").minor(2),
        Column::text("description"),
    ];
    table(&columns, entries.iter().map(row))
}
