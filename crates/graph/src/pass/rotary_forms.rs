//! Rotation of pairs of features that exporters write as slices and arithmetic.

use super::edit::{insert_nodes, make_node};
use super::matching::Pattern;
use super::{Pass, PassError};
use crate::ir::{Graph, Node, ValueId};
use crate::op::{BinaryKind, Op, Reshape, RotaryEmbedding, Slice, SliceRange, Tile, UnaryKind};

pub(super) const PASS: Pass = Pass {
    name: "rotary-forms",
    description: "recognizes the rotation of pairs of features written as slices and arithmetic",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let producers = graph.producers();
    let mut new = Vec::new();
    for index in 0..graph.nodes.len() {
        let &[result] = graph.nodes[index].outputs.as_slice() else { continue };
        let pattern = Pattern { graph, producers: &producers };
        let found = turned(&pattern, result).or_else(|| apart(&pattern, result));
        if let Some((rotation, layout)) = found.and_then(|found| Some((found, Layout::new(graph, &found)?))) {
            let nodes = put(graph, index, &rotation, &layout)?;
            new.extend(nodes.into_iter().map(|node| (index, node)));
        }
    }
    let changed = !new.is_empty();
    insert_nodes(graph, new);
    Ok(changed)
}

/// A rotation of the features of `x`.
#[derive(Clone, Copy)]
struct Rotation {
    x: ValueId,
    cos: ValueId,
    sin: ValueId,
    /// Whether the features of a pair are neighbors, instead of half of the features apart.
    interleaved: bool,
    /// Whether cosines and sines have one element per feature instead of one per pair.
    by_feature: bool,
}

/// Matches `x * cos + turn(x) * sin`, where `turn` maps a pair `(a, b)` to `(-b, a)`.
fn turned(pattern: &Pattern<'_>, value: ValueId) -> Option<Rotation> {
    let sum = pattern.binary(value, BinaryKind::Add)?;
    let products = sum.map(|term| pattern.binary(term, BinaryKind::Mul));
    let [Some(left), Some(right)] = products else { return None };
    let orders = [(left, right), (right, left)];
    let ways = orders.into_iter().flat_map(|(plain, turned)| {
        swaps(plain).into_iter().flat_map(move |plain| swaps(turned).map(|turned| (plain, turned)))
    });
    let reading = |([x, cos], [turn, sin]): ([ValueId; 2], [ValueId; 2])| {
        let interleaved = [false, true].into_iter().find(|&i| turn_of(pattern, turn, i) == Some(x))?;
        let alike = |table| is_by_pair(pattern, table, interleaved);
        (alike(cos) && alike(sin)).then_some(Rotation { x, cos, sin, interleaved, by_feature: true })
    };
    ways.into_iter().find_map(reading)
}

fn swaps([left, right]: [ValueId; 2]) -> [[ValueId; 2]; 2] {
    [[left, right], [right, left]]
}

/// Returns `x` if the value is `x` with each pair `(a, b)` replaced by `(-b, a)`.
fn turn_of(pattern: &Pattern<'_>, value: ValueId, interleaved: bool) -> Option<ValueId> {
    let [negated, second] = joined(pattern, value, interleaved)?;
    let (_, first) = pattern.unary(negated).filter(|(kind, _)| *kind == UnaryKind::Neg)?;
    let (x, is_second) = part(pattern, first, interleaved)?;
    (is_second && part(pattern, second, interleaved)? == (x, false)).then_some(x)
}

/// Matches the concatenation of `a cos - b sin` and `a sin + b cos`.
fn apart(pattern: &Pattern<'_>, value: ValueId) -> Option<Rotation> {
    [false, true].into_iter().find_map(|interleaved| {
        let [first, second] = joined(pattern, value, interleaved)?;
        let [minuend, subtrahend] = pattern.binary(first, BinaryKind::Sub)?;
        let side = |value, is_second: bool| {
            let operands = pattern.binary(value, BinaryKind::Mul)?;
            swaps(operands).into_iter().find_map(|[own, table]| {
                let (x, second) = part(pattern, own, interleaved)?;
                (second == is_second).then_some((x, table))
            })
        };
        let ((x, cos), (other, sin)) = (side(minuend, false)?, side(subtrahend, true)?);
        let sum = pattern.binary(second, BinaryKind::Add)?;
        let fits = |[a, b]: [ValueId; 2]| side(a, false) == Some((x, sin)) && side(b, true) == Some((x, cos));
        let whole = x == other && swaps(sum).into_iter().any(fits);
        whole.then_some(Rotation { x, cos, sin, interleaved, by_feature: false })
    })
}

/// Returns the two values that hold the first and the second features of the value's pairs.
fn joined(pattern: &Pattern<'_>, value: ValueId, interleaved: bool) -> Option<[ValueId; 2]> {
    let concatenated = if interleaved { reshaped(pattern, value)? } else { value };
    let node = pattern.producer(concatenated)?;
    let (Op::Concat(concat), &[first, second]) = (&node.op, node.inputs.as_slice()) else { return None };
    if concat.axis + 1 != pattern.graph.shape(concatenated).len() {
        return None;
    }
    if !interleaved {
        return Some([first, second]);
    }
    // Each has an axis of size 1 after its features.
    let inner = |value| {
        let inner = reshaped(pattern, value)?;
        let expected: Vec<usize> = pattern.graph.shape(inner).iter().copied().chain([1]).collect();
        (pattern.graph.shape(value) == expected).then_some(inner)
    };
    let parts = [inner(first)?, inner(second)?];
    let mut whole = pattern.graph.shape(parts[0]).to_vec();
    *whole.last_mut()? *= 2;
    (pattern.graph.shape(value) == whole).then_some(parts)
}

fn reshaped(pattern: &Pattern<'_>, value: ValueId) -> Option<ValueId> {
    let node = pattern.producer(value)?;
    matches!(node.op, Op::Reshape(_)).then(|| node.inputs.first().copied()).flatten()
}

/// Returns `x` if the value has one feature of each of its pairs, and whether it is the second.
fn part(pattern: &Pattern<'_>, value: ValueId, interleaved: bool) -> Option<(ValueId, bool)> {
    let node = pattern.graph.node((*pattern.producers.get(value.0 as usize)?)?);
    let &[x] = node.inputs.as_slice() else { return None };
    let (axis, features) = (pattern.graph.shape(x).len().checked_sub(1)?, *pattern.graph.shape(x).last()?);
    let half = features / 2;
    if !features.is_multiple_of(2) || half == 0 {
        return None;
    }
    match &node.op {
        Op::Slice(slice) => {
            let &[range] = slice.ranges.as_slice() else { return None };
            let (step, second) = if interleaved { (2, 1) } else { (1, half) };
            let expected = |start| range == SliceRange { axis, start, length: half, step };
            if expected(0) { Some((x, false)) } else { expected(second).then_some((x, true)) }
        }
        Op::Split(split) if !interleaved && split.axis == axis && split.sizes == [half, half] => {
            Some((x, node.outputs.get(1) == Some(&value)))
        }
        _ => None,
    }
}

/// Whether a table has equal entries for both features of a pair, according to how it is computed.
fn is_by_pair(pattern: &Pattern<'_>, table: ValueId, interleaved: bool) -> bool {
    let shape = pattern.graph.shape(table);
    let Some(&features) = shape.last() else { return false };
    if let Some(constant) = pattern.graph.constant(table) {
        let half = features / 2;
        let alike = |row: &[f32]| match interleaved {
            true => row.chunks(2).all(|pair| pair.first() == pair.last()),
            false => row[..half] == row[half..],
        };
        let rows = constant.as_f32().map(|values| values.chunks_exact(features.max(1)));
        return features.is_multiple_of(2) && rows.is_some_and(|mut rows| rows.all(alike));
    }
    let Some(node) = pattern.producer(table) else { return false };
    let operand = node.inputs.first().copied();
    match &node.op {
        Op::Unary(_) => operand.is_some_and(|operand| is_by_pair(pattern, operand, interleaved)),
        // Rows of another table, or the same rows with other axes before the features.
        Op::Gather(gather) => operand.is_some_and(|operand| {
            gather.axis + 1 < pattern.graph.shape(operand).len() && is_by_pair(pattern, operand, interleaved)
        }),
        Op::Reshape(_) => operand.is_some_and(|operand| {
            pattern.graph.shape(operand).last() == Some(&features)
                && is_by_pair(pattern, operand, interleaved)
        }),
        // A number adds only axes of size 1.
        Op::Binary(_) => pattern
            .with_scalar(table, BinaryKind::Mul)
            .is_some_and(|(operand, _)| is_by_pair(pattern, operand, interleaved)),
        Op::Concat(concat) => {
            let twice = matches!(node.inputs.as_slice(), [first, second] if first == second);
            !interleaved && concat.axis + 1 == shape.len() && twice
        }
        _ => false,
    }
}

/// Layout of the heads, and target shape of cosines and sines.
struct Layout {
    /// Shape of the operand with four axes.
    shape: [usize; 4],
    /// Whether the second axis is that of the positions instead of the heads.
    by_token: bool,
    /// Number of batches of the tables.
    batch: usize,
    positions: usize,
}

impl Layout {
    /// Returns the layout, if the operator supports it.
    fn new(graph: &Graph, found: &Rotation) -> Option<Self> {
        let shape = four_axes(graph.shape(found.x))?;
        let tables = [found.cos, found.sin].map(|id| four_axes(graph.shape(id)));
        let [Some(table), Some(other)] = tables else { return None };
        let [batch, second, third, features] = table;
        let expected = if found.by_feature { shape[3] } else { shape[3] / 2 };
        let float = |id: ValueId| graph.value(id).info.element == graph.value(found.x).info.element;
        let fits = table == other && features == expected && (batch == 1 || batch == shape[0]);
        if !fits || !float(found.cos) || !float(found.sin) {
            return None;
        }
        match [second, third] {
            [1, positions] if positions == shape[2] => {
                Some(Self { shape, by_token: false, batch, positions })
            }
            [positions, 1] if positions == shape[1] => Some(Self { shape, by_token: true, batch, positions }),
            _ => None,
        }
    }
}

/// Returns the shape with leading axes of size 1.
fn four_axes(shape: &[usize]) -> Option<[usize; 4]> {
    let mut four = [1; 4];
    four.get_mut(4usize.checked_sub(shape.len())?..)?.copy_from_slice(shape);
    Some(four)
}

/// Turns the node at `index` into the rotation; returns the nodes to insert before it.
fn put(graph: &mut Graph, index: usize, found: &Rotation, layout: &Layout) -> Result<Vec<Node>, PassError> {
    let name = graph.nodes[index].name.clone();
    let mut new = Vec::new();
    let mut emit = |graph: &mut Graph, op: Op, input: ValueId| -> Result<ValueId, PassError> {
        let node = make_node(graph, &name, op, vec![input])?;
        let result = node.outputs[0];
        new.push(node);
        Ok(result)
    };
    let [batch, second, third, features] = layout.shape;
    let half = features / 2;
    let mut tables = [found.cos, found.sin];
    for table in &mut tables {
        if found.by_feature {
            let step = if found.interleaved { 2 } else { 1 };
            let axis = graph.shape(*table).len() - 1;
            let ranges = vec![SliceRange { axis, start: 0, length: half, step }];
            *table = emit(graph, Slice { ranges }.into(), *table)?;
        }
        let shape = vec![layout.batch, layout.positions, half];
        *table = emit(graph, Reshape { shape }.into(), *table)?;
        if layout.batch != batch {
            *table = emit(graph, Tile { repeats: vec![batch, 1, 1] }.into(), *table)?;
        }
    }
    let [cos, sin] = tables;
    let (heads, shape) = match layout.by_token {
        true => (third, vec![batch, second, third * features]),
        false => (second, layout.shape.to_vec()),
    };
    let rotary: Op = RotaryEmbedding { heads, size: features, interleaved: found.interleaved }.into();
    let own = graph.shape(found.x).to_vec();
    if own == shape {
        (graph.nodes[index].op, graph.nodes[index].inputs) = (rotary, vec![found.x, cos, sin]);
        return Ok(new);
    }
    let x = emit(graph, Reshape { shape }.into(), found.x)?;
    let rotated = make_node(graph, &name, rotary, vec![x, cos, sin])?;
    let result = rotated.outputs.clone();
    new.push(rotated);
    (graph.nodes[index].op, graph.nodes[index].inputs) = (Reshape { shape: own }.into(), result);
    Ok(new)
}
