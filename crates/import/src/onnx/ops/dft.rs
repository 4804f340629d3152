//! DFT: the axis is an attribute in opset 17, an operand from 20 on.

use npukit_graph::ValueId;
use npukit_graph::op::Dft;

use super::super::context::Context;
use super::super::error::Reason;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let shape = context.shape(x).to_vec();
    let stated = match context.opset < 20 {
        true => context.attributes.int_or("axis", 1)?,
        false => integer(context, 2, "axis")?.unwrap_or(-2),
    };
    let axis = Context::axis("axis", stated, shape.len())?;
    let own = shape[axis];
    let length = match integer(context, 1, "dft_length")? {
        None => own,
        Some(length) => usize::try_from(length).ok().filter(|&length| length > 0).ok_or_else(|| {
            let (found, legal) = (length.to_string(), "at least 1".to_owned());
            Reason::OperandValue { operand: "dft_length", found, legal }
        })?,
    };
    let inverse = context.attributes.flag("inverse", false)?;
    let onesided = context.attributes.flag("onesided", false)?;
    Ok(vec![context.emit(Dft { axis, length, inverse, onesided }, vec![x])?])
}

/// A constant operand of one integer; none when it is left out.
fn integer(context: &mut Context<'_>, index: usize, operand: &'static str) -> Result<Option<i64>, Reason> {
    match context.integers(index, operand)?.as_deref() {
        None => Ok(None),
        Some(&[integer]) => Ok(Some(integer)),
        Some(other) => {
            let found = format!("{other:?}");
            Err(Reason::OperandValue { operand, found, legal: "one integer".to_owned() })
        }
    }
}
