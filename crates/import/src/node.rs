//! [`NodeBuilder`]: the operands of a node during its translation, and the functions that add to
//! the graph. It holds the parts that all formats share; each format adds its attributes.

use std::sync::Arc;

use npukit_graph::op::{Concat, Reshape, Split};
use npukit_graph::{Op, ValueId, ValueInfo};
use npukit_numeric::{ElementType, Tensor, TensorData};

use crate::builder::{Builder, first};
use crate::error::Reason;

/// Longest integer operand: two entries per axis of the largest rank.
pub(crate) const MAX_INTEGERS: usize = 2 * crate::shape::MAX_RANK;

/// Cost of the name and shape of a result, in elements of constants.
pub(crate) const ELEMENTS_PER_RESULT: usize = 64;

/// A node during its translation: its name in the graph and its operands, which are already values.
pub(crate) struct NodeBuilder<'a> {
    builder: &'a mut Builder,
    name: String,
    operands: Vec<Option<ValueId>>,
    read: Vec<bool>,
}

impl<'a> NodeBuilder<'a> {
    /// Creates the node called `name` with these operands. `None` is an omitted optional operand.
    pub(crate) fn new(builder: &'a mut Builder, name: String, operands: Vec<Option<ValueId>>) -> Self {
        let read = vec![false; operands.len()];
        Self { builder, name, operands, read }
    }

    /// Graph under construction, for a handler of another format.
    pub(crate) fn builder(&mut self) -> &mut Builder {
        self.builder
    }

    /// Name of the node in the graph.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Number of operands, including omitted ones.
    pub(crate) fn operands(&self) -> usize {
        self.operands.len()
    }

    /// Returns a required operand. `operand` is its name in the format, for errors.
    pub(crate) fn input(&mut self, index: usize, operand: &'static str) -> Result<ValueId, Reason> {
        self.optional(index).ok_or(Reason::OperandMissing { operand })
    }

    /// Returns an optional operand, or `None` if it is absent.
    pub(crate) fn optional(&mut self, index: usize) -> Option<ValueId> {
        if let Some(read) = self.read.get_mut(index) {
            *read = true;
        }
        self.operands.get(index).copied().flatten()
    }

    /// Position of the first operand that is present but was not read.
    pub(crate) fn unread(&self) -> Option<usize> {
        let given = self.operands.iter().zip(&self.read);
        given.enumerate().find(|(_, (operand, read))| operand.is_some() && !**read).map(|(index, _)| index)
    }

    /// Shape of a value.
    pub(crate) fn shape(&self, id: ValueId) -> &[usize] {
        self.builder.graph.shape(id)
    }

    /// Element type of a value.
    pub(crate) fn element(&self, id: ValueId) -> ElementType {
        self.builder.graph.value(id).info.element
    }

    /// Adds an input of the graph with one of the reserved names.
    pub(crate) fn add_input(&mut self, name: &str, info: ValueInfo) -> ValueId {
        self.builder.graph.add_input(name, info)
    }

    /// Whether a value is a constant.
    pub(crate) fn is_constant(&self, id: ValueId) -> bool {
        self.builder.graph.constant(id).is_some()
    }

    /// Returns the elements of a value that must be a constant.
    pub(crate) fn constant(&self, id: ValueId, operand: &'static str) -> Result<Arc<Tensor>, Reason> {
        let constant = self.builder.graph.constant(id).cloned();
        constant.ok_or(Reason::OperandNotConstant { operand })
    }

    /// Returns a constant operand of few integers (a shape, axes, pads), or `None` if it is absent.
    pub(crate) fn integers(
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

    /// Returns a constant operand of few floats, or `None` if it is absent or empty.
    pub(crate) fn floats(&mut self, index: usize, operand: &'static str) -> Result<Option<Vec<f32>>, Reason> {
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

    /// Returns a constant operand of one number, or `None` if it is absent.
    pub(crate) fn number(&mut self, index: usize, operand: &'static str) -> Result<Option<f32>, Reason> {
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

    /// Adds the operator with the node's name, which has one result.
    pub(crate) fn emit(&mut self, op: impl Into<Op>, inputs: Vec<ValueId>) -> Result<ValueId, Reason> {
        first(&self.emit_all(op, inputs)?, &self.name)
    }

    /// Adds the operator on the node's first operands, which are called `operands`, and returns its
    /// result.
    pub(crate) fn direct(
        &mut self,
        op: impl Into<Op>,
        operands: &[&'static str],
    ) -> Result<Vec<ValueId>, Reason> {
        let operands = operands.iter().enumerate().map(|(index, name)| self.input(index, name));
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        Ok(vec![self.emit(op, operands)?])
    }

    /// Adds the operator with the node's name, which has several results.
    pub(crate) fn emit_all(
        &mut self,
        op: impl Into<Op>,
        inputs: Vec<ValueId>,
    ) -> Result<Vec<ValueId>, Reason> {
        self.builder.emit(&self.name, op.into(), inputs)
    }

    /// Adds a helper before or after the node's operator. Its name is the node's name and `suffix`.
    pub(crate) fn helper(
        &mut self,
        suffix: &str,
        op: impl Into<Op>,
        inputs: Vec<ValueId>,
    ) -> Result<ValueId, Reason> {
        let name = format!("{}/{suffix}", self.name);
        first(&self.builder.emit(&name, op.into(), inputs)?, &name)
    }

    /// Like [`NodeBuilder::helper`], for several results.
    pub(crate) fn helpers(
        &mut self,
        suffix: &str,
        op: impl Into<Op>,
        inputs: Vec<ValueId>,
    ) -> Result<Vec<ValueId>, Reason> {
        let name = format!("{}/{suffix}", self.name);
        self.builder.emit(&name, op.into(), inputs)
    }

    /// Splits a value along an axis into parts of the given sizes. A single part is the value
    /// itself.
    pub(crate) fn split(
        &mut self,
        suffix: &str,
        x: ValueId,
        axis: usize,
        sizes: &[usize],
    ) -> Result<Vec<ValueId>, Reason> {
        match sizes {
            [_] => Ok(vec![x]),
            sizes => self.helpers(suffix, Split { axis, sizes: sizes.to_vec() }, vec![x]),
        }
    }

    /// Concatenates values along an axis. A single value is returned as it is.
    pub(crate) fn concat(
        &mut self,
        suffix: &str,
        parts: Vec<ValueId>,
        axis: usize,
    ) -> Result<ValueId, Reason> {
        match parts.as_slice() {
            &[part] => Ok(part),
            _ => self.helper(suffix, Concat { axis }, parts),
        }
    }

    /// Raises the folding budget: the node itself holds more numbers than its operands have
    /// elements.
    pub(crate) fn allow(&mut self, elements: usize) {
        self.builder.allow(elements);
    }

    /// Returns the value with another shape of the same number of elements, under its own name.
    pub(crate) fn reshaped(
        &mut self,
        suffix: &str,
        x: ValueId,
        shape: Vec<usize>,
    ) -> Result<ValueId, Reason> {
        if self.shape(x) == shape {
            return Ok(x);
        }
        self.helper(suffix, Reshape { shape }, vec![x])
    }

    /// Adds a constant that the node makes. Its size is deducted from the folding budget.
    pub(crate) fn make_constant(&mut self, tensor: Tensor) -> ValueId {
        self.builder.constant(&self.name, tensor)
    }

    /// Reserves budget for a constant of `shape`, before the constant is made or examined.
    pub(crate) fn reserve(&mut self, shape: &[usize]) -> Result<(), Reason> {
        self.builder.reserve(shape)
    }

    /// Reserves budget for `count` results of the node, if a number in the file determines their
    /// count.
    pub(crate) fn reserve_results(&mut self, count: usize) -> Result<(), Reason> {
        self.builder.reserve(&[count, ELEMENTS_PER_RESULT])
    }

    /// Returns the value with its axes permuted. Consumers of one value share the result.
    pub(crate) fn permute(&mut self, id: ValueId, perm: &[usize], suffix: &str) -> Result<ValueId, Reason> {
        self.builder.permute(id, perm, suffix)
    }

    /// Converts an axis to one from 0. Negative axes count from the end of `rank` axes.
    pub(crate) fn axis(name: &'static str, axis: i64, rank: usize) -> Result<usize, Reason> {
        let count = rank as i64;
        if (-count..count).contains(&axis) {
            Ok(axis.rem_euclid(count) as usize)
        } else {
            Err(unsupported(name, axis, format!("{} to {}", -count, count - 1)))
        }
    }
}

/// Type and shape of a tensor, for messages.
pub(crate) fn described(tensor: &Tensor) -> String {
    format!("{:?} {:?}", tensor.element(), tensor.shape())
}

/// Error for an attribute value that is not accepted.
pub(crate) fn unsupported(
    name: &'static str,
    found: impl std::fmt::Debug,
    legal: impl Into<String>,
) -> Reason {
    Reason::AttributeValue { name, found: format!("{found:?}"), legal: legal.into() }
}
