//! CONV_3D and CONV_3D_TRANSPOSE: TensorFlow's operators, with a bias and an activation function.

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
    // Fields: depth, columns, rows.
    let triple = |context: &Context<'_>, fields: [usize; 3], name, default| {
        let [d, w, h] = fields.map(|field| context.size(field, name, default));
        let i = vec![1, d? as i64, h? as i64, w? as i64, 1];
        Ok::<_, Reason>(Attr::List(ListValue { i, ..ListValue::default() }))
    };
    let attributes = [
        ("padding", Attr::S(padding.to_vec())),
        ("strides", triple(context, [1, 2, 3], "stride", 0)?),
        ("dilations", triple(context, [5, 6, 7], "dilation", 1)?),
    ];
    let (operator, count) = match context.op {
        "CONV_3D" => ("Conv3D", 2),
        _ => ("Conv3DBackpropInputV2", 3),
    };
    let operands = (0..count).map(|index| context.input(index, "input")).collect::<Result<_, _>>()?;
    let results = context.tensorflow(operator, attributes, operands)?;
    results.into_iter().map(|y| context.biased(y, count).and_then(|y| context.activated(y, 4))).collect()
}
