//! The verb `npu rtl`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use clap_complete::ArgValueCandidates;
use npukit::verbs::rtl::{Request, rtl};
use npukit::{File, sha256};

use crate::answer::Answer;
use crate::args::{OUTPUT, TARGET};
use crate::candidates::targets;
use crate::chosen;
use crate::disk::{settle, write_all};
use crate::failure::Failure;
use crate::printable::line as printed;
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
    /// Folder for the files, by default TARGET_rtl
    ///
    /// The file `npukit.sha256` lists what was written. A folder with changed files is not
    /// replaced.
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    /// Replace files that were changed
    #[arg(long, help_heading = OUTPUT)]
    pub force: bool,
    /// Write the circuit as it was released, with its defects
    ///
    /// Without the option, the circuit always computes what the instructions define.
    #[arg(long, help_heading = TARGET)]
    pub released: bool,
    /// Write a whole system for a board: processor, memory, pins, firmware
    ///
    /// Without a name, the board is that of the instance. `npu build DIR` makes the bitstream for
    /// `ulx3s` with open tools. Vivado makes it for `artya7100t`, `artya735t`, `kv260`, `pynqz1`
    /// and `pynqz2`.
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "", help_heading = TARGET)]
    pub board: Option<String>,
}

/// File of the hashes of all other files, for `sha256sum --check`.
const HASHES: &str = "npukit.sha256";

pub fn run(args: &RtlArgs) -> Result<Answer, Failure> {
    let folder = args.output.clone().unwrap_or_else(|| format!("{}_rtl", chosen::plain(&args.target)).into());
    let request = Request {
        target: args.target.clone(),
        is_released: args.released,
        board: args.board.clone(),
        folder: Some(folder.display().to_string()),
    };
    let (mut report, files) = rtl(&request, context())?;
    // A killed process may have left a part of its files.
    settle(&folder.join(HASHES).to_string_lossy());
    if !args.force {
        check_unchanged(&folder, &files)?;
    }
    let hashes = hashes(&files);
    let names = files.iter().map(|file| (file.name.as_str(), file.text.as_bytes()));
    let contents: Vec<(PathBuf, &[u8])> =
        names.chain([(HASHES, hashes.as_bytes())]).map(|(name, text)| (folder.join(name), text)).collect();
    write_all(&contents)?;
    report.files = contents.iter().map(|(path, _)| path.display().to_string()).collect();
    let part = report.part.as_deref().unwrap_or("unknown: no script for Vivado"); // Default: no board is specified.
    let lines = [
        ("target", report.target.clone()),
        ("circuit", report.summary.clone()),
        ("top", report.top.clone()),
        ("board", report.board.clone().unwrap_or_default()), // Default: no line.
        ("FPGA", part.to_owned()),
    ];
    let mut written: String = report.files.iter().map(|path| format!("wrote {path}\n")).collect();
    written.extend(report.next.iter().map(|next| printed(&format!("next: {next}"))));
    Ok(Answer::new(facts(lines) + &written, &report).with_notes(remarks(&[], &report.warnings)))
}

/// Returns the contents of [`HASHES`].
fn hashes(files: &[File]) -> String {
    files.iter().map(|file| line(&file.name, file.text.as_bytes()) + "\n").collect()
}

/// Returns the line of [`HASHES`] for a file with these contents.
fn line(name: &str, contents: &[u8]) -> String {
    format!("{}  {name}", sha256(contents))
}

/// Checks that files in `folder` that would be replaced are as npukit wrote them, or as it would
/// write them.
///
/// Errors: [`Failure::Changed`].
fn check_unchanged(folder: &Path, files: &[File]) -> Result<(), Failure> {
    // Default: npukit has not written into the folder.
    let listed = fs::read_to_string(folder.join(HASHES)).unwrap_or_default();
    let listed: BTreeSet<&str> = listed.lines().collect();
    for file in files {
        let path = folder.join(&file.name);
        let Ok(bytes) = fs::read(&path) else { continue };
        if bytes != file.text.as_bytes() && !listed.contains(line(&file.name, &bytes).as_str()) {
            return Err(Failure::Changed { path: path.display().to_string() });
        }
    }
    Ok(())
}
