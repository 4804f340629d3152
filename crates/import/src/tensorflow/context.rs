//! [`Context`]: the view of a node that its handler gets, and functions that add to the graph.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use npukit_graph::op::{Binary, BinaryKind, Unary, UnaryKind};
use npukit_graph::{ValueId, ValueInfo};
use npukit_numeric::{Tensor, TensorData};

use super::attributes::Attributes;
use super::blocks::Blocks;
use super::error::Reason;
use super::proto::NodeDef;
use crate::builder::{Builder, first};
use crate::node::NodeBuilder;
pub(super) use crate::node::described;
use crate::onnx::{self, Given};
use crate::shape::{MAX_ELEMENTS, MAX_RANK, tensor};

/// A node during its translation: a [`NodeBuilder`] with TensorFlow attributes.
pub(super) struct Context<'a> {
    /// Attributes of the node.
    pub(super) attributes: Attributes<'a>,
    /// Values split into blocks, for dilated convolutions.
    pub(super) blocks: &'a mut Blocks,
    /// Shape of the input, if the node is one.
    pub(super) shape: Option<&'a [usize]>,
    /// Number to which the caller fixes the input, as text.
    pub(super) value: Option<&'a str>,
    node: &'a NodeDef,
    builder: NodeBuilder<'a>,
}

impl<'a> Deref for Context<'a> {
    type Target = NodeBuilder<'a>;

    fn deref(&self) -> &Self::Target {
        &self.builder
    }
}

impl DerefMut for Context<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.builder
    }
}

impl<'a> Context<'a> {
    /// Creates the context of `node`. Its operands are already values.
    pub(super) fn new(
        builder: &'a mut Builder,
        node: &'a NodeDef,
        operands: Vec<Option<ValueId>>,
        shape: Option<&'a [usize]>,
        value: Option<&'a str>,
        blocks: &'a mut Blocks,
    ) -> Self {
        let builder = NodeBuilder::new(builder, node.name.clone(), operands);
        Self { attributes: Attributes::new(node), blocks, shape, value, node, builder }
    }

    /// Name of the operator.
    pub(super) fn op(&self) -> &'a str {
        &self.node.op
    }

    /// Returns all operands. The node must have at least one.
    pub(super) fn inputs(&mut self, operand: &'static str) -> Result<Vec<ValueId>, Reason> {
        (0..self.operands().max(1)).map(|index| self.input(index, operand)).collect()
    }

    /// Returns a constant operand of few integers, which must be present.
    pub(super) fn required_integers(
        &mut self,
        index: usize,
        operand: &'static str,
    ) -> Result<Vec<i64>, Reason> {
        self.integers(index, operand)?.ok_or(Reason::OperandMissing { operand })
    }

    /// Returns a constant operand of one integer, which must be present.
    pub(super) fn integer(&mut self, index: usize, operand: &'static str) -> Result<i64, Reason> {
        match self.required_integers(index, operand)?[..] {
            [value] => Ok(value),
            ref values => Err(Reason::OperandValue {
                operand,
                found: format!("{} integers", values.len()),
                legal: "one integer".to_owned(),
            }),
        }
    }

    /// Returns a constant operand of a few pairs of sizes, `[n, 2]`.
    pub(super) fn pairs(&mut self, index: usize, operand: &'static str) -> Result<Vec<[usize; 2]>, Reason> {
        let id = self.input(index, operand)?;
        let tensor = self.constant(id, operand)?;
        let legal = || format!("at most {MAX_RANK} pairs of numbers from 0 to {MAX_ELEMENTS}");
        let wrong = || Reason::OperandValue { operand, found: described(&tensor), legal: legal() };
        let values: Vec<i64> = match (tensor.shape(), tensor.data()) {
            (&[pairs, 2], TensorData::I64(values)) if pairs <= MAX_RANK => values.clone(),
            (&[pairs, 2], TensorData::I32(values)) if pairs <= MAX_RANK => {
                values.iter().map(|&value| value.into()).collect()
            }
            _ => return Err(wrong()),
        };
        let size = |value: i64| usize::try_from(value).ok().filter(|&size| size <= MAX_ELEMENTS);
        let pair = |&[before, after]: &[i64; 2]| Some([size(before)?, size(after)?]);
        values.as_chunks().0.iter().map(pair).collect::<Option<_>>().ok_or_else(wrong)
    }

    /// Returns a constant operand that is an axis of a value of `rank` axes.
    pub(super) fn axis_operand(
        &mut self,
        index: usize,
        operand: &'static str,
        rank: usize,
    ) -> Result<usize, Reason> {
        let axis = self.integer(index, operand)?;
        NodeBuilder::axis(operand, axis, rank)
    }

    /// Combines two values, under a separate name.
    pub(super) fn binary(
        &mut self,
        suffix: &str,
        kind: BinaryKind,
        left: ValueId,
        right: ValueId,
    ) -> Result<ValueId, Reason> {
        self.helper(suffix, Binary { kind }, vec![left, right])
    }

    /// Applies a function to the elements of one value, under a separate name.
    pub(super) fn unary(&mut self, suffix: &str, kind: UnaryKind, x: ValueId) -> Result<ValueId, Reason> {
        self.helper(suffix, Unary { kind }, vec![x])
    }

    /// Adds ONNX's operator `op` with these attributes and operands, and returns its result.
    pub(super) fn standard(
        &mut self,
        op: &'static str,
        attributes: &[(&str, Given)],
        operands: &[ValueId],
    ) -> Result<ValueId, Reason> {
        let results = self.standards(op, 1, attributes, operands)?;
        first(&results, op)
    }

    /// Like [`Context::standard`], for several results.
    pub(super) fn standards(
        &mut self,
        op: &'static str,
        results: usize,
        attributes: &[(&str, Given)],
        operands: &[ValueId],
    ) -> Result<Vec<ValueId>, Reason> {
        let name = self.builder.name().to_owned();
        let operands = operands.iter().copied().map(Some).collect();
        onnx::translate(self.builder.builder(), op, &name, results, attributes, operands)
    }

    /// Returns a value that determines the shape of a result, and must be constant.
    pub(super) fn decides(&self, id: ValueId, operand: &'static str) -> Result<Arc<Tensor>, Reason> {
        self.constant(id, operand).map_err(|_| Reason::ShapeByValue { operand })
    }

    /// Adds a scalar constant.
    pub(super) fn scalar(&mut self, value: f32) -> Result<ValueId, Reason> {
        let tensor = tensor(Vec::new(), TensorData::F32(vec![value]))?;
        Ok(self.make_constant(tensor))
    }

    /// Adds an input of the graph with the node's name.
    pub(super) fn add_input(&mut self, info: ValueInfo) -> ValueId {
        self.builder.add_input(&self.node.name, info)
    }

    /// Returns an error if the handler left a part of the node unread, which would be ignored
    /// silently.
    pub(super) fn finish(&self) -> Result<(), Reason> {
        if let Some(name) = self.attributes.unread() {
            return Err(Reason::AttributeUnknown { name: name.to_owned(), opset: None });
        }
        match self.unread() {
            Some(index) => {
                let name = self.node.input.get(index).cloned().unwrap_or_default();
                Err(Reason::OperandUnknown { index, name, opset: None })
            }
            None => Ok(()),
        }
    }
}
