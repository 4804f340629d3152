//! Operators on several elements at once: pooling, reductions, and uninterpreted functions.

use npukit_numeric::Element;

use super::{FieldTensor, NoImage, Operands, key};
use crate::op::{Op, Operator, Reduce, ReduceKind, Resize, Window};

/// Returns the results of an operator on several elements; `None` for any other operator.
pub(super) fn apply(op: &Op, operands: &Operands<'_>) -> Option<Result<Vec<FieldTensor>, NoImage>> {
    let result = match op {
        Op::MaxPool(pool) => pooled(&pool.window, operands, |_, elements| {
            elements.reduce(Element::max).ok_or(NoImage::Constant)
        }),
        Op::AveragePool(pool) => operands.field(0).and_then(|x| {
            let image = [x.shape[1], x.shape[2]];
            pooled(&pool.window, operands, |position, elements| {
                let factor = operands.constant(1.0 / pool.divisor(position, image) as f32)?;
                Ok(elements.sum::<Element>() * factor)
            })
        }),
        Op::Reduce(reduce) => reduced(reduce, operands),
        Op::Resize(resize) => resized(resize, operands),
        Op::Softmax(softmax) => hashed(op, softmax.axis..softmax.axis_end, operands),
        Op::LogSoftmax(softmax) => hashed(op, softmax.axis..softmax.axis_end, operands),
        _ => return None,
    };
    Some(result.map(|tensor| vec![tensor]))
}

/// Applies `combine` to each window: its row and column, and its elements of one channel.
fn pooled(
    window: &Window,
    operands: &Operands<'_>,
    combine: impl Fn([usize; 2], &mut dyn Iterator<Item = Element>) -> Result<Element, NoImage>,
) -> Result<FieldTensor, NoImage> {
    let x = operands.field(0)?;
    let &[images, height, width, channels] = &x.shape[..] else { return Err(NoImage::Operator) };
    let [rows, columns] = window.output([height, width]).map_err(|_| NoImage::Operator)?;
    let mut elements = Vec::with_capacity(images * rows * columns * channels);
    for pixel in 0..images * rows * columns {
        let mut taps = Vec::new();
        window.taps(pixel, [height, width], [rows, columns], |_, pixel| taps.push(pixel * channels));
        let position = [pixel / columns % rows, pixel % columns];
        for channel in 0..channels {
            let mut under = taps.iter().map(|tap| x.elements[tap + channel]);
            elements.push(combine(position, &mut under)?);
        }
    }
    Ok(FieldTensor { shape: vec![images, rows, columns, channels], elements })
}

fn reduced(reduce: &Reduce, operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
    let x = operands.field(0)?;
    let elements = reduce.grouped(&x.elements, &x.shape);
    let count: usize = reduce.axes.iter().map(|&axis| x.shape[axis]).product();
    let factor = match reduce.kind {
        ReduceKind::Mean => operands.constant(1.0 / count as f32)?,
        _ => Element::ONE,
    };
    let combine = |group: &[Element]| {
        let group = group.iter().copied();
        Ok(match reduce.kind {
            ReduceKind::Sum | ReduceKind::Mean => group.sum::<Element>() * factor,
            ReduceKind::Prod => group.fold(Element::ONE, |product, x| product * x),
            ReduceKind::Max => group.reduce(Element::max).ok_or(NoImage::Constant)?,
            ReduceKind::Min => group.reduce(Element::min).ok_or(NoImage::Constant)?,
            ReduceKind::L1 => group.map(Element::abs).sum(),
            ReduceKind::SumSquare => group.map(|x| x * x).sum(),
            ReduceKind::L2 | ReduceKind::LogSum | ReduceKind::LogSumExp => return Err(NoImage::Operator),
        })
    };
    let elements = elements.chunks(count.max(1)).map(combine).collect::<Result<_, _>>()?;
    Ok(FieldTensor { shape: reduce.result_shape(&x.shape), elements })
}

/// Sums each sample's taps times the product of their weights, which is rounded once.
fn resized(resize: &Resize, operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
    let x = operands.field(0)?;
    let &[images, height, width, channels] = &x.shape[..] else { return Err(NoImage::Operator) };
    let [rows, columns] = [(0, height), (1, width)].map(|(axis, size)| resize.samples(axis, size));
    let mut elements = Vec::new();
    for image in 0..images {
        for (row, column) in rows.iter().flat_map(|row| columns.iter().map(move |column| (row, column))) {
            let mut taps = Vec::new();
            for &(x, wx) in &column.taps {
                for &(y, wy) in &row.taps {
                    taps.push((((image * height + y) * width + x) * channels, operands.constant(wy * wx)?));
                }
            }
            if taps.is_empty() && resize.extrapolation() != 0.0 {
                return Err(NoImage::Constant);
            }
            let at =
                |channel: usize| taps.iter().map(|&(tap, weight)| x.elements[tap + channel] * weight).sum();
            elements.extend((0..channels).map(at).collect::<Vec<Element>>());
        }
    }
    Ok(FieldTensor { shape: vec![images, rows.len(), columns.len(), channels], elements })
}

/// Applies an uninterpreted function to all elements along `axes`, which are adjacent. Each result
/// depends on all of them, in any order, and on its own element.
fn hashed(op: &Op, axes: std::ops::Range<usize>, operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
    let x = operands.field(0)?;
    let sizes = |axes: &[usize]| axes.iter().product::<usize>();
    let (outer, inner) = (sizes(&x.shape[..axes.start]), sizes(&x.shape[axes.end..]));
    let count = sizes(&x.shape[axes]);
    // The key omits the axes, which depend on the operand.
    let key = key(op.name());
    let mut elements = x.elements.clone();
    for group in 0..outer * inner {
        let at = |i: usize| (group / inner.max(1) * count + i) * inner + group % inner.max(1);
        // Independent of the order.
        let all = (0..count).map(|i| Element::hashed(key, [x.elements[at(i)]])).sum();
        (0..count).for_each(|i| elements[at(i)] = Element::hashed(key, [all, x.elements[at(i)]]));
    }
    Ok(FieldTensor { shape: x.shape.clone(), elements })
}
