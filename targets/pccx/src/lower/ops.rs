//! Lowering of nodes, one file per family of operators. [`Layers::node`] decides how a node runs,
//! and [`Lowering::emit`] writes its instructions. A new operator needs a [`Work`] and a line in
//! both.

mod attention;
mod conv;
mod elementwise;
mod live;
mod movement;
mod norm;
mod product;
mod rotary;

use std::collections::BTreeSet;

use npukit_graph::op::{Binary, BinaryKind, ReduceKind};
use npukit_graph::{Node, NodeId, Op, Operator, ValueId};
use npukit_numeric::Tensor;

pub use attention::{Context, Unfit, find, number};
pub use product::{Weights, dequantized_with, nearest, rows_of, value_of};

use super::LowerError;
use super::emit::Lowering;
use super::options::{Isa, Norms, Options, Rotations};
use super::reason::HostReason;
use crate::config::WORD_LANES;
use crate::isa::op::CvoFunc;
use crate::lower::steps::{Layers, Step};
use crate::lower::work::Work;
use movement::movement;

/// Work of the machine with its operands, or the reason why the host computes it.
type NodeWork = Result<(Work, Vec<ValueId>), HostReason>;

impl Layers {
    /// Returns the work of `node`, and its operands.
    pub fn node(&mut self, id: NodeId, node: &Node, options: &Options) -> (Work, Vec<ValueId>) {
        let floats = node.inputs.iter().chain(&node.outputs);
        let all_floats = floats.into_iter().all(|&id| self.graph.value(id).info.element.is_float());
        let moves = movement(&self.graph, node);
        let found: NodeWork = match moves {
            _ if self.all_constant(node) => Err(HostReason::Constant),
            _ if self.has_empty(node) => Err(HostReason::Empty),
            Some(runs) => self.moved(node, runs),
            None if !all_floats => Err(HostReason::NotFloat),
            None => self.computed(id, node, options),
        };
        let found = found.and_then(|(work, operands)| match self.fits(&work, &operands, node) {
            true => Ok((work, operands)),
            false => Err(HostReason::TooLarge),
        });
        // The host knows constant operands; for the machine they are sent.
        found.unwrap_or_else(|reason| (Work::Host(reason), node.inputs.clone()))
    }

    /// Whether L2 can hold all data that a step needs at once. Products can be split into tiles of
    /// rows.
    fn fits(&self, work: &Work, operands: &[ValueId], node: &Node) -> bool {
        let (results, operands): (&[ValueId], BTreeSet<ValueId>) = match work {
            Work::Product(_) | Work::Convolution(_) | Work::Live(_) => return true,
            Work::Move(_) | Work::Swish(_) => (&node.outputs, operands.iter().copied().collect()),
            _ => (&[], operands.iter().copied().collect()),
        };
        let words = |&id: &ValueId| self.size(id).div_ceil(WORD_LANES) + 1;
        operands.iter().map(words).chain(results.iter().map(words)).sum::<usize>() <= self.l2_words
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

    fn computed(&mut self, id: NodeId, node: &Node, options: &Options) -> NodeWork {
        let ext = options.isa == Isa::Ext;
        match (&node.op, &node.inputs[..]) {
            (Op::MatMul(_), &[x, weights]) => self.product(id, [x, weights], false, 1.0, None),
            (Op::Gemm(gemm), &[x, weights, ref bias @ ..]) if !gemm.trans_a => {
                let bias = match bias.first().filter(|_| gemm.beta != 0.0) {
                    Some(&bias) => Some(self.scaled(bias, gemm.beta)?),
                    None => None,
                };
                self.product(id, [x, weights], gemm.trans_b, gemm.alpha, bias)
            }
            (Op::Conv(conv), &[x, weights, ref bias @ ..]) => {
                self.convolution(id, conv, [x, weights], bias.first().copied())
            }
            (Op::RmsNormalization(_) | Op::LayerNormalization(_), _) if options.norms == Norms::Host => {
                Err(HostReason::NormsAtHost)
            }
            (Op::RmsNormalization(norm), &[x, gain]) => {
                self.norm(id, [x, gain], None, norm.axis, norm.epsilon, ext)
            }
            (Op::LayerNormalization(norm), &[x, gain, ref bias @ ..]) => {
                self.norm(id, [x, gain], bias.first().copied(), norm.axis, norm.epsilon, ext)
            }
            (Op::RotaryEmbedding(rotary), &[x, cosines, sines]) if options.rotations != Rotations::Host => {
                self.rotary(rotary, x, [cosines, sines], options)
            }
            (Op::RotaryEmbedding(_), _) if ext => Err(HostReason::RotationsAtHost),
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

    /// Broadcasts a constant to `shape`.
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
    /// Emits a step; returns a reason if the host computes it.
    ///
    /// # Errors
    /// Too little room in L2; weights that cannot be quantized.
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
            Work::Convolution(convolution) => self.convolve(convolution, first, result)?,
            Work::Attention(attention) => self.attend(attention, layers, result)?,
            Work::Live(live) => {
                let Some(&second) = step.operands.get(1) else { return Err(LowerError::Fault("a product")) };
                self.live_products(live, [first, second], result)?;
            }
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
        self.code.step(crate::program::host::HostStep::Compute { node: host_nodes.len() as u32 });
        node.outputs.iter().for_each(|&id| self.filled(id));
        host_nodes.push(node);
        Ok(reason)
    }
}
