//! StridedSlice: NumPy's indexing, with its masks.

use npukit_graph::ValueId;
use npukit_graph::op::{Reshape, Slice, SliceRange};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use crate::slice::range;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let spec = Spec::of(context)?;
    let part = spec.part(context.shape(x))?;
    let whole = context.shape(x).to_vec();
    let is_whole = |range: &SliceRange| range.length == whole[range.axis] && range.step == 1;
    let ranges: Vec<SliceRange> = part.ranges.into_iter().filter(|range| !is_whole(range)).collect();
    let mut sliced = whole.clone();
    ranges.iter().for_each(|range| sliced[range.axis] = range.length);
    if sliced == part.shape && !ranges.is_empty() {
        return Ok(vec![context.emit(Slice { ranges }, vec![x])?]);
    }
    let y = if ranges.is_empty() { x } else { context.helper("slice", Slice { ranges }, vec![x])? };
    Ok(vec![context.emit(Reshape { shape: part.shape }, vec![y])?])
}

/// Indices of the operator. Bit `i` of a mask belongs to index `i`.
struct Spec {
    begin: Vec<i64>,
    end: Vec<i64>,
    strides: Vec<i64>,
    /// Indices whose `begin` is ignored: they start at the first element.
    begin_mask: i64,
    /// Indices whose `end` is ignored: they end at the last element.
    end_mask: i64,
    /// Indices that are `...`: all axes without another index.
    ellipsis_mask: i64,
    /// Indices that insert a new axis of size 1.
    new_axis_mask: i64,
    /// Indices that select one element and remove the axis.
    shrink_axis_mask: i64,
}

/// The selected slice.
struct Part {
    ranges: Vec<SliceRange>,
    /// Shape after axes were inserted and removed.
    shape: Vec<usize>,
}

impl Spec {
    fn of(context: &mut Context<'_>) -> Result<Self, Reason> {
        let mut mask = |name| context.attributes.int_or(name, 0);
        let (begin_mask, end_mask) = (mask("begin_mask")?, mask("end_mask")?);
        let (ellipsis_mask, new_axis_mask) = (mask("ellipsis_mask")?, mask("new_axis_mask")?);
        let shrink_axis_mask = mask("shrink_axis_mask")?;
        let begin = context.required_integers(1, "begin")?;
        let end = context.required_integers(2, "end")?;
        let strides = context.required_integers(3, "strides")?;
        if end.len() != begin.len() || strides.len() != begin.len() {
            let found = [begin.len(), end.len(), strides.len()];
            return Err(unsupported("begin, end, strides", found, "one of each per index"));
        }
        Ok(Self { begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask })
    }

    /// Whether bit `index` of `mask` is set; there are at most 64 indices.
    fn has(mask: i64, index: usize) -> bool {
        mask.checked_shr(index as u32).is_some_and(|bits| bits & 1 == 1)
    }

    /// Whether the index is `...`, which excludes the other kinds.
    fn is_ellipsis(&self, index: usize) -> bool {
        Self::has(self.ellipsis_mask, index)
    }

    fn is_new_axis(&self, index: usize) -> bool {
        !self.is_ellipsis(index) && Self::has(self.new_axis_mask, index)
    }

    /// Returns the slice of a value of `shape`.
    fn part(&self, shape: &[usize]) -> Result<Part, Reason> {
        let indices = 0..self.begin.len();
        let named = indices.clone().filter(|&i| !self.is_ellipsis(i) && !self.is_new_axis(i)).count();
        let ellipses = indices.clone().filter(|&i| self.is_ellipsis(i)).count();
        if ellipses > 1 || named > shape.len() {
            let found = format!("{named} indices and {ellipses} ellipses");
            let legal = format!("at most {} indices and one ellipsis", shape.len());
            return Err(Reason::OperandValue { operand: "begin", found, legal });
        }
        let (mut part, mut axis) = (Part { ranges: Vec::new(), shape: Vec::new() }, 0);
        for index in indices {
            if self.is_ellipsis(index) {
                let count = shape.len() - named;
                part.shape.extend(&shape[axis..axis + count]);
                axis += count;
            } else if self.is_new_axis(index) {
                part.shape.push(1);
            } else {
                self.take(index, axis, shape[axis], &mut part)?;
                axis += 1;
            }
        }
        part.shape.extend(&shape[axis..]);
        Ok(part)
    }

    /// Applies `index` to `axis`, which has `size` elements.
    fn take(&self, index: usize, axis: usize, size: usize, part: &mut Part) -> Result<(), Reason> {
        let (begin, step) = (self.begin[index], self.strides[index]);
        if Self::has(self.shrink_axis_mask, index) {
            let position = if begin < 0 { begin.saturating_add(size as i64) } else { begin };
            let position =
                usize::try_from(position).ok().filter(|&position| position < size && step.is_positive());
            let start = position.ok_or_else(|| {
                let legal = format!("an element of axis {axis}, {} to {}", -(size as i64), size as i64 - 1);
                Reason::OperandValue { operand: "begin", found: begin.to_string(), legal }
            })?;
            part.ranges.push(SliceRange { axis, start, length: 1, step: 1 });
            return Ok(());
        }
        let (first, last) = if step.is_positive() { (0, i64::MAX) } else { (i64::MAX, i64::MIN) };
        let begin = if Self::has(self.begin_mask, index) { first } else { begin };
        let end = if Self::has(self.end_mask, index) { last } else { self.end[index] };
        let range = range(axis, size, begin, end, step)?;
        part.shape.push(range.length);
        part.ranges.push(range);
        Ok(())
    }
}
