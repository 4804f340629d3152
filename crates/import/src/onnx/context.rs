//! [`Context`]: what a handler sees of its node, and how it adds to the graph.

use std::sync::Arc;

use npukit_graph::{Op, ValueId};
use npukit_numeric::{Tensor, TensorData};

use super::Options;
use super::attributes::Attributes;
use super::builder::{Builder, first};
use super::error::Reason;
use super::proto::NodeProto;

/// Longest integer operand read: two entries per axis of the largest rank.
const MAX_INTEGERS: usize = 2 * super::tensor::MAX_RANK;

/// A node being translated.
pub(super) struct Context<'a> {
    /// The node's attributes.
    pub(super) attributes: Attributes<'a>,
    /// Version of the file's operators.
    pub(super) opset: i64,
    /// What the caller asked for.
    pub(super) options: &'a Options,
    builder: &'a mut Builder,
    node: &'a NodeProto,
    name: String,
    operands: Vec<Option<ValueId>>,
    read: Vec<bool>,
}

impl<'a> Context<'a> {
    /// The node `node`, called `name` in the graph, whose operands are already values.
    pub(super) fn new(
        builder: &'a mut Builder,
        node: &'a NodeProto,
        name: String,
        operands: Vec<Option<ValueId>>,
        opset: i64,
        options: &'a Options,
    ) -> Result<Self, Reason> {
        let read = vec![false; operands.len()];
        let attributes = Attributes::new(node)?;
        Ok(Self { attributes, opset, options, builder, node, name, operands, read })
    }

    /// The operator's name.
    pub(super) fn op_type(&self) -> &'a str {
        &self.node.op_type
    }

    /// How many results the node names.
    pub(super) fn outputs(&self) -> usize {
        self.node.output.len()
    }

    /// How many operands the node names.
    pub(super) fn operands(&self) -> usize {
        self.operands.len()
    }

    /// A required operand. `operand` is the standard's name for it, for the error.
    pub(super) fn input(&mut self, index: usize, operand: &'static str) -> Result<ValueId, Reason> {
        self.optional(index).ok_or(Reason::OperandMissing { operand })
    }

    /// An optional operand.
    pub(super) fn optional(&mut self, index: usize) -> Option<ValueId> {
        if let Some(read) = self.read.get_mut(index) {
            *read = true;
        }
        self.operands.get(index).copied().flatten()
    }

    /// The shape of a value.
    pub(super) fn shape(&self, id: ValueId) -> &[usize] {
        self.builder.graph.shape(id)
    }

    /// Whether a value is a constant.
    pub(super) fn is_constant(&self, id: ValueId) -> bool {
        self.builder.graph.constant(id).is_some()
    }

    /// The elements of a value that must be a constant.
    pub(super) fn constant(&self, id: ValueId, operand: &'static str) -> Result<Arc<Tensor>, Reason> {
        let constant = self.builder.graph.constant(id).cloned();
        constant.ok_or(Reason::OperandNotConstant { operand })
    }

    /// A constant operand of few integers (a shape, axes, pads), when present.
    pub(super) fn integers(
        &mut self,
        index: usize,
        operand: &'static str,
    ) -> Result<Option<Vec<i64>>, Reason> {
        let Some(id) = self.optional(index) else { return Ok(None) };
        let tensor = self.constant(id, operand)?;
        let wrong = |legal: String| Reason::OperandValue { operand, found: described(&tensor), legal };
        if tensor.shape().len() > 1 || tensor.data().len() > MAX_INTEGERS {
            return Err(wrong(format!("at most {MAX_INTEGERS} integers in one axis")));
        }
        match tensor.data() {
            TensorData::I64(values) => Ok(Some(values.clone())),
            TensorData::I32(values) => Ok(Some(values.iter().map(|&value| value.into()).collect())),
            _ => Err(wrong("integers".to_owned())),
        }
    }

    /// A constant operand of few floats, when present and not empty.
    pub(super) fn floats(&mut self, index: usize, operand: &'static str) -> Result<Option<Vec<f32>>, Reason> {
        let Some(id) = self.optional(index) else { return Ok(None) };
        let tensor = self.constant(id, operand)?;
        match tensor.as_f32() {
            Some([]) => Ok(None),
            Some(values) if values.len() <= MAX_INTEGERS => Ok(Some(values.to_vec())),
            _ => Err(Reason::OperandValue {
                operand,
                found: described(&tensor),
                legal: format!("at most {MAX_INTEGERS} floats"),
            }),
        }
    }

    /// A constant operand of one number, when present.
    pub(super) fn number(&mut self, index: usize, operand: &'static str) -> Result<Option<f32>, Reason> {
        let Some(id) = self.optional(index) else { return Ok(None) };
        let tensor = self.constant(id, operand)?;
        match tensor.data() {
            TensorData::F32(values) if values.len() == 1 => Ok(values.first().copied()),
            TensorData::I64(values) if values.len() == 1 => Ok(values.first().map(|&value| value as f32)),
            TensorData::I32(values) if values.len() == 1 => Ok(values.first().map(|&value| value as f32)),
            _ => Err(Reason::OperandValue {
                operand,
                found: described(&tensor),
                legal: "one number".to_owned(),
            }),
        }
    }

    /// Integers that are an attribute before opset `since` and operand `index` from there on.
    pub(super) fn integers_since(
        &mut self,
        since: i64,
        index: usize,
        name: &'static str,
    ) -> Result<Option<Vec<i64>>, Reason> {
        if self.opset >= since {
            return self.integers(index, name);
        }
        let Some(values) = self.attributes.ints(name)? else { return Ok(None) };
        if values.len() > MAX_INTEGERS {
            let found = format!("{} integers", values.len());
            return Err(Reason::AttributeValue { name, found, legal: format!("at most {MAX_INTEGERS}") });
        }
        Ok(Some(values.to_vec()))
    }

    /// Adds the operator of one result that bears the node's name.
    pub(super) fn emit(&mut self, op: impl Into<Op>, inputs: Vec<ValueId>) -> Result<ValueId, Reason> {
        first(&self.emit_all(op, inputs)?, &self.name)
    }

    /// Adds the operator of several results that bears the node's name.
    pub(super) fn emit_all(
        &mut self,
        op: impl Into<Op>,
        inputs: Vec<ValueId>,
    ) -> Result<Vec<ValueId>, Reason> {
        self.builder.emit(&self.name, op.into(), inputs)
    }

    /// Adds a helper before or after the node's operator, called after the node and `suffix`.
    pub(super) fn helper(
        &mut self,
        suffix: &str,
        op: impl Into<Op>,
        inputs: Vec<ValueId>,
    ) -> Result<ValueId, Reason> {
        let name = format!("{}/{suffix}", self.name);
        first(&self.builder.emit(&name, op.into(), inputs)?, &name)
    }

    /// Adds a constant that the node makes; its size counts against what folding may make.
    pub(super) fn make_constant(&mut self, tensor: Tensor) -> ValueId {
        self.builder.constant(&self.name, tensor)
    }

    /// Asks for room for a constant of `shape`, before it is made or looked through.
    pub(super) fn reserve(&mut self, shape: &[usize]) -> Result<(), Reason> {
        self.builder.reserve(shape)
    }

    /// The value with its axes permuted; consumers of one value share the result.
    pub(super) fn permute(&mut self, id: ValueId, perm: &[usize], suffix: &str) -> Result<ValueId, Reason> {
        self.builder.permute(id, perm, suffix)
    }

    /// An axis from 0, where the standard counts negative ones from the end of `rank` axes.
    pub(super) fn axis(name: &'static str, axis: i64, rank: usize) -> Result<usize, Reason> {
        let count = rank as i64;
        if (-count..count).contains(&axis) {
            Ok(axis.rem_euclid(count) as usize)
        } else {
            Err(super::attributes::unsupported(name, axis, format!("{} to {}", -count, count - 1)))
        }
    }

    /// What the handler left unread: a part of the node that would be ignored silently.
    pub(super) fn finish(&self) -> Result<(), Reason> {
        if let Some(name) = self.attributes.unread() {
            return Err(Reason::AttributeUnknown { name: name.to_owned(), opset: self.opset });
        }
        let given = self.operands.iter().zip(&self.read);
        match given.enumerate().find(|(_, (operand, read))| operand.is_some() && !**read) {
            Some((index, _)) => {
                let name = self.node.input.get(index).cloned().unwrap_or_default();
                Err(Reason::OperandUnknown { index, name, opset: self.opset })
            }
            None => Ok(()),
        }
    }
}

/// Type and shape of a tensor, for messages.
pub(super) fn described(tensor: &Tensor) -> String {
    format!("{:?} {:?}", tensor.element(), tensor.shape())
}
