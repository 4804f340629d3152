//! Pattern matching from a value back to its producers: [`Pattern`].

use npukit_numeric::TensorData;

use super::edit::floats;
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::{BinaryKind, Op, UnaryKind};

/// Relative tolerance for constants: exporters round them once or twice in single precision.
const TOLERANCE: f64 = 5e-7;

/// Maximum number of other factors of a product.
const MAX_FACTORS: usize = 6;

/// Maximum number of values visited while matching, including constants and products; exporters
/// write fewer.
const MAX_VALUES: usize = 32;

/// Whether a constant equals the expected one within the tolerance.
pub(super) fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= TOLERANCE * expected.abs()
}

/// Replaces the nodes whose result `form` recognizes by the operator and operand that it returns,
/// if operand and result have the same shape. Returns whether it replaced any.
pub(super) fn put_in_place<O: Into<Op>>(
    graph: &mut Graph,
    form: impl Fn(&Pattern<'_>, ValueId) -> Option<(O, ValueId)>,
) -> bool {
    let producers = graph.producers();
    let mut changed = false;
    for index in 0..graph.nodes.len() {
        let &[result] = graph.nodes[index].outputs.as_slice() else { continue };
        let Some((op, x)) = form(&Pattern { graph, producers: &producers }, result) else { continue };
        // Constants may have axes, which would add axes to the result.
        if graph.value(x).info == graph.value(result).info {
            (graph.nodes[index].op, graph.nodes[index].inputs) = (op.into(), vec![x]);
            changed = true;
        }
    }
    changed
}

/// A graph and the producers of its values.
pub(super) struct Pattern<'a> {
    pub(super) graph: &'a Graph,
    pub(super) producers: &'a [Option<NodeId>],
}

impl Pattern<'_> {
    /// Returns the producer of a value, if it has one result.
    pub(super) fn producer(&self, value: ValueId) -> Option<&Node> {
        let node = self.graph.node((*self.producers.get(value.0 as usize)?)?);
        (node.outputs.len() == 1).then_some(node)
    }

    /// Returns the only element of a constant float.
    pub(super) fn scalar(&self, value: ValueId) -> Option<f64> {
        match floats(self.graph, value)? {
            &[scalar] => Some(scalar.into()),
            _ => None,
        }
    }

    /// Returns the operands if the value is a binary operation of the given kind.
    pub(super) fn binary(&self, value: ValueId, kind: BinaryKind) -> Option<[ValueId; 2]> {
        let node = self.producer(value)?;
        let Op::Binary(binary) = &node.op else { return None };
        (binary.kind == kind).then(|| <[ValueId; 2]>::try_from(node.inputs.as_slice()).ok()).flatten()
    }

    /// Returns the other operand and the number if the value is a binary operation with a number.
    /// The number must come second, except for sums and products.
    pub(super) fn with_scalar(&self, value: ValueId, kind: BinaryKind) -> Option<(ValueId, f64)> {
        let [left, right] = self.binary(value, kind)?;
        let commutes = matches!(kind, BinaryKind::Add | BinaryKind::Mul);
        match (self.scalar(left), self.scalar(right)) {
            (_, Some(scalar)) => Some((left, scalar)),
            (Some(scalar), None) if commutes => Some((right, scalar)),
            _ => None,
        }
    }

    /// Returns the function and the operand if the value is a unary operation.
    pub(super) fn unary(&self, value: ValueId) -> Option<(UnaryKind, ValueId)> {
        let node = self.producer(value)?;
        let Op::Unary(unary) = &node.op else { return None };
        Some((unary.kind, *node.inputs.first()?))
    }

    /// Splits a product into a number and its other factors, in ascending order. Products are split
    /// further, except `whole`. `None` if there are too many factors.
    pub(super) fn factors(&self, value: ValueId, whole: Option<ValueId>) -> Option<(f64, Vec<ValueId>)> {
        let (mut number, mut factors, mut open, mut values) = (1.0, Vec::new(), vec![value], 0);
        while let Some(value) = open.pop() {
            values += 1;
            if factors.len() + open.len() > MAX_FACTORS || values > MAX_VALUES {
                return None;
            }
            if let Some(scalar) = self.scalar(value) {
                number *= scalar;
            } else if Some(value) == whole {
                factors.push(value);
            } else if let Some((dividend, divisor)) = self.with_scalar(value, BinaryKind::Div) {
                number /= divisor;
                open.push(dividend);
            } else if let Some(operands) = self.binary(value, BinaryKind::Mul) {
                open.extend(operands);
            } else {
                factors.push(value);
            }
        }
        factors.sort_unstable();
        Some((number, factors))
    }

    /// Returns `x` if the value is the square of `x`.
    pub(super) fn square(&self, value: ValueId) -> Option<ValueId> {
        self.power(value, 2.0)
    }

    /// Returns `x` if the value is `x` to the power `exponent`, written with Pow or as a product.
    pub(super) fn power(&self, value: ValueId, exponent: f64) -> Option<ValueId> {
        if let Some(Node { op: Op::Pow(_), inputs, .. }) = self.producer(value) {
            let &[base, stated] = inputs.as_slice() else { return None };
            return (self.number(stated)? == exponent).then_some(base);
        }
        let [left, right] = self.binary(value, BinaryKind::Mul)?;
        let rest = exponent - 1.0;
        let same = |base: ValueId, other: ValueId| {
            base == other && rest == 1.0 || rest > 1.0 && self.power(other, rest) == Some(base)
        };
        if same(left, right) { Some(left) } else { same(right, left).then_some(right) }
    }

    /// Returns the only element of a constant of any type.
    fn number(&self, value: ValueId) -> Option<f64> {
        let constant = self.graph.constant(value)?;
        let number = match constant.data() {
            TensorData::I64(values) => values.first().map(|&value| value as f64),
            TensorData::I32(values) => values.first().map(|&value| value.into()),
            TensorData::F32(values) => values.first().map(|&value| value.into()),
            TensorData::Bool(_) => None,
        };
        number.filter(|_| constant.data().len() == 1)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_numeric::{ElementType, Tensor};

    use super::*;
    use crate::ir::ValueInfo;
    use crate::op::{Binary, Pow};

    fn inputs(count: usize) -> (Graph, Vec<ValueId>) {
        let mut graph = Graph::default();
        let info = || ValueInfo { shape: vec![2], element: ElementType::F32 };
        let inputs = (0..count).map(|i| graph.add_input(format!("x{i}"), info())).collect();
        (graph, inputs)
    }

    fn number(graph: &mut Graph, x: f32) -> ValueId {
        let name = graph.fresh_name("number");
        graph.add_constant(name, Tensor::from_f32(vec![], vec![x]).unwrap())
    }

    fn binary(graph: &mut Graph, kind: BinaryKind, left: ValueId, right: ValueId) -> ValueId {
        let name = graph.fresh_name("v");
        graph.add_node(name.clone(), Binary { kind }.into(), vec![left, right], &[&name]).unwrap()[0]
    }

    fn times(graph: &mut Graph, left: ValueId, right: ValueId) -> ValueId {
        binary(graph, BinaryKind::Mul, left, right)
    }

    fn look<R>(graph: &Graph, at: impl FnOnce(&Pattern<'_>) -> R) -> R {
        at(&Pattern { graph, producers: &graph.producers() })
    }

    #[test]
    fn near_is_relative() {
        for expected in [0.01, -0.01, 1.0, 100.0] {
            assert!(
                is_near(expected * (1.0 + 4e-7), expected) && !is_near(expected * (1.0 + 6e-7), expected)
            );
        }
    }

    #[test]
    fn a_number_comes_second_but_where_order_does_not_matter() {
        use BinaryKind::{Add, Div, Mul, Sub};
        for (kind, first) in [(Add, true), (Mul, true), (Sub, false), (Div, false)] {
            let (mut graph, x) = inputs(2);
            let three = number(&mut graph, 3.0);
            let ways = [[x[0], three], [three, x[0]], [x[0], x[1]]];
            let found = ways.map(|[left, right]| {
                let value = binary(&mut graph, kind, left, right);
                look(&graph, |pattern| pattern.with_scalar(value, kind))
            });
            let operand = Some((x[0], 3.0));
            assert_eq!(found, [operand, operand.filter(|_| first), None], "{kind:?}");
        }
    }

    #[test]
    fn products_of_seven_are_taken_apart() {
        for count in [1, 2, 7, 8] {
            let (mut graph, x) = inputs(count);
            let mut left = x[0];
            x[1..].iter().for_each(|&x| left = times(&mut graph, left, x));
            let mut right = x[0];
            x[1..].iter().for_each(|&x| right = times(&mut graph, x, right));
            let expected = (count <= 7).then_some((1.0, x));
            for value in [left, right] {
                assert_eq!(look(&graph, |pattern| pattern.factors(value, None)), expected);
            }
        }
        let (mut graph, x) = inputs(2);
        let [two, four] = [2.0, 4.0].map(|x| number(&mut graph, x));
        let half = binary(&mut graph, BinaryKind::Div, x[1], four);
        let all = times(&mut graph, x[0], half);
        let all = times(&mut graph, two, all);
        assert_eq!(look(&graph, |pattern| pattern.factors(all, None)), Some((0.5, x.clone())));
        assert_eq!(look(&graph, |pattern| pattern.factors(all, Some(half))), Some((2.0, vec![x[0], half])));
    }

    /// Whether the value is recognized as the 2nd, 3rd and 4th power of `x` and of `y`.
    fn powers(graph: &Graph, value: ValueId, [x, y]: [ValueId; 2]) -> [[bool; 2]; 3] {
        [2.0, 3.0, 4.0].map(|exponent| {
            let base = look(graph, |pattern| pattern.power(value, exponent));
            [base == Some(x), base == Some(y)]
        })
    }

    #[test]
    fn powers_are_products_with_themselves() {
        let (mut graph, x) = inputs(2);
        let [x, y] = [x[0], x[1]];
        let square = times(&mut graph, x, x);
        let (cube, turned) = (times(&mut graph, x, square), times(&mut graph, square, x));
        let fourth = times(&mut graph, cube, x);
        let mixed = times(&mut graph, x, y);
        let (of_other, with_mixed) = (times(&mut graph, y, square), times(&mut graph, x, mixed));
        let exponent = number(&mut graph, 3.0);
        let power = graph.add_node("power", Pow.into(), vec![y, exponent], &["power"]).unwrap()[0];
        let none = [[false; 2]; 3];
        let [second, third, last] = [0, 1, 2].map(|place| {
            let mut of_x = none;
            of_x[place][0] = true;
            of_x
        });
        let mut of_y = none;
        of_y[1][1] = true;
        for (value, expected) in [
            (square, second),
            (cube, third),
            (turned, third),
            (fourth, last),
            (mixed, none),
            (of_other, none),
            (with_mixed, none),
            (x, none),
            (power, of_y),
        ] {
            assert_eq!(powers(&graph, value, [x, y]), expected, "{}", graph.value(value).name);
        }
    }
}
