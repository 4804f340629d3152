//! [`Simulation`]: evaluation of the network with tensors rounded to their integers.

use std::sync::Arc;

use npukit_numeric::Tensor;

use super::Quantization;
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
    quantization: &'a Quantization,
}

impl<'a> Simulation<'a> {
    /// Creates the simulation of `graph` with `quantization`.
    pub fn new(graph: &Graph, quantization: &'a Quantization) -> Self {
        let mut held = graph.clone();
        for (index, value) in held.values.iter_mut().enumerate() {
            if let Some(constant) = &mut value.constant {
                hold(quantization, ValueId(index as u32), constant);
            }
        }
        Self { held, quantization }
    }

    /// Returns the outputs for a sample.
    ///
    /// # Errors
    ///
    /// See [`evaluate`](crate::evaluate).
    pub fn outputs(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
        let input = |(&id, tensor): (&ValueId, &Tensor)| {
            let mut tensor = Arc::new(tensor.clone());
            hold(self.quantization, id, &mut tensor);
            Arc::unwrap_or_clone(tensor)
        };
        let inputs: Vec<Tensor> = self.held.inputs.iter().zip(inputs).map(input).collect();
        evaluate_changing(&self.held, &inputs, |node, results| {
            node.outputs.iter().zip(results).for_each(|(&id, result)| hold(self.quantization, id, result));
        })
    }
}

/// Returns the outputs of `graph` for one sample with `quantization`; a [`Simulation`] for a single
/// run.
///
/// # Errors
///
/// See [`evaluate`](crate::evaluate).
pub fn simulate(
    graph: &Graph,
    quantization: &Quantization,
    inputs: &[Tensor],
) -> Result<Vec<Tensor>, EvalError> {
    Simulation::new(graph, quantization).outputs(inputs)
}

/// Rounds the elements to the numbers that the value's integers represent.
fn hold(quantization: &Quantization, id: ValueId, tensor: &mut Arc<Tensor>) {
    let Some((values, (fraction, bits))) =
        tensor.as_f32().zip(quantization.fraction(id).zip(quantization.bits(id)))
    else {
        return;
    };
    let nearest = |&x: &f32| quantization.scheme.nearest(x.into(), fraction, bits) as f32;
    if let Ok(rounded) = Tensor::from_f32(tensor.shape().to_vec(), values.iter().map(nearest).collect()) {
        *tensor = Arc::new(rounded);
    }
}
