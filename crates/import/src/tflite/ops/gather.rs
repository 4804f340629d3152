//! GATHER: TensorFlow's GatherV2, which takes the axis as an operand.

use npukit_graph::ValueId;
use npukit_numeric::TensorData;

use super::super::context::Context;
use crate::error::Reason;
use crate::shape::tensor;
use crate::tensorflow::proto::Attr;

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let axis = tensor(Vec::new(), TensorData::I32(vec![context.int(0, 0)?]))?;
    let batch = Attr::I(context.int(1, 0)?.into());
    let operands = [context.input(0, "params")?, context.input(1, "indices")?, context.make_constant(axis)];
    context.tensorflow("GatherV2", [("batch_dims", batch)], operands.to_vec())
}
