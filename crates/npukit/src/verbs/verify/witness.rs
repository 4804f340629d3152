//! Finds an input for which the machine and the model differ by more than rounding explains:
//! [`find`].
//!
//! If the polynomials in the field differ, the numbers may still be right: a compiler may use a law
//! that the field does not have. So a program is only refuted by an input that was run.

use npukit_graph::{Graph, ValueId, evaluate, rounding_bounds};
use npukit_numeric::{RoundingModel, Tensor};
use npukit_target::{BoundedProgram, Compiled, Output, Port, RangeTensor, RunOptions};
use npukit_verify::{Bounding, numbers, samples};

use super::bounds::is_comparable;
use crate::compare::layer_compare::changed;
use crate::compare::shape_source::ShapeSource;
use crate::inputs::Sample;
use crate::model::compile_job::CompileJob;
use crate::report::verify::{ElementReport, Witness};
use crate::run::stack::Stack;

/// Scales of the random inputs. Numbers from -1 to 1 are multiplied by the scale and rounded to
/// sixteenths, which machines with at least four fraction bits represent exactly.
const SCALES: [f32; 4] = [1.0, 0.25, 4.0, 0.0];
/// Random seeds for each scale.
const SEEDS: [u64; 2] = [1, 2];
/// Number of steps per unit, for inputs with four fraction bits.
const SIXTEENTHS: f32 = 16.0;
/// Factor by which a bound must be exceeded. The bound assumes the model's order of sums, and a
/// float evaluator that does not round.
const MARGIN: f64 = 2.0;
/// Tolerance for float rounding, as a share of an output's largest number.
const FLOATS: f64 = 1e-3;

/// Returns a witness, if one of the inputs is one.
///
/// Returns `None` if rounding has no bound: for scaled models, formats without a fixed step, and
/// functions that a machine approximates. Runs with saturation are ignored.
pub(super) fn find(origin: &CompileJob, unrounded: &Graph, compiled: &dyn Compiled) -> Option<Witness> {
    // Bounds do not cover constants that saturate.
    if compiled.report().saturated_constants.is_some_and(|count| count > 0) {
        return None;
    }
    let beside = Comparison { origin, unrounded, compiled, bounds: Bounds::of(origin, compiled)? };
    let mut all = SCALES.into_iter().flat_map(|scale| SEEDS.map(|seed| (scale, seed)));
    all.find_map(|(scale, seed)| {
        let inputs: Vec<Tensor> =
            samples(unrounded, seed).iter().map(|tensor| on_grid(tensor, scale)).collect();
        let description = format!("random numbers from -{scale} to {scale} in sixteenths, seed {seed}");
        beside.judged(&inputs, description)
    })
}

/// Source of the rounding bounds of an output.
enum Bounds<'a> {
    /// Step of all numbers of the machine.
    Step(f32),
    /// Each value has its own step: the program is run on ranges of one number each.
    Program(Box<dyn BoundedProgram + 'a>),
}

impl<'a> Bounds<'a> {
    /// Returns the bounds of a program, or `None` if rounding has no bound.
    fn of(origin: &CompileJob, compiled: &'a dyn Compiled) -> Option<Self> {
        if origin.exponents.values().any(|&exponent| exponent != 0) {
            return None;
        }
        if origin.quantization.is_none() {
            return Some(Self::Step(origin.instance.info().number_format?.step()? as f32));
        }
        let program = compiled.in_bounds(&origin.model.simplified).ok()?;
        is_comparable(compiled, &*program).then_some(Self::Program(program))
    }

    /// Returns for each output of `graph` the largest difference of each element from the model.
    fn at(&self, graph: &Graph, inputs: &[Tensor]) -> Option<Vec<Option<Tensor>>> {
        let program = match self {
            Self::Step(step) => return rounding_bounds(graph, inputs, *step).ok(),
            Self::Program(program) => program,
        };
        let exactly = |(&id, tensor): (&ValueId, &Tensor)| {
            let ranges = tensor.as_f32()?.iter().map(|&x| (x.into(), x.into())).collect();
            Some((graph.value(id).name.clone(), RangeTensor { shape: tensor.shape().to_vec(), ranges }))
        };
        let inputs: Option<Vec<_>> = graph.inputs.iter().zip(inputs).map(exactly).collect();
        let run = program.run(&inputs?, RoundingModel::Machine).ok()?;
        let bounding = Bounding::of(run);
        let bound = |&id: &ValueId| {
            let name = &graph.value(id).name;
            let error = bounding.outputs.iter().find(|output| output.name == *name)?.error;
            let shape = graph.shape(id).to_vec();
            let errors = vec![error as f32; shape.iter().product()];
            Tensor::from_f32(shape, errors).ok().filter(|_| error.is_finite())
        };
        Some(graph.outputs.iter().map(bound).collect())
    }
}

/// Rounds floats to sixteenths; leaves other elements unchanged.
fn on_grid(tensor: &Tensor, scale: f32) -> Tensor {
    changed(tensor, |x| (x * scale * SIXTEENTHS).round() / SIXTEENTHS)
}

/// Program and its model.
struct Comparison<'a> {
    origin: &'a CompileJob,
    unrounded: &'a Graph,
    compiled: &'a dyn Compiled,
    bounds: Bounds<'a>,
}

impl Comparison<'_> {
    /// Returns the element that exceeds its bound the most; `None` if all are within bounds or
    /// unknown.
    fn judged(&self, inputs: &[Tensor], description: String) -> Option<Witness> {
        let Self { origin, unrounded, .. } = self;
        let names = unrounded.inputs.iter().map(|&id| unrounded.value(id).name.clone());
        let named: Vec<(String, Tensor)> = names.zip(inputs.iter().cloned()).collect();
        let machine = self.ran(named)?;
        let model = evaluate(&origin.model.graph, inputs).ok()?;
        let bounds = self.bounds.at(unrounded, inputs)?;
        let outputs = unrounded.outputs.iter().zip(model.iter().zip(&bounds));
        let found = outputs.filter_map(|(&id, (model, bound))| {
            let name = &unrounded.value(id).name;
            let machine = machine.iter().find(|stack| stack.name == *name)?.samples.first()?;
            furthest(name, [machine, model, bound.as_ref()?])
        });
        let found = found.max_by(|left, right| left.excess().total_cmp(&right.excess()))?;
        Some(Witness { inputs: description, ..found })
    }

    /// Returns the machine's outputs for a sample, by the model's names; `None` if it cannot run,
    /// or if something saturates.
    fn ran(&self, sample: Sample) -> Option<Vec<Stack>> {
        let Self { origin, compiled, .. } = self;
        let mut ports = compiled.inputs().into_iter().chain(compiled.outputs());
        let knows_rows = ports.any(|port| port.only_vectors().is_some());
        let like = if knows_rows { Some(ShapeSource::of(*compiled, &origin.model).ok()?) } else { None };
        let sample = match &like {
            Some(like) => like.packed(sample),
            None => sample,
        };
        let run = compiled.run_with(&sample, &RunOptions::default()).ok()?;
        if run.saturations.total() > 0 {
            return None;
        }
        let stack = |(port, output): (Port, Output)| Stack {
            samples: vec![output.values],
            raw: vec![output.raw],
            ..Stack::of(port)
        };
        let stacks = compiled.outputs().into_iter().zip(run.outputs).map(stack).collect();
        Some(match &like {
            Some(like) => like.unpacked(stacks),
            None => stacks,
        })
    }
}

/// Returns the element of an output that exceeds its bound the most.
fn furthest(name: &str, tensors: [&Tensor; 3]) -> Option<Witness> {
    let [machine, model, bounds] = tensors.map(numbers);
    if machine.len() != model.len() || model.len() != bounds.len() {
        return None;
    }
    let largest = model.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let all = machine.iter().zip(&model).zip(bounds).enumerate().map(|(at, ((&machine, &model), bound))| {
        let index = npukit_graph::shape::indices(at, tensors[1].shape()).collect();
        let element = ElementReport { tensor: name.to_owned(), index };
        let bound = MARGIN * bound + FLOATS * largest;
        Witness { inputs: String::new(), element, machine, model, bound }
    });
    // NaN and infinity prove nothing.
    let beyond = all.filter(|found| found.excess() > 0.0 && found.excess().is_finite());
    beyond.max_by(|left, right| left.excess().total_cmp(&right.excess()))
}

impl Witness {
    /// Returns the excess over the bound.
    fn excess(&self) -> f64 {
        (self.machine - self.model).abs() - self.bound
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::collections::BTreeMap;

    use npukit_graph::op::{Unary, UnaryKind};

    use super::*;
    use crate::{Context, Program, Source};

    /// The program computes the model. It is refuted if it is compared with another model, on a
    /// machine with a single step and on one with integers.
    #[test]
    fn a_program_of_something_else_is_refuted() {
        let model = include_bytes!("../../../../../tests/filetests/models/perceptron.onnx").to_vec();
        let files = BTreeMap::from([("m.onnx".to_owned(), model)]);
        let mut refuted = Vec::new();
        for target in crate::targets().iter().map(|target| target.name) {
            let program = Source::model("m.onnx", target).program(Context::new(&files)).unwrap();
            let Program { compiled, origin, .. } = program;
            let mut origin = origin.unwrap();
            let unrounded = origin.model.simplified.clone();
            assert_eq!(find(&origin, &unrounded, &*compiled), None, "{target}");

            let graph = &mut origin.model.graph;
            let negated = Unary { kind: UnaryKind::Neg };
            graph.outputs =
                graph.add_node("negated", negated.into(), graph.outputs.clone(), &["other"]).unwrap();
            if let Some(Witness { machine, model, bound, .. }) = find(&origin, &unrounded, &*compiled) {
                assert!((machine + model).abs() <= bound && (machine - model).abs() > bound, "{target}");
                refuted.push((target, origin.quantization.is_some()));
            }
        }
        assert!(
            [false, true].iter().all(|kind| refuted.iter().any(|(_, found)| found == kind)),
            "{refuted:?}"
        );
    }
}
