//! [`intervals`]: bounds of every value of a graph, from bounds of its inputs.
//!
//! Each element has a lower and an upper bound. A monotonic operator maps bounds to bounds. For an
//! operator that is linear with constant weights, positive and negative weights are applied
//! separately. The bounds hold for all inputs. They are wide after many layers, since the extremes
//! of all operands do not occur together.

use npukit_numeric::Tensor;

use crate::ir::{Graph, Node, ValueId};
use crate::op::{Binary, BinaryKind, Op, Operator, ResizeMode, Unary, UnaryKind};

/// Returns the minimum and maximum element of each value, by [`ValueId`], if the elements of each
/// input are within its bounds. `None` for inputs that are not listed, for operators without a
/// rule, and for values computed from those.
pub fn intervals(graph: &Graph, inputs: &[(ValueId, [f32; 2])]) -> Vec<Option<[f64; 2]>> {
    let mut bounds: Vec<Option<Bounds>> =
        graph.values.iter().map(|value| Bounds::of(value.constant.as_deref()?)).collect();
    for &(id, range) in inputs {
        let shape = graph.shape(id);
        let filled = |bound: f32| Tensor::from_f32(shape.to_vec(), vec![bound; shape.iter().product()]).ok();
        bounds[id.0 as usize] =
            filled(range[0]).zip(filled(range[1])).map(|(low, high)| Bounds { low, high });
    }
    for node in &graph.nodes {
        let operands: Option<Vec<&Bounds>> =
            node.inputs.iter().map(|id| bounds[id.0 as usize].as_ref()).collect();
        let found = operands.and_then(|operands| bounded(graph, node, &operands));
        for (&id, result) in node.outputs.iter().zip(found.into_iter().flatten()) {
            bounds[id.0 as usize] = Some(result);
        }
    }
    bounds.iter().map(|bounds| bounds.as_ref()?.extremes()).collect()
}

/// Lower and upper bound of each element.
#[derive(Clone)]
struct Bounds {
    low: Tensor,
    high: Tensor,
}

impl Bounds {
    /// Returns the bounds of a float constant: its own elements.
    fn of(constant: &Tensor) -> Option<Self> {
        constant.as_f32()?;
        Some(Self { low: constant.clone(), high: constant.clone() })
    }

    /// Returns the minimum and the maximum; `None` if one is not finite.
    fn extremes(&self) -> Option<[f64; 2]> {
        let least = self.low.as_f32()?.iter().copied().fold(f32::INFINITY, f32::min);
        let largest = self.high.as_f32()?.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        (least.is_finite() && largest.is_finite()).then(|| [least.into(), largest.into()])
    }
}

/// Returns the bounds of the results of a node.
fn bounded(graph: &Graph, node: &Node, operands: &[&Bounds]) -> Option<Vec<Bounds>> {
    if grows(&node.op) {
        let ends = |end: fn(&Bounds) -> &Tensor| {
            evaluated(node, &operands.iter().map(|&bounds| end(bounds)).collect::<Vec<_>>())
        };
        let (low, high) = (ends(|bounds| &bounds.low)?, ends(|bounds| &bounds.high)?);
        return Some(low.into_iter().zip(high).map(|(low, high)| Bounds { low, high }).collect());
    }
    match (&node.op, operands) {
        (Op::Binary(Binary { kind: BinaryKind::Sub }), [a, b]) => {
            Some(vec![Bounds { low: one(node, &[&a.low, &b.high])?, high: one(node, &[&a.high, &b.low])? }])
        }
        (Op::Binary(Binary { kind: BinaryKind::Mul }), [a, b]) => hull(node, a, b),
        (Op::Binary(Binary { kind: BinaryKind::Div }), [a, b]) => {
            hull(node, a, b).filter(|_| graph.constant(node.inputs[1]).is_some())
        }
        (Op::Conv(_) | Op::Gemm(_) | Op::MatMul(_), [x, _, rest @ ..]) => {
            linear(node, x, graph.constant(*node.inputs.get(1)?)?, rest)
        }
        _ => None,
    }
}

/// Whether the operator is monotonic: no result decreases when an operand element increases.
fn grows(op: &Op) -> bool {
    match op {
        Op::Relu(_) | Op::Clip(_) | Op::MaxPool(_) | Op::AveragePool(_) => true,
        Op::Transpose(_) | Op::Reshape(_) | Op::Concat(_) | Op::Slice(_) | Op::Split(_) => true,
        Op::LeakyRelu(op) => op.alpha >= 0.0,
        Op::Resize(resize) => matches!(resize.mode, ResizeMode::Nearest(_) | ResizeMode::Linear),
        Op::Binary(Binary { kind }) => matches!(kind, BinaryKind::Add | BinaryKind::Min | BinaryKind::Max),
        Op::Unary(Unary { kind }) => grows_of_one(kind),
        _ => false,
    }
}

fn grows_of_one(kind: &UnaryKind) -> bool {
    match kind {
        UnaryKind::Floor | UnaryKind::Ceil | UnaryKind::Round | UnaryKind::Sign => true,
        UnaryKind::Sqrt | UnaryKind::Exp | UnaryKind::Log | UnaryKind::Atan | UnaryKind::Tanh => true,
        UnaryKind::Sinh | UnaryKind::Asinh | UnaryKind::Erf | UnaryKind::Sigmoid => true,
        UnaryKind::HardSigmoid { alpha, .. } => *alpha >= 0.0,
        _ => false,
    }
}

fn evaluated(node: &Node, operands: &[&Tensor]) -> Option<Vec<Tensor>> {
    node.op.eval(operands).ok()
}

/// Evaluates a node that has one result.
fn one(node: &Node, operands: &[&Tensor]) -> Option<Tensor> {
    evaluated(node, operands)?.into_iter().next()
}

/// Returns the bounds of a product or quotient over all pairs of operand bounds.
fn hull(node: &Node, a: &Bounds, b: &Bounds) -> Option<Vec<Bounds>> {
    let pairs = [[&a.low, &b.low], [&a.low, &b.high], [&a.high, &b.low], [&a.high, &b.high]];
    let results = pairs.iter().map(|pair| one(node, pair)).collect::<Option<Vec<_>>>()?;
    let (low, high) = (folded(&results, f32::min)?, folded(&results, f32::max)?);
    Some(vec![Bounds { low, high }])
}

/// Combines tensors of the same shape element by element with `choose`.
fn folded(tensors: &[Tensor], choose: fn(f32, f32) -> f32) -> Option<Tensor> {
    let (first, others) = tensors.split_first()?;
    let mut values = first.as_f32()?.to_vec();
    for other in others {
        values.iter_mut().zip(other.as_f32()?).for_each(|(x, y)| *x = choose(*x, *y));
    }
    Tensor::from_f32(first.shape().to_vec(), values).ok()
}

/// Returns the bounds of an operator that is linear in `x` with constant weights. Positive weights
/// map a lower bound to a lower bound, negative ones to an upper bound. `rest`, an addend, is added
/// once.
fn linear(node: &Node, x: &Bounds, weights: &Tensor, rest: &[&Bounds]) -> Option<Vec<Bounds>> {
    let part = |keep: fn(f32) -> f32| {
        let values = weights.as_f32()?.iter().map(|&weight| keep(weight)).collect();
        Tensor::from_f32(weights.shape().to_vec(), values).ok()
    };
    let (positive, negative) = (part(|weight| weight.max(0.0))?, part(|weight| weight.min(0.0))?);
    let end = |same: &Tensor, other: &Tensor, addend: fn(&Bounds) -> &Tensor| {
        let mut operands = vec![same, &positive];
        operands.extend(rest.iter().map(|&bounds| addend(bounds)));
        let (first, second) = (one(node, &operands)?, one(node, &[other, &negative])?);
        folded(&[first, second], |x, y| x + y)
    };
    let (low, high) =
        (end(&x.low, &x.high, |bounds| &bounds.low)?, end(&x.high, &x.low, |bounds| &bounds.high)?);
    Some(vec![Bounds { low, high }])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_numeric::ElementType;
    use proptest::prelude::*;

    use super::*;
    use crate::eval::evaluate_all;
    use crate::ir::ValueInfo;
    use crate::op::{Clip, Gemm, Relu};

    /// Two layers with a subtraction and a product between them.
    fn graph(weights: &[f32]) -> (Graph, ValueId) {
        let mut graph = Graph::default();
        let x = graph.add_input("x", ValueInfo { shape: vec![1, 3], element: ElementType::F32 });
        let first = graph.add_constant("w", Tensor::from_f32(vec![3, 3], weights[..9].to_vec()).unwrap());
        let bias = graph.add_constant("b", Tensor::from_f32(vec![3], weights[9..12].to_vec()).unwrap());
        let gemm = || Op::from(Gemm { alpha: 1.0, beta: 1.0, trans_a: false, trans_b: false });
        let y = graph.add_node("y", gemm(), vec![x, first, bias], &["y"]).unwrap()[0];
        let r = graph.add_node("r", Relu.into(), vec![y], &["r"]).unwrap()[0];
        let binary = |kind| Op::from(Binary { kind });
        let d = graph.add_node("d", binary(BinaryKind::Sub), vec![x, r], &["d"]).unwrap()[0];
        let p = graph.add_node("p", binary(BinaryKind::Mul), vec![d, y], &["p"]).unwrap()[0];
        graph.outputs = graph.add_node("c", Clip { min: -5.0, max: 6.0 }.into(), vec![p], &["c"]).unwrap();
        (graph, x)
    }

    proptest! {
        #[test]
        fn no_value_leaves_its_bounds(
            weights in proptest::collection::vec(-2.0f32..2.0, 12),
            inputs in proptest::collection::vec(-1.0f32..3.0, 3),
        ) {
            let (graph, x) = graph(&weights);
            let bounds = intervals(&graph, &[(x, [-1.0, 3.0])]);
            let values = evaluate_all(&graph, &[Tensor::from_f32(vec![1, 3], inputs).unwrap()]).unwrap();
            for (value, bounds) in values.iter().zip(&bounds) {
                let ([low, high], slack) = (bounds.unwrap(), 1e-4);
                for x in value.as_ref().unwrap().reals() {
                    prop_assert!((low - slack..=high + slack).contains(&x), "{x} in {low}..{high}");
                }
            }
        }
    }

    #[test]
    fn unknown_inputs_bound_nothing() {
        let (graph, _) = graph(&[1.0; 12]);
        let bounds = intervals(&graph, &[]);
        assert!(graph.outputs.iter().all(|id| bounds[id.0 as usize].is_none()));
    }
}
