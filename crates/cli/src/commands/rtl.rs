//! The verb `npu rtl`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::ArgValueCandidates;
use npukit::verbs::rtl::rtl;

use crate::answer::Answer;
use crate::args::{OUTPUT, TARGET};
use crate::candidates::targets;
use crate::disk::write_all;
use crate::failure::Failure;
use crate::requests::context;
use crate::table::facts;
use crate::text::remarks;

/// Arguments of `npu rtl`.
#[derive(Debug, Args)]
pub struct RtlArgs {
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    ///
    /// `npu targets` lists them. `@SYSTEM` after a preset or a file selects one of its systems,
    /// `,NAME=VALUE` sets a parameter.
    #[arg(add = ArgValueCandidates::new(targets))]
    pub target: String,
    /// Folder for the files
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    pub output: PathBuf,
    /// Write the circuit as it was released, with its defects
    ///
    /// Without the option, the circuit always computes what the instructions define.
    #[arg(long, help_heading = TARGET)]
    pub released: bool,
}

pub fn run(args: &RtlArgs) -> Result<Answer, Failure> {
    let (mut report, files) = rtl(&args.target, args.released, context())?;
    let paths: Vec<PathBuf> = files.iter().map(|file| args.output.join(&file.name)).collect();
    let contents: Vec<(PathBuf, &[u8])> =
        paths.iter().cloned().zip(files.iter().map(|file| file.text.as_bytes())).collect();
    write_all(&contents)?;
    report.files = paths.iter().map(|path| path.display().to_string()).collect();
    let part = report.part.as_deref().unwrap_or("unknown: no script for Vivado"); // Default: no board is specified.
    let lines = [
        ("target", report.target.clone()),
        ("circuit", report.summary.clone()),
        ("top", report.top.clone()),
        ("FPGA", part.to_owned()),
    ];
    let written: String = report.files.iter().map(|path| format!("wrote {path}\n")).collect();
    Ok(Answer::new(facts(lines) + &written, &report).with_notes(remarks(&[], &report.warnings)))
}
