//! [`integer_forms`]: exact integer evaluation of quantized networks.
//!
//! A quantized operator arrives as DequantizeLinear, a float operator and QuantizeLinear. Either
//! the model has these three nodes, or one operator such as QLinearConv is imported as three. Float
//! sums round, so a result near the middle between two integers may become the other one. If all
//! three nodes are present, they become a [`QLinear`], whose sums are exact. ONNX Runtime fuses by
//! the same rule at its default optimization level.
//!
//! This is for the evaluation of models only: compilers need the floats and their scales.

use npukit_numeric::{ElementType, Tensor};

use crate::ir::{Graph, Node, NodeId, Value, ValueId};
use crate::op::{DequantizeLinear, Op, OpError, Operator, QLinear, QuantizeLinear, Transpose};

/// Replaces quantized operators, ConvInteger and MatMulInteger by [`QLinear`]. The integers of
/// ConvInteger and MatMulInteger have scale 1.
///
/// Scales and zero points must be constants: one for all elements or, for weights, one per column.
/// The scale of the bias must equal that of the products. A ReLU or Clip before QuantizeLinear is
/// removed if the integers cannot represent a number that it would change. Transpose and Reshape
/// move integers instead of floats. All other nodes stay, as do operators that [`QLinear`] rejects,
/// such as one with an addend that is not a bias.
///
/// Values keep their names; float values that become unused are removed.
pub fn integer_forms(graph: &mut Graph) {
    let (producers, consumers) = (graph.producers(), graph.consumers());
    let nodes = std::mem::take(&mut graph.nodes);
    let uses = consumers.iter().map(Vec::len).collect();
    let mut forms = Forms { graph, nodes: &nodes, producers, uses };
    for node in &nodes {
        let before = forms.graph.nodes.len();
        let replaced = forms.found(node).is_some_and(|found| forms.replace(node, found).is_ok());
        if !replaced {
            forms.graph.nodes.truncate(before);
            forms.graph.nodes.push(node.clone());
        }
    }
    graph.remove_dead();
}

/// The graph under construction, to which the nodes are added one by one.
struct Forms<'a> {
    graph: &'a mut Graph,
    nodes: &'a [Node],
    producers: Vec<Option<NodeId>>,
    uses: Vec<usize>,
}

/// Parts of a quantized operator that ends in a QuantizeLinear or Cast.
struct IntegerForm<'a> {
    /// The float operator.
    node: &'a Node,
    operands: Vec<Operand<'a>>,
    bias: Option<Operand<'a>>,
    /// Data movements of the result, the last one first.
    moves: Vec<&'a Node>,
}

/// Integers that a float operand is dequantized from.
struct Operand<'a> {
    integers: ValueId,
    scale: Vec<f32>,
    zero: Option<ValueId>,
    /// Axis of the integers along which scales differ.
    axis: usize,
    /// Data movements of the floats, the last one first.
    moves: Vec<&'a Node>,
}

/// Quantization of floats to bytes.
struct Rounding {
    scale: f32,
    zero: f64,
    range: [f64; 2],
}

impl Rounding {
    /// Whether floats below `min` quantize to the smallest byte and floats above `max` to the
    /// largest. Then clipping has no effect.
    fn saturates(&self, min: f32, max: f32) -> bool {
        let byte = |real: f32| f64::from((real / self.scale).round_ties_even()) + self.zero;
        byte(min) <= self.range[0] && byte(max) >= self.range[1]
    }
}

/// Returns the only zero point or scale, if there is just one.
fn single(tensor: &Tensor) -> Option<f64> {
    (tensor.data().len() == 1).then(|| tensor.reals().first().copied()).flatten()
}

/// Whether an operator only permutes the elements of its operand.
fn moves(op: &Op) -> bool {
    matches!(op, Op::Transpose(_) | Op::Reshape(_))
}

impl<'a> Forms<'a> {
    fn producer(&self, id: ValueId) -> Option<&'a Node> {
        self.producers[id.0 as usize].map(|NodeId(node)| &self.nodes[node as usize])
    }

    /// Whether a single node uses the value, and it is not an output.
    fn is_passed_on(&self, id: ValueId) -> bool {
        self.uses[id.0 as usize] == 1 && !self.graph.is_output(id)
    }

    /// Matches the quantized operator that ends in `node`, the node that rounds its result.
    fn found(&self, node: &'a Node) -> Option<IntegerForm<'a>> {
        let rounding = match &node.op {
            Op::QuantizeLinear(quantize) => Some(self.rounding(node, quantize)?),
            Op::Cast(cast) if cast.to == ElementType::I32 => None,
            _ => return None,
        };
        let saturates =
            |min: f32, max: f32| rounding.as_ref().is_some_and(|rounding| rounding.saturates(min, max));
        let (mut id, mut moved) = (*node.inputs.first()?, Vec::new());
        let inner = loop {
            let inner = self.producer(id).filter(|_| self.is_passed_on(id))?;
            let superfluous = match &inner.op {
                Op::Relu(_) => saturates(0.0, f32::INFINITY),
                Op::Clip(clip) => saturates(clip.min, clip.max),
                op if moves(op) => {
                    moved.push(inner);
                    true
                }
                _ => break inner,
            };
            id = *inner.inputs.first().filter(|_| superfluous)?;
        };
        let scaled = QLinear::scaled_operands(&inner.op)?;
        let operands: Vec<_> = inner.inputs.iter().map(|&id| self.operand(id)).collect::<Option<_>>()?;
        let mut found = IntegerForm { node: inner, operands, bias: None, moves: moved };
        found.bias = (found.operands.len() > scaled).then(|| found.operands.pop()).flatten();
        self.fits(&found, matches!(node.op, Op::Cast(_))).then_some(found)
    }

    /// Returns the quantization to bytes that a QuantizeLinear applies.
    fn rounding(&self, node: &Node, quantize: &QuantizeLinear) -> Option<Rounding> {
        let is_byte = matches!(quantize.to, ElementType::I8 | ElementType::U8);
        let scale = single(self.graph.constant(*node.inputs.get(1)?)?)? as f32;
        let zero = match node.inputs.get(2) {
            Some(&id) => single(self.graph.constant(id)?)?,
            None => 0.0,
        };
        let (least, largest) = quantize.to.integer_range()?;
        let range = [least as f64, largest as f64];
        let is_plain = is_byte && quantize.block == 0 && quantize.precision == ElementType::F32;
        (is_plain && scale > 0.0).then_some(Rounding { scale, zero, range })
    }

    /// Returns the integers that the floats `id` are dequantized from.
    fn operand(&self, mut id: ValueId) -> Option<Operand<'a>> {
        let mut moved = Vec::new();
        loop {
            let node = self.producer(id)?;
            match &node.op {
                Op::DequantizeLinear(DequantizeLinear { to: ElementType::F32, axis, block: 0 }) => {
                    let zero = node.inputs.get(2).copied();
                    zero.iter().all(|&id| self.graph.constant(id).is_some()).then_some(())?;
                    let scale = self.graph.constant(*node.inputs.get(1)?)?.as_f32()?.to_vec();
                    return Some(Operand {
                        integers: node.inputs[0],
                        scale,
                        zero,
                        axis: *axis,
                        moves: moved,
                    });
                }
                op if moves(op) => moved.push(node),
                _ => return None,
            }
            id = *node.inputs.first()?;
        }
    }

    fn fits(&self, found: &IntegerForm<'_>, is_sum: bool) -> bool {
        let element = |operand: &Operand<'_>| self.graph.value(operand.integers).info.element;
        let bytes = found.operands.iter().all(|x| matches!(element(x), ElementType::I8 | ElementType::U8));
        let one =
            |operand: &Operand<'_>| operand.scale.len() == 1 && self.zeros(operand).is_some_and(|n| n <= 1);
        let [x, rest @ ..] = &found.operands[..] else { return false };
        let by_column = !matches!(found.node.op, Op::Binary(_));
        let columns = rest.iter().all(|x| one(x) || by_column && self.is_by_column(found.node, x));
        let biased = found.bias.as_ref().is_none_or(|bias| {
            let products = |i: usize| x.scale[0] * rest.first().map_or(1.0, |w| w.scale[i % w.scale.len()]);
            let is_like = |(i, &scale): (usize, &f32)| {
                (scale / (products(i) * factor(&found.node.op)) - 1.0).abs() < 1e-6
            };
            element(bias) == ElementType::I32
                && self.is_zero(bias)
                && bias.scale.iter().enumerate().all(is_like)
                && rest
                    .iter()
                    .all(|w| bias.scale.len() == 1 || bias.scale.len() == w.scale.len() || w.scale.len() == 1)
        });
        let units =
            [Some(x), rest.first()].into_iter().flatten().all(|x| x.scale.iter().all(|&scale| scale == 1.0));
        let sum = units && matches!(found.node.op, Op::Conv(_) | Op::MatMul(_)) && found.bias.is_none();
        bytes && one(x) && columns && biased && (!is_sum || sum)
    }

    /// Returns the number of zero points, 0 if omitted; `None` if they are not constant.
    fn zeros(&self, operand: &Operand<'_>) -> Option<usize> {
        // Default: omitted zero points are all 0 and not stored.
        operand.zero.map_or(Some(0), |id| self.graph.constant(id).map(|zero| zero.data().len()))
    }

    fn is_zero(&self, operand: &Operand<'_>) -> bool {
        let zero = operand.zero.and_then(|id| self.graph.constant(id));
        operand.zero.is_none() || zero.is_some_and(|zero| zero.reals().iter().all(|&zero| zero == 0.0))
    }

    /// Whether scales differ along the last axis, as the operator needs for weights.
    fn is_by_column(&self, node: &Node, operand: &Operand<'_>) -> bool {
        let mut axis = operand.axis;
        for moved in operand.moves.iter().rev() {
            let before = self.graph.shape(moved.inputs[0]);
            match &moved.op {
                Op::Transpose(Transpose { perm }) => {
                    axis = perm.iter().position(|&from| from == axis).unwrap_or(usize::MAX);
                }
                Op::Reshape(reshape) if axis + 1 == before.len() && reshape.shape.last() == before.last() => {
                    axis = reshape.shape.len() - 1;
                }
                _ => return false,
            }
        }
        let last = |id: &ValueId| self.graph.shape(*id).len().wrapping_sub(1);
        let rank_last = node.inputs.get(1).map(last);
        let transposed = matches!(&node.op, Op::Gemm(gemm) if gemm.trans_b);
        if transposed { axis == 0 } else { rank_last == Some(axis) && axis > 0 }
    }

    /// Replaces `node` by the integer operator.
    fn replace(&mut self, node: &Node, found: IntegerForm<'a>) -> Result<(), OpError> {
        let mut op = found.node.op.clone();
        let mut inputs = Vec::new();
        for (i, operand) in found.operands.iter().enumerate() {
            let mut integers = self.moved(operand.integers, operand.moves.iter().rev())?;
            if let (1, Op::Gemm(gemm)) = (i, &mut op)
                && std::mem::take(&mut gemm.trans_b)
            {
                integers = self.add(&node.name, Transpose { perm: vec![1, 0] }.into(), vec![integers])?;
            }
            let scale = Tensor::from_f32(vec![operand.scale.len()], operand.scale.clone());
            let scale = self.constant(&node.name, scale)?;
            let zero =
                self.zero_point(&node.name, operand.zero, self.graph.value(operand.integers).info.element)?;
            inputs.extend([integers, scale, zero]);
        }
        if let Some(bias) = &found.bias {
            inputs.push(self.moved(bias.integers, bias.moves.iter().rev())?);
        }
        let to = self.graph.value(node.outputs[0]).info.element;
        let is_mean = matches!(op, Op::AveragePool(_));
        let away = is_mean && matches!(&node.op, Op::QuantizeLinear(quantize) if quantize.away);
        if let Op::QuantizeLinear(_) = node.op {
            inputs.extend([node.inputs[1], self.zero_point(&node.name, node.inputs.get(2).copied(), to)?]);
        }
        let mut last = Node {
            name: found.node.name.clone(),
            op: QLinear { op: Box::new(op), to, away }.into(),
            inputs,
            outputs: node.outputs.clone(),
        };
        for moved in found.moves.iter().rev() {
            let Node { name, op, inputs, .. } = last;
            let integers = self.add(&name, op, inputs)?;
            last = Node {
                name: moved.name.clone(),
                op: moved.op.clone(),
                inputs: vec![integers],
                outputs: node.outputs.clone(),
            };
        }
        self.check_shape(&last)?;
        self.graph.nodes.push(last);
        Ok(())
    }

    /// Refuses a node whose result is not as recorded.
    fn check_shape(&self, node: &Node) -> Result<(), OpError> {
        let values: Vec<&Value> = node.inputs.iter().map(|&id| self.graph.value(id)).collect();
        let inferred = node.op.infer(&values)?;
        let recorded = &self.graph.value(node.outputs[0]).info;
        if inferred.first() == Some(recorded) {
            return Ok(());
        }
        let [left, right] = [inferred.first(), Some(recorded)]
            .map(|info| info.map_or_else(Vec::new, |info| info.shape.clone()));
        Err(OpError::Shapes { op: node.op.name(), left, right })
    }

    /// Applies the movements of the floats to the integers.
    fn moved<'b>(
        &mut self,
        mut integers: ValueId,
        moves: impl Iterator<Item = &'b &'a Node>,
    ) -> Result<ValueId, OpError>
    where
        'a: 'b,
    {
        for node in moves {
            integers = self.add(&node.name, node.op.clone(), vec![integers])?;
        }
        Ok(integers)
    }

    /// Adds an operator and returns its result; constant operands are folded.
    fn add(&mut self, name: &str, op: Op, inputs: Vec<ValueId>) -> Result<ValueId, OpError> {
        let fresh = self.graph.fresh_name(name);
        let constants = inputs.iter().map(|&id| self.graph.constant(id).cloned()).collect::<Option<Vec<_>>>();
        let results = match constants.filter(|_| moves(&op)) {
            Some(constants) => {
                let operands: Vec<&Tensor> = constants.iter().map(AsRef::as_ref).collect();
                let tensors = op.eval(&operands)?.into_iter();
                tensors.map(|tensor| self.graph.add_constant(fresh.clone(), tensor)).collect()
            }
            None => self.graph.add_node(name, op.clone(), inputs, &[&fresh])?,
        };
        let count = OpError::ResultCount { op: op.name(), expected: 1, found: results.len() };
        results.first().copied().ok_or(count)
    }

    /// Returns the zero point, or 0 of the given type if it is omitted.
    fn zero_point(
        &mut self,
        name: &str,
        zero: Option<ValueId>,
        element: ElementType,
    ) -> Result<ValueId, OpError> {
        if let Some(zero) = zero {
            return Ok(zero);
        }
        let zero = Tensor::new(Vec::new(), npukit_numeric::TensorData::I32(vec![0]));
        let id = self.constant(name, zero.map_err(drop))?;
        let typed = self.graph.constant(id).map(|zero| Tensor::clone(zero).with_element(element));
        if let Some(Ok(typed)) = typed {
            self.graph.values[id.0 as usize].info.element = element;
            self.graph.values[id.0 as usize].constant = Some(typed.into());
        }
        Ok(id)
    }

    fn constant<E>(&mut self, name: &str, tensor: Result<Tensor, E>) -> Result<ValueId, OpError> {
        let size = OpError::Size { op: "QLinear", what: "number of scales", expected: 1, found: 0 };
        let tensor = tensor.map_err(|_| size)?;
        let name = self.graph.fresh_name(name);
        Ok(self.graph.add_constant(name, tensor))
    }
}

/// Returns the factor that the operator applies to its sum of products.
fn factor(op: &Op) -> f32 {
    match op {
        Op::Gemm(gemm) => gemm.alpha,
        _ => 1.0,
    }
}
