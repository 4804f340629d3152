//! The verb `npu run` without a target: computes a model in float.

use std::path::PathBuf;

use npukit::verbs::eval::{self, eval};
use npukit::verbs::run::Request;
use npukit::{Source, has_model_extension};

use super::RunArgs;
use super::tensors::{listed, traced};
use crate::answer::Answer;
use crate::commands::eval::answer;
use crate::disk::{Staged, check_apart, commit};
use crate::failure::Failure;
use crate::requests::context;

/// Value of `--target` for a model in float.
pub const FLOAT: &str = "float";

/// Whether the arguments name a model without a target, or [`FLOAT`], and nothing that needs one.
pub fn is_meant(args: &RunArgs) -> bool {
    let is_model = has_model_extension(&args.source.path);
    let needs_target = !args.lowering.0.is_empty()
        || !args.calibration.calibrate.is_empty()
        || args.compare.is_some()
        || args.like.is_some()
        || args.max_error.is_some()
        || args.waves.is_some()
        || args.source.strict.strict_draft
        || args.hand.is_used()
        || args.check
        || args.strict
        || args.raw;
    args.source.target.as_deref().is_none_or(|target| target == FLOAT) && is_model && !needs_target
}

pub fn run(args: &RunArgs, request: Request, dump: Option<PathBuf>) -> Result<Answer, Failure> {
    check_apart(args.output.iter().chain(&dump).map(PathBuf::as_path))?;
    let unlimited = args.source.model.no_limit;
    let (mut files, mut dumped) = (Vec::new(), (Vec::new(), String::new()));
    if let Some(path) = &dump {
        let Source { path: model, model: reading, .. } = &request.source;
        let source = Source { path: model.clone(), model: reading.clone(), ..Source::default() };
        let mut staged = Staged::new(path)?;
        dumped = listed(traced(&request, source, unlimited, staged.writer())?);
        files.push(staged);
    }
    let Request { source: Source { path, model, .. }, inputs, preprocess, stateful, accuracy, .. } = request;
    let request = eval::Request { path, model, inputs, preprocess, stateful, unlimited, accuracy };
    let (mut report, npz) = eval(&request, context())?;
    let tables;
    (report.dump, tables) = dumped;
    if let Some(path) = &args.output {
        let mut staged = Staged::new(path)?;
        staged.write(&npz)?;
        files.push(staged);
    }
    commit(files)?;
    Ok(answer(&report, &tables, args.output.as_deref(), dump.as_slice()))
}
