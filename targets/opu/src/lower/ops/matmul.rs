//! Gemm and MatMul by a constant: one term for each plane, and for a flattened image one for each
//! pixel too.

use npukit_graph::{NodeId, op};
use npukit_lower::Reject;

use super::{constant, floats};
use crate::lower::builder::copies::identity;
use crate::lower::builder::{Builder, Lowered};
use crate::lower::product::{Part, Product, Weights};

/// Lowers a general matrix product.
///
/// # Errors
///
/// An operand is transposed or computed where this is not supported.
pub fn gemm(builder: &mut Builder, id: NodeId, op: &op::Gemm) -> Result<Lowered, Reject> {
    let node = builder.node(id);
    let channels = builder.graph.shape(node.outputs[0])[1];
    if op.trans_a {
        return Err(Reject::new("its first operand is transposed", "export the model without transA"));
    }
    let bias = match node.inputs.get(2) {
        Some(&value) => {
            let tensor = constant(builder, value, "addends")?;
            let values = floats(&tensor);
            if values.len() != channels && values.len() != 1 {
                let reason = format!(
                    "its addend has shape {:?}, but must have one element per column",
                    tensor.shape()
                );
                return Err(Reject::new(reason, "add one bias to all rows"));
            }
            let spread = values.iter().cycle().take(channels);
            Some(spread.map(|value| value * op.beta).collect())
        }
        None => None,
    };
    let matrix = constant(builder, node.inputs[1], "weights")?;
    let weights = if op.trans_b {
        Weights::Columns { rows: matrix.shape()[1], matrix }
    } else {
        Weights::Rows { matrix, columns: channels }
    };
    let factors = (op.alpha != 1.0).then(|| vec![op.alpha; channels]);
    product(builder, id, weights, factors, bias)
}

/// Lowers a product with a constant matrix.
///
/// # Errors
///
/// The right operand is computed, or is not a matrix.
pub fn matmul(builder: &mut Builder, id: NodeId) -> Result<Lowered, Reject> {
    let node = builder.node(id);
    let matrix = constant(builder, node.inputs[1], "second operand's elements")?;
    let &[_, columns] = matrix.shape() else {
        let reason = format!("its second operand has shape {:?}, which is not a matrix", matrix.shape());
        return Err(Reject::new(reason, "multiply by one constant matrix"));
    };
    product(builder, id, Weights::Rows { matrix, columns }, None, None)
}

fn product(
    builder: &mut Builder,
    id: NodeId,
    weights: Weights,
    factors: Option<Vec<f32>>,
    bias: Option<Vec<f32>>,
) -> Result<Lowered, Reject> {
    let node = builder.node(id);
    let view = builder.view(node.inputs[0])?;
    let [rows, columns, channels] = builder.extent(node.outputs[0])?;
    let [_, _, operand] = builder.extent(node.inputs[0])?;
    if view.size != [rows, columns] || view.channels() != operand {
        let reason =
            format!("its operand is stored as {:?} pixels of {} channels", view.size, view.channels());
        return Err(Reject::new(reason, "multiply images per pixel, or flatten them"));
    }
    let parts = vec![Part::new(weights, [1, 1], identity(&view, 1.0).terms)];
    Ok(Lowered::Chain(builder.chain(id, Product { size: [rows, columns], channels, parts, factors, bias })))
}
