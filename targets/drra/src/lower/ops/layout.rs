//! Data moves by the driver: reshaping, reordering and selecting elements.

use npukit_graph::op::{Coordinates, Pad, PadMode, Resize, ResizeMode, Slice, Split};
use npukit_graph::{Node, ValueId};
use npukit_lower::Reject;

use super::{operand, result};
use crate::lower::Lowering;
use crate::lower::rounded::{Rounding, real};
use crate::machine::exec::word::integer;
use crate::program::gather::{Gather, Source, strides};
use crate::program::plan::{Place, Task};

/// Lowers a reshape, which keeps the elements in order.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn reshape(lowering: &mut Lowering<'_>, node: &Node) -> Result<(), Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    let count = lowering.graph.shape(y).iter().product();
    let source = lowering.read(node, x, lowering.format.fraction(y))?;
    lowering.push(node, y.0 as usize, vec![Task::copy(source, count)]);
    Ok(())
}

/// Lowers a permutation of axes.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn transpose(lowering: &mut Lowering<'_>, node: &Node, perm: &[usize]) -> Result<(), Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    let (shape, stride) = (lowering.graph.shape(y), strides(lowering.graph.shape(x)));
    let axes = shape.iter().zip(perm).map(|(&size, &axis)| (size, stride[axis]));
    let (elements, count) = (axes.collect(), shape.iter().product());
    let source = lowering.read(node, x, lowering.format.fraction(y))?;
    let from = Gather { elements, ..Gather::rows(source, 1, 1) };
    lowering.push(node, y.0 as usize, vec![Task::Move { from, to: Place::all(count), shift: 0 }]);
    Ok(())
}

/// Lowers a selection of elements along some axes.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn slice(lowering: &mut Lowering<'_>, node: &Node, slice: &Slice) -> Result<(), Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    let mut axes = whole(lowering.graph.shape(x));
    for range in &slice.ranges {
        let index = |number: usize| range.start.checked_add_signed(number as isize * range.step);
        let indices =
            (0..range.length).map(|number| index(number).expect("shape inference checked the range"));
        choose(&mut axes, range.axis, indices);
    }
    moved(lowering, node, x, y, &axes)
}

/// Lowers a split along an axis.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn split(lowering: &mut Lowering<'_>, node: &Node, split: &Split) -> Result<(), Reject> {
    let (x, mut start) = (operand(node, 0)?, 0);
    for (&y, &size) in node.outputs.iter().zip(&split.sizes) {
        let mut axes = whole(lowering.graph.shape(x));
        choose(&mut axes, split.axis, start..start + size);
        moved(lowering, node, x, y, &axes)?;
        start += size;
    }
    Ok(())
}

/// Lowers a concatenation along an axis.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn concat(lowering: &mut Lowering<'_>, node: &Node, axis: usize) -> Result<(), Reject> {
    let y = result(node)?;
    let stride = strides(lowering.graph.shape(y));
    let (mut start, mut tasks) = (0, Vec::new());
    for &x in &node.inputs {
        let shape = lowering.graph.shape(x).to_vec();
        let from = lowering.read(node, x, lowering.format.fraction(y))?;
        let to =
            Place { offset: start * stride[axis], axes: shape.iter().copied().zip(stride.clone()).collect() };
        let from = Gather::rows(from, 1, shape.iter().product());
        tasks.push(Task::Move { from, to, shift: 0 });
        start += shape[axis];
    }
    lowering.push(node, y.0 as usize, tasks);
    Ok(())
}

/// Lowers a padding with a constant or with repeated elements.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn pad(lowering: &mut Lowering<'_>, node: &Node, pad: &Pad) -> Result<(), Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    let (own, shape) = (lowering.graph.shape(x).to_vec(), lowering.graph.shape(y).to_vec());
    if let PadMode::Constant(value) = pad.mode {
        let before: Option<Vec<usize>> = pad.pads.iter().map(|pads| usize::try_from(pads[0]).ok()).collect();
        let Some(before) = before.filter(|_| pad.pads.iter().flatten().all(|&size| size >= 0)) else {
            return Err(Reject::new("negative padding is unsupported", "use a Slice before it"));
        };
        let fraction = lowering.format.fraction(y);
        let source = lowering.read(node, x, fraction)?;
        let word = integer(value.into(), fraction);
        lowering.note(Rounding::Factor(real(word, fraction)));
        let tasks = padded(source, &own, &shape, &before, word);
        lowering.push(node, y.0 as usize, tasks);
        return Ok(());
    }
    let mut axes = whole(&own);
    for (axis, (&size, &pads)) in own.iter().zip(&pad.pads).enumerate() {
        choose(&mut axes, axis, pad.sources(size, pads).into_iter().flatten());
    }
    moved(lowering, node, x, y, &axes)
}

/// Lowers a nearest-neighbor resize of an image.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn resize(lowering: &mut Lowering<'_>, node: &Node, resize: &Resize) -> Result<(), Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    let is_crop = matches!(resize.coordinates, Coordinates::TfCropAndResize(_));
    if !matches!(resize.mode, ResizeMode::Nearest(_)) || is_crop {
        return Err(Reject::new("interpolation is unsupported", "use the mode `nearest`"));
    }
    let own = lowering.graph.shape(x).to_vec();
    let mut axes = whole(&own);
    for (axis, &size) in own.iter().enumerate().skip(1).take(2) {
        let samples = resize.samples(axis - 1, size);
        let nearest = samples.iter().filter_map(|sample| sample.taps.first().map(|tap| tap.0));
        choose(&mut axes, axis, nearest);
    }
    moved(lowering, node, x, y, &axes)
}

/// Appends the moves that copy the elements of `x` with these indices along each axis to `y`.
fn moved(
    lowering: &mut Lowering<'_>,
    node: &Node,
    x: ValueId,
    y: ValueId,
    axes: &[Vec<usize>],
) -> Result<(), Reject> {
    let (own, shape) = (strides(lowering.graph.shape(x)), strides(lowering.graph.shape(y)));
    let from = Gather::rows(lowering.read(node, x, lowering.format.fraction(y))?, 1, 1);
    let mut moves = vec![(Gather { elements: Vec::new(), ..from }, Place { offset: 0, axes: Vec::new() })];
    for ((indices, own), stride) in axes.iter().zip(own).zip(shape) {
        let runs = runs(indices);
        let along = |(from, to): &(Gather, Place), run: &Run| {
            let (mut from, mut to) = (from.clone(), to.clone());
            from.offset += run.first * own;
            from.elements.push((run.count, run.step * own));
            to.offset += run.at * stride;
            to.axes.push((run.count, run.every * stride));
            (from, to)
        };
        moves = moves.iter().flat_map(|one| runs.iter().map(move |run| along(one, run))).collect();
    }
    let tasks = moves.into_iter().map(|(from, to)| Task::Move { from, to, shift: 0 });
    lowering.push(node, y.0 as usize, tasks.collect());
    Ok(())
}

/// Returns all indices of a tensor, per axis.
fn whole(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().map(|&size| (0..size).collect()).collect()
}

/// Keeps only these indices along an axis.
fn choose(axes: &mut [Vec<usize>], axis: usize, indices: impl Iterator<Item = usize>) {
    if let Some(all) = axes.get_mut(axis) {
        *all = indices.collect();
    }
}

/// Indices in equal steps with their positions in the list: first position, and distance between
/// positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: usize,
    step: usize,
    count: usize,
    at: usize,
    every: usize,
}

/// Maximum number of interleaved runs.
const MAX_TURNS: usize = 8;

/// Splits a list of indices into runs: a few interleaved runs, or any number of consecutive runs.
fn runs(indices: &[usize]) -> Vec<Run> {
    let turn = |turns: usize, at: usize| {
        let list: Vec<usize> = indices.iter().copied().skip(at).step_by(turns).collect();
        run(&list).filter(|run| run.count == list.len()).map(|run| Run { at, every: turns, ..run })
    };
    let mut turns = 1..=MAX_TURNS.min(indices.len());
    if let Some(runs) = turns.find_map(|turns| (0..turns).map(|at| turn(turns, at)).collect()) {
        return runs;
    }
    let (mut runs, mut at): (Vec<Run>, usize) = (Vec::new(), 0);
    while let Some(longest) = indices.get(at..).and_then(run) {
        runs.push(Run { at, ..longest });
        at += longest.count;
    }
    runs
}

/// Returns the longest run at the start of a list.
fn run(list: &[usize]) -> Option<Run> {
    let &first = list.first()?;
    let step = list.get(1).and_then(|second| second.checked_sub(first));
    let steps = list.windows(2).take_while(|pair| pair[1].checked_sub(pair[0]) == step && step.is_some());
    // Default: a single element is a run with any step.
    Some(Run { first, step: step.unwrap_or(1), count: 1 + steps.count(), at: 0, every: 1 })
}

/// Copies a tensor with the shape `own` into one with the shape `shape`, after `before` elements of
/// `fill` along each axis.
pub(super) fn padded(from: Source, own: &[usize], shape: &[usize], before: &[usize], fill: i16) -> Vec<Task> {
    let stride = strides(shape);
    let offset = before.iter().zip(&stride).map(|(before, stride)| before * stride).sum();
    let to = Place { offset, axes: own.iter().copied().zip(stride).collect() };
    let from = Gather::rows(from, 1, own.iter().product());
    vec![Task::Fill(fill), Task::Move { from, to, shift: 0 }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_runs() {
        for (indices, count) in [
            (&[3, 4, 5][..], 1),
            (&[7], 1),
            (&[], 0),
            (&[0, 0, 1, 1, 2, 2], 2),
            (&[0, 0, 1, 2, 2, 3, 4, 4, 5], 3),
            (&[9, 8, 7], 3),
            (&[2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 17, 16], 5),
        ] {
            let runs = runs(indices);
            assert_eq!(runs.len(), count, "{indices:?} {runs:?}");
            let mut found = vec![usize::MAX; indices.len()];
            for run in runs {
                (0..run.count).for_each(|n| found[run.at + n * run.every] = run.first + n * run.step);
            }
            assert_eq!(found, indices);
        }
    }
}
