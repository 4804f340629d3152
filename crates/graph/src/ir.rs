//! The graph: values, nodes, inputs and outputs.

mod value;

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_numeric::Tensor;

use crate::names::Names;
use crate::op::{Op, OpError, Operator};
use crate::qdq_scales::QdqScales;

pub use value::{NodeId, Value, ValueId, ValueInfo};

/// One operator applied to values.
#[derive(Clone, Debug)]
pub struct Node {
    /// Name of the node in the model, or one derived from its first output.
    pub name: String,
    /// Operator with its attributes.
    pub op: Op,
    /// Operands. Absent optional operands are omitted; they come last.
    pub inputs: Vec<ValueId>,
    /// Results, in the operator's order.
    pub outputs: Vec<ValueId>,
}

/// A model: nodes in topological order, and their values.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Name of the model.
    pub name: String,
    /// All values, indexed by [`ValueId`].
    pub values: Vec<Value>,
    /// All nodes, producers first.
    pub nodes: Vec<Node>,
    /// Values that the caller provides, in the model's order.
    pub inputs: Vec<ValueId>,
    /// Values that the caller gets, in the model's order.
    pub outputs: Vec<ValueId>,
    /// Integer representation of values, as far as the model specifies it.
    pub scales: BTreeMap<ValueId, QdqScales>,
    /// Names in use, for [`Graph::fresh_name`].
    pub names: Names,
}

impl Graph {
    /// Returns the value with the number `id`.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0 as usize]
    }

    /// Returns the shape of value `id`, outermost axis first.
    pub fn shape(&self, id: ValueId) -> &[usize] {
        &self.value(id).info.shape
    }

    /// Returns the elements of value `id` if it is a constant.
    pub fn constant(&self, id: ValueId) -> Option<&Arc<Tensor>> {
        self.value(id).constant.as_ref()
    }

    /// Adds a value without a producer, and returns its id.
    pub fn add_value(&mut self, value: Value) -> ValueId {
        let id = ValueId(self.values.len() as u32);
        self.values.push(value);
        id
    }

    /// Adds a constant, and returns its id. Elements passed in an [`Arc`] are shared.
    pub fn add_constant(&mut self, name: impl Into<String>, tensor: impl Into<Arc<Tensor>>) -> ValueId {
        let tensor = tensor.into();
        let info = ValueInfo { shape: tensor.shape().to_vec(), element: tensor.element() };
        self.add_value(Value { name: name.into(), info, constant: Some(tensor) })
    }

    /// Adds an input of the graph, and returns its id.
    pub fn add_input(&mut self, name: impl Into<String>, info: ValueInfo) -> ValueId {
        let id = self.add_value(Value { name: name.into(), info, constant: None });
        self.inputs.push(id);
        id
    }

    /// Adds a node with outputs of the given names; their shapes are inferred.
    ///
    /// # Errors
    ///
    /// The error of [`Operator::infer`] for the operands; [`OpError::ResultCount`] if the number of
    /// names differs from the number of results. The graph is then unchanged.
    pub fn add_node(
        &mut self,
        name: impl Into<String>,
        op: Op,
        inputs: Vec<ValueId>,
        output_names: &[&str],
    ) -> Result<Vec<ValueId>, OpError> {
        let values: Vec<&Value> = inputs.iter().map(|&id| self.value(id)).collect();
        let infos = op.infer(&values)?;
        if infos.len() != output_names.len() {
            let (expected, found) = (infos.len(), output_names.len());
            return Err(OpError::ResultCount { op: op.name(), expected, found });
        }
        let outputs: Vec<ValueId> = infos
            .into_iter()
            .zip(output_names)
            .map(|(info, &name)| self.add_value(Value { name: name.to_owned(), info, constant: None }))
            .collect();
        self.nodes.push(Node { name: name.into(), op, inputs, outputs: outputs.clone() });
        Ok(outputs)
    }

    /// Returns an unused value name: `base`, or `base` with a number. A name is never returned
    /// twice.
    ///
    /// Takes time proportional to the number of values added since the last call. Names of values
    /// that are renamed without adding a value are not tracked.
    pub fn fresh_name(&mut self, base: &str) -> String {
        self.names.see(&self.values);
        self.names.fresh(base)
    }

    /// Forgets all names, after values were removed.
    pub(crate) fn forget_names(&mut self) {
        self.names = Names::default();
    }
}
