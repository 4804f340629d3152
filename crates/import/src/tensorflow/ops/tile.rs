//! Tile: the operand again and again along its axes.

use npukit_graph::ValueId;
use npukit_graph::op::Concat;

use super::super::context::Context;
use super::super::error::Reason;
use crate::shape::check_shape;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let mut x = context.input(0, "input")?;
    let counts = context.required_integers(1, "multiples")?;
    let shape = context.shape(x).to_vec();
    let count = |&count: &i64| usize::try_from(count).ok().filter(|&count| count > 0);
    let legal: Option<Vec<usize>> = counts.iter().map(count).collect();
    let Some(counts) = legal.filter(|counts| counts.len() == shape.len()) else {
        let legal = format!("a number of 1 or more for each of {} axes", shape.len());
        return Err(Reason::OperandValue { operand: "multiples", found: format!("{counts:?}"), legal });
    };
    check_shape(&counts)?;
    // An operand for each copy: they count as what folding makes.
    context.reserve(&[counts.iter().sum()])?;
    for (axis, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 1) {
        x = context.emit(Concat { axis }, vec![x; count])?;
    }
    Ok(vec![x])
}
