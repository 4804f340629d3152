//! The verb `npu eval`.

use std::path::{Path, PathBuf};

use clap::Args;
use npukit::verbs::eval::{Report, Request, eval};

use crate::answer::Answer;
use crate::args::{AccuracyArgs, INPUTS, ModelArgs, OUTPUT, PreprocessArgs, SamplesArgs, StateArgs};
use crate::disk::write_all;
use crate::endings::{ARRAYS, named};
use crate::failure::Failure;
use crate::printable::line;
use crate::requests::{accuracy_options, context, input_files, model_options, preprocess_samples, stateful};
use crate::table::facts;
use crate::text::outputs::outputs;
use crate::text::{accuracy, remarks, written};

/// Arguments of `npu eval`.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// `.onnx` file, frozen TensorFlow graph (`.pb`) or `.tflite` file
    pub model: String,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub reading: ModelArgs,
    /// Arrays, images, audio, folders; or `random:SEED`
    ///
    /// Files are `.npy`, `.npz`, `.png`, `.jpg` or `.wav`. The first axis of an array is the
    /// samples; each image and each audio file is one sample.
    #[arg(long = "input", value_name = "[NAME=]FILE", help_heading = INPUTS, num_args = 1..)]
    pub inputs: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub samples: SamplesArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub state: StateArgs,
    /// `.npz` file for the outputs
    #[arg(short, long, value_name = "OUT.npz", help_heading = OUTPUT, value_parser = named(ARRAYS))]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub accuracy: AccuracyArgs,
}

pub fn run(args: &EvalArgs) -> Result<Answer, Failure> {
    let request = Request {
        path: args.model.clone(),
        model: model_options(&args.reading),
        inputs: input_files(&args.inputs),
        preprocess: preprocess_samples(&args.preprocess, &args.samples, &[]),
        stateful: stateful(&args.state),
        unlimited: args.reading.no_limit,
        accuracy: accuracy_options(&args.accuracy),
    };
    let (report, npz) = eval(&request, context())?;
    if let Some(path) = &args.output {
        write_all(&[(path.clone(), &npz)])?;
    }
    Ok(answer(&report, "", args.output.as_deref(), &[]))
}

/// Returns the answer with a report, and `tables` after its own ones. The files were written:
/// `file`
/// with the outputs, and `others`.
pub(super) fn answer(report: &Report, tables: &str, file: Option<&Path>, others: &[PathBuf]) -> Answer {
    let lines = facts([
        ("model", report.name.clone()),
        ("samples", report.samples.to_string()),
        ("seconds", format!("{:.3}", report.seconds)),
    ]);
    let mut text = format!("{lines}\n{}", outputs(&report.outputs, report.samples, file));
    text += &accuracy::text(report.accuracy.as_ref());
    text += tables;
    text += &remarks(&report.notes, &report.warnings);
    text += &written(file.into_iter().chain(others.iter().map(PathBuf::as_path)));
    text.extend(report.failures.iter().map(|failure| line(&format!("failed: {failure}"))));
    Answer::new(text, report).with_success(report.failures.is_empty())
}
