//! Sparse tensors, which omit zeros: [`dense`] restores them.
//!
//! Source: `SparsityParameters` of `schema.fbs`, and `FormatConverter::SparseToDense` of TensorFlow
//! Lite. The axes, followed by the axes within blocks, are levels of a tree, in traversal order. A
//! dense level holds all positions in order. A sparse level lists the stored positions for each
//! node of the level above (compressed sparse rows). The stored elements are the leaves.

use super::flatbuffer::{Damage, Table};
use crate::error::Reason;
use crate::node::unsupported;
use crate::shape::MAX_RANK;

/// A level of the tree.
struct Level {
    size: usize,
    /// First index and positions of each node's children; `None` for a dense level.
    places: Option<(Vec<usize>, Vec<usize>)>,
}

/// Mapping of levels to the axes of a tensor.
struct Layout {
    shape: Vec<usize>,
    levels: Vec<Level>,
    /// Axis of each level; numbers after the last axis are axes of blocks.
    order: Vec<usize>,
    /// For each axis of blocks, the axis that it divides, and the block size.
    blocks: Vec<(usize, usize)>,
}

/// State of the traversal of the tree.
struct Walk<'a> {
    layout: &'a Layout,
    source: std::slice::ChunksExact<'a, u8>,
    result: Vec<u8>,
    bytes: usize,
    /// Number of nodes that may still be visited.
    room: usize,
}

/// Returns the bytes of all elements of a tensor of `shape`, with `bytes` bytes per element. `data`
/// holds the stored elements.
///
/// # Errors
///
/// [`Reason`] if the parameters do not fit each other, the shape or the elements.
pub(super) fn dense(
    parameters: &Table<'_>,
    shape: &[usize],
    bytes: usize,
    data: &[u8],
) -> Result<Vec<u8>, Reason> {
    let layout = Layout::read(parameters, shape)?;
    let elements = shape.iter().product::<usize>();
    let mut walk = Walk {
        layout: &layout,
        source: data.chunks_exact(bytes.max(1)),
        result: vec![0; elements * bytes],
        bytes,
        room: (elements + data.len()).saturating_mul(2 * layout.levels.len().max(1)),
    };
    walk.visit(0, 0, &mut vec![0; layout.levels.len()])?;
    Ok(walk.result)
}

fn wrong(found: impl std::fmt::Debug) -> Reason {
    unsupported("sparsity", found, "levels that fit the tensor's shape and its elements")
}

fn damaged(Damage { offset, reason }: Damage) -> Reason {
    unsupported("sparsity", format!("byte {offset}"), reason)
}

fn sizes(numbers: Vec<i32>) -> Result<Vec<usize>, Reason> {
    numbers.into_iter().map(|number| usize::try_from(number).map_err(|_| wrong(number))).collect()
}

impl Layout {
    fn read(table: &Table<'_>, shape: &[usize]) -> Result<Self, Reason> {
        let order = sizes(table.integers(0).map_err(damaged)?)?;
        let block_map = sizes(table.integers(1).map_err(damaged)?)?;
        let levels = table.tables(2).map_err(damaged)?;
        let levels = levels.iter().map(level).collect::<Result<Vec<_>, _>>()?;
        let count = shape.len() + block_map.len();
        if levels.len() != count || order.len() != count || count > 2 * MAX_RANK {
            return Err(wrong(format!("{} levels of {count}", levels.len())));
        }
        let mut seen = order.clone();
        seen.sort_unstable();
        if seen.iter().enumerate().any(|(place, &axis)| place != axis) {
            return Err(wrong(order));
        }
        let mut blocks = Vec::new();
        for (index, &axis) in block_map.iter().enumerate() {
            let level = order.iter().position(|&of| of == shape.len() + index);
            let size = level.and_then(|level| levels.get(level)).map(|level| level.size);
            match size.filter(|&size| size > 0 && axis < shape.len()) {
                Some(size) => blocks.push((axis, size)),
                None => return Err(wrong(block_map)),
            }
        }
        Ok(Self { shape: shape.to_vec(), levels, order, blocks })
    }

    /// Index of an element in the dense tensor, from its positions at all levels.
    fn position(&self, places: &[usize]) -> Option<usize> {
        let rank = self.shape.len();
        let mut index = vec![0; rank];
        for (&axis, &place) in self.order.iter().zip(places).filter(|(axis, _)| **axis < rank) {
            index[axis] = place;
        }
        for (number, &(axis, size)) in self.blocks.iter().enumerate() {
            let level = self.order.iter().position(|&of| of == rank + number)?;
            index[axis] = index[axis].checked_mul(size)?.checked_add(places[level])?;
        }
        let mut position = 0;
        for (&place, &size) in index.iter().zip(&self.shape) {
            position = position * size + Some(place).filter(|&place| place < size)?;
        }
        Some(position)
    }
}

fn level(table: &Table<'_>) -> Result<Level, Reason> {
    match table.i8(0, 0).map_err(damaged)? {
        0 => Ok(Level { size: sizes(vec![table.i32(1, 0).map_err(damaged)?])?[0], places: None }),
        1 => Ok(Level { size: 0, places: Some((vector(table, 2)?, vector(table, 4)?)) }),
        other => Err(wrong(format!("a level of format {other}"))),
    }
}

/// Reads the numbers of a vector of 32, 16 or 8 bits: its kind is at `field`, the vector at the
/// next field.
fn vector(table: &Table<'_>, field: usize) -> Result<Vec<usize>, Reason> {
    let kind = table.i8(field, 0).map_err(damaged)?;
    let values = table.table(field + 1).map_err(damaged)?.ok_or_else(|| wrong("a level without places"))?;
    match kind {
        1 => sizes(values.integers(0).map_err(damaged)?),
        2 => {
            let values = values.elements(0).map_err(damaged)?;
            Ok(values.iter().map(|&bytes| u16::from_le_bytes(bytes).into()).collect())
        }
        3 => Ok(values.bytes(0).map_err(damaged)?.iter().map(|&byte| byte.into()).collect()),
        other => Err(wrong(format!("places of kind {other}"))),
    }
}

impl Walk<'_> {
    /// Visits the children of `node` at the level `depth`.
    fn visit(&mut self, depth: usize, node: usize, places: &mut Vec<usize>) -> Result<(), Reason> {
        self.room = self.room.checked_sub(1).ok_or_else(|| wrong("more nodes than elements"))?;
        let layout = self.layout;
        let Some(level) = layout.levels.get(depth) else { return self.put(places) };
        match &level.places {
            None => {
                for place in 0..level.size {
                    places[depth] = place;
                    let child = node.checked_mul(level.size).and_then(|node| node.checked_add(place));
                    self.visit(depth + 1, child.ok_or_else(|| wrong(node))?, places)?;
                }
            }
            Some((begins, all)) => {
                let ends = begins.get(node).zip(begins.get(node + 1));
                let (&begin, &end) = ends.ok_or_else(|| wrong(format!("node {node}")))?;
                for child in begin..end {
                    places[depth] = *all.get(child).ok_or_else(|| wrong(format!("place {child}")))?;
                    self.visit(depth + 1, child, places)?;
                }
            }
        }
        Ok(())
    }

    /// Stores the next element of the file at its position.
    fn put(&mut self, places: &[usize]) -> Result<(), Reason> {
        let element = self
            .source
            .next()
            .ok_or_else(|| wrong("the tensor has fewer stored elements than its sparse index"))?;
        let position = self.layout.position(places).ok_or_else(|| wrong(places))? * self.bytes;
        let slot = self.result.get_mut(position..position + self.bytes).ok_or_else(|| wrong(places))?;
        slot.copy_from_slice(element);
        Ok(())
    }
}
