//! BATCH_MATMUL: equals TensorFlow's BatchMatMulV2.

use npukit_graph::ValueId;

use super::super::context::Context;
use crate::error::Reason;
use crate::tensorflow::proto::Attr;

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let attributes = [("adj_x", Attr::B(context.flag(0)?)), ("adj_y", Attr::B(context.flag(1)?))];
    let operands = vec![context.input(0, "x")?, context.input(1, "y")?];
    context.tensorflow("BatchMatMulV2", attributes, operands)
}
