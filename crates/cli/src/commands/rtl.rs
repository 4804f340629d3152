//! `npu rtl`

use std::path::PathBuf;

use npukit::verbs::rtl::rtl;

use super::{context, remarks};
use crate::answer::Answer;
use crate::args::RtlArgs;
use crate::disk::write_all;
use crate::failure::Failure;
use crate::table::facts;

pub fn run(args: &RtlArgs) -> Result<Answer, Failure> {
    let (mut report, files) = rtl(&args.target, args.released, context())?;
    let paths: Vec<PathBuf> = files.iter().map(|file| args.output.join(&file.name)).collect();
    let contents: Vec<(PathBuf, &[u8])> =
        paths.iter().cloned().zip(files.iter().map(|file| file.text.as_bytes())).collect();
    write_all(&contents)?;
    report.files = paths.iter().map(|path| path.display().to_string()).collect();
    let part = report.part.as_deref().unwrap_or("unknown: no script for Vivado"); // Default: nobody has said the board.
    let lines = [
        ("target", report.target.clone()),
        ("circuit", report.summary.clone()),
        ("top", report.top.clone()),
        ("FPGA", part.to_owned()),
    ];
    let written: String = report.files.iter().map(|path| format!("wrote {path}\n")).collect();
    Ok(Answer::new(facts(lines) + &written, &report).with_notes(remarks(&[], &report.warnings)))
}
