//! `npu run`: a program over samples, bit-exactly; a model is also compared with float.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use npukit_graph::{Graph, evaluate};
use npukit_numeric::{ElementType, Tensor};
use npukit_target::{Compiled, HostStepReport, RunResult, Saturation, Saturations};
use rayon::prelude::*;
use serde::Serialize;

use super::{Program, Source};
use crate::error::Error;
use crate::inputs::{self, InputFile, Sample};
use crate::samples::{Comparison, OutputReport, Stack, compare, npz};
use crate::{Context, Progress};

/// What to run, on what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The program.
    pub source: Source,
    /// Its inputs.
    pub inputs: Vec<InputFile>,
    /// Gives the machine's integers instead of real values.
    pub raw: bool,
}

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
    /// Steps done by the host.
    pub host_steps: Vec<HostStepReport>,
    /// Of everything.
    pub seconds: f64,
}

/// Runs all samples; also gives the `.npz` of the outputs.
pub fn run(request: &Request, context: Context<'_>) -> Result<(Report, Vec<u8>), Error> {
    let start = Instant::now();
    let Program { compiled, model } = request.source.program(context.reader)?;
    let compiled = &*compiled;
    let read_text = |name: &str, bytes: &[u8]| compiled.read_text(name, bytes);
    let samples = inputs::samples(&request.inputs, &compiled.inputs(), context.reader, Some(&read_text))?;
    let (stacks, saturations) = machine(compiled, &samples, context.progress)?;
    let comparison = match &model {
        Some(model) => Some(compare(&stacks, &float_of(&model.graph, compiled, &samples)?)),
        None => None,
    };
    let program = compiled.report();
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
        host_steps: program.host_steps,
        seconds: start.elapsed().as_secs_f64(),
    };
    Ok((report, npz(&stacks, request.raw)?))
}

/// All samples on the machine, over the host's cores.
pub(crate) fn machine(
    compiled: &dyn Compiled,
    samples: &[Sample],
    progress: &Progress<'_>,
) -> Result<(Vec<Stack>, Saturations), Error> {
    let done = AtomicUsize::new(0);
    progress(0, samples.len());
    let one = |sample: &Sample| {
        let result = compiled.run(sample);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, samples.len());
        result
    };
    let results: Vec<RunResult> = samples.par_iter().map(one).collect::<Result<_, _>>()?;
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

/// The float evaluator's outputs in the order of the program's, for samples that may be rows of vectors.
fn float_of(graph: &Graph, compiled: &dyn Compiled, samples: &[Sample]) -> Result<Vec<Stack>, Error> {
    let in_model_shape = |sample: &Sample| -> Sample {
        let tensor = |(name, tensor): &(String, Tensor)| {
            (name.clone(), compiled.to_model(name, tensor).unwrap_or_else(|| tensor.clone()))
        };
        sample.iter().map(tensor).collect()
    };
    let samples: Vec<Sample> = samples.iter().map(in_model_shape).collect();
    let mut stacks = float(graph, &samples, &|_, _| ())?;
    let order: Vec<String> = compiled.outputs().into_iter().map(|port| port.name).collect();
    stacks.sort_by_key(|stack| order.iter().position(|name| *name == stack.name));
    Ok(stacks)
}

/// All samples through the float evaluator, over the host's cores.
pub(crate) fn float(graph: &Graph, samples: &[Sample], progress: &Progress<'_>) -> Result<Vec<Stack>, Error> {
    let done = AtomicUsize::new(0);
    progress(0, samples.len());
    let one = |sample: &Sample| {
        let by_name = |&id| {
            let value = graph.value(id);
            let (_, tensor) = sample.iter().find(|(name, _)| *name == value.name)?;
            Some(as_float(tensor, value.info.element))
        };
        let tensors: Vec<_> = graph.inputs.iter().filter_map(by_name).collect();
        let outputs = evaluate(graph, &tensors);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, samples.len());
        outputs
    };
    let results = samples.par_iter().map(one).collect::<Result<Vec<_>, _>>()?;
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

/// The tensor, rounded to `element` when both are floats: NumPy's are doubles unless told otherwise.
fn as_float(tensor: &Tensor, element: ElementType) -> Tensor {
    let both = tensor.element().is_float() && element.is_float();
    let rounded = both.then(|| tensor.clone().with_element(element).ok()).flatten();
    rounded.unwrap_or_else(|| tensor.clone())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_numeric::TensorData;

    use super::*;

    #[test]
    fn floats_become_the_inputs_floats_and_integers_stay() {
        let doubles = Tensor::from_f32(vec![1], vec![0.1]).unwrap().with_element(ElementType::F64).unwrap();
        assert_eq!(as_float(&doubles, ElementType::F32), Tensor::from_f32(vec![1], vec![0.1]).unwrap());
        assert_eq!(as_float(&doubles, ElementType::BF16).as_f32(), Some(&[0.100_097_656][..]));
        let integers = Tensor::new(vec![1], TensorData::I64(vec![1])).unwrap();
        assert_eq!(as_float(&integers, ElementType::F32), integers);
    }
}
