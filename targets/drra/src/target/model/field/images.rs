//! What operators are on the fabric: [`FabricImages`]. Constants were rounded in the graph already.

use npukit_graph::Op;
use npukit_graph::field::{FieldTensor, Images, NoImage, Operand, Operands, apply};
use npukit_graph::op::{Binary, BinaryKind, LeakyRelu, ReduceKind, Softmax, UnaryKind, Window};
use npukit_numeric::Element;

use crate::exec::field::{function, quotient};
use crate::lower::gather::{Axes, offsets, strides};

/// The operators as kernels compute them.
pub(super) struct FabricImages {
    /// Dpus have modes for maxima. Otherwise `max(a, b)` is `b + max(a - b, 0)`, which the order of elements does not
    /// keep.
    pub has_extremes: bool,
}

type Found = Option<Result<Vec<FieldTensor>, NoImage>>;

impl Images for FabricImages {
    fn constant(&self, value: f32) -> Option<Element> {
        Element::from_f32(value)
    }

    fn operator(&self, op: &Op, operands: &Operands<'_>) -> Found {
        let found = match op {
            Op::Softmax(axes) => softmax(axes, operands),
            Op::LeakyRelu(relu) => leaky(relu, operands),
            Op::Binary(Binary { kind: BinaryKind::Div }) => self.divided(operands),
            // Steps of Newton's method, which are no square root of anything else.
            Op::Unary(unary) if unary.kind == UnaryKind::Sqrt => Err(NoImage::Operator),
            Op::MaxPool(pool) if !self.has_extremes => max_pool(&pool.window, operands),
            Op::Reduce(reduce) if !self.has_extremes && extreme(reduce.kind).is_some() => {
                reduced(&reduce.axes, extreme(reduce.kind)? == BinaryKind::Max, operands, reduce.keep_dims)
            }
            Op::Binary(Binary { kind: kind @ (BinaryKind::Max | BinaryKind::Min) }) if !self.has_extremes => {
                self.extreme_of_two(*kind, operands)
            }
            _ => return None,
        };
        Some(found.map(|tensor| vec![tensor]))
    }
}

const fn extreme(kind: ReduceKind) -> Option<BinaryKind> {
    match kind {
        ReduceKind::Max => Some(BinaryKind::Max),
        ReduceKind::Min => Some(BinaryKind::Min),
        _ => None,
    }
}

impl FabricImages {
    /// An operator of two operands.
    fn binary(&self, kind: BinaryKind, a: FieldTensor, b: FieldTensor) -> Result<FieldTensor, NoImage> {
        let operands = [a, b].map(|tensor| Operand::Field(tensor.into()));
        match apply(&Binary { kind }.into(), &operands, self)?.pop() {
            Some(Operand::Field(tensor)) => Ok(FieldTensor::clone(&tensor)),
            _ => Err(NoImage::Operator),
        }
    }

    fn divided(&self, operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
        let (a, mut b) = (FieldTensor::clone(&*operands.field(0)?), FieldTensor::clone(&*operands.field(1)?));
        b.elements.iter_mut().for_each(|x| *x = quotient(Element::ONE, *x));
        self.binary(BinaryKind::Mul, a, b)
    }

    fn extreme_of_two(&self, kind: BinaryKind, operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
        let (a, b) = (FieldTensor::clone(&*operands.field(0)?), FieldTensor::clone(&*operands.field(1)?));
        let mut difference = self.binary(BinaryKind::Sub, a, b.clone())?;
        let zero = Element::ZERO;
        let limit = |x: Element| if kind == BinaryKind::Max { x.max(zero) } else { x.min(zero) };
        difference.elements.iter_mut().for_each(|x| *x = limit(*x));
        self.binary(BinaryKind::Add, difference, b)
    }
}

/// The extreme of words: the first half of them beside the second, the one in the middle of an odd row in both.
fn halved(mut row: Vec<Element>, is_max: bool) -> Result<Element, NoImage> {
    let zero = Element::ZERO;
    while row.len() > 1 {
        let half = row.len().div_ceil(2);
        let pairs = row.iter().zip(&row[row.len() - half..]);
        row = pairs.map(|(&a, &b)| b + if is_max { (a - b).max(zero) } else { (a - b).min(zero) }).collect();
    }
    row.pop().ok_or(NoImage::Constant)
}

/// Windows whose pads are copies of the border.
fn max_pool(window: &Window, operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
    let x = operands.field(0)?;
    let &[images, height, width, channels] = &x.shape[..] else { return Err(NoImage::Operator) };
    let [rows, columns] = window.output([height, width]).map_err(|_| NoImage::Operator)?;
    let shape = vec![images, rows, columns, channels];
    let mut elements = Vec::new();
    for index in 0..shape.iter().product() {
        let (channel, column) = (index % channels, index / channels % columns);
        let (row, image) = (index / channels / columns % rows, index / channels / columns / rows);
        let along = |axis: usize, at: usize, size: usize| {
            let place = move |tap: usize| {
                (at * window.strides[axis] + tap * window.dilations[axis])
                    .saturating_sub(window.pads[axis])
                    .min(size.saturating_sub(1))
            };
            (0..window.kernel[axis]).map(place)
        };
        let taps = along(0, row, height).flat_map(|y| along(1, column, width).map(move |x| (y, x)));
        let taps =
            taps.map(|(y, over)| x.elements[((image * height + y) * width + over) * channels + channel]);
        elements.push(halved(taps.collect(), true)?);
    }
    Ok(FieldTensor { shape, elements })
}

fn reduced(
    axes: &[usize],
    is_max: bool,
    operands: &Operands<'_>,
    keep: bool,
) -> Result<FieldTensor, NoImage> {
    let x = operands.field(0)?;
    let all = x.shape.iter().copied().zip(strides(&x.shape)).enumerate();
    let (inside, outside): (Vec<_>, Vec<_>) = all.partition(|(axis, _)| axes.contains(axis));
    let only =
        |parts: Vec<(usize, (usize, usize))>| -> Axes { parts.into_iter().map(|part| part.1).collect() };
    let (inside, outside) = (offsets(&only(inside)), offsets(&only(outside)));
    let row = |start: &usize| inside.iter().map(|step| x.elements[start + step]).collect();
    let elements = outside.iter().map(|start| halved(row(start), is_max)).collect::<Result<_, _>>()?;
    let size = |(axis, &size): (usize, &usize)| match axes.contains(&axis) {
        true => keep.then_some(1),
        false => Some(size),
    };
    Ok(FieldTensor { shape: x.shape.iter().enumerate().filter_map(size).collect(), elements })
}

fn leaky(relu: &LeakyRelu, operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
    let (x, slope) = (operands.field(0)?, operands.constant(relu.alpha)?);
    let one = |&x: &Element| if x == Element::ZERO || x.is_positive() { x } else { slope * x };
    Ok(FieldTensor { shape: x.shape.clone(), elements: x.elements.iter().map(one).collect() })
}

/// Quotients of powers of differences from the maximum.
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
