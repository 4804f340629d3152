//! Runs all samples on the machine ([`machine`]) or in float ([`float`]), on all cores of the host.

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

/// Runs all samples on the machine, on all cores.
pub(crate) fn machine(
    compiled: &dyn Compiled,
    samples: &[Sample],
) -> Result<(Vec<Stack>, Saturations), Error> {
    machine_by(compiled, samples, |_, sample| compiled.run_with(sample, &RunOptions::default()))
}

/// Like [`machine`], but `run` computes each sample; it also gets the sample's index.
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
        // Runs on this thread, so that phases within are visible.
        [sample] => vec![one((0, sample))?],
        _ => samples.par_iter().enumerate().map(one).collect::<Result<_, _>>()?,
    };
    let mut saturations = Saturations::default();
    results.iter().for_each(|result| saturations.add(&result.saturations));
    Ok((stacks(compiled, results), saturations))
}

/// Like [`machine_by`], one sample after the other. Each sample gets the state left by the previous
/// one, and is updated with it.
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

/// Collects the outputs of all samples, by output.
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

/// Converts samples that may be rows of vectors to the model's shapes.
pub(crate) fn in_model_shape(compiled: &dyn Compiled, samples: &[Sample]) -> Vec<Sample> {
    let tensor = |(name, tensor): &(String, Tensor)| {
        (name.clone(), compiled.to_model(name, tensor).unwrap_or_else(|| tensor.clone()))
    };
    samples.iter().map(|sample| sample.iter().map(tensor).collect()).collect()
}

/// Returns the tensors of a sample in the order of the graph's inputs, converted to their types.
///
/// # Errors
///
/// Fails as [`to_element`] does.
pub(crate) fn tensors(graph: &Graph, sample: &Sample) -> Result<Vec<Tensor>, PortError> {
    // The first tensor of a name takes precedence.
    let tensors: HashMap<&str, &Tensor> =
        sample.iter().rev().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let by_name = |&id| {
        let value = graph.value(id);
        let (tensor, element) = (tensors.get(value.name.as_str())?, value.info.element);
        // A sample has the model's types; the compiled graph may use real numbers instead of
        // integers.
        let are_reals = element.is_float() && !tensor.element().is_float();
        Some(if are_reals {
            Ok(as_element(tensor, element))
        } else {
            to_element(&value.name, tensor, element)
        })
    };
    graph.inputs.iter().filter_map(by_name).collect()
}

/// Evaluates all samples in float, on all cores.
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

/// Like [`float`], one sample after the other. Each sample gets the state left by the previous one.
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

/// Collects the outputs of all samples, by output.
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
