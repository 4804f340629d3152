//! SOFTMAX of the operand times `beta`, over the last axis.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind};
use npukit_numeric::TensorData;

use super::super::context::Context;
use crate::error::Reason;
use crate::shape::tensor;

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (mut x, beta) = (context.input(0, "input")?, context.float(0, 0.0)?);
    if beta != 1.0 {
        let beta = context.make_constant(tensor(Vec::new(), TensorData::F32(vec![beta]))?);
        x = context.helper("scaled", Binary { kind: BinaryKind::Mul }, vec![x, beta])?;
    }
    context.tensorflow("Softmax", [], vec![x])
}
