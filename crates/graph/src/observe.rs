//! [`Observations`]: statistics of each value of a graph over samples.

use npukit_numeric::Tensor;

use crate::eval::evaluate_with;
use crate::ir::{Graph, ValueId};
use crate::op::EvalError;

/// A statistic of the tensors that a value takes, one for each sample.
pub trait Statistic: Clone {
    /// Adds a tensor to the statistic.
    fn note(&mut self, tensor: &Tensor);

    /// Merges the statistic of the same value over other samples.
    fn merge(&mut self, other: &Self);
}

/// A statistic of each value, by [`ValueId`].
#[derive(Clone, Debug, PartialEq)]
pub struct Observations<S>(Vec<S>);

impl<S: Statistic> Observations<S> {
    /// Creates empty observations for `graph`.
    pub fn new(graph: &Graph) -> Self
    where
        S: Default,
    {
        Self::with(graph, |_| S::default())
    }

    /// Creates empty observations for `graph`; `empty` makes the initial statistic of a value.
    pub fn with(graph: &Graph, empty: impl FnMut(ValueId) -> S) -> Self {
        Self((0..graph.values.len() as u32).map(ValueId).map(empty).collect())
    }

    /// Evaluates one sample, with tensors in the order of the graph's inputs, and adds all values
    /// to the statistics.
    ///
    /// # Errors
    ///
    /// See [`evaluate`](crate::evaluate).
    pub fn observe(&mut self, graph: &Graph, inputs: &[Tensor]) -> Result<(), EvalError> {
        evaluate_with(graph, inputs, |node, results| {
            node.outputs.iter().zip(results).for_each(|(&id, result)| self.note(id, result));
        })?;
        graph.inputs.iter().zip(inputs).for_each(|(&id, tensor)| self.note(id, tensor));
        Ok(())
    }

    /// Adds a tensor of value `id` to its statistic.
    pub fn note(&mut self, id: ValueId, tensor: &Tensor) {
        if let Some(statistic) = self.0.get_mut(id.0 as usize) {
            statistic.note(tensor);
        }
    }

    /// Merges a known statistic of value `id`.
    pub fn note_statistic(&mut self, id: ValueId, known: &S) {
        if let Some(statistic) = self.0.get_mut(id.0 as usize) {
            statistic.merge(known);
        }
    }

    /// Merges the observations of `other`, for the same graph.
    pub fn merge(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| mine.merge(theirs));
        self
    }

    /// Replaces the statistic of each value by the result of `change`.
    pub fn map(self, mut change: impl FnMut(ValueId, S) -> S) -> Self {
        let changed = self.0.into_iter().zip(0..).map(|(statistic, id)| change(ValueId(id), statistic));
        Self(changed.collect())
    }

    /// Returns the statistic of a value; `None` if the graph does not have the value.
    pub fn get(&self, id: ValueId) -> Option<&S> {
        self.0.get(id.0 as usize)
    }
}
