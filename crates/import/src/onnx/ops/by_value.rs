//! NonZero, Compress and Unique. The shape of their results depends on the values of their operand,
//! which must therefore be constant.

use std::cmp::Ordering;

use npukit_graph::ValueId;
use npukit_graph::op::Gather;
use npukit_numeric::Tensor;

use super::super::context::{Context, described};
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    match context.op_type() {
        "NonZero" => non_zero(context),
        "Compress" => compress(context),
        _ => unique(context),
    }
}

/// Coordinates of the nonzero elements, one row per axis of the operand.
fn non_zero(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    let x = context.decides(x, "X")?;
    let shape = x.shape().to_vec();
    let places: Vec<usize> = positions(&x.reals(), |value| value != 0.0);
    context.reserve(&[places.len(), shape.len().max(1)])?;
    let inner = |axis: usize| shape[axis + 1..].iter().product::<usize>();
    let along = |axis: usize| {
        let (size, inner) = (shape[axis], inner(axis));
        places.iter().map(move |place| (place / inner % size) as i64)
    };
    let values = (0..shape.len()).flat_map(along).collect();
    Ok(vec![context.indices(vec![shape.len(), places.len()], values)?])
}

/// Slices along an axis where a condition is true; without an axis, elements.
fn compress(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, condition) = (context.input(0, "input")?, context.input(1, "condition")?);
    let condition = context.decides(condition, "condition")?;
    let kept: Vec<i64> =
        positions(&condition.reals(), |value| value != 0.0).into_iter().map(|place| place as i64).collect();
    let shape = context.shape(x).to_vec();
    let (x, axis) = match context.attributes.int("axis")? {
        Some(axis) => (x, Context::axis("axis", axis, shape.len())?),
        None => (context.reshape(x, vec![shape.iter().product()])?, 0),
    };
    if condition.data().len() > context.shape(x)[axis] {
        let (found, legal) = (described(&condition), format!("no more than {}", context.shape(x)[axis]));
        return Err(Reason::OperandValue { operand: "condition", found, legal });
    }
    let kept = context.indices(vec![kept.len()], kept)?;
    Ok(vec![context.emit(Gather { axis }, vec![x, kept])?])
}

fn positions(values: &[f64], wanted: impl Fn(f64) -> bool) -> Vec<usize> {
    (0..values.len()).filter(|&place| wanted(values[place])).collect()
}

/// Distinct slices along an axis (or distinct elements), with their first positions, the inverse
/// indices, and their numbers of occurrences.
fn unique(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    let x_constant = context.decides(x, "X")?;
    let shape = x_constant.shape().to_vec();
    context.reserve(&shape)?;
    let stated = context.attributes.int("axis")?;
    let (rows, axis) = match stated {
        Some(axis) => (x, Context::axis("axis", axis, shape.len())?),
        None => (context.reshape(x, vec![shape.iter().product()])?, 0),
    };
    let slices = slices(&x_constant, stated.map(|_| axis));
    // Indices of the slices sorted by value. Equal slices keep their order.
    let mut order: Vec<usize> = (0..slices.len()).collect();
    order.sort_by(|&left, &right| compare(&slices[left], &slices[right]));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for place in order {
        match groups.last_mut() {
            Some(group) if compare(&slices[group[0]], &slices[place]) == Ordering::Equal => group.push(place),
            _ => groups.push(vec![place]),
        }
    }
    if !context.attributes.flag("sorted", true)? {
        groups.sort_by_key(|group| group[0]);
    }
    let mut inverse = vec![0; slices.len()];
    for (index, group) in groups.iter().enumerate() {
        group.iter().for_each(|&place| inverse[place] = index as i64);
    }
    let first: Vec<i64> = groups.iter().map(|group| group[0] as i64).collect();
    let counts: Vec<i64> = groups.iter().map(|group| group.len() as i64).collect();
    let first = context.indices(vec![first.len()], first)?;
    let y = context.emit(Gather { axis }, vec![rows, first])?;
    let inverse = context.indices(vec![inverse.len()], inverse)?;
    Ok(vec![y, first, inverse, context.indices(vec![counts.len()], counts)?])
}

/// Elements of each slice along an axis; without an axis, each element.
fn slices(x: &Tensor, axis: Option<usize>) -> Vec<Vec<f64>> {
    let (values, shape) = (x.reals(), x.shape());
    let Some(axis) = axis else { return values.into_iter().map(|value| vec![value]).collect() };
    let (size, inner) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    let mut slices = vec![Vec::new(); size];
    for (block, row) in values.chunks(inner.max(1)).enumerate() {
        slices[block % size.max(1)].extend_from_slice(row);
    }
    slices
}

/// Compares slices by their first different elements. NaN is last, and equal to NaN.
fn compare(left: &[f64], right: &[f64]) -> Ordering {
    let pairs = left.iter().zip(right);
    let order = |(left, right): (&f64, &f64)| {
        // Default: elements that do not compare are NaN, one or both.
        left.partial_cmp(right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
    };
    pairs.map(order).find(|order| order.is_ne()).unwrap_or(Ordering::Equal) // Default: none differs.
}
