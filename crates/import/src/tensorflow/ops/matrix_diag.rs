//! MatrixDiag (a diagonal matrix) and MatrixSetDiag (a matrix with another diagonal). Their newer
//! forms are supported for the main diagonal only.

use npukit_graph::ValueId;
use npukit_graph::op::{Reshape, Where};
use npukit_numeric::TensorData;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use crate::shape::tensor;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    context.attributes.without_effect("align"); // of several diagonals
    let is_set = context.op().starts_with("MatrixSetDiag");
    let (rest, diagonal) = match is_set {
        true => (Some(context.input(0, "input")?), context.input(1, "diagonal")?),
        false => (None, context.input(0, "diagonal")?),
    };
    let shape = context.shape(diagonal).to_vec();
    let Some((&length, outer)) = shape.split_last() else {
        return Err(unsupported("diagonal", &shape[..], "an axis or more"));
    };
    let size =
        if let Some(rest) = rest { context.shape(rest).to_vec() } else { [outer, &[length; 2]].concat() };
    let &[.., rows, columns] = &size[..] else { return Err(unsupported("input", size, "matrices")) };
    main_diagonal(context, is_set, [rows, columns], length)?;
    let rest = match rest {
        Some(rest) => rest,
        None => match context.op() {
            "MatrixDiag" => context.filled(diagonal, 0.0, &[])?,
            _ => context.input(4, "padding_value")?,
        },
    };
    context.reserve(&[rows, columns])?;
    let places = (0..rows * columns).map(|place| place / columns == place % columns).collect();
    let places = context.make_constant(tensor(vec![rows, columns], TensorData::Bool(places))?);
    // Each number goes to its column. Additional columns of a wide matrix stay zero.
    let spread =
        context.helper("spread", Reshape { shape: [outer, &[1, length]].concat() }, vec![diagonal])?;
    let spread = if length == columns { spread } else { widened(context, spread, columns - length)? };
    Ok(vec![context.emit(Where, vec![places, spread, rest])?])
}

/// Appends zeros along the last axis.
fn widened(context: &mut Context<'_>, x: ValueId, count: usize) -> Result<ValueId, Reason> {
    let mut shape = context.shape(x).to_vec();
    let axis = shape.len() - 1;
    shape[axis] = count;
    let zeros = context.filled(x, 0.0, &shape)?;
    context.concat("widened", vec![x, zeros], axis)
}

/// Returns an error for diagonals other than the main one, which has `length` numbers, and for
/// other sizes.
fn main_diagonal(
    context: &mut Context<'_>,
    is_set: bool,
    [rows, columns]: [usize; 2],
    length: usize,
) -> Result<(), Reason> {
    if length != rows.min(columns) {
        return Err(unsupported("diagonal", length, format!("{} numbers", rows.min(columns))));
    }
    if matches!(context.op(), "MatrixDiag" | "MatrixSetDiag") {
        return Ok(());
    }
    let which = context.required_integers(if is_set { 2 } else { 1 }, "k")?;
    if which.iter().any(|&k| k != 0) {
        return Err(unsupported("k", which, "0"));
    }
    for (index, operand) in [(2, "num_rows"), (3, "num_cols")].into_iter().filter(|_| !is_set) {
        let stated = context.integer(index, operand)?;
        if stated != -1 && usize::try_from(stated) != Ok(length) {
            return Err(unsupported(operand, stated, format!("-1 or {length}")));
        }
    }
    Ok(())
}
