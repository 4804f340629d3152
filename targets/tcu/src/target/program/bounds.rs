//! The program on ranges, for `npu verify --bounds`: saturation and errors.

use npukit_graph::Graph;
use npukit_numeric::{Bounded, Bounds, FixedFormat, Grid, NumberFormat, RoundingModel};
use npukit_target::{BoundedProgram, BoundedRun, BoundedTensor, Excesses, RangeTensor, TargetError};

use super::TcuProgram;
use super::placed::named;
use crate::config::{Config, DataType, board};
use crate::isa::op::Op;
use crate::lower::{self, Minimize, Order};
use crate::machine::arith::interval::Ranged;
use crate::machine::state::State;
use crate::program::symbolic_run::SymbolicRun;
use crate::program::{Binding, Program};

/// A program with its format and its constants, on the machine and in the model.
pub(super) struct TcuBounds<'a> {
    owner: &'a TcuProgram,
    format: FixedFormat,
    constants: Vec<Bounded>,
    has_constants_of_model: bool,
}

impl<'a> TcuBounds<'a> {
    /// Creates the bounds; `None` for a program in floats.
    pub fn new(owner: &'a TcuProgram, graph: &Graph) -> Option<Self> {
        let NumberFormat::Fixed(format) = owner.program.config.data_type.format() else { return None };
        let exact = in_floats(owner, graph).map(|twin| twin.constants);
        let has_constants_of_model = exact.is_some();
        let machine = |&raw: &i32| f64::from(raw) / format.one() as f64;
        let constants = match exact {
            Some(exact) => {
                let pair = |(&bits, raw): (&i32, &i32)| {
                    Bounded::constant(f32::from_bits(bits as u32).into(), machine(raw))
                };
                exact.iter().zip(&owner.program.constants).map(pair).collect()
            }
            None => {
                let same = |raw: &i32| Bounded::constant(machine(raw), machine(raw));
                owner.program.constants.iter().map(same).collect()
            }
        };
        Some(Self { owner, format, constants, has_constants_of_model })
    }

    /// Returns the vectors of all inputs, in program order.
    fn packed(
        &self,
        inputs: &[(String, RangeTensor)],
        bounds: &mut Bounds,
    ) -> Result<Vec<Vec<Bounded>>, TargetError> {
        let pack = |binding: &Binding| {
            let tensor = named(binding, inputs)?;
            let vectors = self.owner.placed(binding, &tensor.shape, &tensor.ranges)?;
            let factor = f64::from(-binding.exponent()).exp2();
            Ok(vectors.into_iter().map(|(low, high)| bounds.input(low * factor, high * factor)).collect())
        };
        self.owner.program.inputs.iter().map(pack).collect()
    }

    fn output(
        &self,
        binding: &Binding,
        run: &mut SymbolicRun<'_, Ranged>,
    ) -> Result<BoundedTensor, TargetError> {
        let vectors = run.output(binding).map_err(TargetError::failed)?;
        self.tensor(binding, vectors, &mut run.state.ledger)
    }

    /// Returns the elements of a binding's vectors in the model's order.
    fn tensor(
        &self,
        binding: &Binding,
        vectors: Vec<Bounded>,
        bounds: &mut Bounds,
    ) -> Result<BoundedTensor, TargetError> {
        let stored = self.owner.scalars_of(binding, vectors)?;
        let factor = f64::from(binding.exponent()).exp2();
        let elements = stored.iter().map(|element| bounds.scaled(element, factor)).collect();
        Ok(BoundedTensor { name: binding.name.clone(), elements })
    }
}

impl BoundedProgram for TcuBounds<'_> {
    fn has_constants_of_model(&self) -> bool {
        self.has_constants_of_model
    }

    fn cell(&self, input: &str, value: f64) -> (f64, f64) {
        let found = self.owner.program.inputs.iter().find(|binding| binding.name == input);
        found.map_or((value, value), |binding| {
            let factor = f64::from(binding.exponent()).exp2();
            let (low, high) = Grid::from(self.format).cell(value / factor);
            (low * factor, high * factor)
        })
    }

    fn run(
        &self,
        inputs: &[(String, RangeTensor)],
        rounding: RoundingModel,
    ) -> Result<BoundedRun, TargetError> {
        let program = &self.owner.program;
        let mut bounds = Bounds::new(self.format, terms(program), rounding);
        let inputs = self.packed(inputs, &mut bounds)?;
        let vectors = program.inputs.iter().zip(&inputs);
        let of_model = vectors.map(|(binding, vectors)| self.tensor(binding, vectors.clone(), &mut bounds));
        let of_model = of_model.collect::<Result<_, _>>()?;
        let state = State::<Ranged>::with_ledger(&program.config, bounds).map_err(TargetError::failed)?;
        let mut run =
            SymbolicRun::new(program, state, &self.constants, &inputs).map_err(TargetError::failed)?;
        let mut excesses = Excesses::default();
        // Excesses noted before an instruction belong to the previous instruction.
        let note = |excesses: &mut Excesses, bounds: &mut Bounds, next: usize| {
            excesses.note(next.checked_sub(1), bounds.take_overflow());
        };
        run.finish(|state, next| note(&mut excesses, &mut state.ledger, next))
            .map_err(TargetError::failed)?;
        note(&mut excesses, &mut run.state.ledger, program.instructions.len());
        let outputs = program.outputs.iter().map(|binding| self.output(binding, &mut run));
        let outputs = outputs.collect::<Result<_, _>>()?;
        let layers = program.layer_of_each();
        let name = |index: usize| program.layers.get(layers[index]).map(|layer| layer.name.clone());
        Ok(BoundedRun {
            inputs: of_model,
            outputs,
            saturations: excesses.saturations(name),
            bounds: run.state.ledger,
        })
    }
}

/// Returns the program with the model's own constants: of the compiler's orders, the one that
/// yields the same instructions.
pub(super) fn in_floats(owner: &TcuProgram, graph: &Graph) -> Option<Program> {
    let program = &owner.program;
    let config = Config { data_type: DataType::Float32, ..program.config.clone() };
    let strategy = owner.choices.get("strategy").and_then(|name| name.parse().ok());
    let minimize = Minimize::Clock(board::memory(&program.config, owner.system(), None));
    [Order::Default, Order::Upstream].into_iter().find_map(|order| {
        let scales = owner.port_scales();
        let options =
            lower::Options { strategy, order, minimize: Some(minimize), scales, ..lower::Options::default() };
        let twin = lower::compile(graph, &config, &options).ok()?.program;
        let is_same =
            twin.instructions == program.instructions && twin.constants.len() == program.constants.len();
        is_same.then_some(twin)
    })
}

/// Returns the number of symbols to keep per number. Longer programs get fewer, so that a run takes
/// minutes at most.
fn terms(program: &Program) -> usize {
    let lanes = program.config.array_size as u64;
    let products = program.instructions.iter().map(|op| match op {
        Op::MatMul { size, .. } => size.saturating_mul(lanes * lanes),
        _ => 0,
    });
    npukit_target::terms_of_bounds(products.fold(0, u64::saturating_add))
}
