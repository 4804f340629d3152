//! [`FabricImages`]: operators as the fabric computes them. Constants are already rounded in the
//! graph.

use npukit_graph::Op;
use npukit_graph::field::{FieldTensor, Images, NoImage, Operand, Operands, apply};
use npukit_graph::op::{
    Binary, BinaryKind, MaxPool, Pad, PadMode, Reduce, ReduceKind, Softmax, UnaryKind, Window,
};
use npukit_numeric::Element;

use crate::lower::reaches_border;
use crate::machine::exec::field::{function, quotient};
use crate::program::gather::{Axes, offsets, strides};

/// Operators as kernels compute them.
pub(super) struct FabricImages {
    /// Whether dpus have modes for extremes, which process words in order. Otherwise rows are
    /// halved.
    pub has_extremes: bool,
}

type ImageResult = Option<Result<FieldTensor, NoImage>>;

/// Maximum or minimum of two elements.
type Pick = fn(Element, Element) -> Element;

impl Images for FabricImages {
    fn constant(&self, value: f32) -> Option<Element> {
        Element::from_f32(value)
    }

    fn operator(&self, op: &Op, operands: &Operands<'_>) -> Option<Result<Vec<FieldTensor>, NoImage>> {
        self.found(op, operands).map(|found| found.map(|tensor| vec![tensor]))
    }
}

impl FabricImages {
    fn found(&self, op: &Op, operands: &Operands<'_>) -> ImageResult {
        Some(match op {
            Op::Softmax(axes) => softmax(axes, operands),
            Op::Binary(Binary { kind: BinaryKind::Div }) => self.divided(operands),
            Op::MaxPool(MaxPool { window }) if self.is_own(window) => self.max_pool(window, operands),
            Op::Reduce(reduce) if !self.has_extremes => return self.reduced(reduce, operands),
            Op::Pad(Pad { pads, mode: PadMode::Constant(fill) }) if *fill != 0.0 => {
                self.padded(pads, *fill, operands)
            }
            _ => return None,
        })
    }

    /// Computes an operator of two operands.
    fn binary(&self, kind: BinaryKind, a: FieldTensor, b: FieldTensor) -> Result<FieldTensor, NoImage> {
        only(apply(&Binary { kind }.into(), &[a, b].map(|tensor| Operand::Field(tensor.into())), self)?)
    }

    /// Computes products with inverses.
    fn divided(&self, operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
        let (a, mut b) = (FieldTensor::clone(&*operands.field(0)?), FieldTensor::clone(&*operands.field(1)?));
        b.elements.iter_mut().for_each(|x| *x = quotient(Element::ONE, *x));
        self.binary(BinaryKind::Mul, a, b)
    }

    /// Subtracts the fill value, pads with zeros, and adds the fill value.
    fn padded(
        &self,
        pads: &[[isize; 2]],
        fill: f32,
        operands: &Operands<'_>,
    ) -> Result<FieldTensor, NoImage> {
        let (mut x, fill) = (FieldTensor::clone(&*operands.field(0)?), operands.constant(fill)?);
        x.elements.iter_mut().for_each(|x| *x = *x - fill);
        let pad = Pad { pads: pads.to_vec(), mode: PadMode::Constant(0.0) };
        let mut padded = only(apply(&pad.into(), &[Operand::Field(x.into())], self)?)?;
        padded.elements.iter_mut().for_each(|x| *x += fill);
        Ok(padded)
    }

    /// Whether windows read other words than in the graph, or in another order.
    fn is_own(&self, window: &Window) -> bool {
        !self.has_extremes || (window.pads != [0; 4] && reaches_border(window))
    }

    /// Returns the extreme of words.
    fn extreme(&self, words: Vec<Element>, pick: Pick) -> Result<Element, NoImage> {
        let found = if self.has_extremes { words.into_iter().reduce(pick) } else { halved(words, pick) };
        found.ok_or(NoImage::Constant)
    }

    /// Computes windows with padding that copies the border.
    fn max_pool(&self, window: &Window, operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
        let x = operands.field(0)?;
        let &[images, height, width, channels] = &x.shape[..] else { return Err(NoImage::Operator) };
        let [rows, columns] = window.output([height, width]).map_err(|_| NoImage::Operator)?;
        let along = |axis: usize, at: usize, size: usize| {
            let place = move |tap: usize| {
                (at * window.strides[axis] + tap * window.dilations[axis]).saturating_sub(window.pads[axis])
            };
            (0..window.kernel[axis]).map(move |tap| place(tap).min(size.saturating_sub(1)))
        };
        let shape = vec![images, rows, columns, channels];
        let mut elements = Vec::new();
        for index in 0..shape.iter().product() {
            let (channel, column) = (index % channels, index / channels % columns);
            let (row, image) = (index / channels / columns % rows, index / channels / columns / rows);
            let taps = along(0, row, height).flat_map(|y| along(1, column, width).map(move |x| (y, x)));
            let word = |(y, over)| x.elements[((image * height + y) * width + over) * channels + channel];
            elements.push(self.extreme(taps.map(word).collect(), Element::max)?);
        }
        Ok(FieldTensor { shape, elements })
    }

    fn reduced(&self, reduce: &Reduce, operands: &Operands<'_>) -> ImageResult {
        let pick: Pick = match reduce.kind {
            ReduceKind::Max => Element::max,
            ReduceKind::Min => Element::min,
            _ => return None,
        };
        Some(operands.field(0).and_then(|x| {
            let all = x.shape.iter().copied().zip(strides(&x.shape)).enumerate();
            let (inside, outside): (Vec<_>, Vec<_>) = all.partition(|(axis, _)| reduce.axes.contains(axis));
            let axes = |parts: Vec<(usize, (usize, usize))>| -> Axes {
                parts.into_iter().map(|part| part.1).collect()
            };
            let (inside, outside) = (offsets(&axes(inside)), offsets(&axes(outside)));
            let row = |start: &usize| inside.iter().map(|step| x.elements[start + step]).collect();
            let elements =
                outside.iter().map(|start| self.extreme(row(start), pick)).collect::<Result<_, _>>()?;
            let size = |(axis, &size): (usize, &usize)| match reduce.axes.contains(&axis) {
                true => reduce.keep_dims.then_some(1),
                false => Some(size),
            };
            Ok(FieldTensor { shape: x.shape.iter().enumerate().filter_map(size).collect(), elements })
        }))
    }
}

/// Returns the single result.
fn only(mut results: Vec<Operand>) -> Result<FieldTensor, NoImage> {
    match results.pop() {
        Some(Operand::Field(tensor)) => Ok(FieldTensor::clone(&tensor)),
        _ => Err(NoImage::Operator),
    }
}

/// Combines the first half of the words with the second until one word is left. The middle word of
/// an odd row is in both.
fn halved(mut row: Vec<Element>, pick: Pick) -> Option<Element> {
    while row.len() > 1 {
        let half = row.len().div_ceil(2);
        row = row.iter().zip(&row[row.len() - half..]).map(|(&a, &b)| pick(a, b)).collect();
    }
    row.pop()
}

/// Computes quotients of exponentials of differences from the maximum.
fn softmax(axes: &Softmax, operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
    let x = operands.field(0)?;
    let mut elements = x.elements.clone();
    let inner: usize = x.shape[axes.axis_end..].iter().product();
    let count: usize = x.shape[axes.axis..axes.axis_end].iter().product();
    for group in 0..x.elements.len() / count.max(1) {
        let at = |i: usize| (group / inner.max(1) * count + i) * inner + group % inner.max(1);
        let most = (0..count).map(|i| x.elements[at(i)]).reduce(Element::max).ok_or(NoImage::Constant)?;
        (0..count).for_each(|i| elements[at(i)] = function(UnaryKind::Exp, x.elements[at(i)] - most));
        let sum: Element = (0..count).map(|i| elements[at(i)]).sum();
        (0..count).for_each(|i| elements[at(i)] = quotient(elements[at(i)], sum));
    }
    Ok(FieldTensor { shape: x.shape.clone(), elements })
}
