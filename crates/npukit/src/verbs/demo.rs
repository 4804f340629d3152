//! `npu demo`: the embedded network over its held-out images, in float and on the machine.

use std::collections::BTreeMap;
use std::time::Instant;

use npukit_numeric::Tensor;
use npukit_numeric::npy::read_npy;
use npukit_target::{CompileOptions, Instance, LayerTime, PortError, Saturation, TargetError, TimeOptions};
use serde::Serialize;

use super::generate;
use crate::Context;
use crate::compare::comparison::compare;
use crate::error::Error;
use crate::inputs::Sample;
use crate::model::origin::Origin;
use crate::model::{self, Model, ModelOptions};
use crate::numbers::quantise;
use crate::numbers::quantise::Typical;
use crate::report::comparison::Comparison;
use crate::run::batch::{float, machine};
use crate::run::samples::argmax;
use crate::run::speed::{Speed, timed};
use crate::run::stack::Stack;
use crate::targets::{default_target, resolve};

/// The networks, of which a target is shown the first that it takes; `assets/README.md` tells their origin, and
/// that of the images their training never saw and of their classes.
const MODELS: [(&str, &[u8]); 2] = [
    ("digits.onnx", include_bytes!("../../assets/digits.onnx")),
    ("digits_mlp.onnx", include_bytes!("../../assets/digits_mlp.onnx")),
];
const IMAGES: &[u8] = include_bytes!("../../assets/digits_images.npy");
const LABELS: &[u8] = include_bytes!("../../assets/digits_labels.npy");
/// Images of its training, to quantise by.
const CALIBRATION: &[u8] = include_bytes!("../../assets/digits_calibration.npy");

/// What the demonstration found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Name of the network.
    pub model: String,
    /// Target and instance.
    pub target: String,
    /// Images run.
    pub images: usize,
    /// Share of images classified as labelled, in float.
    pub accuracy_float: f64,
    /// The same on the machine.
    pub accuracy: f64,
    /// The machine against float.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// Values that did not fit the number format, over all images.
    pub saturations: u64,
    /// Those of them that are results, by layer.
    pub saturations_by_layer: Vec<Saturation>,
    /// Instructions.
    pub instructions: usize,
    /// Multiply-accumulates of the model, padding left out.
    pub macs: Option<u64>,
    /// What the compiler chose.
    pub choices: BTreeMap<String, String>,
    /// Cycles of an image by cost model.
    pub cycles: BTreeMap<String, u64>,
    /// Time of an image at the board's clock.
    pub milliseconds: Option<f64>,
    /// The same by its present name, and samples a second.
    #[serde(flatten)]
    pub speed: Speed,
    /// Share of the array's multipliers that did the model's work.
    pub utilisation: Option<f64>,
    /// Where the cycles go.
    pub layers: Vec<LayerTime>,
    /// What came of the quantisation, for a target that takes integers only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantisation: Option<quantise::Report>,
    /// What its user should know of.
    pub warnings: Vec<String>,
    /// A language model, on a target that takes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// Of compiling.
    pub compile_seconds: f64,
    /// Of everything.
    pub seconds: f64,
}

/// What the demonstration found of the embedded language model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Language {
    /// A text that it continued.
    pub text: generate::Report,
    /// Held-out texts.
    pub accuracy: generate::Accuracy,
}

/// What the language model is asked.
const PROMPT: &str = "123+456=";

/// Compiles the embedded network for `target` (the default when none) and runs all held-out images.
///
/// # Errors
///
/// Those of [`resolve`]; [`Error::Refused`] or [`Error::Target`] when the instance takes none of the embedded
/// networks, or has no room for them.
pub fn demo(target: Option<&str>, context: Context<'_>) -> Result<Report, Error> {
    let start = Instant::now();
    let target = target.unwrap_or(default_target().name);
    let instance = resolve(target, context.reader)?;
    let model = network(&*instance, context)?;
    let mut origin = Origin::new(instance, model, BTreeMap::new())?;
    let calibration = samples(&origin.model, &read_npy("digits_calibration.npy", CALIBRATION)?)?;
    origin.quantise(None, &Typical::given(calibration))?;
    let compiled = origin.compile()?;
    let mut warnings = origin.instance.info().warnings.clone();
    warnings.extend(origin.number_warnings());
    let Origin { model, quantisation, .. } = origin;
    let compile_seconds = start.elapsed().as_secs_f64();
    let (samples, labels) = held_out(&model)?;
    let (ours, saturations) = machine(&*compiled, &samples)?;
    let reference = float(&model.graph, &samples)?;
    let (program, time) = (compiled.report(), timed(&*compiled, &TimeOptions::default())?);
    let speed = Speed::of(&time, Some(1));
    Ok(Report {
        model: model.graph.name,
        target: program.target,
        images: samples.len(),
        accuracy_float: accuracy(&reference, &labels),
        accuracy: accuracy(&ours, &labels),
        comparison: compare(&ours, &reference),
        saturations: saturations.total(),
        saturations_by_layer: saturations.layers,
        instructions: program.instructions,
        macs: program.macs,
        choices: program.choices,
        cycles: time.cycles,
        milliseconds: time.milliseconds,
        speed,
        utilisation: time.utilisation,
        layers: time.layers,
        quantisation,
        warnings,
        language: language(target, context)?,
        compile_seconds,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// The embedded language model on `target`; none where there is no generator.
fn language(target: &str, context: Context<'_>) -> Result<Option<Language>, Error> {
    let request = generate::Request { target: Some(target.to_owned()), ..generate::Request::default() };
    let text = match generate::generate(&request, PROMPT, &mut |_| (), context) {
        Err(Error::Target(TargetError::Unsupported { .. })) => return Ok(None),
        text => text?.0,
    };
    Ok(Some(Language { text, accuracy: generate::accuracy(&request, None, context)? }))
}

/// The network that `instance` takes; the first when it takes none.
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

/// The held-out images and their classes.
fn held_out(model: &Model) -> Result<(Vec<Sample>, Vec<i64>), Error> {
    let images = read_npy("digits_images.npy", IMAGES)?;
    let labels = read_npy("digits_labels.npy", LABELS)?;
    Ok((samples(model, &images)?, labels.as_i64().expect("the embedded labels are integers").to_vec()))
}

/// The images one by one.
fn samples(model: &Model, images: &Tensor) -> Result<Vec<Sample>, Error> {
    let ports = model::ports(&model.graph);
    let [port] = &ports[..] else {
        let name = "image".to_owned();
        return Err(PortError::Missing { name, shape: images.shape().to_vec() }.into());
    };
    let samples = port.split(images)?.into_iter().map(|image| vec![(port.name.clone(), image)]);
    Ok(samples.collect())
}

/// Share of samples whose largest value is at the label's place.
fn accuracy(outputs: &[Stack], labels: &[i64]) -> f64 {
    let samples = &outputs[0].samples;
    let right = samples.iter().zip(labels).filter(|(sample, label)| argmax(sample) as i64 == **label).count();
    right as f64 / samples.len().max(1) as f64
}
