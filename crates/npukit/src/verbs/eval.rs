//! `npu eval`: a model through the float evaluator alone.

use std::time::Instant;

use serde::Serialize;

use crate::Context;
use crate::batch::float;
use crate::error::Error;
use crate::eval_limits;
use crate::finite::NonFinite;
use crate::inputs::{self, InputFile};
use crate::model::{self, ModelOptions};
use crate::samples::{OutputReport, npz, reports};
use crate::weights;

/// What to evaluate, on what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The `.onnx` or `.pb` file.
    pub path: String,
    /// How it is read.
    pub model: ModelOptions,
    /// Its inputs.
    pub inputs: Vec<InputFile>,
    /// Evaluates a model that takes far more time or memory than its size suggests, too.
    pub unlimited: bool,
}

/// What was evaluated.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Name of the model.
    pub name: String,
    /// Samples evaluated.
    pub samples: usize,
    /// Outputs over all samples.
    pub outputs: Vec<OutputReport>,
    /// NaN and infinity.
    pub non_finite: NonFinite,
    /// What was taken for granted.
    pub notes: Vec<String>,
    /// What its user should know of.
    pub warnings: Vec<String>,
    /// Of everything.
    pub seconds: f64,
}

/// Evaluates all samples; also gives the `.npz` of the outputs.
///
/// # Errors
///
/// [`Error::Read`], [`Error::UnknownFile`], [`Error::Import`] and [`Error::OpenDimensions`] for the model;
/// [`Error::Operations`] and [`Error::Memory`] when it takes more than fits its size;
/// [`Error::UnknownInput`], [`Error::Array`] and [`Error::Port`] for inputs; [`Error::Eval`] when an operator
/// fails.
pub fn eval(request: &Request, context: Context<'_>) -> Result<(Report, Vec<u8>), Error> {
    let start = Instant::now();
    let model = model::load(&request.path, &request.model, &request.inputs, context.reader)?;
    if !request.unlimited {
        eval_limits::check(&model.graph.name, &model.graph)?;
    }
    let samples = inputs::samples(&request.inputs, &model::ports(&model.graph), context.reader, None)?;
    let stacks = float(&model.graph, &samples, context.progress)?;
    let mut non_finite = NonFinite::of(&samples, &stacks);
    let (constants, sentences) = weights::non_finite_constants(&model.graph);
    non_finite.constants = constants;
    let found = non_finite.warnings().into_iter().chain(sentences);
    let warnings = model.remarks.warnings.iter().cloned().chain(found).collect();
    let report = Report {
        name: model.graph.name.clone(),
        samples: samples.len(),
        outputs: reports(&stacks),
        non_finite,
        notes: model.remarks.notes,
        warnings,
        seconds: start.elapsed().as_secs_f64(),
    };
    Ok((report, npz(&stacks, false)?))
}
