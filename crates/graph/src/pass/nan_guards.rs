//! Removal of guards against NaN after a Softmax, `Where(IsNaN(s), 0, s)`. Exporters write them
//! wherever a mask might hide a whole row; they are removed if no row is hidden.
//!
//! Assumptions: the inputs of the graph are finite, and sums and products of finite numbers stay in
//! the range of `f32`. Then a Softmax returns NaN only for a row of minus infinity, which only a
//! constant can contain. A guard stays if its operand depends on a mask computed from an input, or
//! on a function that is undefined for some numbers (Log, Sqrt, a quotient of two computed values).

use std::sync::Arc;

use npukit_numeric::{ElementType, Tensor};

use super::edit::{Bypasses, floats};
use super::matching::Pattern;
use super::{Pass, PassError};
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::{Binary, BinaryKind, Op, Operator, ReduceKind, UnaryKind};

pub(super) const PASS: Pass = Pass {
    name: "nan-guards",
    description: "removes guards against NaN after a Softmax if its constant mask hides no complete row",
    run,
};

/// Maximum number of constant masks added to one operand of a Softmax; exporters write one or two.
const MAX_MASKS: usize = 4;

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    if !graph.nodes.iter().any(|node| matches!(node.op, Op::IsNaN(_))) {
        return Ok(false);
    }
    let producers = graph.producers();
    let proven = Finite::new(graph, &producers).guards();
    let mut bypasses = Bypasses::new(graph);
    for &(index, kept) in proven.iter().rev() {
        bypasses.take_out(graph, index, kept);
    }
    Ok(bypasses.apply(graph, Vec::new()))
}

/// Finite values of a graph.
struct Finite<'a> {
    pattern: Pattern<'a>,
    /// Whether all elements of each value are finite.
    finite: Vec<bool>,
}

impl<'a> Finite<'a> {
    /// Creates the analysis before any node is visited.
    fn new(graph: &'a Graph, producers: &'a [Option<NodeId>]) -> Self {
        let is_finite = |constant: &Arc<Tensor>| match constant.as_f32() {
            Some(elements) => elements.iter().all(|x| x.is_finite()),
            None => true,
        };
        let finite = graph.values.iter().map(|value| match &value.constant {
            Some(constant) => is_finite(constant),
            None => !is_float(value.info.element),
        });
        let mut finite: Vec<bool> = finite.collect();
        graph.inputs.iter().for_each(|id| finite[id.0 as usize] = true);
        Self { pattern: Pattern { graph, producers }, finite }
    }

    /// Returns the unnecessary guards, with the values that they guard.
    fn guards(mut self) -> Vec<(usize, ValueId)> {
        let mut proven = Vec::new();
        for (index, node) in self.pattern.graph.nodes.iter().enumerate() {
            let guarded = self.guarded(node);
            let known = match guarded {
                Some(value) if self.is(value) => {
                    proven.push((index, value));
                    true
                }
                // For any operand, a Softmax returns numbers from 0 to 1 or NaN.
                Some(value) if self.softmax(value).is_some() => {
                    node.inputs.get(1).is_some_and(|&id| self.is(id))
                }
                _ => self.keeps(node),
            };
            for output in node.outputs.iter().filter(|_| known) {
                self.finite[output.0 as usize] = true;
            }
        }
        proven
    }

    fn is(&self, id: ValueId) -> bool {
        self.finite[id.0 as usize]
    }

    /// Returns the guarded value if the node is a guard.
    fn guarded(&self, node: &Node) -> Option<ValueId> {
        let (Op::Where(_), &[condition, _, value]) = (&node.op, node.inputs.as_slice()) else { return None };
        let Node { op: Op::IsNaN(_), inputs, .. } = self.pattern.producer(condition)? else { return None };
        let graph = self.pattern.graph;
        let same_shape =
            node.outputs.first().is_some_and(|&output| graph.shape(output) == graph.shape(value));
        (inputs.first() == Some(&value) && same_shape).then_some(value)
    }

    /// Returns the axes and the operand of the Softmax that produces the value.
    fn softmax(&self, value: ValueId) -> Option<(std::ops::Range<usize>, ValueId)> {
        let Node { op: Op::Softmax(softmax), inputs, .. } = self.pattern.producer(value)? else {
            return None;
        };
        Some((softmax.axis..softmax.axis_end, *inputs.first()?))
    }

    /// Whether the results of the node are finite.
    fn keeps(&self, node: &Node) -> bool {
        if let &[result] = node.outputs.as_slice()
            && let Some((axes, operand)) = self.softmax(result)
        {
            return self.is(operand) || self.has_shown_rows(operand, axes);
        }
        node.inputs.iter().all(|&id| self.is(id)) && self.stays(node)
    }

    /// Whether every row of the value has a finite element, and no element is NaN or plus infinity.
    /// The value must be a sum of finite values and constants that hide some elements, but no
    /// complete row.
    fn has_shown_rows(&self, value: ValueId, axes: std::ops::Range<usize>) -> bool {
        let shape = self.pattern.graph.shape(value);
        let Some(mask) = self.mask(value) else { return false };
        // Only the last axis, as in attention.
        let (Some(&row), true) = (shape.last(), axes.len() == 1 && axes.end == shape.len()) else {
            return false;
        };
        let Some(elements) = mask.as_f32() else { return false };
        let row = if mask.shape().last() == Some(&row) { row } else { 1 };
        let is_mask = |x: &f32| x.is_finite() || *x == f32::NEG_INFINITY;
        row > 0
            && elements.iter().all(is_mask)
            && elements.chunks(row).all(|row| row.iter().any(|x| x.is_finite()))
    }

    /// Returns the sum of the constants that are added to finite values.
    fn mask(&self, value: ValueId) -> Option<Arc<Tensor>> {
        let (mut open, mut masks) = (vec![value], Vec::new());
        while let Some(value) = open.pop() {
            if self.is(value) {
                continue;
            }
            if let Some(constant) = self.pattern.graph.constant(value) {
                masks.push(Arc::clone(constant));
            } else {
                open.extend(self.pattern.binary(value, BinaryKind::Add)?);
            }
            if masks.len() + open.len() > MAX_MASKS {
                return None;
            }
        }
        let add = |sum: Arc<Tensor>, mask: Arc<Tensor>| {
            let sum = Binary { kind: BinaryKind::Add }.eval(&[sum.as_ref(), mask.as_ref()]).ok()?.pop()?;
            Some(Arc::new(sum))
        };
        let mut masks = masks.into_iter();
        let first = masks.next()?;
        masks.try_fold(first, add)
    }

    /// Whether the node returns finite numbers for finite operands.
    fn stays(&self, node: &Node) -> bool {
        let graph = self.pattern.graph;
        let all = |index: usize, test: &dyn Fn(f32) -> bool| {
            let constant = node.inputs.get(index).and_then(|&id| floats(graph, id));
            constant.is_some_and(|values| values.iter().all(|&x| test(x)))
        };
        match &node.op {
            Op::Unary(unary) => stays_finite(unary.kind),
            Op::Binary(binary) => {
                let divides = matches!(binary.kind, BinaryKind::Div | BinaryKind::Mod | BinaryKind::Fmod);
                !divides || all(1, &|x| x != 0.0)
            }
            Op::Pow(_) => all(1, &|x| x >= 0.0 && x.fract() == 0.0),
            Op::Reduce(reduce) => {
                let empty = node.inputs.first().is_none_or(|&id| graph.shape(id).contains(&0));
                is_total(reduce.kind) && !empty
            }
            Op::LayerNormalization(op) => op.epsilon > 0.0,
            Op::RmsNormalization(op) => op.epsilon > 0.0,
            Op::GroupNormalization(op) => op.epsilon > 0.0,
            Op::InstanceNormalization(op) => op.epsilon > 0.0,
            Op::BatchNormalization(op) => all(4, &|x| x + op.epsilon > 0.0),
            Op::AveragePool(_)
            | Op::Cast(_)
            | Op::Concat(_)
            | Op::Conv(_)
            | Op::ConvTranspose(_)
            | Op::DequantizeLinear(_)
            | Op::Gather(_)
            | Op::Gemm(_)
            | Op::LeakyRelu(_)
            | Op::LogSoftmax(_)
            | Op::MatMul(_)
            | Op::MaxPool(_)
            | Op::PRelu(_)
            | Op::Relu(_)
            | Op::Reshape(_)
            | Op::RotaryEmbedding(_)
            | Op::Slice(_)
            | Op::Split(_)
            | Op::Tile(_)
            | Op::Transpose(_)
            | Op::Trilu(_)
            | Op::Where(_) => true,
            _ => false,
        }
    }
}

/// Whether the reduction of finite numbers, at least one, is finite.
fn is_total(kind: ReduceKind) -> bool {
    use ReduceKind::{Max, Mean, Min, Sum, SumSquare};
    matches!(kind, Sum | Mean | Max | Min | SumSquare)
}

fn is_float(element: ElementType) -> bool {
    matches!(element, ElementType::F32 | ElementType::F64 | ElementType::F16 | ElementType::BF16)
}

/// Whether the function is defined for every finite number, and its result is not larger in
/// magnitude than its operand or a small constant.
fn stays_finite(kind: UnaryKind) -> bool {
    !matches!(
        kind,
        UnaryKind::Sqrt
            | UnaryKind::Exp
            | UnaryKind::Log
            | UnaryKind::Reciprocal
            | UnaryKind::Tan
            | UnaryKind::Asin
            | UnaryKind::Acos
            | UnaryKind::Sinh
            | UnaryKind::Cosh
            | UnaryKind::Acosh
            | UnaryKind::Atanh
    )
}
