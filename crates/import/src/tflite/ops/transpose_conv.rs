//! TRANSPOSE_CONV: TensorFlow's Conv2DBackpropInput; weights `[co, kh, kw, ci]`.

use npukit_graph::ValueId;

use super::super::context::Context;
use crate::error::Reason;
use crate::node::unsupported;
use crate::tensorflow::proto::{Attr, ListValue};

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let padding: &[u8] = match context.code(0)? {
        0 => b"SAME",
        1 => b"VALID",
        other => return Err(unsupported("padding", other, "SAME (0) or VALID (1)")),
    };
    let [down, right] = context.sizes(1, "stride", 0)?.map(|stride| stride as i64);
    let strides = ListValue { i: vec![1, down, right, 1], ..ListValue::default() };
    let attributes = [("padding", Attr::S(padding.to_vec())), ("strides", Attr::List(strides))];
    let (size, weights) = (context.input(0, "output_shape")?, context.input(1, "weights")?);
    if context.shape(weights).len() != 4 {
        let (found, legal) = (format!("{:?}", context.shape(weights)), "four axes".to_owned());
        return Err(Reason::OperandValue { operand: "weights", found, legal });
    }
    let weights = context.permute(weights, &[1, 2, 0, 3], "hwoi")?;
    let operands = vec![size, weights, context.input(2, "input")?];
    let results = context.tensorflow("Conv2DBackpropInput", attributes, operands)?;
    results.into_iter().map(|y| context.biased(y, 3).and_then(|y| context.activated(y, 3))).collect()
}
