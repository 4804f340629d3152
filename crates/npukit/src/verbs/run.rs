//! `npu run`: a program over samples, bit-exactly; a model is also compared with float.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use npukit_graph::{Graph, Observations, evaluate, evaluate_with};
use npukit_numeric::Tensor;
use npukit_target::{
    Compiled, HostStepReport, Meaning, PortError, RunOptions, RunResult, Saturation, Saturations, Unset,
};
use rayon::prelude::*;
use serde::Serialize;

use super::{Origin, Program, Source};
use crate::comparison::{Comparison, compare};
use crate::convert::to_element;
use crate::error::Error;
use crate::finite::{self, NonFinite};
use crate::inputs::{self, InputFile, Sample};
use crate::max_error::{MaxError, NO_INFORMATION};
use crate::remarks::Remarks;
use crate::samples::{DumpedTensor, OutputReport, Stack, npz, reports};
use crate::targets::artifact_target;
use crate::truth::{self, Run, Wanted, truth};
use crate::underflow::{self, Usage, Watch};
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
    /// The largest difference to float that counts as a success.
    pub max_error: Option<MaxError>,
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
    let wanted = Wanted { compare: request.compare, dump: request.dump };
    if wanted != Wanted::default() && artifact_target(&request.source.path).is_some() {
        let (path, option) = (request.source.path.clone(), "`--compare` or `--dump`");
        return Err(Error::NeedlessOption { path, option });
    }
    if request.max_error.is_some() && artifact_target(&request.source.path).is_some() {
        return Err(Error::NeedlessOption { path: request.source.path.clone(), option: "`--max-error`" });
    }
    let Program { compiled, origin } = request.source.program(&request.inputs, context)?;
    let compiled = &*compiled;
    let read_text = |name: &str, bytes: &[u8]| compiled.read_text(name, bytes);
    let samples = inputs::samples(&request.inputs, &compiled.inputs(), context.reader, Some(&read_text))?;
    let (stacks, saturations) = machine_with(compiled, &samples, request.run_options(), context.progress)?;
    let mut files = Files { outputs: npz(&stacks, request.raw)?, dump: None };
    let mut beside = Beside { non_finite: NonFinite::of(&samples, &stacks), ..Beside::default() };
    let (mut layers, mut dump) = (None, None);
    if let Some(origin) = &origin {
        let model_samples = in_model_shape(compiled, &samples);
        let found = beside.compare(origin, compiled, &model_samples, &stacks)?;
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
            (layers, dump) = truth(&run, wanted, context)?;
        }
    }
    let (archive, tensors) = dump.map(|dump| (dump.npz, dump.tensors)).unzip();
    files.dump = archive;
    let failures = beside.failures(request.max_error);
    let found_out = beside.warnings(request, origin.as_ref(), &saturations);
    let program = compiled.report();
    let Remarks { notes, mut warnings } = origin.as_ref().map(Origin::remarks).unwrap_or_default();
    warnings.extend(found_out);
    let found = origin.map(|origin| (origin.rescaling, origin.quantisation));
    let (rescaling, quantisation) = found.unwrap_or_default();
    let report = Report {
        name: program.name,
        target: program.target,
        choices: program.choices,
        samples: samples.len(),
        outputs: reports(&stacks),
        comparison: beside.comparison,
        saturations: saturations.total(),
        saturated_inputs: saturations.inputs,
        saturations_by_layer: saturations.layers,
        non_finite: beside.non_finite,
        underflow: beside.underflow,
        rescaling,
        quantisation,
        truth: layers,
        dump: tensors.unwrap_or_default(),
        host_steps: program.host_steps,
        notes,
        warnings,
        failures,
        seconds: start.elapsed().as_secs_f64(),
    };
    Ok((report, files))
}

/// What float says beside a run.
#[derive(Default)]
struct Beside {
    comparison: Option<Comparison>,
    non_finite: NonFinite,
    /// Constants of the model that are no numbers.
    bad_constants: Vec<String>,
    underflow: Option<underflow::Report>,
}

impl Beside {
    /// Evaluates the model and looks at it beside the machine's outputs.
    fn compare(
        &mut self,
        origin: &Origin,
        compiled: &dyn Compiled,
        samples: &[Sample],
        stacks: &[Stack],
    ) -> Result<Comparison, Error> {
        let (graph, format) = (&origin.model.graph, origin.instance.number_format());
        let watch = Watch::new(graph, &compiled.layers(), &origin.exponents, format);
        let (mut reference, seen) = watched(graph, samples, watch.as_ref())?;
        let order: Vec<String> = compiled.outputs().into_iter().map(|port| port.name).collect();
        reference.sort_by_key(|stack| order.iter().position(|name| *name == stack.name));
        self.non_finite = std::mem::take(&mut self.non_finite).beside(&reference);
        (self.non_finite.constants, self.bad_constants) = finite::constants(graph);
        let report = |watch: &Watch, seen| watch.report(seen, &origin.model.simplified);
        self.underflow = watch.as_ref().zip(seen.as_ref()).map(|(watch, seen)| report(watch, seen));
        let found = compare(stacks, &reference);
        self.comparison = Some(found);
        Ok(found)
    }

    /// Why the run is no success.
    fn failures(&self, max_error: Option<MaxError>) -> Vec<String> {
        let Some(found) = &self.comparison else { return Vec::new() };
        let no_numbers = if self.non_finite.is_compared() {
            vec!["numbers that are NaN or infinite were compared".to_owned()]
        } else {
            Vec::new()
        };
        no_numbers.into_iter().chain(max_error.iter().flat_map(|limit| limit.failures(found))).collect()
    }

    fn warnings(&self, request: &Request, origin: Option<&Origin>, saturations: &Saturations) -> Vec<String> {
        let mut warnings = self.non_finite.warnings();
        warnings.extend(self.bad_constants.iter().cloned());
        if self.comparison.is_some_and(|found| !found.informative) && !self.non_finite.is_compared() {
            warnings.push(NO_INFORMATION.to_owned());
        }
        warnings.extend(self.underflow.as_ref().and_then(underflow::Report::warning));
        if let Some(origin) = origin.filter(|origin| uncalibrated(origin)) {
            let vanishes = self.underflow.as_ref().is_some_and(|report| report.warning().is_some());
            if saturations.results > 0 || vanishes {
                warnings.push(calibration_line(request, origin, saturations.results));
            }
        }
        warnings
    }
}

/// Whether a calibration might help that nobody asked for.
fn uncalibrated(origin: &Origin) -> bool {
    let has_steps = origin.instance.number_format().is_some_and(|format| format.step().is_some());
    has_steps && origin.rescaling.is_none() && origin.quantisation.is_none()
}

/// The line to type.
fn calibration_line(request: &Request, origin: &Origin, results: u64) -> String {
    let why = if results > 0 {
        format!("{results} results do not fit the number format")
    } else {
        "the number format is larger than the network's values".to_owned()
    };
    let Source { path, target, .. } = &request.source;
    let target = target.clone().unwrap_or_else(|| origin.instance.name());
    let input =
        |file: &InputFile| file.name.iter().map(|name| format!("{name}=")).collect::<String>() + &file.path;
    let inputs = request.inputs.iter().map(input).collect::<Vec<_>>().join(" ");
    format!(
        "{why}: `npu run {path} --target {target} --input {inputs} --calibrate TYPICAL_INPUTS.npy` scales layers by \
         powers of two, where that helps"
    )
}

/// All samples through the float evaluator, over the host's cores, and what is seen of the watched values.
fn watched(
    graph: &Graph,
    samples: &[Sample],
    watch: Option<&Watch>,
) -> Result<(Vec<Stack>, Option<Observations<Usage>>), Error> {
    let Some(watch) = watch else { return Ok((float(graph, samples, &|_, _| ())?, None)) };
    let one = |sample: &Sample| -> Result<_, Error> {
        let mut seen = watch.empty();
        let outputs = evaluate_with(graph, &tensors(graph, sample)?, |node, results| {
            node.outputs.iter().zip(results).for_each(|(&id, result)| watch.note(&mut seen, id, result));
        })?;
        Ok((outputs, seen))
    };
    let (mut all, mut outputs) = (watch.empty(), Vec::new());
    for batch in samples.chunks(rayon::current_num_threads().max(1)) {
        for (output, seen) in batch.par_iter().map(one).collect::<Result<Vec<_>, Error>>()? {
            all = all.merge(&seen);
            outputs.push(output);
        }
    }
    Ok((float_stacks(graph, &outputs), Some(all)))
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
