//! LSTM, GRU and RNN, unrolled step by step. The contribution of the inputs of all steps is one
//! product; then each step takes the state of the step before. All operators of a step are
//! supported by the targets.

mod activation;
mod gru;
mod layer;
mod lstm;
mod product;
mod rnn;

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, Clip, Reshape, Slice, SliceRange};
use npukit_numeric::{ElementType, TensorData};

use super::super::context::Context;
use super::super::error::Reason;
use crate::elements::typed;
use activation::Activation;
use layer::Layer;
use product::Product;

/// Number of results that a step of the largest kind of layer adds to the graph.
const RESULTS_PER_STEP: usize = 24;

/// Computes the states after a step, from the input's contribution and the states before it. `None`
/// is a state of zeros.
type Step = fn(&Cell, &mut Context<'_>, ValueId, &[Option<ValueId>]) -> Result<Vec<ValueId>, Reason>;

/// Differences between the three kinds of layers.
struct Kind {
    /// Parts of the weights, for example three gates and the cell's candidate.
    gates: usize,
    /// Default activations.
    defaults: &'static [&'static str],
    /// Number of values passed from step to step: the hidden state, and the cell of an LSTM.
    states: usize,
    /// Function that computes one step.
    step: Step,
}

/// Weights and settings of one direction of a layer.
struct Cell {
    batch: usize,
    hidden: usize,
    /// Product with the weights of the hidden state.
    recurrent: Product,
    /// Bias of the hidden state, `[hidden]`, if it cannot be added to the input's bias.
    apart: Option<ValueId>,
    /// Weights of the cell state in the input, output and forget gates.
    peepholes: Option<[ValueId; 3]>,
    activations: Vec<Activation>,
    /// Bound of the operands of activations.
    clip: Option<f32>,
    /// Whether the forget gate of an LSTM is 1 minus the input gate.
    input_forget: bool,
    /// Whether the reset gate of a GRU is applied after the product.
    reset_after: bool,
    element: ElementType,
}

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let kind = match context.op_type() {
        "LSTM" | "DynamicQuantizeLSTM" => lstm::KIND,
        "GRU" => gru::KIND,
        "RNN" => rnn::KIND,
        other => return Err(Reason::Operator { operator: other.to_owned() }),
    };
    let layer = Layer::read(context)?;
    context.reserve_results(layer.steps.saturating_mul(layer.backwards.len() * RESULTS_PER_STEP))?;
    let x = context.input(0, "X")?;
    let x = layer.by_step(context, x)?;
    let rows =
        context.helper("rows", Reshape { shape: vec![layer.steps * layer.batch, layer.input] }, vec![x])?;
    let shown = layer.shown(context)?;
    let (mut all, mut last) = (Vec::new(), vec![Vec::new(); kind.states]);
    let cells = layer.cells(context, &kind)?;
    for (direction, (input, bias, cell)) in cells.into_iter().enumerate() {
        let mut states = Vec::new();
        for state in 0..kind.states {
            states.push(layer.initial(context, 5 + state, direction)?);
        }
        let gates = input.of(context, rows)?;
        let gates = match bias {
            Some(bias) => cell.binary(context, BinaryKind::Add, gates, bias)?,
            None => gates,
        };
        let gates = layer.steps_of(context, gates)?;
        let mut given = vec![None; layer.steps];
        for step in layer.order(direction) {
            let results = (kind.step)(&cell, context, gates[step], &states)?;
            let (next, given_out) = layer.hold(context, shown.get(step).copied(), results, &states)?;
            (states, given[step]) = (next.into_iter().map(Some).collect(), Some(given_out));
        }
        all.push(given.into_iter().flatten().collect::<Vec<ValueId>>());
        for (last, state) in last.iter_mut().zip(states) {
            last.extend(state);
        }
    }
    let mut results = Vec::new();
    for states in last {
        results.push(layer.last(context, states)?);
    }
    // A result that is not wanted is not computed: another value takes its place.
    let sequence = if context.is_wanted(0) { layer.sequence(context, all)? } else { results[0] };
    results.insert(0, sequence);
    Ok(results)
}

impl Cell {
    fn binary(
        &self,
        context: &mut Context<'_>,
        kind: BinaryKind,
        left: ValueId,
        right: ValueId,
    ) -> Result<ValueId, Reason> {
        context.helper("step", Binary { kind }, vec![left, right])
    }

    /// Applies activation `index` to the operand, clipped to the layer's bound.
    fn activated(&self, context: &mut Context<'_>, index: usize, x: ValueId) -> Result<ValueId, Reason> {
        let x = match self.clip {
            Some(clip) => context.helper("clip", Clip { min: -clip, max: clip }, vec![x])?,
            None => x,
        };
        self.unbounded(context, index, x)
    }

    /// Applies activation `index` to a value that is not clipped.
    fn unbounded(&self, context: &mut Context<'_>, index: usize, x: ValueId) -> Result<ValueId, Reason> {
        match self.activations.get(index) {
            Some(activation) => activation.of(context, x, self.element),
            None => Ok(x),
        }
    }

    /// Returns a state of zeros.
    fn zeros(&self, context: &mut Context<'_>) -> Result<ValueId, Reason> {
        let shape = vec![self.batch, self.hidden];
        context.reserve(&shape)?;
        let zeros = TensorData::F32(vec![0.0; self.batch * self.hidden]);
        Ok(context.make_constant(typed(self.element, shape, zeros)?))
    }

    /// Returns `1 - x`.
    fn rest(&self, context: &mut Context<'_>, x: ValueId) -> Result<ValueId, Reason> {
        let one = context.make_constant(typed(self.element, vec![], TensorData::F32(vec![1.0]))?);
        self.binary(context, BinaryKind::Sub, one, x)
    }
}

/// Returns the part of a direction, without the axis of directions.
fn of_direction(context: &mut Context<'_>, x: ValueId, direction: usize) -> Result<ValueId, Reason> {
    let shape = context.shape(x).get(1..).unwrap_or_default().to_vec();
    let ranges = vec![SliceRange { axis: 0, start: direction, length: 1, step: 1 }];
    let part = context.helper("direction", Slice { ranges }, vec![x])?;
    context.helper("direction", Reshape { shape }, vec![part])
}
