//! [`Simulation`]: evaluation of the network with tensors rounded to their integers.

use std::sync::Arc;

use npukit_numeric::Tensor;

use super::Quantisation;
use crate::eval::evaluate_changing;
use crate::ir::{Graph, ValueId};
use crate::op::EvalError;

/// A network whose constants, inputs and results are rounded according to a quantization.
///
/// Sums of products are computed in `f32` and rounded once; a machine may round and saturate
/// partial sums.
#[derive(Debug)]
pub struct Simulation<'a> {
    /// The graph with rounded constants.
    held: Graph,
    quantisation: &'a Quantisation,
}

impl<'a> Simulation<'a> {
    /// Creates the simulation of `graph` with `quantisation`.
    pub fn new(graph: &Graph, quantisation: &'a Quantisation) -> Self {
        let mut held = graph.clone();
        for (index, value) in held.values.iter_mut().enumerate() {
            if let Some(constant) = &mut value.constant {
                hold(quantisation, ValueId(index as u32), constant);
            }
        }
        Self { held, quantisation }
    }

    /// Returns the outputs for a sample.
    ///
    /// # Errors
    ///
    /// See [`evaluate`](crate::evaluate).
    pub fn outputs(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
        let input = |(&id, tensor): (&ValueId, &Tensor)| {
            let mut tensor = Arc::new(tensor.clone());
            hold(self.quantisation, id, &mut tensor);
            Arc::unwrap_or_clone(tensor)
        };
        let inputs: Vec<Tensor> = self.held.inputs.iter().zip(inputs).map(input).collect();
        evaluate_changing(&self.held, &inputs, |node, results| {
            node.outputs.iter().zip(results).for_each(|(&id, result)| hold(self.quantisation, id, result));
        })
    }
}

/// Returns the outputs of `graph` for one sample with `quantisation`; a [`Simulation`] for a single
/// run.
///
/// # Errors
///
/// See [`evaluate`](crate::evaluate).
pub fn simulate(
    graph: &Graph,
    quantisation: &Quantisation,
    inputs: &[Tensor],
) -> Result<Vec<Tensor>, EvalError> {
    Simulation::new(graph, quantisation).outputs(inputs)
}

/// Rounds the elements to the numbers that the value's integers represent.
fn hold(quantisation: &Quantisation, id: ValueId, tensor: &mut Arc<Tensor>) {
    let Some((values, (fraction, bits))) =
        tensor.as_f32().zip(quantisation.fraction(id).zip(quantisation.bits(id)))
    else {
        return;
    };
    let nearest = |&x: &f32| quantisation.scheme.nearest(x.into(), fraction, bits) as f32;
    if let Ok(rounded) = Tensor::from_f32(tensor.shape().to_vec(), values.iter().map(nearest).collect()) {
        *tensor = Arc::new(rounded);
    }
}
