//! Operators that only move elements: Reshape, Transpose, Concat, Split, Slice, Pad, Tile, and
//! broadcasts.
//!
//! If whole vectors move, the result is a view of them. If lanes move, the affected vectors are
//! products with matrices of zeros and ones, which are exact.

use std::collections::HashMap;

use npukit_graph::op::{self, PadMode};
use npukit_graph::shape::indices;
use npukit_graph::{NodeId, ValueId};
use npukit_numeric::{Tensor, TensorData};

use crate::lower::layers::hir::{Step, Term};
use crate::lower::layers::ops::broadcast::broadcast;
use crate::lower::layers::ops::product::{self, Product};
use crate::lower::layers::{Builder, Chain, Lowered, Reject};
use crate::lower::memory::object::{ObjectKind, VecRef};
use crate::lower::memory::view::{View, natural_channels};

/// Lanes taken from one source vector: (source lane, result lane).
type Lanes = Vec<(usize, usize)>;

/// Cost of a vector from which lanes are taken, in uses of a vector that stays whole.
const MIXED_USE: usize = 4;

/// Whether `value` is the result of a Transpose that only the host reads; the output layout then
/// includes it.
pub fn closes_the_graph(builder: &Builder, value: ValueId) -> bool {
    builder.fusion.readers.is_output(value) && builder.fusion.readers.all(value).is_empty()
}

/// Lowers Reshape: the vectors stay, and the next reader interprets them.
///
/// # Errors
///
/// Fails for an operand without a view.
pub fn reshape(builder: &mut Builder, id: NodeId, reshape: &op::Reshape) -> Result<Lowered, Reject> {
    let node = builder.graph.node(id);
    let view = builder.view(node.inputs[0])?;
    builder.fusion.set_view(node.outputs[0], view.reshaped(&reshape.shape, builder.array_size()));
    Ok(Lowered::Views)
}

/// Lowers Transpose: pixels are reordered; lanes move only if the innermost axis does.
///
/// # Errors
///
/// Fails for an operand without a view, or if lanes move in more ways than a program may list.
pub fn transpose(builder: &mut Builder, id: NodeId, transpose: &op::Transpose) -> Result<Lowered, Reject> {
    let node = builder.graph.node(id);
    let output = node.outputs[0];
    if closes_the_graph(builder, output) {
        return Ok(Lowered::Views);
    }
    let view = builder.view(node.inputs[0])?;
    let shape = builder.graph.shape(output).to_vec();
    let strides = strides(&view.shape);
    let strides: Vec<usize> = transpose.perm.iter().map(|&axis| strides[axis]).collect();
    let moved = gather(builder, id, &shape, |element| {
        let at = indices(element, &shape).zip(&strides).map(|(index, stride)| index * stride).sum();
        Some((&view, at))
    })?;
    builder.fusion.set_view(output, moved);
    Ok(Lowered::Views)
}

/// Lowers Concat.
///
/// # Errors
///
/// Fails like [`transpose`].
pub fn concat(builder: &mut Builder, id: NodeId, concat: &op::Concat) -> Result<Lowered, Reject> {
    let node = builder.graph.node(id);
    let shape = builder.graph.shape(node.outputs[0]).to_vec();
    let mut parts = Vec::new();
    for &input in &node.inputs {
        parts.push(builder.view(input)?);
    }
    let inner: usize = shape[concat.axis + 1..].iter().product();
    // Index at which each part ends along the axis.
    let ends: Vec<usize> = parts
        .iter()
        .scan(0, |end, part| {
            *end += part.shape[concat.axis];
            Some(*end)
        })
        .collect();
    let joined = gather(builder, id, &shape, |element| {
        let (outer, rest) = (element / (shape[concat.axis] * inner), element % (shape[concat.axis] * inner));
        let (along, within) = (rest / inner, rest % inner);
        let place = ends.partition_point(|&end| end <= along);
        let part = parts.get(place)?;
        let size = part.shape[concat.axis];
        let before = ends[place] - size;
        Some((part, (outer * size + along - before) * inner + within))
    })?;
    builder.fusion.set_view(node.outputs[0], joined);
    Ok(Lowered::Views)
}

/// Lowers Split: one view per part.
///
/// # Errors
///
/// Fails like [`transpose`].
pub fn split(builder: &mut Builder, id: NodeId, split: &op::Split) -> Result<Lowered, Reject> {
    let node = builder.graph.node(id);
    let view = builder.view(node.inputs[0])?;
    let strides = strides(&view.shape);
    let mut first = 0;
    for (&output, &size) in node.outputs.iter().zip(&split.sizes) {
        let mut start = vec![0; view.shape.len()];
        start[split.axis] = first;
        let shape = builder.graph.shape(output).to_vec();
        let part = gather(builder, id, &shape, |element| {
            let at = indices(element, &shape)
                .zip(&start)
                .zip(&strides)
                .map(|((index, first), stride)| (index + first) * stride);
            Some((&view, at.sum()))
        })?;
        builder.fusion.set_view(output, part);
        first += size;
    }
    Ok(Lowered::Views)
}

/// Lowers Slice.
///
/// # Errors
///
/// Fails like [`transpose`].
pub fn slice(builder: &mut Builder, id: NodeId, slice: &op::Slice) -> Result<Lowered, Reject> {
    let node = builder.graph.node(id);
    let view = builder.view(node.inputs[0])?;
    let strides = strides(&view.shape);
    let shape = builder.graph.shape(node.outputs[0]).to_vec();
    let mut starts = vec![0; shape.len()];
    let mut steps = vec![1; shape.len()];
    for range in &slice.ranges {
        (starts[range.axis], steps[range.axis]) = (range.start as isize, range.step);
    }
    let part = gather(builder, id, &shape, |element| {
        let along = |(axis, index): (usize, usize)| {
            (starts[axis] + index as isize * steps[axis]) as usize * strides[axis]
        };
        Some((&view, indices(element, &shape).enumerate().map(along).sum()))
    })?;
    builder.fusion.set_view(node.outputs[0], part);
    Ok(Lowered::Views)
}

/// Lowers Gather with constant indices.
///
/// # Errors
///
/// Fails if the indices are not constant, and like [`transpose`].
pub fn gather_indices(builder: &mut Builder, id: NodeId, axis: usize) -> Result<Lowered, Reject> {
    let node = builder.graph.node(id);
    let view = builder.view(node.inputs[0])?;
    let size = view.shape[axis];
    let indices = builder.graph.constant(node.inputs[1]).and_then(|tensor| positions(tensor, size));
    let picked = indices.ok_or_else(|| {
        Reject::new(
            "its indices are not constants within the axis, and the array cannot compute addresses",
            "make the indices constants, or cut the model before it",
        )
    })?;
    let shape = builder.graph.shape(node.outputs[0]).to_vec();
    let inner: usize = view.shape[axis + 1..].iter().product();
    let taken = gather(builder, id, &shape, |element| {
        let (rest, within) = (element / inner, element % inner);
        let (outer, index) = (rest / picked.len(), picked[rest % picked.len()]);
        Some((&view, (outer * size + index) * inner + within))
    })?;
    builder.fusion.set_view(node.outputs[0], taken);
    Ok(Lowered::Views)
}

/// Returns the indices as positions on an axis of `size` elements; negative indices are relative to
/// its end. Returns `None` if an index is out of range.
fn positions(indices: &Tensor, size: usize) -> Option<Vec<usize>> {
    let indices: Vec<i64> = match indices.data() {
        TensorData::I64(all) => all.clone(),
        TensorData::I32(all) => all.iter().map(|&index| i64::from(index)).collect(),
        _ => return None,
    };
    let position = |index: i64| if index < 0 { index.saturating_add(size as i64) } else { index };
    let inside = |index: i64| usize::try_from(position(index)).ok().filter(|&position| position < size);
    indices.into_iter().map(inside).collect()
}

/// Lowers Pad. Zeros need no storage, and another value is one constant vector. The other modes
/// repeat existing vectors.
///
/// # Errors
///
/// Fails like [`transpose`], or for a constant that exceeds DRAM1.
pub fn pad(builder: &mut Builder, id: NodeId, pad: &op::Pad) -> Result<Lowered, Reject> {
    let node = builder.graph.node(id);
    let view = builder.view(node.inputs[0])?;
    let strides = strides(&view.shape);
    let shape = builder.graph.shape(node.outputs[0]).to_vec();
    let filling = match pad.mode {
        PadMode::Constant(value) if value != 0.0 => Some(builder.objects.splat(value)),
        _ => None,
    };
    let filling = filling.map(|vector| View {
        shape: vec![builder.array_size()],
        channels: builder.array_size(),
        vectors: vec![vector],
    });
    let n = builder.array_size();
    let axes = view.shape.iter().zip(&pad.pads);
    let sources: Vec<Vec<Option<usize>>> = axes.map(|(&size, &pads)| pad.sources(size, pads)).collect();
    let padded = gather(builder, id, &shape, |element| {
        let mut at = 0;
        for (axis, index) in indices(element, &shape).enumerate() {
            match sources[axis][index] {
                Some(position) => at += position * strides[axis],
                None => {
                    return filling.as_ref().map(|filling| (filling, element % natural_channels(&shape) % n));
                }
            }
        }
        Some((&view, at))
    })?;
    builder.fusion.set_view(node.outputs[0], padded);
    Ok(Lowered::Views)
}

/// Lowers Tile: the vectors are repeated.
///
/// # Errors
///
/// Fails like [`transpose`].
pub fn tile(builder: &mut Builder, id: NodeId) -> Result<Lowered, Reject> {
    let node = builder.graph.node(id);
    let view = builder.view(node.inputs[0])?;
    let strides = strides(&view.shape);
    let shape = builder.graph.shape(node.outputs[0]).to_vec();
    let tiled = gather(builder, id, &shape, |element| {
        let along = |(axis, index): (usize, usize)| index % view.shape[axis] * strides[axis];
        Some((&view, indices(element, &shape).enumerate().map(along).sum()))
    })?;
    builder.fusion.set_view(node.outputs[0], tiled);
    Ok(Lowered::Views)
}

/// Returns the elements in the packing of the innermost axis.
///
/// # Errors
///
/// Fails like [`transpose`].
pub fn repack(builder: &mut Builder, id: NodeId, view: &View) -> Result<View, Reject> {
    gather(builder, id, &view.shape, |element| Some((view, element)))
}

/// Broadcasts the elements to `shape`.
///
/// # Errors
///
/// Fails like [`transpose`].
pub fn expand(builder: &mut Builder, id: NodeId, view: &View, shape: &[usize]) -> Result<View, Reject> {
    gather(builder, id, shape, |element| Some((view, broadcast(element, shape, &view.shape))))
}

/// Builds a tensor of `shape` in natural packing whose element `e` is the element that `map(e)`
/// names, or zero.
///
/// # Errors
///
/// Fails if lanes move in more ways than a program may list.
pub fn gather<'v>(
    builder: &mut Builder,
    id: NodeId,
    shape: &[usize],
    map: impl Fn(usize) -> Option<(&'v View, usize)>,
) -> Result<View, Reject> {
    let n = builder.array_size();
    let channels = natural_channels(shape);
    let blocks = channels.div_ceil(n).max(1);
    let pixels = shape.iter().product::<usize>() / channels.max(1);
    let mut vectors = Vec::with_capacity(pixels * blocks);
    let mut mixed: Vec<(usize, Vec<(VecRef, Lanes)>)> = Vec::new();
    let mut uses = 0;
    for pixel in 0..pixels {
        for block in 0..blocks {
            let lanes =
                (block * n..channels.min((block + 1) * n)).map(|channel| map(pixel * channels + channel));
            match whole_vector(lanes.clone(), n) {
                Some(vector) => vectors.push(vector),
                None => {
                    let sources = sources(lanes, n);
                    uses += sources.len();
                    builder.require_uses([MIXED_USE, uses])?;
                    mixed.push((vectors.len(), sources));
                    vectors.push(VecRef::ZERO);
                }
            }
        }
    }
    mix(builder, id, &mut vectors, mixed)?;
    Ok(View { shape: shape.to_vec(), channels, vectors })
}

/// Returns the vector that consists of these lanes, each in place; `None` if lanes move.
fn whole_vector<'v>(mut lanes: impl Iterator<Item = Option<(&'v View, usize)>>, n: usize) -> Option<VecRef> {
    let locate = |lane: Option<(&View, usize)>| lane.map(|(view, element)| view.locate(element, n));
    let first = match locate(lanes.next()?) {
        Some((vector, 0)) => vector,
        Some((vector, _)) if vector.is_zero() => vector,
        Some(_) => return None,
        None => VecRef::ZERO,
    };
    let fits = |(l, lane): (usize, Option<(&View, usize)>)| match locate(lane) {
        Some((vector, _)) if vector.is_zero() => first.is_zero(),
        Some((vector, from)) => vector == first && from == l + 1,
        None => first.is_zero(),
    };
    lanes.enumerate().all(fits).then_some(first)
}

/// Returns the source vectors of a mixed vector, and the lanes taken from each.
fn sources<'v>(lanes: impl Iterator<Item = Option<(&'v View, usize)>>, n: usize) -> Vec<(VecRef, Lanes)> {
    let mut sources: Vec<(VecRef, Lanes)> = Vec::new();
    for (to, lane) in lanes.enumerate() {
        let Some((vector, from)) = lane.map(|(view, element)| view.locate(element, n)) else { continue };
        match sources.iter_mut().find(|(known, _)| *known == vector) {
            _ if vector.is_zero() => {}
            Some((_, lanes)) => lanes.push((from, to)),
            None => sources.push((vector, vec![(from, to)])),
        }
    }
    sources
}

/// Creates the vectors for which lanes move, in a separate layer with one term per distinct
/// selection.
fn mix(
    builder: &mut Builder,
    id: NodeId,
    vectors: &mut [VecRef],
    mixed: Vec<(usize, Vec<(VecRef, Lanes)>)>,
) -> Result<(), Reject> {
    if mixed.is_empty() {
        return Ok(());
    }
    let pixels = mixed.len();
    let mut selections: HashMap<Lanes, usize> = HashMap::new();
    let mut terms: Vec<Term> = Vec::new();
    let name = format!("{}/mixed", builder.graph.node(id).name);
    let object = builder.objects.add(name.clone(), ObjectKind::Variable, pixels);
    for (pixel, (at, sources)) in mixed.into_iter().enumerate() {
        vectors[at] = VecRef { object, index: pixel as u32 };
        for (vector, lanes) in sources {
            let next = selections.len();
            let term = *selections.entry(lanes).or_insert(next);
            if term == next {
                builder.require_uses([pixels, terms.len() + 1])?;
                terms.push(Term { inputs: vec![VecRef::ZERO; pixels] });
            }
            terms[term].inputs[pixel] = vector;
        }
    }
    let product = Product::of_selections(format!("{name}/selection"), terms, builder.array_size());
    let mut matrices: Vec<(usize, Lanes)> =
        selections.into_iter().map(|(lanes, term)| (term, lanes)).collect();
    matrices.sort_unstable();
    let selected = |term: usize, from: usize, to: usize| {
        let lanes = &matrices[term].1;
        let found = lanes.binary_search_by_key(&to, |&(_, to)| to).is_ok_and(|at| lanes[at].0 == from);
        f32::from(u8::from(found))
    };
    let step = product::step(builder, &product, selected)?;
    let steps = vec![step, Step::Save { object, pixel_major: false, pixels: None }];
    let (value, channels) = (builder.graph.node(id).outputs[0], product.channels);
    builder.push_layer(Chain { nodes: vec![id], value, pixels, channels, macs: 0, steps, saved: true });
    Ok(())
}

/// Returns the distance of adjacent elements along each axis.
pub fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}
