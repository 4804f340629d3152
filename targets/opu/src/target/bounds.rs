//! The program on ranges: saturation and error bounds for `npu verify --bounds`.

use std::sync::Arc;

use npukit_graph::{Graph, Op};
use npukit_numeric::{Bounded, Bounds, Grid, Overflow, RoundingModel};
use npukit_target::{
    BoundedProgram, BoundedRun, BoundedTensor, Excesses, RangeTensor, TargetError, terms_of_bounds,
};

use super::field::FieldError;
use super::field::references::quantization_of;
use crate::isa::op::Op as Instruction;
use crate::lower::constants::Exact;
use crate::lower::{self, Lowered, backend};
use crate::machine::arith::interval::{ExactConstants, RangedConstants, RangedElements, grid};
use crate::machine::state::State;
use crate::program::symbolic_run::SymbolicRun;
use crate::program::{Binding, Program};
use crate::target::diagnose::lower_error;

/// Program with the model's values for its constants.
pub(super) struct OpuBounds<'a> {
    program: &'a Program,
    exact: Arc<[ExactConstants]>,
    /// Fraction length of each layer's results.
    fractions: Vec<i32>,
}

/// Reason why errors cannot be bounded.
#[derive(Debug, thiserror::Error)]
pub(super) enum BoundsError {
    /// The artifact was made by another compiler, or another version.
    #[error(
        "this version of npukit compiles the model to another program, so the model's constants cannot be located in the artifact: \
         compile the model again"
    )]
    OtherProgram,
    /// The slope of leaky ReLU in the model differs from the machine's.
    #[error("node `{node}` has slope {alpha}, but the machine uses 0.125: errors cannot be bounded")]
    Slope {
        /// Name of the node.
        node: String,
        /// Slope in the model.
        alpha: f32,
    },
    /// A clip is implemented by saturation.
    #[error("node `{node}` clips at {max}, which the machine does by saturation: errors cannot be bounded")]
    Clip {
        /// Name of the node.
        node: String,
        /// Bound in the model.
        max: f32,
    },
}

impl<'a> OpuBounds<'a> {
    /// Prepares the bounds of a program.
    ///
    /// # Errors
    ///
    /// The fraction lengths of the program are unknown, the compiler does not make this program
    /// from the model, or functions differ between the model and the machine.
    pub fn new(program: &'a Program, graph: &Graph) -> Result<Self, TargetError> {
        same_functions(program, graph).map_err(TargetError::failed)?;
        let (exact, fractions) = constants_of(program, graph)?;
        Ok(Self { program, exact: exact.into(), fractions })
    }

    /// Returns the maps of all inputs, in units of ITYPE.
    fn inputs(
        &self,
        inputs: &[(String, RangeTensor)],
        bounds: &mut Bounds,
        excesses: &mut Excesses,
    ) -> Result<Vec<(BoundedTensor, Vec<Bounded>)>, TargetError> {
        let map = |binding: &Binding| {
            let found = inputs.iter().find(|(name, _)| *name == binding.name).map(|(_, tensor)| tensor);
            let fitting = found.filter(|tensor| tensor.shape == binding.shape);
            let tensor = fitting.ok_or_else(|| {
                let found = found.map(|tensor| tensor.shape.clone());
                TargetError::failed(FieldError::input(binding, found))
            })?;
            let scale = 2f64.powi(binding.fraction);
            let (mut elements, mut map) = (vec![Bounded::default(); tensor.ranges.len()], Vec::new());
            for place in binding.order() {
                let (low, high) = tensor.ranges[place];
                let element = bounds.input(low * scale, high * scale);
                elements[place] = bounds.scaled(&element, 1.0 / scale);
                map.push(element);
            }
            excesses.note(None, in_units(bounds, 1.0 / scale));
            Ok((BoundedTensor { name: binding.name.clone(), elements }, binding.patched(map)))
        };
        self.program.inputs.iter().map(map).collect()
    }

    fn output(
        &self,
        binding: &Binding,
        run: &mut SymbolicRun<'_, RangedElements>,
    ) -> Result<BoundedTensor, TargetError> {
        let map = run.output(binding).map_err(TargetError::failed)?;
        let (scale, bounds) = (2f64.powi(-binding.fraction), &mut run.state.ledger);
        let elements = binding.unpack(&map).iter().map(|element| bounds.scaled(element, scale)).collect();
        Ok(BoundedTensor { name: binding.name.clone(), elements })
    }

    /// Returns the factor that converts an instruction's numbers to the model's.
    fn unit(&self, index: usize, layers: &[usize]) -> f64 {
        let types = &self.program.config.types;
        // Default: an instruction without a layer computes nothing.
        let fraction = layers.get(index).and_then(|&layer| self.fractions.get(layer)).copied().unwrap_or(0);
        let sums = match self.program.instructions.get(index) {
            Some(Instruction::Conv { .. }) => types.store_shift(),
            _ => 0,
        };
        2f64.powi(sums - fraction)
    }
}

impl BoundedProgram for OpuBounds<'_> {
    fn has_constants_of_model(&self) -> bool {
        true
    }

    fn cell(&self, input: &str, value: f64) -> (f64, f64) {
        let binding = self.program.inputs.iter().find(|binding| binding.name == input);
        let itype = self.program.config.types.itype.fixed();
        match binding.zip(itype) {
            Some((binding, itype)) => {
                Grid::new(itype.width(), itype.fraction() + binding.fraction).cell(value)
            }
            None => (value, value),
        }
    }

    fn run(
        &self,
        inputs: &[(String, RangeTensor)],
        rounding: RoundingModel,
    ) -> Result<BoundedRun, TargetError> {
        let program = self.program;
        let products = program.layers.iter().map(|layer| layer.macs).sum();
        let mut bounds = Bounds::new(grid(program.config.types.itype), terms_of_bounds(products), rounding);
        let mut excesses = Excesses::default();
        let (inputs, maps) =
            self.inputs(inputs, &mut bounds, &mut excesses)?.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        let layers = program.layer_of_each();
        let state = State::with_ledger(bounds);
        let constants = RangedConstants(Arc::clone(&self.exact));
        let mut run = SymbolicRun::new(program, state, constants, &maps).map_err(TargetError::failed)?;
        let finished = run.finish(|step, bounds: &mut Bounds| {
            excesses.note(Some(step.index), in_units(bounds, self.unit(step.index, &layers)));
        });
        finished.map_err(TargetError::failed)?;
        let outputs = program.outputs.iter().map(|binding| self.output(binding, &mut run));
        let outputs = outputs.collect::<Result<_, _>>()?;
        let name = |index: usize| program.layers.get(layers[index]).map(|layer| layer.name.clone());
        Ok(BoundedRun { inputs, outputs, saturations: excesses.saturations(name), bounds: run.state.ledger })
    }
}

/// Returns the values out of range since the last call, in units of the model.
fn in_units(bounds: &mut Bounds, unit: f64) -> Vec<(usize, Overflow)> {
    let places = bounds.take_overflow().into_iter();
    places.map(|(lane, beyond)| (lane, beyond.times(unit))).collect()
}

/// Returns the model's values for the constants of a program, and the fraction length of each
/// layer's results.
///
/// # Errors
///
/// The fraction lengths of the program are unknown, or the compiler does not make this program from
/// the model.
pub(super) fn constants_of(
    program: &Program,
    graph: &Graph,
) -> Result<(Vec<ExactConstants>, Vec<i32>), TargetError> {
    if program.config.types.itype.fixed().is_some() && program.fractions.is_empty() {
        return Err(TargetError::failed(FieldError::Fractions));
    }
    let quantization = quantization_of(graph, program);
    let options =
        lower::Options { quantization: quantization.as_ref(), approximate: true, keeps_exact: true };
    let mut lowered = lower::compile(graph, &program.config, options).map_err(lower_error)?;
    let twin = backend::program(&lowered, String::new(), String::new(), &program.config);
    if (&twin.instructions, &twin.segments) != (&program.instructions, &program.segments) {
        return Err(TargetError::failed(BoundsError::OtherProgram));
    }
    let fraction =
        |layer: &lower::layer::Layer| lowered.model.planes.get(layer.output.pieces[0].plane).fraction;
    let fractions = lowered.model.layers.iter().map(fraction).collect();
    Ok((exact(&mut lowered, program), fractions))
}

/// Returns the model's values for the constants in memory.
fn exact(lowered: &mut Lowered, program: &Program) -> Vec<ExactConstants> {
    let Exact { weights, biases } = lowered.constants.exact.take().unwrap_or_default(); // Default: no exact values were kept.
    let types = &program.config.types;
    let constants = |address, data_type: crate::DataType, ranges| ExactConstants {
        address,
        size: data_type.size_bytes().into(),
        ranges,
    };
    vec![
        constants(lowered.plan.weights, types.ktype, weights),
        constants(lowered.plan.biases, types.btype, biases),
    ]
}

/// Checks that the machine computes the same functions as the model.
pub(super) fn same_functions(program: &Program, graph: &Graph) -> Result<(), BoundsError> {
    let largest = program.config.types.itype.fixed().map_or(0.0, |itype| f64::from(itype.max())); // Default: floats are rejected.
    for node in &graph.nodes {
        let name = || node.name.clone();
        match &node.op {
            Op::LeakyRelu(op) if op.alpha.to_bits() != 0.125_f32.to_bits() => {
                return Err(BoundsError::Slope { node: name(), alpha: op.alpha });
            }
            Op::Clip(op) => {
                let value = node.outputs.first().map(|&id| &graph.value(id).name);
                let fraction = value.and_then(|name| program.fractions.get(name));
                let is_bound =
                    fraction.is_some_and(|&length| f64::from(op.max) * 2f64.powi(length) < largest);
                if !is_bound {
                    return Err(BoundsError::Clip { node: name(), max: op.max });
                }
            }
            _ => {}
        }
    }
    Ok(())
}
