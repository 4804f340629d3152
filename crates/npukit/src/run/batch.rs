//! All samples of a run: on the machine ([`machine`]) or in float ([`float`]), over the host's cores.

use std::collections::HashMap;

use npukit_graph::{Graph, evaluate};
use npukit_numeric::Tensor;
use npukit_target::{
    Compiled, Phase, PortError, RunOptions, RunResult, Saturations, TargetError, as_element, to_element,
};
use rayon::prelude::*;

use crate::error::Error;
use crate::inputs::Sample;
use crate::run::stack::Stack;
use crate::run::stateful::States;

/// All samples on the machine, over the host's cores.
pub(crate) fn machine(
    compiled: &dyn Compiled,
    samples: &[Sample],
) -> Result<(Vec<Stack>, Saturations), Error> {
    machine_by(compiled, samples, |_, sample| compiled.run_with(sample, &RunOptions::default()))
}

/// The same, each sample by `run`, which has its place.
pub(crate) fn machine_by(
    compiled: &dyn Compiled,
    samples: &[Sample],
    run: impl Fn(usize, &Sample) -> Result<RunResult, TargetError> + Sync,
) -> Result<(Vec<Stack>, Saturations), Error> {
    let phase = Phase::counting("simulate", samples.len());
    let one = |(place, sample): (usize, &Sample)| {
        let result = run(place, sample);
        phase.advance();
        result
    };
    let results: Vec<RunResult> = match samples {
        // On this thread, whose phases within are seen.
        [sample] => vec![one((0, sample))?],
        _ => samples.par_iter().enumerate().map(one).collect::<Result<_, _>>()?,
    };
    let mut saturations = Saturations::default();
    results.iter().for_each(|result| saturations.add(&result.saturations));
    Ok((stacks(compiled, results), saturations))
}

/// As [`machine_by`], one sample after the other, each with the state that the one before left, which it then has.
pub(crate) fn machine_calls(
    compiled: &dyn Compiled,
    samples: &mut [Sample],
    states: &States,
    run: impl Fn(usize, &Sample) -> Result<RunResult, TargetError>,
) -> Result<(Vec<Stack>, Saturations), Error> {
    let phase = Phase::counting("simulate", samples.len());
    let (mut results, mut saturations) =
        (Vec::<RunResult>::with_capacity(samples.len()), Saturations::default());
    for (place, sample) in samples.iter_mut().enumerate() {
        if let Some(before) = results.last() {
            states.feed(sample, |place| before.outputs.get(place).map(|output| &output.values))?;
        }
        let result = run(place, sample)?;
        saturations.add(&result.saturations);
        results.push(result);
        phase.advance();
    }
    Ok((stacks(compiled, results), saturations))
}

/// The outputs of all samples, an output after the other.
pub(crate) fn stacks(compiled: &dyn Compiled, results: Vec<RunResult>) -> Vec<Stack> {
    let mut stacks: Vec<Stack> = compiled.outputs().into_iter().map(Stack::of).collect();
    for result in results {
        for (stack, output) in stacks.iter_mut().zip(result.outputs) {
            stack.samples.push(output.values);
            stack.raw.push(output.raw);
        }
    }
    stacks
}

/// Samples that may be rows of vectors, in the model's shapes.
pub(crate) fn in_model_shape(compiled: &dyn Compiled, samples: &[Sample]) -> Vec<Sample> {
    let tensor = |(name, tensor): &(String, Tensor)| {
        (name.clone(), compiled.to_model(name, tensor).unwrap_or_else(|| tensor.clone()))
    };
    samples.iter().map(|sample| sample.iter().map(tensor).collect()).collect()
}

/// The tensors of a sample in the order of the graph's inputs, with elements of their types.
///
/// # Errors
///
/// Those of [`to_element`].
pub(crate) fn tensors(graph: &Graph, sample: &Sample) -> Result<Vec<Tensor>, PortError> {
    // The first of a name counts.
    let tensors: HashMap<&str, &Tensor> =
        sample.iter().rev().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let by_name = |&id| {
        let value = graph.value(id);
        let (tensor, element) = (tensors.get(value.name.as_str())?, value.info.element);
        // A sample has the model's types; the graph that is compiled may have real numbers in place of integers.
        let are_reals = element.is_float() && !tensor.element().is_float();
        Some(if are_reals {
            Ok(as_element(tensor, element))
        } else {
            to_element(&value.name, tensor, element)
        })
    };
    graph.inputs.iter().filter_map(by_name).collect()
}

/// All samples through the float evaluator, over the host's cores.
pub(crate) fn float(graph: &Graph, samples: &[Sample]) -> Result<Vec<Stack>, Error> {
    let phase = Phase::counting("evaluate in float", samples.len());
    let one = |sample: &Sample| {
        let outputs = evaluate(graph, &tensors(graph, sample)?);
        phase.advance();
        Ok(outputs?)
    };
    let results = samples.par_iter().map(one).collect::<Result<Vec<_>, Error>>()?;
    Ok(float_stacks(graph, &results))
}

/// As [`float`], one sample after the other, each with the state that the one before left.
pub(crate) fn float_calls(graph: &Graph, samples: &[Sample], states: &States) -> Result<Vec<Stack>, Error> {
    let phase = Phase::counting("evaluate in float", samples.len());
    let mut results: Vec<Vec<Tensor>> = Vec::with_capacity(samples.len());
    for sample in samples {
        let mut sample = sample.clone();
        if let Some(before) = results.last() {
            states.feed(&mut sample, |place| before.get(place))?;
        }
        results.push(evaluate(graph, &tensors(graph, &sample)?)?);
        phase.advance();
    }
    Ok(float_stacks(graph, &results))
}

/// The outputs of all samples, an output after the other.
pub(crate) fn float_stacks(graph: &Graph, results: &[Vec<Tensor>]) -> Vec<Stack> {
    let stack = |(i, &id): (usize, &npukit_graph::ValueId)| {
        let value = graph.value(id);
        Stack {
            name: value.name.clone(),
            shape: value.info.shape.clone(),
            samples: results.iter().filter_map(|outputs| outputs.get(i).cloned()).collect(),
            ..Stack::default()
        }
    };
    graph.outputs.iter().enumerate().map(stack).collect()
}
