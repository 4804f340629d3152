//! UNIDIRECTIONAL_SEQUENCE_LSTM and UNIDIRECTIONAL_SEQUENCE_RNN, unrolled step by step. Their
//! states start at zero in every run, as in Keras. The interpreter keeps them until they are reset.

use npukit_graph::ValueId;
use npukit_graph::op::{BinaryKind, Clip, Concat, Gemm, Slice, SliceRange, Transpose, Unary, UnaryKind};
use npukit_numeric::{ElementType, TensorData};

use super::super::context::Context;
use crate::elements::typed;
use crate::error::Reason;
use crate::node::unsupported;

/// Number of results that a step adds to the graph.
const RESULTS_PER_STEP: usize = 24;

/// Order of a layer's gates in its operands.
const GATES: [&str; 4] = ["input", "forget", "cell", "output"];

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let is_lstm = context.op == "UNIDIRECTIONAL_SEQUENCE_LSTM";
    let x = context.input(0, "input")?;
    let &[outer, inner, width] = context.shape(x) else {
        return Err(unsupported("input", context.shape(x), "three axes"));
    };
    let is_time_major = context.flag(if is_lstm { 3 } else { 0 })?;
    let (steps, batch) = if is_time_major { (outer, inner) } else { (inner, outer) };
    context.reserve_results(steps.saturating_mul(RESULTS_PER_STEP))?;
    let x = if is_time_major { x } else { context.permute(x, &[1, 0, 2], "by_step")? };
    let rows = context.reshaped("rows", x, vec![steps * batch, width])?;
    let shown = match is_lstm {
        true => lstm(context, rows, steps, batch)?,
        false => rnn(context, rows, steps, batch)?,
    };
    let width = shown.first().map_or(0, |&step| context.shape(step)[1]);
    let mut slices = Vec::new();
    for step in shown {
        slices.push(context.reshaped("step", step, vec![1, batch, width])?);
    }
    let all = match slices[..] {
        [one] => one,
        _ => context.helper("steps", Concat { axis: 0 }, slices)?,
    };
    Ok(vec![match is_time_major {
        true => all,
        false => context.helper("batches", Transpose { perm: vec![1, 0, 2] }, vec![all])?,
    }])
}

/// Returns `x` times weights `[n, k]`, plus a bias.
fn product(
    context: &mut Context<'_>,
    x: ValueId,
    weights: ValueId,
    bias: Option<ValueId>,
) -> Result<ValueId, Reason> {
    let op = Gemm { trans_b: true, ..Gemm::PLAIN };
    context.helper("product", op, [x, weights].into_iter().chain(bias).collect())
}

/// Rows of one step among the rows of all steps.
fn step_of(context: &mut Context<'_>, all: ValueId, step: usize, batch: usize) -> Result<ValueId, Reason> {
    let ranges = vec![SliceRange { axis: 0, start: step * batch, length: batch, step: 1 }];
    context.helper("step", Slice { ranges }, vec![all])
}

fn zeros(context: &mut Context<'_>, shape: [usize; 2]) -> Result<ValueId, Reason> {
    context.reserve(&shape)?;
    let zeros = TensorData::F32(vec![0.0; shape[0] * shape[1]]);
    Ok(context.make_constant(typed(ElementType::F32, shape.to_vec(), zeros)?))
}

/// Returns the function of the enum at `field`, or `None` without a function.
fn activation(context: &Context<'_>, field: usize) -> Result<Option<UnaryKind>, Reason> {
    match context.code(field)? {
        0 => Ok(None),
        4 => Ok(Some(UnaryKind::Tanh)),
        6 => Ok(Some(UnaryKind::Sigmoid)),
        other => Err(unsupported("fused_activation_function", other, "0 (NONE), 4 (TANH) or 6 (SIGMOID)")),
    }
}

fn applied(context: &mut Context<'_>, kind: Option<UnaryKind>, x: ValueId) -> Result<ValueId, Reason> {
    kind.map_or(Ok(x), |kind| context.helper("function", Unary { kind }, vec![x]))
}

fn bounded(context: &mut Context<'_>, bound: f32, x: ValueId) -> Result<ValueId, Reason> {
    match bound > 0.0 {
        true => context.helper("bounded", Clip { min: -bound, max: bound }, vec![x]),
        false => Ok(x),
    }
}

fn rnn(context: &mut Context<'_>, rows: ValueId, steps: usize, batch: usize) -> Result<Vec<ValueId>, Reason> {
    let (weights, recurrent) = (context.input(1, "weights")?, context.input(2, "recurrent_weights")?);
    let bias = context.input(3, "bias")?;
    context.optional(4); // the state, which begins with zeros
    let units = two(context, recurrent)?[0];
    // Field 1 of this operator is the activation function of the result.
    let kind = match context.code(1)? {
        1 => None,
        _ => Some(activation(context, 1)?),
    };
    let all = product(context, rows, weights, Some(bias))?;
    let mut hidden = zeros(context, [batch, units])?;
    let mut shown = Vec::new();
    for step in 0..steps {
        let own = step_of(context, all, step, batch)?;
        let before = product(context, hidden, recurrent, None)?;
        let sum = context.binary(BinaryKind::Add, own, before)?;
        hidden = match kind {
            Some(kind) => applied(context, kind, sum)?,
            None => context.activated(sum, 1)?,
        };
        shown.push(hidden);
    }
    Ok(shown)
}

/// Rows and columns of weights.
fn two(context: &Context<'_>, weights: ValueId) -> Result<[usize; 2], Reason> {
    match context.shape(weights) {
        &[rows, columns] => Ok([rows, columns]),
        other => Err(unsupported("weights", other, "two axes")),
    }
}

/// A gate of an LSTM.
struct Gate {
    /// Contribution of the input in all steps.
    own: ValueId,
    recurrent: ValueId,
    /// Weights of the cell state.
    peephole: Option<ValueId>,
}

/// Returns 1 minus a value.
fn complement(context: &mut Context<'_>, x: ValueId) -> Result<ValueId, Reason> {
    let one = context.scalar(x, 1.0)?;
    context.binary(BinaryKind::Sub, one, x)
}

impl Gate {
    /// Returns the sum of the contributions of the input, `own`, and of the states.
    fn sum(
        &self,
        context: &mut Context<'_>,
        own: ValueId,
        hidden: ValueId,
        memory: ValueId,
    ) -> Result<ValueId, Reason> {
        let before = product(context, hidden, self.recurrent, None)?;
        let sum = context.binary(BinaryKind::Add, own, before)?;
        let Some(peephole) = self.peephole else { return Ok(sum) };
        let seen = context.binary(BinaryKind::Mul, memory, peephole)?;
        context.binary(BinaryKind::Add, sum, seen)
    }
}

/// Reads the gates of an LSTM: input, which may be absent, forget, cell and output.
fn gates(context: &mut Context<'_>, rows: ValueId) -> Result<Vec<Option<Gate>>, Reason> {
    let mut gates = Vec::new();
    for (index, name) in GATES.into_iter().enumerate() {
        let (weights, recurrent) = (context.optional(1 + index), context.optional(5 + index));
        let (Some(weights), Some(recurrent)) = (weights, recurrent) else {
            if index == 0 {
                // The input gate is 1 minus the forget gate.
                context.optional(12);
                gates.push(None);
                continue;
            }
            return Err(Reason::OperandMissing { operand: name });
        };
        let bias = context.input(12 + index, "bias")?;
        let peephole = [Some(9), Some(10), None, Some(11)][index].and_then(|at| context.optional(at));
        let own = product(context, rows, weights, Some(bias))?;
        gates.push(Some(Gate { own, recurrent, peephole }));
    }
    Ok(gates)
}

fn lstm(
    context: &mut Context<'_>,
    rows: ValueId,
    steps: usize,
    batch: usize,
) -> Result<Vec<ValueId>, Reason> {
    if let Some(index) = (20..24).find(|&index| context.optional(index).is_some()) {
        return Err(unsupported("layer_norm_coefficients", index, "none"));
    }
    // The states, which start at zero.
    context.optional(18);
    context.optional(19);
    let kind = activation(context, 0)?;
    let bounds = [context.float(1, 0.0)?, context.float(2, 0.0)?];
    let gates = gates(context, rows)?;
    let [input, Some(forget), Some(cell), Some(output)] = &gates[..] else { return Ok(Vec::new()) };
    let projection = context.optional(16).map(|weights| (weights, context.optional(17)));
    let units = two(context, forget.recurrent)?;
    let (mut hidden, mut memory) = (zeros(context, [batch, units[1]])?, zeros(context, [batch, units[0]])?);
    let sigmoid = Some(UnaryKind::Sigmoid);
    let mut shown = Vec::new();
    for step in 0..steps {
        let of = |context: &mut Context<'_>, gate: &Gate, memory, kind| {
            let own = step_of(context, gate.own, step, batch)?;
            let sum = gate.sum(context, own, hidden, memory)?;
            applied(context, kind, sum)
        };
        let kept = of(context, forget, memory, sigmoid)?;
        let taken = match input {
            Some(input) => of(context, input, memory, sigmoid)?,
            None => complement(context, kept)?,
        };
        let new = of(context, cell, memory, kind)?;
        let (old, new) =
            (context.binary(BinaryKind::Mul, kept, memory)?, context.binary(BinaryKind::Mul, taken, new)?);
        let sum = context.binary(BinaryKind::Add, old, new)?;
        let now = bounded(context, bounds[0], sum)?;
        let seen = of(context, output, now, sigmoid)?;
        memory = now;
        let function = applied(context, kind, memory)?;
        hidden = context.binary(BinaryKind::Mul, seen, function)?;
        if let Some((weights, bias)) = projection {
            hidden = product(context, hidden, weights, bias)?;
            hidden = bounded(context, bounds[1], hidden)?;
        }
        shown.push(hidden);
    }
    Ok(shown)
}
