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
    /// The model's name for it, or one made from its first output.
    pub name: String,
    /// The operator, with its attributes.
    pub op: Op,
    /// Its operands; optional operands that are absent are not listed (they come last).
    pub inputs: Vec<ValueId>,
    /// Its results, in the operator's order.
    pub outputs: Vec<ValueId>,
}

/// A model: nodes in an order in which each follows its producers.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Name of the model.
    pub name: String,
    /// All values, by [`ValueId`].
    pub values: Vec<Value>,
    /// All nodes, producers first.
    pub nodes: Vec<Node>,
    /// Values that the caller provides, in the model's order.
    pub inputs: Vec<ValueId>,
    /// Values that the caller wants, in the model's order.
    pub outputs: Vec<ValueId>,
    /// How the model itself holds values as integers, where it says so.
    pub scales: BTreeMap<ValueId, QdqScales>,
    /// Names that values have, for [`Graph::fresh_name`].
    pub names: Names,
}

impl Graph {
    /// The value with the number `id`.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0 as usize]
    }

    /// The shape of the value `id`, outermost axis first.
    pub fn shape(&self, id: ValueId) -> &[usize] {
        &self.value(id).info.shape
    }

    /// The constant with the number `id`, when it is one.
    pub fn constant(&self, id: ValueId) -> Option<&Arc<Tensor>> {
        self.value(id).constant.as_ref()
    }

    /// Adds a value, which no node computes yet; gives its id.
    pub fn add_value(&mut self, value: Value) -> ValueId {
        let id = ValueId(self.values.len() as u32);
        self.values.push(value);
        id
    }

    /// Adds a constant; given in an [`Arc`], its elements are shared.
    pub fn add_constant(&mut self, name: impl Into<String>, tensor: impl Into<Arc<Tensor>>) -> ValueId {
        let tensor = tensor.into();
        let info = ValueInfo { shape: tensor.shape().to_vec(), element: tensor.element() };
        self.add_value(Value { name: name.into(), info, constant: Some(tensor) })
    }

    /// Adds an input of the graph.
    pub fn add_input(&mut self, name: impl Into<String>, info: ValueInfo) -> ValueId {
        let id = self.add_value(Value { name: name.into(), info, constant: None });
        self.inputs.push(id);
        id
    }

    /// Adds a node whose outputs get the given names; their shapes are inferred.
    ///
    /// # Errors
    ///
    /// What [`Operator::infer`] says of the operands; [`OpError::ResultCount`] when there are not as many
    /// names as results. The graph is unchanged then.
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

    /// A name for a value that no value has yet: `base`, or `base` with a number. It is given once.
    ///
    /// Takes time in proportion to the values added since the last one. Names that are given to values in other
    /// ways than by adding them are for the caller to keep apart.
    pub fn fresh_name(&mut self, base: &str) -> String {
        self.names.see(&self.values);
        self.names.fresh(base)
    }

    /// Forgets all names, when values were taken out.
    pub(crate) fn forget_names(&mut self) {
        self.names = Names::default();
    }
}
