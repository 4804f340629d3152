//! Bounds on the error that rounding alone can cause: [`rounding_bounds`].
//!
//! A machine that computes in a fixed-point format rounds its constants and the result of every
//! multiply-accumulate to the nearest multiple of a step. The bounds are derived from that alone,
//! for each element. A larger error is saturation, an approximation or a bug.

mod rules;

use std::sync::Arc;

use npukit_numeric::Tensor;

use crate::eval::evaluate_all;
use crate::ir::{Graph, Node, ValueId};
use crate::op::EvalError;
use crate::op::{BinaryKind, Op, Operator, ReduceKind, Resize, ResizeMode, UnaryKind};
use rules::{Operand, Own, Results};

/// Returns, for each output of `graph`, the largest rounding error of each element.
///
/// The error is the difference from [`evaluate`](crate::evaluate) if constants, products and
/// multiply-accumulates are rounded to the nearest multiple of `step` and `inputs` are exact. Sums
/// without a product are exact. `None` for an output that depends on an operator without a rule,
/// which may be an approximation.
///
/// # Errors
///
/// See [`evaluate`](crate::evaluate).
pub fn rounding_bounds(
    graph: &Graph,
    inputs: &[Tensor],
    step: f32,
) -> Result<Vec<Option<Tensor>>, EvalError> {
    let mut bounds = Bounds::new(graph, evaluate_all(graph, inputs)?, step / 2.0);
    for node in &graph.nodes {
        let failed = |error| EvalError::Node { node: node.name.clone(), op: node.op.name(), error };
        let errors = bounds.of(node).map_err(failed)?;
        for (&output, error) in node.outputs.iter().zip(errors.into_iter().flatten()) {
            bounds.errors[output.0 as usize] = Some(error);
        }
    }
    Ok(graph.outputs.iter().map(|id| bounds.errors[id.0 as usize].clone()).collect())
}

/// Values and their error bounds so far.
struct Bounds {
    values: Vec<Option<Arc<Tensor>>>,
    errors: Vec<Option<Tensor>>,
    /// Half a step: the largest error of one rounding.
    half: f32,
}

impl Bounds {
    /// Creates the bounds of inputs, which are exact, and of constants, which are rounded.
    fn new(graph: &Graph, values: Vec<Option<Arc<Tensor>>>, half: f32) -> Self {
        let error = |(id, tensor): (usize, &Option<Arc<Tensor>>)| {
            let known = graph.values[id].constant.is_some() || graph.inputs.contains(&ValueId(id as u32));
            let most = if graph.values[id].constant.is_some() { half } else { 0.0 };
            let tensor = tensor.as_ref().filter(|_| known)?;
            rules::map(tensor, |x| if x == 0.0 || x.is_infinite() { 0.0 } else { most })
        };
        let errors = values.iter().enumerate().map(error).collect();
        Self { values, errors, half }
    }

    /// Returns the operands of a node; `None` if the bound of one is unknown.
    fn operands(&self, node: &Node) -> Option<Vec<Operand<'_>>> {
        let operand = |id: &ValueId| {
            let value = self.values.get(id.0 as usize)?.as_deref()?;
            let error = self.errors[id.0 as usize].as_ref();
            (error.is_some() || value.as_f32().is_none()).then_some(Operand { value, error })
        };
        node.inputs.iter().map(operand).collect()
    }

    /// Returns the number of operand elements that one result element is computed from.
    fn terms(&self, node: &Node) -> f32 {
        let elements = |id: Option<&ValueId>| {
            let value = id.and_then(|id| self.values.get(id.0 as usize)?.as_deref());
            value.map_or(1, |tensor| tensor.data().len().max(1))
        };
        (elements(node.inputs.first()) / elements(node.outputs.first())) as f32
    }

    /// Returns the largest number of elements of an image `[n, h, w, c]` that one element of a
    /// resized image is computed from.
    fn taps(&self, resize: &Resize, node: &Node) -> f32 {
        let image =
            self.values[node.inputs[0].0 as usize].as_deref().expect("the evaluation computed every value");
        let along = |axis: usize| {
            // Default: an image without rows or columns contributes no elements.
            resize
                .samples(axis, image.shape()[axis + 1])
                .iter()
                .map(|sample| sample.taps.len())
                .max()
                .unwrap_or(0)
        };
        (along(0) * along(1)) as f32
    }

    fn of(&self, node: &Node) -> Results {
        let (op, half) = (&node.op, self.half);
        let Some(operands) = self.operands(node) else { return Ok(None) };
        let monotone = |own: Own| rules::monotone(op, &operands, own);
        let exact = || monotone(Own::default());
        let rounded = || monotone(Own { roundings: half, ..Own::default() });
        let weighted =
            |terms: f32| monotone(Own { factors: terms * half, roundings: terms * half, additions: terms });
        match op {
            Op::Conv(_) | Op::ConvTranspose(_) | Op::MatMul(_) | Op::Gemm(_) => {
                rules::product(op, &operands, half)
            }
            Op::BatchNormalization(op) => Ok(rules::normalization(op, &operands, half)),
            Op::Binary(binary) => match binary.kind {
                BinaryKind::Add | BinaryKind::Sub => rules::sum(&operands),
                BinaryKind::Mul => rules::multiplication(&operands, half),
                BinaryKind::Max | BinaryKind::Min => exact(),
                _ => Ok(None),
            },
            Op::LeakyRelu(_) => weighted(1.0),
            Op::AveragePool(pool) => weighted((pool.window.kernel[0] * pool.window.kernel[1]) as f32),
            Op::Resize(resize) => match resize.mode {
                ResizeMode::Linear => weighted(4.0),
                ResizeMode::LinearAntialiased => weighted(self.taps(resize, node)),
                // Cubic weights can be negative: the result is not monotonic in the operand.
                ResizeMode::Cubic(_) => Ok(None),
                ResizeMode::Nearest(_) if resize.extrapolation() == 0.0 => exact(),
                ResizeMode::Nearest(_) => rounded(),
            },
            // The limits and the border value are constants, and rounded.
            Op::Clip(_) | Op::Pad(_) => rounded(),
            Op::Relu(_) | Op::MaxPool(_) | Op::Concat(_) | Op::Split(_) => exact(),
            Op::Reduce(reduce) => match reduce.kind {
                ReduceKind::Mean => weighted(self.terms(node)),
                ReduceKind::Sum => monotone(Own { additions: self.terms(node), ..Own::default() }),
                ReduceKind::Max | ReduceKind::Min => exact(),
                _ => Ok(None),
            },
            Op::Tile(_) | Op::Trilu(_) => exact(),
            Op::Slice(_) | Op::Gather(_) | Op::Reshape(_) | Op::Transpose(_) => exact(),
            Op::Unary(unary) if matches!(unary.kind, UnaryKind::Neg | UnaryKind::Abs) => exact(),
            _ => Ok(None),
        }
    }
}
