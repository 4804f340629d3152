//! Size: a constant, as all shapes are known.

use npukit_graph::ValueId;
use npukit_numeric::TensorData;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::tensor;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "data")?;
    let size: usize = context.shape(x).iter().product();
    Ok(vec![context.make_constant(tensor(Vec::new(), TensorData::I64(vec![size as i64]))?)])
}
