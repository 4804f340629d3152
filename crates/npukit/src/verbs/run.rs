//! `npu run`: a program over samples, bit-exactly; a model is also compared with float.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use npukit_graph::{Graph, evaluate};
use npukit_numeric::Tensor;
use npukit_target::{
    Compiled, HostStepReport, Meaning, PortError, RunOptions, RunResult, Saturation, Saturations, Unset,
};
use rayon::prelude::*;
use serde::Serialize;

use super::{Origin, Program, Source};
use crate::convert::to_element;
use crate::error::Error;
use crate::inputs::{self, InputFile, Sample};
use crate::remarks::Remarks;
use crate::samples::{Comparison, OutputReport, Stack, compare, npz};
use crate::targets::artifact_target;
use crate::truth::{self, Run, Wanted, truth};
use crate::{Context, Progress, quantise, rescale};

/// What to run, on what.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The program.
    pub source: Source,
    /// Its inputs.
    pub inputs: Vec<InputFile>,
    /// Gives the machine's integers instead of real values.
    pub raw: bool,
    /// Compares every layer with float.
    pub compare: bool,
    /// Gives every tensor.
    pub dump: bool,
    /// What counts where hardware computes something else than the instructions say.
    pub meaning: Meaning,
    /// Makes reading memory that nobody has written a fault.
    pub check: bool,
}

impl Request {
    /// How the machine runs a sample: an artifact on memory that holds anything, as a board's does, the first
    /// sample twice in a row.
    fn run_options(&self) -> impl Fn(usize) -> RunOptions + Sync + use<> {
        let is_artifact = artifact_target(&self.source.path).is_some();
        let unset = match (self.check, is_artifact) {
            (true, _) => Unset::Poison,
            (false, true) => Unset::Garbage(GARBAGE),
            (false, false) => Unset::Zero,
        };
        let meaning = self.meaning;
        move |sample| {
            let times = if is_artifact && sample == 0 { TWICE } else { NonZeroU32::MIN };
            RunOptions { meaning, unset, times }
        }
    }
}

/// Seed of what lies in memory before an artifact runs.
const GARBAGE: u64 = 0x6E70_756B;
const TWICE: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);

/// What was run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Name of the artifact.
    pub name: String,
    /// Target and instance.
    pub target: String,
    /// What the compiler chose; empty for artifacts.
    pub choices: BTreeMap<String, String>,
    /// Samples run.
    pub samples: usize,
    /// Outputs over all samples.
    pub outputs: Vec<OutputReport>,
    /// Against the float evaluator; for models only.
    #[serde(flatten)]
    pub comparison: Option<Comparison>,
    /// Values that did not fit the number format, over all samples: inputs and results.
    pub saturations: u64,
    /// Those of them that are inputs.
    pub saturated_inputs: u64,
    /// Those of them that are results, by layer.
    pub saturations_by_layer: Vec<Saturation>,
    /// What came of the calibration, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescaling: Option<rescale::Report>,
    /// What came of the quantisation, for a target that takes integers only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantisation: Option<quantise::Report>,
    /// Every layer beside float, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truth: Option<truth::Report>,
    /// Steps done by the host.
    pub host_steps: Vec<HostStepReport>,
    /// What was taken for granted.
    pub notes: Vec<String>,
    /// What its user should know of.
    pub warnings: Vec<String>,
    /// Of everything.
    pub seconds: f64,
}

/// Files of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// `.npz` of the outputs.
    pub outputs: Vec<u8>,
    /// `.npz` of every tensor, when asked for. `machine/NAME` is the value `NAME` of the compiled graph as the
    /// machine has it; with a comparison, `float/NAME` is that of the whole network in float, and
    /// `layer/NAME` that of its layer in float on the machine's operands. All in the model's scale.
    pub dump: Option<Vec<u8>>,
}

/// Runs all samples; also gives the files.
pub fn run(request: &Request, context: Context<'_>) -> Result<(Report, Files), Error> {
    let start = Instant::now();
    let wanted = Wanted { compare: request.compare, dump: request.dump };
    if wanted != Wanted::default() && artifact_target(&request.source.path).is_some() {
        let (path, option) = (request.source.path.clone(), "`--compare` or `--dump`");
        return Err(Error::NeedlessOption { path, option });
    }
    let Program { compiled, origin } = request.source.program(&request.inputs, context)?;
    let compiled = &*compiled;
    let read_text = |name: &str, bytes: &[u8]| compiled.read_text(name, bytes);
    let samples = inputs::samples(&request.inputs, &compiled.inputs(), context.reader, Some(&read_text))?;
    let (stacks, saturations) = machine_with(compiled, &samples, request.run_options(), context.progress)?;
    let mut files = Files { outputs: npz(&stacks, request.raw)?, dump: None };
    let (mut comparison, mut layers) = (None, None);
    if let Some(origin) = &origin {
        let model_samples = in_model_shape(compiled, &samples);
        let found = compare(&stacks, &float_of(&origin.model.graph, compiled, &model_samples)?);
        comparison = Some(found);
        if wanted != Wanted::default() {
            let run = Run {
                origin,
                compiled,
                samples: &samples,
                model_samples: &model_samples,
                stacks: &stacks,
                comparison: found,
                saturations: &saturations,
            };
            (layers, files.dump) = truth(&run, wanted, context)?;
        }
    }
    let program = compiled.report();
    let Remarks { notes, warnings } = origin.as_ref().map(Origin::remarks).unwrap_or_default();
    let found = origin.map(|origin| (origin.rescaling, origin.quantisation));
    let (rescaling, quantisation) = found.unwrap_or_default();
    let report = Report {
        name: program.name,
        target: program.target,
        choices: program.choices,
        samples: samples.len(),
        outputs: stacks.iter().map(Stack::report).collect(),
        comparison,
        saturations: saturations.total(),
        saturated_inputs: saturations.inputs,
        saturations_by_layer: saturations.layers,
        rescaling,
        quantisation,
        truth: layers,
        host_steps: program.host_steps,
        notes,
        warnings,
        seconds: start.elapsed().as_secs_f64(),
    };
    Ok((report, files))
}

/// All samples on the machine, over the host's cores.
pub(crate) fn machine(
    compiled: &dyn Compiled,
    samples: &[Sample],
    progress: &Progress<'_>,
) -> Result<(Vec<Stack>, Saturations), Error> {
    machine_with(compiled, samples, |_| RunOptions::default(), progress)
}

/// The same, the sample at a place with the options for it.
fn machine_with(
    compiled: &dyn Compiled,
    samples: &[Sample],
    options: impl Fn(usize) -> RunOptions + Sync,
    progress: &Progress<'_>,
) -> Result<(Vec<Stack>, Saturations), Error> {
    let done = AtomicUsize::new(0);
    progress(0, samples.len());
    let one = |(place, sample): (usize, &Sample)| {
        let result = compiled.run_with(sample, &options(place));
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, samples.len());
        result
    };
    let results: Vec<RunResult> = samples.par_iter().enumerate().map(one).collect::<Result<_, _>>()?;
    let mut saturations = Saturations::default();
    results.iter().for_each(|result| saturations.add(&result.saturations));
    Ok((stacks(compiled, results), saturations))
}

fn stacks(compiled: &dyn Compiled, results: Vec<RunResult>) -> Vec<Stack> {
    let empty = |port: npukit_target::Port| Stack {
        name: port.name,
        shape: port.shape,
        samples: Vec::new(),
        raw: Vec::new(),
    };
    let mut stacks: Vec<Stack> = compiled.outputs().into_iter().map(empty).collect();
    for result in results {
        for (stack, output) in stacks.iter_mut().zip(result.outputs) {
            stack.samples.push(output.values);
            stack.raw.push(output.raw);
        }
    }
    stacks
}

/// Samples that may be rows of vectors, in the model's shapes.
fn in_model_shape(compiled: &dyn Compiled, samples: &[Sample]) -> Vec<Sample> {
    let tensor = |(name, tensor): &(String, Tensor)| {
        (name.clone(), compiled.to_model(name, tensor).unwrap_or_else(|| tensor.clone()))
    };
    samples.iter().map(|sample| sample.iter().map(tensor).collect()).collect()
}

/// The float evaluator's outputs in the order of the program's.
fn float_of(graph: &Graph, compiled: &dyn Compiled, samples: &[Sample]) -> Result<Vec<Stack>, Error> {
    let mut stacks = float(graph, samples, &|_, _| ())?;
    let order: Vec<String> = compiled.outputs().into_iter().map(|port| port.name).collect();
    stacks.sort_by_key(|stack| order.iter().position(|name| *name == stack.name));
    Ok(stacks)
}

/// The tensors of a sample in the order of the graph's inputs, with elements of their types.
///
/// Errors: [`to_element`]'s.
pub(crate) fn tensors(graph: &Graph, sample: &Sample) -> Result<Vec<Tensor>, PortError> {
    let by_name = |&id| {
        let value = graph.value(id);
        let (name, tensor) = sample.iter().find(|(name, _)| *name == value.name)?;
        Some(to_element(name, tensor, value.info.element))
    };
    graph.inputs.iter().filter_map(by_name).collect()
}

/// All samples through the float evaluator, over the host's cores.
pub(crate) fn float(graph: &Graph, samples: &[Sample], progress: &Progress<'_>) -> Result<Vec<Stack>, Error> {
    let done = AtomicUsize::new(0);
    progress(0, samples.len());
    let one = |sample: &Sample| {
        let outputs = evaluate(graph, &tensors(graph, sample)?);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, samples.len());
        Ok(outputs?)
    };
    let results = samples.par_iter().map(one).collect::<Result<Vec<_>, Error>>()?;
    let stack = |(i, &id): (usize, &npukit_graph::ValueId)| {
        let value = graph.value(id);
        Stack {
            name: value.name.clone(),
            shape: value.info.shape.clone(),
            samples: results.iter().filter_map(|outputs| outputs.get(i).cloned()).collect(),
            raw: Vec::new(),
        }
    };
    Ok(graph.outputs.iter().enumerate().map(stack).collect())
}
