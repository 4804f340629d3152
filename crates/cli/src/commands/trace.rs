//! The verb `npu trace`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::ArgValueCandidates;
use npukit::Source;
use npukit::report::TensorKind;
use npukit::verbs::trace::{Report, Request, TracedTensor, trace};

use crate::answer::Answer;
use crate::args::{
    CalibrationArgs, INPUTS, MODEL, ModelArgs, OUTPUT, PreprocessArgs, SamplesArgs, StrictArgs, TARGET,
};
use crate::candidates::targets;
use crate::disk::{Staged, commit, settle};
use crate::endings::{ARRAYS, named};
use crate::failure::Failure;
use crate::options::CompileOptions;
use crate::requests::{calibration_with, context, input_files, model_options, preprocess_samples, strictly};
use crate::table::{Column, facts, table};
use crate::text::remarks;

/// Arguments of `npu trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Model (`.onnx`, `.pb`, `.tflite`), or an artifact manifest
    ///
    /// For a model without --target, the values are all values between its nodes in float. With a
    /// target they are the machine's values: inputs as it rounds them, results of layers, outputs.
    #[arg(value_name = "MODEL_OR_ARTIFACT")]
    pub path: String,
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE; by default float
    ///
    /// `npu targets` lists them; an artifact specifies its own. `NPU_TARGET` and npu.toml are
    /// ignored here.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub strict: StrictArgs,
    /// Model of an artifact, which gives the names of its layers' results
    ///
    /// It is compiled for the artifact's own instance with the same options, and must give the
    /// artifact's outputs bit for bit. Without it, only inputs and outputs of an artifact are
    /// known.
    #[arg(long = "model", value_name = "MODEL", help_heading = MODEL)]
    pub of: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub reading: ModelArgs,
    /// Arrays, images, audio, folders; or `random:SEED`
    ///
    /// As for `npu run`. The first axis of an array is the samples, also in the written arrays.
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
    pub calibration: CalibrationArgs,
    /// `.npz` file: an array for each tensor, by its name in the model
    ///
    /// Real values in the model's scale and axis order.
    #[arg(short, long, value_name = "OUT.npz", help_heading = OUTPUT, value_parser = named(ARRAYS))]
    pub output: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
}

pub fn run(args: &TraceArgs) -> Result<Answer, Failure> {
    settle(&args.path);
    let preprocess = preprocess_samples(&args.preprocess, &args.samples, &args.calibration.range);
    let request = Request {
        source: Source {
            path: args.path.clone(),
            target: strictly(&args.target, &args.strict)?,
            options: args.lowering.0.clone(),
            model: model_options(&args.reading),
            calibration: calibration_with(&args.calibration, &args.inputs, &preprocess),
        },
        model: args.of.clone(),
        inputs: input_files(&args.inputs),
        preprocess,
        unlimited: args.reading.no_limit,
    };
    let mut staged = Staged::new(&args.output)?;
    let report = trace(&request, staged.writer(), context())?;
    commit(vec![staged])?;
    let wrote = format!("wrote {}\n", args.output.display());
    Ok(Answer::new(text(&report) + &wrote + &remarks(&report.notes, &[]), &report))
}

fn text(report: &Report) -> String {
    let target = report.target.clone().unwrap_or_else(|| "float".to_owned());
    let lines = facts([
        ("traced", report.source.clone()),
        ("on", target),
        ("samples", report.samples.to_string()),
        ("seconds", format!("{:.3}", report.seconds)),
    ]);
    format!("{lines}\n{}", tensors(&report.tensors))
}

/// Returns the table of the written tensors.
pub(super) fn tensors(tensors: &[TracedTensor]) -> String {
    let row = |tensor: &TracedTensor| {
        // Default: a tensor that is not the result of a layer.
        let layer = tensor.layer.clone().unwrap_or_default();
        vec![tensor.name.clone(), kind(tensor.kind).to_owned(), format!("{:?}", tensor.shape), layer]
    };
    let columns = [Column::left("tensor"), Column::left("is"), Column::left("shape"), Column::left("layer")];
    table(&columns, tensors.iter().map(row))
}

/// Returns the role of a tensor in the network, in one word.
pub(super) fn kind(kind: TensorKind) -> &'static str {
    match kind {
        TensorKind::Input => "input",
        TensorKind::Layer => "layer",
        TensorKind::Output => "output",
        _ => "value",
    }
}
