//! Reshape: 0 copies a size (unless `allowzero`), -1 takes what is left.

use npukit_graph::ValueId;
use npukit_graph::op::Reshape;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "data")?;
    let stated = context.integers(1, "shape")?.ok_or(Reason::OperandMissing { operand: "shape" })?;
    let allow_zero = context.attributes.flag("allowzero", false)?;
    let shape = resolve(context.shape(x), &stated, allow_zero)?;
    Ok(vec![context.emit(Reshape { shape }, vec![x])?])
}

/// The sizes that `stated` means for an operand of shape `from`.
fn resolve(from: &[usize], stated: &[i64], allow_zero: bool) -> Result<Vec<usize>, Reason> {
    let wrong = |legal: &str| Reason::OperandValue {
        operand: "shape",
        found: format!("{stated:?} for an operand of shape {from:?}"),
        legal: legal.to_owned(),
    };
    let mut sizes = stated.to_vec();
    for (axis, size) in sizes.iter_mut().enumerate() {
        if *size == 0 && !allow_zero {
            let copied = from.get(axis).ok_or_else(|| wrong("0 only where the operand has an axis"))?;
            *size = *copied as i64;
        }
    }
    let open: Vec<usize> = (0..sizes.len()).filter(|&axis| stated[axis] == -1).collect();
    match open[..] {
        [] => {}
        [axis] => {
            sizes[axis] = 1;
            let known: usize = tensor::shape(&sizes)?.iter().product();
            let elements: usize = from.iter().product();
            let fits = known != 0 && elements.is_multiple_of(known);
            sizes[axis] = if fits { (elements / known) as i64 } else { return Err(wrong("a divisor")) };
        }
        _ => return Err(wrong("-1 at most once")),
    }
    tensor::shape(&sizes)
}
