//! [`Layer`]: the operands and attributes of a recurrent node, and its results.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, Cast, Compare, CompareKind, Concat, Reshape, Where};
use npukit_numeric::{ElementType, TensorData};

use super::super::super::attributes::unsupported;
use super::super::super::context::described;
use super::{Cell, Context, Kind, Product, Reason, activation, of_direction};
use crate::elements::typed;

/// Operands and sizes of a layer, and the directions in which it runs.
pub(super) struct Layer {
    pub(super) steps: usize,
    pub(super) batch: usize,
    pub(super) input: usize,
    pub(super) hidden: usize,
    /// Whether each direction runs from the last step to the first.
    pub(super) backwards: Vec<bool>,
    /// Whether the batch comes first.
    pub(super) batch_first: bool,
    pub(super) element: ElementType,
}

impl Layer {
    pub(super) fn read(context: &mut Context<'_>) -> Result<Self, Reason> {
        let (x, r) = (context.input(0, "X")?, context.input(2, "R")?);
        let batch_first = context.attributes.flag("layout", false)?;
        let backwards = match context.attributes.string("direction")?.as_deref() {
            None | Some("forward") => vec![false],
            Some("reverse") => vec![true],
            Some("bidirectional") => vec![false, true],
            Some(other) => return Err(unsupported("direction", other, "forward, reverse or bidirectional")),
        };
        let refused = |operand, shape: &[usize], legal: &str| Reason::OperandValue {
            operand,
            found: format!("shape {shape:?}"),
            legal: legal.to_owned(),
        };
        let (steps, batch, input) = match *context.shape(x) {
            [batch, steps, input] if batch_first => (steps, batch, input),
            [steps, batch, input] => (steps, batch, input),
            ref other => return Err(refused("X", other, "3 axes")),
        };
        // Weights of plain layers are `[directions, gates * hidden, hidden]`; weights of quantized
        // layers are transposed.
        let hidden = match (context.op_type(), context.shape(r)) {
            ("DynamicQuantizeLSTM", &[directions, hidden, _]) if directions == backwards.len() => hidden,
            ("LSTM" | "GRU" | "RNN", &[directions, _, hidden]) if directions == backwards.len() => hidden,
            (_, other) => {
                return Err(refused("R", other, &format!("3 axes, the first of {}", backwards.len())));
            }
        };
        let stated = context.attributes.int("hidden_size")?;
        if stated.is_some_and(|stated| usize::try_from(stated) != Ok(hidden)) {
            return Err(unsupported("hidden_size", stated, format!("{hidden}, as R has it")));
        }
        context.attributes.without_effect("output_sequence"); // determined by the node's outputs
        let element = context.element(x);
        Ok(Self { steps, batch, input, hidden, backwards, batch_first, element })
    }

    /// Steps in the order in which a direction takes them.
    pub(super) fn order(&self, direction: usize) -> Vec<usize> {
        let backwards = self.backwards.get(direction) == Some(&true);
        if backwards { (0..self.steps).rev().collect() } else { (0..self.steps).collect() }
    }

    /// Permutes a value so that the step axis is first.
    pub(super) fn by_step(&self, context: &mut Context<'_>, x: ValueId) -> Result<ValueId, Reason> {
        if self.batch_first { context.permute(x, &[1, 0, 2], "by_step") } else { Ok(x) }
    }

    /// For each direction, the product with the weights of the input, the bias, and the cell.
    pub(super) fn cells(
        &self,
        context: &mut Context<'_>,
        kind: &Kind,
    ) -> Result<Vec<(Product, Option<ValueId>, Cell)>, Reason> {
        let activations = activation::read(context, kind.defaults, self.backwards.len())?;
        let clip = context.attributes.float("clip")?;
        if clip.is_some_and(|clip| clip.is_nan() || clip < 0.0) {
            return Err(unsupported("clip", clip, "0 or more"));
        }
        let input_forget = kind.states == 2 && context.attributes.flag("input_forget", false)?;
        let reset_after = kind.gates == 3 && context.attributes.flag("linear_before_reset", false)?;
        let (bias, peepholes) =
            (context.optional(3), if kind.states == 2 { context.optional(7) } else { None });
        let mut cells = Vec::new();
        for (direction, activations) in activations.into_iter().enumerate() {
            let (hidden, width) = (self.hidden, kind.gates * self.hidden);
            let input = Product::read(context, 1, direction, [self.input, width])?;
            let recurrent = Product::read(context, 2, direction, [hidden, width])?;
            let (bias, apart) = match bias {
                Some(bias) => self.bias(context, bias, direction, width, reset_after)?,
                None => (None, None),
            };
            let peepholes = match peepholes {
                Some(peepholes) => {
                    let all = self.row(context, peepholes, "P", direction, 3 * hidden)?;
                    let parts = context.split("peepholes", all, 0, &[hidden; 3])?;
                    <[ValueId; 3]>::try_from(parts).ok()
                }
                None => None,
            };
            let (batch, element) = (self.batch, self.element);
            let cell = Cell {
                batch,
                hidden,
                recurrent,
                apart,
                peepholes,
                activations,
                clip: clip.filter(|clip| *clip > 0.0),
                input_forget,
                reset_after,
                element,
            };
            cells.push((input, bias, cell));
        }
        Ok(cells)
    }

    /// Sums the biases of input and hidden state. The latter stays separate where the reset gate of
    /// a GRU applies between them.
    pub(super) fn bias(
        &self,
        context: &mut Context<'_>,
        bias: ValueId,
        direction: usize,
        width: usize,
        reset_after: bool,
    ) -> Result<(Option<ValueId>, Option<ValueId>), Reason> {
        let all = self.row(context, bias, "B", direction, 2 * width)?;
        let add = Binary { kind: BinaryKind::Add };
        if !reset_after {
            let parts = context.split("biases", all, 0, &[width; 2])?;
            return Ok((Some(context.helper("bias", add, parts)?), None));
        }
        let gates = width - self.hidden;
        let parts = context.split("biases", all, 0, &[gates, self.hidden, gates, self.hidden])?;
        let &[input, candidate, recurrent, apart] = parts.as_slice() else { return Ok((None, None)) };
        let gates = context.helper("bias", add, vec![input, recurrent])?;
        let bias = context.helper("bias", Concat { axis: 0 }, vec![gates, candidate])?;
        Ok((Some(bias), Some(apart)))
    }

    /// Returns the row of a direction of `[directions, width]`.
    pub(super) fn row(
        &self,
        context: &mut Context<'_>,
        x: ValueId,
        operand: &'static str,
        direction: usize,
        width: usize,
    ) -> Result<ValueId, Reason> {
        if context.shape(x) != [self.backwards.len(), width] {
            let (found, legal) = (context.shape(x), [self.backwards.len(), width]);
            let (found, legal) = (format!("shape {found:?}"), format!("shape {legal:?}"));
            return Err(Reason::OperandValue { operand, found, legal });
        }
        of_direction(context, x, direction)
    }

    /// Initial state, `[batch, hidden]`; `None` if it is 0.
    pub(super) fn initial(
        &self,
        context: &mut Context<'_>,
        index: usize,
        direction: usize,
    ) -> Result<Option<ValueId>, Reason> {
        let Some(state) = context.optional(index) else { return Ok(None) };
        let state = self.by_step(context, state)?;
        if context.shape(state) != [self.backwards.len(), self.batch, self.hidden] {
            let found = format!("shape {:?}", context.shape(state));
            let legal = format!("shape {:?}", [self.backwards.len(), self.batch, self.hidden]);
            let operand = if index == 5 { "initial_h" } else { "initial_c" };
            return Err(Reason::OperandValue { operand, found, legal });
        }
        of_direction(context, state, direction).map(Some)
    }

    /// Splits the rows of all steps into the rows of each step.
    pub(super) fn steps_of(&self, context: &mut Context<'_>, rows: ValueId) -> Result<Vec<ValueId>, Reason> {
        context.split("steps", rows, 0, &vec![self.batch; self.steps])
    }

    /// For each step, whether each sample still has it, `[batch, 1]`; empty if all samples have all
    /// steps.
    pub(super) fn shown(&self, context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
        let Some(lengths) = context.optional(4) else { return Ok(Vec::new()) };
        if context.is_constant(lengths) {
            let known = context.constant(lengths, "sequence_lens")?;
            let steps = self.steps as i64;
            let whole = match known.data() {
                TensorData::I32(lengths) => lengths.iter().all(|&length| i64::from(length) >= steps),
                TensorData::I64(lengths) => lengths.iter().all(|&length| length >= steps),
                _ => {
                    let (found, legal) = (described(&known), "integers".to_owned());
                    return Err(Reason::OperandValue { operand: "sequence_lens", found, legal });
                }
            };
            if whole {
                return Ok(Vec::new());
            }
        }
        let lengths = context.helper("lengths", Cast::new(ElementType::I64), vec![lengths])?;
        let lengths = context.helper("lengths", Reshape { shape: vec![self.batch, 1] }, vec![lengths])?;
        let mut shown = Vec::with_capacity(self.steps);
        for step in 0..self.steps {
            let step = typed(ElementType::I64, vec![1, 1], TensorData::I64(vec![step as i64]))?;
            let step = context.make_constant(step);
            shown.push(context.helper("shown", Compare { kind: CompareKind::Less }, vec![step, lengths])?);
        }
        Ok(shown)
    }

    /// Returns the states after a step, and its output. Samples that have ended keep their state
    /// and output zeros.
    pub(super) fn hold(
        &self,
        context: &mut Context<'_>,
        shown: Option<ValueId>,
        results: Vec<ValueId>,
        before: &[Option<ValueId>],
    ) -> Result<(Vec<ValueId>, ValueId), Reason> {
        let hidden = results[0];
        let Some(shown) = shown else { return Ok((results, hidden)) };
        let zero = typed(self.element, vec![1, 1], TensorData::F32(vec![0.0]))?;
        let zero = context.make_constant(zero);
        let mut held = Vec::new();
        for (&result, &before) in results.iter().zip(before) {
            held.push(context.helper("held", Where, vec![shown, result, before.unwrap_or(zero)])?);
        }
        Ok((held, context.helper("given", Where, vec![shown, hidden, zero])?))
    }

    /// Returns `Y`: all steps of all directions.
    pub(super) fn sequence(
        &self,
        context: &mut Context<'_>,
        all: Vec<Vec<ValueId>>,
    ) -> Result<ValueId, Reason> {
        let (steps, batch, hidden) = (self.steps, self.batch, self.hidden);
        let mut directions = Vec::new();
        for steps_of in all {
            let rows = context.concat("given", steps_of, 0)?;
            directions.push(context.helper(
                "given",
                Reshape { shape: vec![steps, 1, batch, hidden] },
                vec![rows],
            )?);
        }
        let given = context.concat("directions", directions, 1)?;
        if self.batch_first { context.permute(given, &[2, 0, 1, 3], "by_batch") } else { Ok(given) }
    }

    /// Returns `Y_h` or `Y_c`: a state of all directions after the last step.
    pub(super) fn last(&self, context: &mut Context<'_>, states: Vec<ValueId>) -> Result<ValueId, Reason> {
        let mut directions = Vec::new();
        for state in states {
            directions.push(context.helper(
                "last",
                Reshape { shape: vec![1, self.batch, self.hidden] },
                vec![state],
            )?);
        }
        let last = context.concat("last", directions, 0)?;
        if self.batch_first { context.permute(last, &[1, 0, 2], "by_batch") } else { Ok(last) }
    }
}
