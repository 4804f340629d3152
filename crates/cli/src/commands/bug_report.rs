//! The verb `npu bug-report`.

use std::path::{Path, PathBuf};

use clap::Args;
use npukit::verbs::bug_report::bug_report;
use serde_json::json;

use super::version::BUILD;
use crate::answer::Answer;
use crate::args::{CalibrationArgs, ModelSourceArgs, OUTPUT, PreprocessArgs};
use crate::disk::write_all;
use crate::failure::Failure;
use crate::options::CompileOptions;
use crate::requests::{context, model_source};

/// Arguments of `npu bug-report`.
#[derive(Debug, Args)]
pub struct BugReportArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub source: ModelSourceArgs,
    /// Folder for the files
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT, default_value = "bug-report")]
    pub output: PathBuf,
    /// Keep the names of nodes, tensors and files; by default they are replaced
    #[arg(long, help_heading = OUTPUT)]
    pub with_names: bool,
    /// Add the model file, with its names and its weights
    #[arg(long, help_heading = OUTPUT)]
    pub with_model: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
}

pub fn run(args: &BugReportArgs) -> Result<Answer, Failure> {
    let source = model_source(&args.source, &args.lowering, &args.calibration, &args.preprocess)?;
    let has_names = args.with_names || args.with_model;
    let report = bug_report(&source, BUILD, has_names, context());
    let names = if has_names { "with names" } else { "names are replaced" };
    let mut files = vec![(
        "report.json".to_owned(),
        report.facts.into_bytes(),
        format!("versions, instance and result; {names}"),
    )];
    files.extend(report.graph.map(|graph| {
        (
            "graph.txt".to_owned(),
            graph.into_bytes(),
            format!("structure of the model without weights; {names}"),
        )
    }));
    if args.with_model {
        files.push((file_name(&source.path), model(&source.path)?, "the model".to_owned()));
    }
    let path = |name: &str| args.output.join(name);
    write_all(&files.iter().map(|(name, bytes, _)| (path(name), &bytes[..])).collect::<Vec<_>>())?;
    let line =
        |(name, _, about): &(String, Vec<u8>, String)| format!("wrote {}: {about}\n", path(name).display());
    let text: String = files.iter().map(line).collect();
    let artifacts: Vec<String> = files.iter().map(|(name, ..)| path(name).display().to_string()).collect();
    Ok(Answer::new(text + &left_out(args.with_model, has_names), &json!({ "artifacts": artifacts })))
}

/// Formats what the files do not contain, and how to add it.
fn left_out(has_model: bool, has_names: bool) -> String {
    let kinds = [
        ("samples", false),
        ("names (--with-names)", has_names),
        ("the model with its weights (--with-model)", has_model),
    ];
    let absent: Vec<&str> = kinds.iter().filter(|(_, has)| !has).map(|(kind, _)| *kind).collect();
    format!("not written: {}\n", absent.join(", "))
}

/// Returns the name of a file without its folder.
fn file_name(path: &str) -> String {
    // Default: a model that was read has a file name.
    let name = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_default() // Default: a path without a file name is a folder, which cannot be read.
}

/// Reads the model file.
fn model(path: &str) -> Result<Vec<u8>, Failure> {
    let read = context().reader.read(path);
    Ok(read.map_err(npukit::Error::from)?)
}
