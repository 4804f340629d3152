//! [`Ranges`]: how large each value becomes, from samples.

use npukit_numeric::Tensor;

use crate::eval::{EvalError, evaluate_with};
use crate::ir::{Graph, ValueId};

/// The largest finite magnitude of each value over the samples seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranges(Vec<f32>);

impl Ranges {
    /// No sample seen yet.
    pub fn new(graph: &Graph) -> Self {
        Self(vec![0.0; graph.values.len()])
    }

    /// Evaluates a sample, tensors in the order of the graph's inputs, and notes what it gives.
    ///
    /// Errors: those of [`evaluate`](crate::evaluate).
    pub fn observe(&mut self, graph: &Graph, inputs: &[Tensor]) -> Result<(), EvalError> {
        evaluate_with(graph, inputs, |node, results| {
            node.outputs.iter().zip(results).for_each(|(&id, result)| self.note(id, result));
        })?;
        graph.inputs.iter().zip(inputs).for_each(|(&id, tensor)| self.note(id, tensor));
        Ok(())
    }

    fn note(&mut self, id: ValueId, tensor: &Tensor) {
        if let Some(range) = self.0.get_mut(id.0 as usize) {
            *range = range.max(magnitude(tensor));
        }
    }

    /// What this and `other` have seen, of the same graph.
    pub fn merge(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine = mine.max(*theirs));
        self
    }

    /// The largest magnitude of a value; 0 when it was never seen.
    pub fn of(&self, id: ValueId) -> f32 {
        self.0.get(id.0 as usize).copied().unwrap_or(0.0)
    }
}

/// The largest finite magnitude; infinities pad windows, and no scale makes them fit.
pub(super) fn magnitude(tensor: &Tensor) -> f32 {
    let finite = tensor.as_f32().unwrap_or_default().iter().map(|x| x.abs()).filter(|x| x.is_finite());
    finite.fold(0.0, f32::max)
}
