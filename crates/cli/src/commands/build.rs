//! The verb `npu build`.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::{Args, ValueHint};
use npukit::boards::ecp5::{BITSTREAM, Clock, Share, WORK};
use npukit::boards::{MANIFEST, VIVADO_SCRIPT, by_vivado};
use npukit::verbs::build::{BuildError, Report, build};

use crate::answer::Answer;
use crate::disk::write_all;
use crate::failure::Failure;
use crate::table::{Column, facts, table, thousands};
use crate::watch::Watch;
use crate::workshop::Shop;

/// Arguments of `npu build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Folder that `npu rtl TARGET --board -o DIR` wrote, for the board `ulx3s`
    ///
    /// Vivado makes the bitstreams of the other boards; `npu rtl` prints the command.
    ///
    /// Writes `design.bit`, `board.json` for the drivers, and `build.report.json` into it. Its
    /// folder `work` has the logs.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
}

/// Name of the file with the report.
const REPORT: &str = "build.report.json";

pub fn run(args: &BuildArgs, watch: &Watch) -> Result<Answer, Failure> {
    let folder = &args.folder;
    let manifest = fs::read_to_string(folder.join(MANIFEST)).map_err(|error| unbuildable(folder, &error));
    let manifest = manifest.map_err(npukit::Error::from)?;
    let shop = Shop::new(&folder.join(WORK), watch).map_err(npukit::Error::from)?;
    let (mut report, built) = build(&folder.display().to_string(), &manifest, &shop)?;
    let paths = [BITSTREAM, "board.json", REPORT].map(|name| folder.join(name));
    report.files = paths.iter().map(|path| path.display().to_string()).collect();
    let json = serde_json::to_vec_pretty(&report).expect("a report of texts and numbers always serializes");
    let contents = [&built.bitstream[..], &built.addresses[..], &json[..]];
    let files: Vec<(PathBuf, &[u8])> = paths.iter().cloned().zip(contents).collect();
    write_all(&files)?;
    Ok(Answer::new(text(&report), &report))
}

/// Returns the error of a folder without a manifest: its system is for Vivado, or there is none.
fn unbuildable(folder: &Path, error: &io::Error) -> BuildError {
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let script = names.filter(|name| name.ends_with(VIVADO_SCRIPT)).min();
    let folder = folder.display().to_string();
    match script {
        Some(script) => BuildError::Vendor { next: by_vivado(&folder, &script), folder },
        None => BuildError::NoSystem { folder, reason: format!("{MANIFEST}: {error}") },
    }
}

fn text(report: &Report) -> String {
    let lines =
        [("target", report.target.clone()), ("board", report.board.clone()), ("FPGA", report.part.clone())];
    let resource = |share: &Share| {
        let percent = 100.0 * share.used as f64 / share.available.max(1) as f64;
        let (used, available) = (thousands(share.used), thousands(share.available));
        vec![share.resource.to_owned(), used, available, format!("{percent:.1} %")]
    };
    let columns =
        [Column::text("resource"), Column::right("used"), Column::right("available"), Column::right("share")];
    let resources = table(&columns, report.resources.iter().map(resource));
    let clock = |clock: &Clock| {
        let [achieved, needed] = [clock.achieved_mhz, clock.needed_mhz].map(|mhz| format!("{mhz:.1}"));
        vec![clock.name.clone(), achieved, needed]
    };
    let columns = [Column::text("clock"), Column::right("MHz"), Column::right("needed")];
    let clocks = table(&columns, report.clocks.iter().map(clock));
    let written: String = report.files.iter().map(|path| format!("wrote {path}\n")).collect();
    [facts(lines), resources, clocks, path(report.clocks.first()), written].join("\n")
}

/// Formats the slowest path of the most critical clock by modules.
fn path(clock: Option<&Clock>) -> String {
    let Some(clock) = clock else { return String::new() };
    let row = |passed: &npukit::boards::ecp5::Passed| {
        vec![format!("{:.2}", passed.nanoseconds), passed.module.clone()]
    };
    let columns = [Column::right("ns"), Column::text("module on the slowest path")];
    table(&columns, clock.path.iter().map(row))
}
