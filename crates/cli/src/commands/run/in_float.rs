//! The verb `npu run` without a target: computes a model in float.

use std::path::PathBuf;

use npukit::verbs::eval::{self, eval, eval_and_dump};
use npukit::verbs::run::Request;
use npukit::{Source, has_model_extension};

use super::RunArgs;
use super::tensors::table;
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
        || args.of.is_some()
        || args.max_error.is_some()
        || args.waves.is_some()
        || args.source.strict.strict_draft
        || args.asm_options.is_used()
        || args.check
        || args.strict
        || args.raw;
    args.source.target.as_deref().is_none_or(|target| target == FLOAT) && is_model && !needs_target
}

pub fn run(args: &RunArgs, request: Request, dump: Option<PathBuf>) -> Result<Answer, Failure> {
    let Request { source: Source { path, model, .. }, inputs, preprocess, stateful, accuracy, .. } = request;
    check_apart(args.output.iter().chain(&dump).map(PathBuf::as_path))?;
    let unlimited = args.source.model.no_limit;
    let request = eval::Request { path, model, inputs, preprocess, stateful, unlimited, accuracy };
    let mut files = Vec::new();
    let (report, npz, tensors) = match &dump {
        Some(path) => {
            let mut staged = Staged::new(path)?;
            let (report, npz, dumped) = eval_and_dump(&request, staged.writer(), context())?;
            files.push(staged);
            (report, npz, table(&dumped))
        }
        None => {
            let (report, npz) = eval(&request, context())?;
            (report, npz, String::new())
        }
    };
    if let Some(path) = &args.output {
        let mut staged = Staged::new(path)?;
        staged.write(&npz)?;
        files.push(staged);
    }
    commit(files)?;
    Ok(answer(&report, &tensors, args.output.as_deref(), dump.as_slice()))
}
