//! The verbs `npu asm`, `npu disasm` and `npu format`.

use std::path::{Path, PathBuf};

use clap::Args;
use clap_complete::ArgValueCandidates;
use npukit::MAP;
use npukit::verbs::asm as verbs;
use npukit::verbs::disasm::Request;
use serde_json::json;

use crate::answer::Answer;
use crate::args::{OUTPUT, StrictArgs, TARGET};
use crate::candidates::targets;
use crate::chosen;
use crate::disk::{overwrite, settle, write_all};
use crate::failure::Failure;
use crate::requests::{context, needed, strictly};
use crate::table::{counted, thousands};
use crate::text::remarks;

/// Arguments of `npu asm`.
#[derive(Debug, Args)]
pub struct AsmArgs {
    /// Source file
    pub file: String,
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    ///
    /// `npu targets` lists them. `@SYSTEM` after a preset or a file selects one of its systems,
    /// `,NAME=VALUE` sets a parameter. Without the option, `NPU_TARGET` or npu.toml selects the
    /// target.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub strict: StrictArgs,
    /// File for the words, by default the name of the source
    ///
    /// The extension is the target's. The file is in the current folder.
    #[arg(short, long, value_name = "OUT", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    /// File for the source map instead of OUT.map
    ///
    /// The map contains the text, and the origin of each word in it. With a map next to a binary
    /// program, `npu run`, `npu lint` and `npu disasm` report lines and show them. Words on
    /// standard output have no map unless this option is given.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT, conflicts_with = "no_map")]
    pub map: Option<PathBuf>,
    /// Write no source map
    #[arg(long, help_heading = OUTPUT)]
    pub no_map: bool,
    /// File for a listing: each line with the address and the bytes of its words, then the symbols
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub listing: Option<PathBuf>,
}

/// Arguments of `npu disasm`.
#[derive(Debug, Args)]
pub struct DisasmArgs {
    /// Binary program, or artifact manifest
    #[arg(value_name = "PROGRAM_OR_ARTIFACT")]
    pub path: String,
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    ///
    /// `npu targets` lists them; an artifact specifies its own. `@SYSTEM` after a preset or a file
    /// selects one of its systems, `,NAME=VALUE` sets a parameter. Without the option, `NPU_TARGET`
    /// or npu.toml selects the target.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    /// Format of the listing: `npukit` (default, can be assembled again) or `upstream`
    #[arg(long, value_name = "FORM", help_heading = OUTPUT)]
    pub format: Option<String>,
    /// Instructions only, without addresses, words and layers
    ///
    /// These are comments, so the listing assembles to the same words with and without them.
    #[arg(long, help_heading = OUTPUT)]
    pub plain: bool,
    /// File for the listing instead of standard output
    #[arg(short, long, value_name = "OUT", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
}

/// Arguments of `npu format`.
#[derive(Debug, Args)]
pub struct FormatArgs {
    /// Source file
    pub file: String,
    /// Target that supports formatting, as in other commands
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    /// Print nothing, and fail if the file is not formatted
    #[arg(long, help_heading = OUTPUT, conflicts_with = "output")]
    pub check: bool,
    /// File for the text instead of standard output; may be the source file
    #[arg(short, long, value_name = "OUT", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
}

pub fn asm(args: &AsmArgs) -> Result<Answer, Failure> {
    let target = strictly(&args.target, &args.strict)?;
    let target = needed(&target)?;
    let (report, bytes) = verbs::asm(&args.file, target, context())?;
    let list = |_: &PathBuf| verbs::list(&args.file, target, context());
    let listed = args.listing.as_ref().map(list).transpose()?;
    let output = args
        .output
        .clone()
        .unwrap_or_else(|| format!("{}{}", chosen::stem(&args.file), report.extension).into());
    let map = map_path(args, &output)
        .map(|path| Ok((path, verbs::source_map(&args.file, target, &bytes, context())?)));
    let map = map.transpose().map_err(|error: npukit::Error| error)?;
    let map = map.and_then(|(path, map)| Some((path, map?)));
    let listing = args.listing.iter().zip(&listed).map(|(path, text)| (path.clone(), text.as_bytes()));
    let maps = map.iter().map(|(path, map)| (path.clone(), &map[..]));
    let files = std::iter::once((output.clone(), &bytes[..])).chain(listing).chain(maps);
    write_all(&files.collect::<Vec<_>>())?;
    let output = output.display().to_string();
    let listing = args.listing.as_ref().map(|path| path.display().to_string());
    let mut text = format!("{}, wrote {output}\n", counted(report.instructions as u64, "instruction"));
    text.extend(listing.iter().map(|path| format!("wrote {path}\n")));
    let json = json!({
        "target": report.target, "instructions": report.instructions, "bytes": report.bytes, "output": output,
        "listing": listing, "map": map.map(|(path, _)| path.display().to_string()),
        "warnings": report.warnings, "target_warnings": report.target_warnings,
    });
    let warnings: String =
        report.warnings.iter().map(|warning| format!("{}: {warning}\n", args.file)).collect();
    Ok(Answer::new(text, &json).with_notes(remarks(&[], &report.target_warnings) + &warnings))
}

/// Returns the path of the source map: next to the words, unless they are not written to a file.
fn map_path(args: &AsmArgs, output: &Path) -> Option<PathBuf> {
    if args.map.is_some() || args.no_map {
        return args.map.clone();
    }
    let is_file = output.is_file() || !output.exists();
    if !is_file || output.as_os_str() == "-" {
        return None;
    }
    let mut path = output.to_owned().into_os_string();
    path.push(MAP);
    Some(path.into())
}

pub fn disasm(args: &DisasmArgs) -> Result<Answer, Failure> {
    settle(&args.path);
    let request = Request {
        path: args.path.clone(),
        target: args.target.clone(),
        form: args.format.clone(),
        plain: args.plain,
    };
    let report = npukit::verbs::disasm::disasm(&request, context())?;
    let success = report.problems.is_empty();
    let mut problems: String =
        report.problems.iter().map(|problem| format!("{}: {problem}\n", args.path)).collect();
    if report.more_problems > 0 {
        problems += &format!("{}: and {} more\n", args.path, thousands(report.more_problems as u64));
    }
    let text = match &args.output {
        Some(path) => {
            write_all(&[(path.clone(), report.text.as_bytes())])?;
            let count = counted(report.instructions as u64, "instruction");
            format!("{count}, wrote {}\n", path.display())
        }
        None => report.text.clone(),
    };
    Ok(Answer::new(text, &report)
        .with_notes(remarks(&report.notes, &report.warnings) + &problems)
        .with_success(success))
}

pub fn format(args: &FormatArgs) -> Result<Answer, Failure> {
    let target = needed(&args.target)?;
    let report = verbs::format(&args.file, target, context())?;
    let text = match &args.output {
        Some(path) => {
            overwrite(path, report.text.as_bytes())?;
            format!("wrote {}\n", path.display())
        }
        None if args.check => String::new(),
        None => report.text.clone(),
    };
    let success = report.unchanged || !args.check;
    let notes = if success {
        String::new()
    } else {
        format!("{0} is not formatted: run `npu format {0} -o {0}`\n", args.file)
    };
    let notes = remarks(&[], &report.warnings) + &notes;
    Ok(Answer::new(text, &report).with_data(args.output.is_none()).with_notes(notes).with_success(success))
}
