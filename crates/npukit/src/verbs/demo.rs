//! `npu demo`: runs the embedded network over its held-out images, in float and on the machine.

use std::collections::BTreeMap;
use std::time::Instant;

use npukit_numeric::Tensor;
use npukit_numeric::npy::read_npy;
use npukit_target::{
    CompileOptions, HostStepReport, Instance, LayerTime, PortError, Saturation, TargetError, TimeOptions,
};
use serde::Serialize;

use super::generate;
use crate::Context;
use crate::compare::comparison::compare;
use crate::error::Error;
use crate::inputs::Sample;
use crate::model::compile_job::CompileJob;
use crate::model::remarks::Remarks;
use crate::model::{self, Model, ModelOptions};
use crate::numbers::quantize;
use crate::numbers::quantize::Typical;
use crate::report::comparison::Comparison;
use crate::run::batch::{float, machine};
use crate::run::latency::{Speed, timed};
use crate::run::samples::argmax;
use crate::run::stack::Stack;
use crate::targets::{cost_model_name, default_target, resolve};

/// Embedded networks; the first one that a target supports is used. `assets/README.md` describes
/// their origin, the held-out images, and the classes.
const MODELS: [(&str, &[u8]); 2] = [
    ("digits.onnx", include_bytes!("../../assets/digits.onnx")),
    ("digits_mlp.onnx", include_bytes!("../../assets/digits_mlp.onnx")),
];
const IMAGES: &[u8] = include_bytes!("../../assets/digits_images.npy");
const LABELS: &[u8] = include_bytes!("../../assets/digits_labels.npy");
/// Training images for calibration.
const CALIBRATION: &[u8] = include_bytes!("../../assets/digits_calibration.npy");

/// Result of the demonstration.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Name of the network.
    pub model: String,
    /// Target and instance.
    pub target: String,
    /// Number of images run.
    pub images: usize,
    /// Share of images classified correctly in float, 0 to 1.
    pub accuracy_float: f64,
    /// Share of images classified correctly on the machine, 0 to 1.
    pub accuracy: f64,
    /// Difference between machine and float.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// Number of values that saturated, over all images.
    pub saturations: u64,
    /// Number of results that saturated, by layer.
    pub saturations_by_layer: Vec<Saturation>,
    /// Number of instructions.
    pub instructions: usize,
    /// Multiply-accumulates of the model, without padding.
    pub macs: Option<u64>,
    /// Choices of the compiler, by option.
    pub choices: BTreeMap<String, String>,
    /// Cycles per image, by cost model.
    pub cycles: BTreeMap<String, u64>,
    /// Display name of the cost model of the time.
    pub cost_model: String,
    /// Time of an image in milliseconds at the board's clock.
    pub milliseconds: Option<f64>,
    /// Time under its current name, and images per second.
    #[serde(flatten)]
    pub speed: Speed,
    /// Share of the array's multipliers that did the model's work, 0 to 1.
    pub utilization: Option<f64>,
    /// Time of each layer.
    pub layers: Vec<LayerTime>,
    /// Steps that run on the host, which are not timed.
    pub host_steps: Vec<HostStepReport>,
    /// Result of the quantization, for integer-only targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantization: Option<quantize::Report>,
    /// Assumptions that were made.
    pub notes: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Result of a language model, on a target that supports one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// Time to compile in seconds.
    pub compile_seconds: f64,
    /// Total time in seconds.
    pub seconds: f64,
}

/// Result of the embedded language model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Language {
    /// Text that it continued.
    pub text: generate::Report,
    /// Accuracy on held-out texts.
    pub accuracy: generate::Accuracy,
}

/// Prompt for the language model.
const PROMPT: &str = "123+456=";

/// Compiles the embedded network for `target` (`None` for the default) and runs all held-out
/// images.
///
/// # Errors
///
/// Fails as [`resolve`] does, and with [`Error::Refused`] or [`Error::Target`] if the instance does
/// not support any embedded network, or is too small.
pub fn demo(target: Option<&str>, context: Context<'_>) -> Result<Report, Error> {
    let start = Instant::now();
    let notes = Remarks::default().with_default_instance(target).notes;
    let target = target.unwrap_or(default_target().name);
    let instance = resolve(target, context.reader)?;
    let model = network(&*instance, context)?;
    let mut origin = CompileJob::new(instance, model, BTreeMap::new())?;
    let calibration = samples(&origin.model, &read_npy("digits_calibration.npy", CALIBRATION)?)?;
    origin.quantize(None, &Typical::given(calibration))?;
    let compiled = origin.compile()?;
    let mut warnings = origin.instance.info().warnings.clone();
    warnings.extend(origin.number_warnings());
    let CompileJob { model, quantization, .. } = origin;
    let compile_seconds = start.elapsed().as_secs_f64();
    let (samples, labels) = held_out(&model)?;
    let (ours, saturations) = machine(&*compiled, &samples)?;
    let reference = float(&model.graph, &samples)?;
    let (program, time) = (compiled.report(), timed(&*compiled, &TimeOptions::default())?);
    let speed = Speed::of(&time, Some(1));
    Ok(Report {
        model: model.graph.name,
        images: samples.len(),
        accuracy_float: accuracy(&reference, &labels),
        accuracy: accuracy(&ours, &labels),
        comparison: compare(&ours, &reference),
        saturations: saturations.total(),
        saturations_by_layer: saturations.layers,
        instructions: program.instructions,
        macs: program.macs,
        choices: program.choices,
        cost_model: cost_model_name(&program.target, &time.clock),
        cycles: time.cycles,
        milliseconds: time.milliseconds,
        speed,
        utilization: time.utilization,
        layers: time.layers,
        host_steps: program.host_steps,
        target: program.target,
        quantization,
        notes,
        warnings,
        language: language(target, context)?,
        compile_seconds,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// Runs the embedded language model on `target`; returns `None` if the target has no generator.
fn language(target: &str, context: Context<'_>) -> Result<Option<Language>, Error> {
    let request = generate::Request { target: Some(target.to_owned()), ..generate::Request::default() };
    let text = match generate::generate(&request, PROMPT, &mut |_| (), context) {
        Err(Error::Target(TargetError::Unsupported { .. })) => return Ok(None),
        text => text?.0,
    };
    Ok(Some(Language { text, accuracy: generate::accuracy(&request, None, context)? }))
}

/// Returns the network that `instance` supports, or the first one if it supports none.
fn network(instance: &dyn Instance, context: Context<'_>) -> Result<Model, Error> {
    let parse = |(name, bytes)| model::parse(name, bytes, &ModelOptions::default(), context.reader);
    let [first, others @ ..] = MODELS;
    let first = parse(first)?;
    let takes = |model: &Model| {
        instance
            .check(&model.simplified, &CompileOptions::default())
            .is_ok_and(|problems| problems.is_empty())
    };
    if takes(&first) {
        return Ok(first);
    }
    let others = others.into_iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    Ok(others.into_iter().find(takes).unwrap_or(first))
}

/// Returns the held-out images and their classes.
fn held_out(model: &Model) -> Result<(Vec<Sample>, Vec<i64>), Error> {
    let images = read_npy("digits_images.npy", IMAGES)?;
    let labels = read_npy("digits_labels.npy", LABELS)?;
    Ok((samples(model, &images)?, labels.as_i64().expect("the embedded labels are integers").to_vec()))
}

/// Splits the images into samples.
fn samples(model: &Model, images: &Tensor) -> Result<Vec<Sample>, Error> {
    let ports = model::ports(&model.graph);
    let [port] = &ports[..] else {
        let name = "image".to_owned();
        return Err(PortError::Missing { name, shape: images.shape().to_vec() }.into());
    };
    let samples = port.split(images)?.into_iter().map(|image| vec![(port.name.clone(), image)]);
    Ok(samples.collect())
}

/// Returns the share of samples whose argmax is the label.
fn accuracy(outputs: &[Stack], labels: &[i64]) -> f64 {
    let samples = &outputs[0].samples;
    let right = samples.iter().zip(labels).filter(|(sample, label)| argmax(sample) as i64 == **label).count();
    right as f64 / samples.len().max(1) as f64
}
