//! Padding and cropping along all axes.

use npukit_numeric::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build, infer_tensors, result, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Values of the added elements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum PadMode {
    /// A constant.
    Constant(#[serde(with = "npukit_numeric::any_float")] f32),
    /// The nearest element of the operand.
    Edge,
    /// The operand mirrored at its border elements, which are not repeated.
    Reflect,
    /// The operand mirrored at its borders: the border elements appear twice.
    Symmetric,
    /// The operand repeated periodically.
    Wrap,
}

/// Pads (or, with negative numbers, crops) a tensor at both ends of its axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pad {
    /// Number of elements added at the start and end of each axis; negative numbers remove
    /// elements.
    pub pads: Vec<[isize; 2]>,
    /// Values of the added elements.
    pub mode: PadMode,
}

impl Operator for Pad {
    fn name(&self) -> &'static str {
        "Pad"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        let info = operands.info(0);
        operands.size("number of pairs of pads", info.shape.len(), self.pads.len())?;
        let sizes = info.shape.iter().zip(&self.pads).enumerate();
        let shape = sizes.map(|(axis, (&size, &pads))| self.padded_size(axis, size, pads));
        result(shape.collect::<Result<_, _>>()?, info.element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let operand = tensor(self, inputs, 0)?;
        let axes = operand.shape().iter().zip(&self.pads);
        let sources: Vec<Vec<Option<usize>>> = axes.map(|(&size, &pads)| self.sources(size, pads)).collect();
        let fill = match self.mode {
            PadMode::Constant(value) => value,
            PadMode::Edge | PadMode::Reflect | PadMode::Symmetric | PadMode::Wrap => 0.0,
        };
        let shape = operand.shape();
        let data = match operand.data() {
            TensorData::F32(values) => TensorData::F32(select(values, shape, &sources, fill)),
            TensorData::I64(values) => TensorData::I64(select(values, shape, &sources, fill as i64)),
            TensorData::I32(values) => TensorData::I32(select(values, shape, &sources, fill as i32)),
            TensorData::Bool(values) => TensorData::Bool(select(values, shape, &sources, fill != 0.0)),
        };
        Ok(vec![build(self, &infos[0].shape, data)?])
    }

    fn permuted(&self, perm: &[usize]) -> Option<Op> {
        let pads = perm.iter().map(|&axis| self.pads.get(axis).copied()).collect::<Option<_>>()?;
        Some(Self { pads, mode: self.mode }.into())
    }
}

impl Pad {
    /// Returns the size of an axis after padding. Checks that there are enough elements to crop or
    /// mirror.
    fn padded_size(&self, axis: usize, size: usize, [before, after]: [isize; 2]) -> Result<usize, OpError> {
        let refuse = |reason| Err(OpError::Padding { op: self.name(), axis, size, before, after, reason });
        let Some(kept) = size.checked_sub(crop(before).saturating_add(crop(after))) else {
            return refuse("that crops more than the whole axis");
        };
        let (before, after) = (grow(before), grow(after));
        let most = match self.mode {
            PadMode::Constant(_) => usize::MAX,
            PadMode::Edge | PadMode::Wrap if kept == 0 => 0,
            PadMode::Edge | PadMode::Wrap => usize::MAX,
            PadMode::Reflect => kept.saturating_sub(1),
            PadMode::Symmetric => kept,
        };
        if before.max(after) > most {
            return refuse("there are too few elements to repeat or mirror");
        }
        Ok(kept.saturating_add(before).saturating_add(after))
    }

    /// Returns, for each element of a padded axis, the index of the operand element that it copies;
    /// `None` for the constant. [`Operator::infer`] must accept `size` and pads.
    pub fn sources(&self, size: usize, [before, after]: [isize; 2]) -> Vec<Option<usize>> {
        let (first, kept) = (crop(before), size - crop(before) - crop(after));
        let last = kept.saturating_sub(1);
        let (before, after) = (grow(before), grow(after));
        let source = |i: usize| match i.checked_sub(before) {
            Some(inside) if inside < kept => Some(inside),
            beyond => match self.mode {
                PadMode::Constant(_) => None,
                PadMode::Edge => Some(if beyond.is_none() { 0 } else { last }),
                PadMode::Reflect => Some(beyond.map_or_else(|| before - i, |inside| 2 * last - inside)),
                PadMode::Symmetric => {
                    Some(beyond.map_or_else(|| before - 1 - i, |inside| 2 * last + 1 - inside))
                }
                PadMode::Wrap => {
                    let from_end = || kept - 1 - (before - 1 - i) % kept;
                    Some(beyond.map_or_else(from_end, |inside| inside % kept))
                }
            },
        };
        (0..before + kept + after).map(|i| source(i).map(|inside| first + inside)).collect()
    }
}

/// Returns the number of elements that a negative pad removes.
fn crop(pad: isize) -> usize {
    pad.min(0).unsigned_abs()
}

/// Returns the number of elements that a positive pad adds.
fn grow(pad: isize) -> usize {
    pad.max(0).unsigned_abs()
}

/// Returns the elements at the given positions of each axis; `fill` if one of the positions is
/// `None`.
fn select<T: Copy>(values: &[T], shape: &[usize], sources: &[Vec<Option<usize>>], fill: T) -> Vec<T> {
    let mut out = Vec::with_capacity(sources.iter().map(Vec::len).product());
    select_axis(Some(values), shape, sources, fill, &mut out);
    out
}

fn select_axis<T: Copy>(
    values: Option<&[T]>,
    shape: &[usize],
    sources: &[Vec<Option<usize>>],
    fill: T,
    out: &mut Vec<T>,
) {
    let ([_, inner_shape @ ..], [positions, inner @ ..]) = (shape, sources) else {
        return out.push(values.map_or(fill, |values| values[0]));
    };
    let Some(values) = values else {
        let count: usize = sources.iter().map(Vec::len).product();
        return out.extend(std::iter::repeat_n(fill, count));
    };
    let run: usize = inner_shape.iter().product();
    for position in positions {
        let part = position.map(|position| &values[position * run..(position + 1) * run]);
        select_axis(part, inner_shape, inner, fill, out);
    }
}
