//! The reference evaluator: computes a graph node by node in `f32`.
//!
//! [`evaluate`] returns the outputs, [`evaluate_with`] also reports each node's results as they are
//! computed, and [`evaluate_all`] keeps them. Tensors are dropped after their last use.

use std::sync::Arc;

use npukit_numeric::Tensor;

use crate::ir::{Graph, Node, ValueId};
use crate::op::{EvalError, Operator};

/// Returns the outputs of `graph`, in their order, for `inputs` in the order of its inputs.
///
/// # Errors
///
/// - [`EvalError::InputCount`], [`EvalError::InputShape`] or [`EvalError::InputElement`] if
///   `inputs` do not fit the graph.
/// - [`EvalError::Node`] if an operator rejects its operands.
/// - [`EvalError::Missing`] if an invalid graph uses a value that no node computes.
pub fn evaluate(graph: &Graph, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    evaluate_with(graph, inputs, |_, _| {})
}

/// Like [`evaluate`], but calls `observe` with every node and its results as soon as they are
/// computed.
///
/// # Errors
///
/// See [`evaluate`].
pub fn evaluate_with(
    graph: &Graph,
    inputs: &[Tensor],
    mut observe: impl FnMut(&Node, &[Arc<Tensor>]),
) -> Result<Vec<Tensor>, EvalError> {
    evaluate_changing(graph, inputs, |node, results| observe(node, results))
}

/// Like [`evaluate_with`], but `change` may replace results by other tensors of the same shapes and
/// types.
///
/// # Errors
///
/// See [`evaluate`].
pub(crate) fn evaluate_changing(
    graph: &Graph,
    inputs: &[Tensor],
    mut change: impl FnMut(&Node, &mut [Arc<Tensor>]),
) -> Result<Vec<Tensor>, EvalError> {
    check_inputs(graph, inputs)?;
    let mut tensors = Tensors::new(graph);
    for (&id, tensor) in graph.inputs.iter().zip(inputs) {
        tensors.set(id, Arc::new(tensor.clone()));
    }
    let last_use = last_uses(graph);
    for (index, node) in graph.nodes.iter().enumerate() {
        let mut results = run_node(&tensors, node)?;
        change(node, &mut results);
        for (&id, result) in node.outputs.iter().zip(results) {
            tensors.set(id, result);
        }
        // Unused results have no last use; they are dropped at once.
        for &id in node.inputs.iter().chain(&node.outputs) {
            if last_use.get(id.0 as usize).is_some_and(|last| last.is_none_or(|last| last <= index)) {
                tensors.drop(id);
            }
        }
    }
    let output = |&id: &ValueId| tensors.get(id, "outputs").map(|tensor| Tensor::clone(&tensor));
    graph.outputs.iter().map(output).collect()
}

/// Like [`evaluate`], but returns all values by [`ValueId`]: inputs, constants and every node's
/// results.
///
/// Any other value is `None`.
///
/// # Errors
///
/// See [`evaluate`].
pub fn evaluate_all(graph: &Graph, inputs: &[Tensor]) -> Result<Vec<Option<Arc<Tensor>>>, EvalError> {
    let mut all: Vec<_> = graph.values.iter().map(|value| value.constant.clone()).collect();
    evaluate_with(graph, inputs, |node, results| {
        for (id, result) in node.outputs.iter().zip(results) {
            if let Some(slot) = all.get_mut(id.0 as usize) {
                *slot = Some(Arc::clone(result));
            }
        }
    })?;
    for (id, tensor) in graph.inputs.iter().zip(inputs) {
        if let Some(slot) = all.get_mut(id.0 as usize) {
            *slot = Some(Arc::new(tensor.clone()));
        }
    }
    Ok(all)
}

/// Checks that `inputs`, in the order of the graph's inputs, have the right shapes and types.
///
/// # Errors
///
/// [`EvalError::InputCount`] for a wrong number of tensors; [`EvalError::InputShape`] or
/// [`EvalError::InputElement`] for the first tensor with a wrong shape or type.
pub fn check_inputs(graph: &Graph, inputs: &[Tensor]) -> Result<(), EvalError> {
    let values: Vec<_> = graph.inputs.iter().filter_map(|id| graph.values.get(id.0 as usize)).collect();
    if values.len() != inputs.len() {
        let names: Vec<_> = values.iter().map(|value| format!("`{}`", value.name)).collect();
        let (expected, found) = (values.len(), inputs.len());
        return Err(EvalError::InputCount { expected, found, names: names.join(", ") });
    }
    for (value, tensor) in values.iter().zip(inputs) {
        let (name, info) = (value.name.clone(), &value.info);
        if tensor.shape() != info.shape {
            let (expected, found) = (info.shape.clone(), tensor.shape().to_vec());
            return Err(EvalError::InputShape { name, expected, found });
        }
        if tensor.element() != info.element {
            let (expected, found) = (info.element, tensor.element());
            return Err(EvalError::InputElement { name, expected, found });
        }
    }
    Ok(())
}

fn run_node(tensors: &Tensors<'_>, node: &Node) -> Result<Vec<Arc<Tensor>>, EvalError> {
    let get = |&id: &ValueId| tensors.get(id, &node.name);
    let operands: Vec<Arc<Tensor>> = node.inputs.iter().map(get).collect::<Result<_, _>>()?;
    let operands: Vec<&Tensor> = operands.iter().map(Arc::as_ref).collect();
    let failed = |error| EvalError::Node { node: node.name.clone(), op: node.op.name(), error };
    Ok(node.op.eval(&operands).map_err(failed)?.into_iter().map(Arc::new).collect())
}

/// Returns, for each value, the index of the last node that uses it. The index is the number of
/// nodes for outputs of the graph, and `None` if the value is unused.
pub(crate) fn last_uses(graph: &Graph) -> Vec<Option<usize>> {
    let mut last = vec![None; graph.values.len()];
    let mut note = |id: &ValueId, index| {
        if let Some(slot) = last.get_mut(id.0 as usize) {
            *slot = Some(index);
        }
    };
    for (index, node) in graph.nodes.iter().enumerate() {
        node.inputs.iter().for_each(|id| note(id, index));
    }
    graph.outputs.iter().for_each(|id| note(id, graph.nodes.len()));
    last
}

/// The tensors that are alive at one moment.
struct Tensors<'a> {
    graph: &'a Graph,
    computed: Vec<Option<Arc<Tensor>>>,
}

impl<'a> Tensors<'a> {
    fn new(graph: &'a Graph) -> Self {
        Self { graph, computed: vec![None; graph.values.len()] }
    }

    fn get(&self, id: ValueId, user: &str) -> Result<Arc<Tensor>, EvalError> {
        let index = id.0 as usize;
        let value = self.graph.values.get(index);
        let computed = self.computed.get(index).and_then(Option::as_ref);
        computed.or(value.and_then(|value| value.constant.as_ref())).cloned().ok_or_else(|| {
            let value = value.map_or_else(|| id.0.to_string(), |value| format!("`{}`", value.name));
            EvalError::Missing { user: user.to_owned(), value }
        })
    }

    fn set(&mut self, id: ValueId, tensor: Arc<Tensor>) {
        if let Some(slot) = self.computed.get_mut(id.0 as usize) {
            *slot = Some(tensor);
        }
    }

    fn drop(&mut self, id: ValueId) {
        if let Some(slot) = self.computed.get_mut(id.0 as usize) {
            *slot = None;
        }
    }
}
