//! [`Context`]: the view of a node that its handler gets, and functions that add to the graph.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use npukit_graph::ValueId;
use npukit_numeric::{Tensor, TensorData};

use super::Options;
use super::attributes::Attributes;
use super::builder::Builder;
use super::error::Reason;
use super::external::External;
use super::functions::Functions;
use super::proto::{NodeProto, ValueInfoProto};
pub(super) use crate::node::described;
use crate::node::{MAX_INTEGERS, NodeBuilder};
use crate::remark::Remark;

/// State shared by all nodes of a file.
#[derive(Clone, Copy)]
pub(super) struct File<'a> {
    /// Opset of the file.
    pub(super) opset: i64,
    /// Options of the caller.
    pub(super) options: &'a Options,
    /// Files next to the model.
    pub(super) external: &'a External<'a>,
    /// Functions that nodes may call.
    pub(super) functions: &'a Functions,
    /// Inputs of the model, including those with a default.
    pub(super) inputs: &'a [ValueInfoProto],
}

/// A node during its translation: a [`NodeBuilder`] with ONNX attributes.
pub(super) struct Context<'a> {
    /// Attributes of the node.
    pub(super) attributes: Attributes<'a>,
    /// Opset of the file.
    pub(super) opset: i64,
    /// Options of the caller.
    pub(super) options: &'a Options,
    /// Files next to the model.
    pub(super) external: &'a External<'a>,
    /// Notes and warnings for the user.
    pub(super) remarks: &'a mut Vec<Remark>,
    node: &'a NodeProto,
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
    /// Creates the context of `node`, called `name` in the graph. Its operands are already values.
    pub(super) fn new(
        builder: &'a mut Builder,
        remarks: &'a mut Vec<Remark>,
        node: &'a NodeProto,
        name: String,
        operands: Vec<Option<ValueId>>,
        file: File<'a>,
    ) -> Result<Self, Reason> {
        let attributes = Attributes::new(node)?;
        Ok(Self {
            attributes,
            opset: file.opset,
            options: file.options,
            external: file.external,
            remarks,
            node,
            builder: NodeBuilder::new(builder, name, operands),
        })
    }

    /// Records that the node does not state its coordinate mode.
    pub(super) fn remark_coordinates(&mut self, op: &'static str) {
        Remark::add_coordinates(self.remarks, op, self.builder.name(), self.opset);
    }

    /// Name of the operator.
    pub(super) fn op_type(&self) -> &'a str {
        &self.node.op_type
    }

    /// Number of results that the node names.
    pub(super) fn outputs(&self) -> usize {
        self.node.output.len()
    }

    /// Whether the node names its result `index`.
    pub(super) fn is_wanted(&self, index: usize) -> bool {
        self.node.output.get(index).is_some_and(|name| !name.is_empty())
    }

    /// Returns integers that are an attribute before opset `since`, and operand `index` starting at
    /// that opset.
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

    /// Returns a value that determines the shape of a result, and must be constant.
    pub(super) fn decides(&self, id: ValueId, operand: &'static str) -> Result<Arc<Tensor>, Reason> {
        let constant = self.constant(id, operand).map_err(|_| Reason::ShapeByValue { operand })?;
        // Integers beyond 2^53 are not exact as floats.
        let exact = |values: &[i64]| values.iter().all(|value| value.unsigned_abs() <= 1 << 53);
        match constant.data() {
            TensorData::I64(values) if !exact(values) => {
                let (found, legal) = (described(&constant), "integers up to 2^53".to_owned());
                Err(Reason::OperandValue { operand, found, legal })
            }
            _ => Ok(constant),
        }
    }

    /// Converts an axis to one from 0. In the standard, negative axes count from the end of `rank`
    /// axes.
    pub(super) fn axis(name: &'static str, axis: i64, rank: usize) -> Result<usize, Reason> {
        NodeBuilder::axis(name, axis, rank)
    }

    /// Returns an error if the handler left a part of the node unread, which would be ignored
    /// silently.
    pub(super) fn finish(&self) -> Result<(), Reason> {
        if let Some(name) = self.attributes.unread() {
            return Err(Reason::AttributeUnknown { name: name.to_owned(), opset: Some(self.opset) });
        }
        match self.unread() {
            Some(index) => {
                let name = self.node.input.get(index).cloned().unwrap_or_default();
                Err(Reason::OperandUnknown { index, name, opset: Some(self.opset) })
            }
            None => Ok(()),
        }
    }
}
