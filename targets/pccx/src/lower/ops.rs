//! What nodes become, one file per family of operators: [`Layers::node`] says what a node is on the machine,
//! [`Lowering::emit`] writes its instructions. A new operator is a [`Work`] and a line in both.

mod attention;
mod elementwise;
mod movement;
mod norm;
mod product;
mod rotary;

use npukit_graph::op::{Binary, BinaryKind, ReduceKind};
use npukit_graph::{Node, Op, Operator, ValueId};
use npukit_numeric::Tensor;

pub use attention::{Attention, Context, Unfit, find};
pub use movement::MAX_PIECES;
pub use product::{LARGEST, Product, Weights};
pub use rotary::MAX_FEATURES;

use super::LowerError;
use super::emit::Lowering;
use super::layers::{Layers, Step};
use super::options::{Isa, Options};
use super::reason::HostReason;
use crate::op::CvoFunc;
use attention::number;
use movement::{Run, movement};
use norm::Norm;
use rotary::Rotary;

/// What a step computes. Operands are the step's, constants stand here.
#[derive(Clone, Debug)]
pub enum Work {
    Product(Product),
    Attention(Attention),
    Norm(Norm),
    /// The operands are what is rotated; the tables are constants of a row for each position.
    Rotary(Rotary),
    /// A function of each value.
    Function(CvoFunc),
    /// `1 / (1 + e^-x)`
    Sigmoid,
    /// `x / (1 + e^(-alpha x))`
    Swish(f32),
    /// `x * x`
    Square,
    /// `factor * x`
    Factor(f32),
    /// Of two operands of one shape.
    Binary(BinaryKind),
    /// Only moves values.
    Move(Vec<Vec<Run>>),
    /// The host's, and why.
    Host(HostReason),
}

/// Work of the machine with its operands, or why it is the host's.
type Found = Result<(Work, Vec<ValueId>), HostReason>;

impl Layers {
    /// What `node` becomes, and its operands.
    pub fn node(&mut self, node: &Node, options: &Options) -> (Work, Vec<ValueId>) {
        let floats = node.inputs.iter().chain(&node.outputs);
        let all_floats = floats.into_iter().all(|&id| self.graph.value(id).info.element.is_float());
        let moves = movement(&self.graph, node);
        let found = match moves {
            _ if self.all_constant(node) => Err(HostReason::Constant),
            _ if self.has_empty(node) => Err(HostReason::Empty),
            Some(runs) => self.moved(node, runs),
            None if !all_floats => Err(HostReason::NotFloat),
            None => self.computed(node, options),
        };
        // Operands that are constants are the host's to know, and the machine's to be sent.
        found.unwrap_or_else(|reason| (Work::Host(reason), node.inputs.clone()))
    }

    fn all_constant(&self, node: &Node) -> bool {
        node.inputs.iter().all(|&id| self.graph.constant(id).is_some())
    }

    fn has_empty(&self, node: &Node) -> bool {
        node.inputs.iter().chain(&node.outputs).any(|&id| self.size(id) == 0)
    }

    fn size(&self, id: ValueId) -> usize {
        self.graph.shape(id).iter().product()
    }

    fn computed(&mut self, node: &Node, options: &Options) -> Found {
        let ext = options.isa == Isa::Ext;
        match (&node.op, &node.inputs[..]) {
            (Op::MatMul(_), &[x, weights]) => self.product(x, weights, false, 1.0, None),
            (Op::Gemm(gemm), &[x, weights, ref bias @ ..]) if !gemm.trans_a => {
                let bias = match bias.first().filter(|_| gemm.beta != 0.0) {
                    Some(&bias) => Some(self.scaled(bias, gemm.beta)?),
                    None => None,
                };
                self.product(x, weights, gemm.trans_b, gemm.alpha, bias)
            }
            (Op::RmsNormalization(norm), &[x, gain]) => {
                self.norm(node, [x, gain], None, norm.axis, norm.epsilon, ext)
            }
            (Op::LayerNormalization(norm), &[x, gain, ref bias @ ..]) => {
                self.norm(node, [x, gain], bias.first().copied(), norm.axis, norm.epsilon, ext)
            }
            (Op::RotaryEmbedding(rotary), &[x, cosines, sines]) if ext => {
                self.rotary(rotary, x, cosines, sines)
            }
            (Op::Relu(_), &[x]) if ext => Ok((Work::Function(CvoFunc::Relu), vec![x])),
            (Op::Unary(unary), &[x]) => Ok((self.unary(unary.kind, options)?, vec![x])),
            (Op::Binary(binary), &[left, right]) => self.binary(node, binary.kind, left, right, ext),
            (Op::Pow(_), &[x, power]) if ext && number(&self.graph, power) == Some(2.0) => {
                if node.outputs.iter().any(|&id| self.graph.shape(id) != self.graph.shape(x)) {
                    return Err(HostReason::OperandRepeated);
                }
                Ok((Work::Square, vec![x]))
            }
            (Op::Reduce(reduce), _) if matches!(reduce.kind, ReduceKind::Mean | ReduceKind::Sum) => {
                Err(HostReason::RowSums)
            }
            (Op::RotaryEmbedding(_) | Op::Pow(_) | Op::Relu(_), _) if !ext => Err(HostReason::NoMultiply),
            (Op::Softmax(_), _) => Err(HostReason::Softmax),
            _ => Err(HostReason::NoForm),
        }
    }

    /// The constant repeated to `shape`.
    fn spread(&mut self, id: ValueId, shape: &[usize]) -> Result<ValueId, HostReason> {
        if self.graph.shape(id) == shape {
            return Ok(id);
        }
        let count = shape.iter().product();
        if self.graph.constant(id).is_none() && self.size(id) == count {
            return Ok(id);
        }
        let constant = self.graph.constant(id).ok_or(HostReason::Repeated)?.clone();
        let zeros = Tensor::from_f32(shape.to_vec(), vec![0.0; count]).map_err(|_| HostReason::Unmade)?;
        let add = Binary { kind: BinaryKind::Add };
        let sum = add.eval(&[&zeros, constant.as_ref()]).map_err(|_| HostReason::Unmade)?;
        let tensor = sum.into_iter().next().filter(|sum| sum.shape() == shape);
        let name = format!("{} as {shape:?}", self.graph.value(id).name);
        Ok(self.graph.add_constant(name, tensor.ok_or(HostReason::LargerOperand)?))
    }
}

impl Lowering<'_> {
    /// Emits a step; gives the reason when the host computes it.
    ///
    /// # Errors
    ///
    /// Too little room in L2; weights that cannot be quantised.
    pub fn emit(
        &mut self,
        layers: &Layers,
        step: &Step,
        host_nodes: &mut Vec<Node>,
    ) -> Result<Option<HostReason>, LowerError> {
        let (&[first, ..], &[result, ..]) = (&step.operands[..], &step.results[..]) else {
            return self.on_host(layers, step, host_nodes, HostReason::NoOperands).map(Some);
        };
        match &step.work {
            Work::Product(product) => self.product(product, &step.operands, result)?,
            Work::Attention(attention) => self.attend(attention, layers, result)?,
            Work::Norm(norm) => self.norm(norm, first, result)?,
            Work::Rotary(rotary) => self.rotate(rotary, first, result)?,
            Work::Function(function) => self.function(*function, first, result)?,
            Work::Sigmoid => self.sigmoid(first, result)?,
            Work::Swish(alpha) => self.swish(*alpha, first, result)?,
            Work::Square => self.square(first, result)?,
            Work::Factor(factor) => self.factor(*factor, first, result)?,
            Work::Binary(kind) => {
                let Some(&second) = step.operands.get(1) else { return Err(LowerError::Fault("a sum")) };
                self.binary(&Binary { kind: *kind }, [first, second], result)?;
            }
            Work::Move(runs) if step.operands.iter().all(|&id| self.is_in_l2(id)) => {
                self.rearrange(runs, &step.operands, &step.results)?;
            }
            Work::Move(_) => {
                return self.on_host(layers, step, host_nodes, HostReason::OperandsAtHost).map(Some);
            }
            &Work::Host(reason) => return self.on_host(layers, step, host_nodes, reason).map(Some),
        }
        Ok(None)
    }

    fn on_host(
        &mut self,
        layers: &Layers,
        step: &Step,
        host_nodes: &mut Vec<Node>,
        reason: HostReason,
    ) -> Result<HostReason, LowerError> {
        let node = layers.graph.node(step.last()).clone();
        let operands: Vec<ValueId> = node.inputs.clone();
        for id in operands {
            self.bring_to_host(id);
        }
        self.code.step(crate::host::HostStep::Compute { node: host_nodes.len() as u32 });
        node.outputs.iter().for_each(|&id| self.filled(id));
        host_nodes.push(node);
        Ok(reason)
    }
}
