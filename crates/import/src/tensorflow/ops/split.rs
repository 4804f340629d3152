//! Split into equal parts, and SplitV into parts of given sizes.

use npukit_graph::ValueId;
use npukit_graph::op::Split;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let count = context.attributes.int("num_split")?;
    let count = count.ok_or(Reason::AttributeMissing { name: "num_split" })?;
    let (value, axis) = if context.op() == "Split" { (1, 0) } else { (0, 2) };
    let x = context.input(value, "value")?;
    let shape = context.shape(x).to_vec();
    let axis = context.axis_operand(axis, "split_dim", shape.len())?;
    let sizes = if context.op() == "Split" {
        equal(context, shape[axis], count)?
    } else {
        let stated = context.required_integers(1, "size_splits")?;
        given(&stated, shape[axis], count)?
    };
    context.emit_all(Split { axis, sizes }, vec![x])
}

/// Returns `count` equal parts of an axis of `size`.
fn equal(context: &mut Context<'_>, size: usize, count: i64) -> Result<Vec<usize>, Reason> {
    match usize::try_from(count) {
        Ok(count) if (1..=size).contains(&count) && size.is_multiple_of(count) => {
            context.reserve_results(count)?;
            Ok(vec![size / count; count])
        }
        _ => Err(unsupported("num_split", count, format!("a divisor of {size}, the size of the axis"))),
    }
}

/// Parts of given sizes. At most one is -1, which is the remaining size.
fn given(stated: &[i64], size: usize, count: i64) -> Result<Vec<usize>, Reason> {
    let wrong = || Reason::OperandValue {
        operand: "size_splits",
        found: format!("{stated:?}"),
        legal: format!("{count} sizes with the sum {size}, one of them may be -1"),
    };
    let known: i64 = stated.iter().filter(|&&part| part != -1).fold(0, |sum, &part| sum.saturating_add(part));
    let rest = (size as i64).saturating_sub(known);
    let open = stated.iter().filter(|&&part| part == -1).count();
    let counted = usize::try_from(count) == Ok(stated.len());
    if !counted || open > 1 || rest < 0 || open == 0 && rest != 0 {
        return Err(wrong());
    }
    let sizes = stated.iter().map(|&part| if part == -1 { rest } else { part });
    sizes.map(|part| usize::try_from(part).ok().filter(|&part| part <= size).ok_or_else(wrong)).collect()
}
