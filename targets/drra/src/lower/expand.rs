//! [`expand`]: replaces operators by simpler ones. Graph passes recognize these operators in the
//! arithmetic of exporters, and the dpu has modes for that arithmetic.

use npukit_graph::op::{Binary, BinaryKind, Clip, Reduce, ReduceKind, Unary, UnaryKind};
use npukit_graph::pass::PassError;
use npukit_graph::{Graph, Node, Op, OpError, Operator, Value, ValueId};
use npukit_numeric::Tensor;

/// Replaces each expandable operator by several nodes.
///
/// # Errors
///
/// The shapes of a new node are inconsistent.
pub fn expand(graph: &mut Graph) -> Result<(), PassError> {
    for node in std::mem::take(&mut graph.nodes) {
        let mut parts = Parts { name: node.name.clone(), nodes: Vec::new(), graph };
        match parts.of(&node)? {
            Some(last) => {
                let mut nodes = parts.nodes;
                nodes.push(Node { name: node.name, op: last.0, inputs: last.1, outputs: node.outputs });
                graph.nodes.extend(nodes);
            }
            None => graph.nodes.push(node),
        }
    }
    Ok(())
}

/// Last node of an expansion: operator and inputs.
type Last = (Op, Vec<ValueId>);

/// Nodes before the last one.
struct Parts<'g> {
    graph: &'g mut Graph,
    name: String,
    nodes: Vec<Node>,
}

impl Parts<'_> {
    /// Expands an operator; `None` if it stays.
    fn of(&mut self, node: &Node) -> Result<Option<Last>, PassError> {
        let Some(&x) = node.inputs.first() else { return Ok(None) };
        let scalar = |place: usize| node.inputs.get(place).and_then(|&id| self.graph.constant(id)?.as_f32());
        let last = match &node.op {
            Op::Unary(Unary { kind: UnaryKind::Swish { alpha } }) => {
                let scaled = if *alpha == 1.0 { x } else { self.with(BinaryKind::Mul, x, *alpha)? };
                let gate = self.node(Unary { kind: UnaryKind::Sigmoid }.into(), vec![scaled])?;
                (binary(BinaryKind::Mul), vec![x, gate])
            }
            Op::Unary(Unary { kind: UnaryKind::HardSigmoid { alpha, beta } }) => {
                self.hard_sigmoid(x, *alpha, *beta)?
            }
            Op::Unary(Unary { kind: UnaryKind::HardSwish }) => {
                let (op, inputs) = self.hard_sigmoid(x, 1.0 / 6.0, 0.5)?;
                let gate = self.node(op, inputs)?;
                (binary(BinaryKind::Mul), vec![x, gate])
            }
            Op::Unary(Unary { kind: UnaryKind::Gelu { .. } }) => self.gelu(x)?,
            Op::Unary(Unary { kind: UnaryKind::Reciprocal }) => {
                let one = self.number(1.0)?;
                (binary(BinaryKind::Div), vec![one, x])
            }
            Op::LayerNormalization(norm) => {
                let mean = self.trailing(ReduceKind::Mean, x, norm.axis)?;
                let centered = self.node(binary(BinaryKind::Sub), vec![x, mean])?;
                self.normalized(centered, norm.axis, norm.epsilon, &node.inputs[1..])?
            }
            Op::RmsNormalization(norm) => self.normalized(x, norm.axis, norm.epsilon, &node.inputs[1..])?,
            Op::Pow(_) if scalar(1) == Some(&[2.0]) && self.is_like(x, node) => {
                (binary(BinaryKind::Mul), vec![x, x])
            }
            Op::Binary(Binary { kind: BinaryKind::Div }) => {
                let Some(inverse) = node.inputs.get(1).and_then(|&divisor| self.inverse(divisor)) else {
                    return Ok(None);
                };
                (binary(BinaryKind::Mul), vec![x, inverse])
            }
            _ => return Ok(None),
        };
        Ok(Some(last))
    }

    /// Whether a value has the shape of the node's result.
    fn is_like(&self, value: ValueId, node: &Node) -> bool {
        node.outputs.iter().all(|&output| self.graph.value(output).info == self.graph.value(value).info)
    }

    /// Returns `min(max(alpha x + beta, 0), 1)`.
    fn hard_sigmoid(&mut self, x: ValueId, alpha: f32, beta: f32) -> Result<Last, PassError> {
        let scaled = self.with(BinaryKind::Mul, x, alpha)?;
        let moved = self.with(BinaryKind::Add, scaled, beta)?;
        Ok((Clip { min: 0.0, max: 1.0 }.into(), vec![moved]))
    }

    /// Returns `x sigmoid(2 u)` with `u = sqrt(2 / pi) (x + 0.044715 x^3)`, the tanh form. The
    /// exact form differs by at most 0.0005, half a unit of the sigmoid. Beyond 4 the sigmoid is 1
    /// within the same error.
    fn gelu(&mut self, x: ValueId) -> Result<Last, PassError> {
        let slope = 2.0 * (2.0 / std::f32::consts::PI).sqrt();
        let near = self.node(Clip { min: -4.0, max: 4.0 }.into(), vec![x])?;
        let square = self.node(binary(BinaryKind::Mul), vec![near, near])?;
        let cubic = self.with(BinaryKind::Mul, square, slope * 0.044_715)?;
        let factor = self.with(BinaryKind::Add, cubic, slope)?;
        let argument = self.node(binary(BinaryKind::Mul), vec![near, factor])?;
        let gate = self.node(Unary { kind: UnaryKind::Sigmoid }.into(), vec![argument])?;
        Ok((binary(BinaryKind::Mul), vec![x, gate]))
    }

    /// Returns `x / sqrt(mean of squares + epsilon)`, times the first of `parameters` plus the
    /// second.
    fn normalized(
        &mut self,
        x: ValueId,
        axis: usize,
        epsilon: f32,
        parameters: &[ValueId],
    ) -> Result<Last, PassError> {
        let squares = self.trailing(ReduceKind::SumSquare, x, axis)?;
        let count: usize = self.graph.shape(x).iter().skip(axis).product();
        let mean = self.with(BinaryKind::Mul, squares, 1.0 / count.max(1) as f32)?;
        let above = self.with(BinaryKind::Add, mean, epsilon)?;
        let root = self.node(Unary { kind: UnaryKind::Sqrt }.into(), vec![above])?;
        let mut last = (binary(BinaryKind::Div), vec![x, root]);
        for (&parameter, kind) in parameters.iter().zip([BinaryKind::Mul, BinaryKind::Add]) {
            let before = self.node(last.0, last.1)?;
            last = (binary(kind), vec![before, parameter]);
        }
        Ok(last)
    }

    /// Reduces the axes starting at `axis`.
    fn trailing(&mut self, kind: ReduceKind, x: ValueId, axis: usize) -> Result<ValueId, PassError> {
        let axes = (axis..self.graph.shape(x).len()).collect();
        self.node(Reduce { kind, axes, keep_dims: true }.into(), vec![x])
    }

    /// Returns the reciprocals of a float constant; `None` if one is not finite.
    fn inverse(&mut self, id: ValueId) -> Option<ValueId> {
        let inverse: Vec<f32> = self.graph.constant(id)?.as_f32()?.iter().map(|x| x.recip()).collect();
        let shape = self.graph.shape(id).to_vec();
        let tensor = Tensor::from_f32(shape, inverse).ok().filter(is_finite)?;
        let name = self.graph.fresh_name(&format!("{}/inverse", self.graph.value(id).name));
        Some(self.graph.add_constant(name, tensor))
    }

    /// Combines a value with a number.
    fn with(&mut self, kind: BinaryKind, x: ValueId, number: f32) -> Result<ValueId, PassError> {
        let number = self.number(number)?;
        self.node(binary(kind), vec![x, number])
    }

    /// Adds a scalar constant.
    fn number(&mut self, number: f32) -> Result<ValueId, PassError> {
        let name = self.graph.fresh_name(&format!("{}/number", self.name));
        let tensor = Tensor::from_f32(Vec::new(), vec![number]).map_err(|data| {
            let (op, what, expected, found) = ("constant", "number of elements", 1, data.len());
            self.refused(OpError::Size { op, what, expected, found })
        })?;
        Ok(self.graph.add_constant(name, tensor))
    }

    /// Adds a node, and returns its result.
    fn node(&mut self, op: Op, inputs: Vec<ValueId>) -> Result<ValueId, PassError> {
        let values: Vec<&Value> = inputs.iter().map(|&id| self.graph.value(id)).collect();
        let infos = op.infer(&values).map_err(|error| self.refused(error))?;
        let name = self.graph.fresh_name(&format!("{}/{}", self.name, op.name()));
        let add = |info| self.graph.add_value(Value { name: name.clone(), info, constant: None });
        let outputs: Vec<ValueId> = infos.into_iter().map(add).collect();
        let none = OpError::ResultCount { op: op.name(), expected: 1, found: 0 };
        let result = outputs.first().copied().ok_or_else(|| self.refused(none))?;
        self.nodes.push(Node { name: self.name.clone(), op, inputs, outputs });
        Ok(result)
    }

    fn refused(&self, error: OpError) -> PassError {
        PassError::Op { node: self.name.clone(), error }
    }
}

fn binary(kind: BinaryKind) -> Op {
    Binary { kind }.into()
}

fn is_finite(tensor: &Tensor) -> bool {
    tensor.as_f32().is_some_and(|values| values.iter().all(|x| x.is_finite()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_graph::op::{Pow, Relu};
    use npukit_graph::{ValueInfo, evaluate};
    use npukit_numeric::ElementType;

    use super::*;

    fn tensor(shape: &[usize], values: &[f32]) -> Tensor {
        Tensor::from_f32(shape.to_vec(), values.to_vec()).unwrap()
    }

    /// Operators of the expansion, after checking that it computes the same.
    fn parts(op: Op, shape: &[usize], constant: Option<Tensor>) -> Vec<&'static str> {
        let mut graph = Graph::default();
        let info = ValueInfo { shape: shape.to_vec(), element: ElementType::F32 };
        let x = graph.add_input("x", info);
        let constant = constant.map(|values| graph.add_constant("c", values));
        let operands = [x].into_iter().chain(constant).collect();
        graph.outputs = graph.add_node("node", op, operands, &["y"]).unwrap();
        let mut expanded = graph.clone();
        expand(&mut expanded).unwrap();
        let values: Vec<f32> =
            (0..shape.iter().product()).map(|index: usize| index as f32 * 0.75 - 4.0).collect();
        let inputs = [tensor(shape, &values)];
        let [whole, of_parts] = [&graph, &expanded].map(|graph| evaluate(graph, &inputs).unwrap().remove(0));
        assert_eq!(whole.shape(), of_parts.shape());
        for (a, b) in whole.as_f32().unwrap().iter().zip(of_parts.as_f32().unwrap()) {
            assert!((a - b).abs() < 1e-5 || a == b, "{a} {b}");
        }
        expanded.nodes.iter().map(|node| node.op.name()).collect()
    }

    #[test]
    fn operators_are_made_of_what_the_dpu_has() {
        let unary = |kind| Op::from(Unary { kind });
        let (pow, div) = (|| Op::from(Pow), || binary(BinaryKind::Div));
        let number = |x| Some(tensor(&[], &[x]));
        let of_12 = |op, constant| parts(op, &[3, 4], constant);
        assert_eq!(of_12(unary(UnaryKind::Swish { alpha: 1.0 }), None), ["Sigmoid", "Mul"]);
        assert_eq!(of_12(unary(UnaryKind::Swish { alpha: 1.7 }), None), ["Mul", "Sigmoid", "Mul"]);
        let hard_sigmoid = UnaryKind::HardSigmoid { alpha: 0.2, beta: 0.5 };
        assert_eq!(of_12(unary(hard_sigmoid), None), ["Mul", "Add", "Clip"]);
        assert_eq!(of_12(unary(UnaryKind::HardSwish), None), ["Mul", "Add", "Clip", "Mul"]);
        assert_eq!(of_12(Relu.into(), None), ["Relu"]);
        // A power with exponent 2 becomes a square if the result has the operand's shape.
        assert_eq!(of_12(pow(), number(2.0)), ["Mul"]);
        assert_eq!(of_12(pow(), Some(tensor(&[1], &[2.0]))), ["Mul"]);
        assert_eq!(of_12(pow(), number(3.0)), ["Pow"]);
        assert_eq!(parts(pow(), &[4], Some(tensor(&[1, 1], &[2.0]))), ["Pow"]);
        // A division by a constant becomes a product if all reciprocals are finite.
        assert_eq!(of_12(div(), Some(tensor(&[4], &[0.5, -2.0, 3.0, 8.0]))), ["Mul"]);
        assert_eq!(of_12(div(), Some(tensor(&[4], &[0.5, -2.0, 3.0, 1e-39]))), ["Div"]);
    }
}
