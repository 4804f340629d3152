//! [`Observations`]: magnitudes of each value of a graph over samples.

use npukit_numeric::Tensor;

use crate::eval::evaluate_with;
use crate::ir::{Graph, ValueId};
use crate::op::EvalError;

/// What is gathered from the tensors that a value becomes, one for each sample.
pub trait Statistic: Clone {
    /// Takes a tensor in.
    fn note(&mut self, tensor: &Tensor);

    /// Takes in what another one of the same value has seen.
    fn merge(&mut self, other: &Self);
}

/// A statistic of each value, by [`ValueId`].
#[derive(Clone, Debug, PartialEq)]
pub struct Observations<S>(Vec<S>);

impl<S: Statistic> Observations<S> {
    /// Observations of no sample.
    pub fn new(graph: &Graph) -> Self
    where
        S: Default,
    {
        Self::with(graph, |_| S::default())
    }

    /// No sample seen yet; `empty` makes the statistic of a value.
    pub fn with(graph: &Graph, empty: impl FnMut(ValueId) -> S) -> Self {
        Self((0..graph.values.len() as u32).map(ValueId).map(empty).collect())
    }

    /// Evaluates a sample, tensors in the order of the graph's inputs, and notes what it gives.
    ///
    /// # Errors
    ///
    /// Those of [`evaluate`](crate::evaluate).
    pub fn observe(&mut self, graph: &Graph, inputs: &[Tensor]) -> Result<(), EvalError> {
        evaluate_with(graph, inputs, |node, results| {
            node.outputs.iter().zip(results).for_each(|(&id, result)| self.note(id, result));
        })?;
        graph.inputs.iter().zip(inputs).for_each(|(&id, tensor)| self.note(id, tensor));
        Ok(())
    }

    /// Notes a tensor of value `id`.
    pub fn note(&mut self, id: ValueId, tensor: &Tensor) {
        if let Some(statistic) = self.0.get_mut(id.0 as usize) {
            statistic.note(tensor);
        }
    }

    /// Takes in what is known of value `id` without a tensor.
    pub fn note_statistic(&mut self, id: ValueId, known: &S) {
        if let Some(statistic) = self.0.get_mut(id.0 as usize) {
            statistic.merge(known);
        }
    }

    /// What this and `other` have seen, of the same graph.
    pub fn merge(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| mine.merge(theirs));
        self
    }

    /// The statistic of each value as `change` makes it.
    pub fn map(self, mut change: impl FnMut(ValueId, S) -> S) -> Self {
        let changed = self.0.into_iter().zip(0..).map(|(statistic, id)| change(ValueId(id), statistic));
        Self(changed.collect())
    }

    /// Of one value; none of one that the graph does not have.
    pub fn get(&self, id: ValueId) -> Option<&S> {
        self.0.get(id.0 as usize)
    }
}
