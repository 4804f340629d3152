//! `npu run`: a program over samples, bit-exactly; a model is also compared with float.

mod beside;

use std::collections::{BTreeMap, HashMap};
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
use crate::comparison::Comparison;
use crate::convert::to_element;
use crate::error::Error;
use crate::finite::NonFinite;
use crate::inputs::{self, InputFile, Sample};
use crate::max_error::MaxError;
use crate::remarks::Remarks;
use crate::samples::{DumpedTensor, OutputReport, Stack, npz, reports};
use crate::targets::artifact_target;
use crate::truth::{self, Run, Wanted, truth};
use crate::underflow;
use crate::{Context, Progress, quantise, rescale};
use beside::Beside;

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
    /// The largest difference to float that counts as a success.
    pub max_error: Option<MaxError>,
    /// Makes reading memory that nobody has written a fault.
    pub check: bool,
}

impl Request {
    /// Refuses what needs a model.
    fn check(&self) -> Result<(), Error> {
        let unused = match (self.wanted() != Wanted::default(), self.max_error) {
            (true, _) => "`--compare` or `--dump`",
            (_, Some(_)) => "`--max-error`",
            _ => return Ok(()),
        };
        match artifact_target(&self.source.path) {
            Some(_) => Err(Error::NeedlessOption { path: self.source.path.clone(), option: unused }),
            None => Ok(()),
        }
    }

    fn wanted(&self) -> Wanted {
        Wanted { compare: self.compare, dump: self.dump }
    }

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
    /// NaN and infinity.
    pub non_finite: NonFinite,
    /// What the number format rounds to zero; for models on targets with a fixed-point format.
    pub underflow: Option<underflow::Report>,
    /// What came of the calibration, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescaling: Option<rescale::Report>,
    /// What came of the quantisation, for a target that takes integers only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantisation: Option<quantise::Report>,
    /// Every layer beside float, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truth: Option<truth::Report>,
    /// The tensors of the dump, when asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dump: Vec<DumpedTensor>,
    /// Steps done by the host.
    pub host_steps: Vec<HostStepReport>,
    /// What was taken for granted.
    pub notes: Vec<String>,
    /// What its user should know of.
    pub warnings: Vec<String>,
    /// Why the run is no success, a sentence each: what is not as allowed, and comparisons with numbers that are none.
    pub failures: Vec<String>,
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
    request.check()?;
    let Program { compiled, origin } = request.source.program(&request.inputs, context)?;
    let outcome = Outcome::of(request, &*compiled, context)?;
    let mut beside = match &origin {
        Some(origin) => outcome.beside(origin, context)?,
        None => Beside::of(&outcome.samples, &outcome.stacks),
    };
    let dump = beside.dump.as_mut().map(|dump| std::mem::take(&mut dump.npz));
    let files = Files { outputs: npz(&outcome.stacks, request.raw)?, dump };
    Ok((outcome.report(origin, beside, start), files))
}

/// What the machine made of all samples.
struct Outcome<'a> {
    request: &'a Request,
    compiled: &'a dyn Compiled,
    samples: Vec<Sample>,
    stacks: Vec<Stack>,
    saturations: Saturations,
}

impl<'a> Outcome<'a> {
    fn of(request: &'a Request, compiled: &'a dyn Compiled, context: Context<'_>) -> Result<Self, Error> {
        let read_text = |name: &str, bytes: &[u8]| compiled.read_text(name, bytes);
        let samples = inputs::samples(&request.inputs, &compiled.inputs(), context.reader, Some(&read_text))?;
        let (stacks, saturations) =
            machine_with(compiled, &samples, request.run_options(), context.progress)?;
        Ok(Self { request, compiled, samples, stacks, saturations })
    }

    /// The model in float beside it, and what of its layers is wanted.
    fn beside(&self, origin: &Origin, context: Context<'_>) -> Result<Beside, Error> {
        let (compiled, mut beside) = (self.compiled, Beside::of(&self.samples, &self.stacks));
        let model_samples = in_model_shape(compiled, &self.samples);
        let comparison = beside.compare(origin, compiled, &model_samples, &self.stacks)?;
        let wanted = self.request.wanted();
        if wanted != Wanted::default() {
            let run = Run {
                origin,
                compiled,
                samples: &self.samples,
                model_samples: &model_samples,
                stacks: &self.stacks,
                comparison,
                saturations: &self.saturations,
            };
            (beside.truth, beside.dump) = truth(&run, wanted, context)?;
        }
        Ok(beside)
    }

    fn report(self, origin: Option<Origin>, beside: Beside, start: Instant) -> Report {
        let program = self.compiled.report();
        let Remarks { notes, mut warnings } = origin.as_ref().map(Origin::remarks).unwrap_or_default();
        warnings.extend(beside.warnings(self.request, origin.as_ref(), &self.saturations));
        let failures = beside.failures(self.request.max_error);
        let found = origin.map(|origin| (origin.rescaling, origin.quantisation));
        let (rescaling, quantisation) = found.unwrap_or_default();
        Report {
            name: program.name,
            target: program.target,
            choices: program.choices,
            samples: self.samples.len(),
            outputs: reports(&self.stacks),
            comparison: beside.comparison,
            saturations: self.saturations.total(),
            saturated_inputs: self.saturations.inputs,
            saturations_by_layer: self.saturations.layers,
            non_finite: beside.non_finite,
            underflow: beside.underflow,
            rescaling,
            quantisation,
            truth: beside.truth,
            dump: beside.dump.map(|dump| dump.tensors).unwrap_or_default(),
            host_steps: program.host_steps,
            notes,
            warnings,
            failures,
            seconds: start.elapsed().as_secs_f64(),
        }
    }
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

/// The tensors of a sample in the order of the graph's inputs, with elements of their types.
///
/// Errors: [`to_element`]'s.
pub(crate) fn tensors(graph: &Graph, sample: &Sample) -> Result<Vec<Tensor>, PortError> {
    // The first of a name counts.
    let tensors: HashMap<&str, &Tensor> =
        sample.iter().rev().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let by_name = |&id| {
        let value = graph.value(id);
        let tensor = tensors.get(value.name.as_str())?;
        Some(to_element(&value.name, tensor, value.info.element))
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
    Ok(float_stacks(graph, &results))
}

/// The outputs of all samples, an output after the other.
fn float_stacks(graph: &Graph, results: &[Vec<Tensor>]) -> Vec<Stack> {
    let stack = |(i, &id): (usize, &npukit_graph::ValueId)| {
        let value = graph.value(id);
        Stack {
            name: value.name.clone(),
            shape: value.info.shape.clone(),
            samples: results.iter().filter_map(|outputs| outputs.get(i).cloned()).collect(),
            raw: Vec::new(),
        }
    };
    graph.outputs.iter().enumerate().map(stack).collect()
}
