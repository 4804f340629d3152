//! [`simulate`]: the network with its tensors rounded to their integers.

use std::sync::Arc;

use npukit_numeric::Tensor;

use super::Quantisation;
use crate::eval::{EvalError, evaluate_changing};
use crate::ir::{Graph, ValueId};

/// The outputs of `graph` when constants, inputs and every result are rounded as `quantisation` says.
///
/// Sums of products are taken in `f32` and rounded once, where a machine may round and saturate on the way.
///
/// Errors: those of [`evaluate`](crate::evaluate).
pub fn simulate(
    graph: &Graph,
    quantisation: &Quantisation,
    inputs: &[Tensor],
) -> Result<Vec<Tensor>, EvalError> {
    let mut held = graph.clone();
    for (index, value) in held.values.iter_mut().enumerate() {
        if let Some(constant) = &mut value.constant {
            hold(quantisation, ValueId(index as u32), constant);
        }
    }
    let input = |(&id, tensor): (&ValueId, &Tensor)| {
        let mut tensor = Arc::new(tensor.clone());
        hold(quantisation, id, &mut tensor);
        Arc::unwrap_or_clone(tensor)
    };
    let inputs: Vec<Tensor> = graph.inputs.iter().zip(inputs).map(input).collect();
    evaluate_changing(&held, &inputs, |node, results| {
        node.outputs.iter().zip(results).for_each(|(&id, result)| hold(quantisation, id, result));
    })
}

/// Rounds the elements to what the value's integers stand for.
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
