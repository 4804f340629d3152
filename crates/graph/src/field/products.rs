//! Matrix products and convolutions.

use std::ops::Range;

use npukit_numeric::{Element, Factors, Products, Rows};
use rayon::prelude::*;

use super::{FieldTensor, NoImage, Operands};
use crate::op::{Conv, ConvTranspose, Gemm, Op, Window};
use crate::shape::{broadcast, broadcast_strides, gather_strided, strides};

/// Returns the results of a product; `None` for any other operator.
pub(super) fn apply(op: &Op, operands: &Operands<'_>) -> Option<Result<Vec<FieldTensor>, NoImage>> {
    let result = match op {
        Op::MatMul(_) => matmul(operands),
        Op::Gemm(op) => gemm(op, operands),
        Op::Conv(op) => conv(op, operands),
        Op::ConvTranspose(op) => conv_transpose(op, operands),
        _ => return None,
    };
    Some(result.map(|tensor| vec![tensor]))
}

/// A stack of matrices.
struct Matrices {
    batch: Vec<usize>,
    rows: usize,
    columns: usize,
    elements: Vec<Element>,
}

impl Matrices {
    /// Takes matrices from the last two axes of a tensor; `vector` returns `[rows, columns]` of a
    /// vector.
    fn of(tensor: &FieldTensor, vector: impl Fn(usize) -> [usize; 2]) -> Self {
        let (batch, [rows, columns]) = match tensor.shape.as_slice() {
            [batch @ .., rows, columns] => (batch.to_vec(), [*rows, *columns]),
            shape => (Vec::new(), vector(shape.iter().product())),
        };
        Self { batch, rows, columns, elements: tensor.elements.clone() }
    }

    /// Swaps rows and columns.
    fn transposed(self) -> Self {
        let Self { batch, rows, columns, elements } = self;
        let mut shape = batch.clone();
        shape.extend([rows, columns]);
        let mut steps = strides(&shape);
        let last = steps.len();
        steps.swap(last - 2, last - 1);
        shape.swap(last - 2, last - 1);
        let elements = gather_strided(&elements, 0, &shape, &steps);
        Self { batch, rows: columns, columns: rows, elements }
    }

    /// Returns the matrices broadcast to `batch`.
    fn spread(self, batch: &[usize]) -> Vec<Element> {
        let inner = [self.rows, self.columns];
        let of = |batch: &[usize]| batch.iter().chain(&inner).copied().collect::<Vec<_>>();
        let (own, shape) = (of(&self.batch), of(batch));
        gather_strided(&self.elements, 0, &shape, &broadcast_strides(&own, &shape))
    }
}

fn matmul(operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
    let (a, b) = (operands.field(0)?, operands.field(1)?);
    let (left, right) = (Matrices::of(&a, |k| [1, k]), Matrices::of(&b, |k| [k, 1]).transposed());
    let batch = broadcast(&left.batch, &right.batch).ok_or(NoImage::Operator)?;
    let (m, k, n) = (left.rows, left.columns, right.rows);
    let rows = (a.shape.len() > 1).then_some(m);
    let columns = (b.shape.len() > 1).then_some(n);
    let shape = batch.iter().copied().chain(rows).chain(columns).collect();
    let (left, right) = (left.spread(&batch), right.spread(&batch));
    let stacks = left.chunks((m * k).max(1)).zip(right.chunks((n * k).max(1)));
    let elements = stacks.flat_map(|(left, right)| product(left, right, k)).collect();
    Ok(FieldTensor { shape, elements })
}

/// Number of rows that a thread processes at a time.
const ROWS: usize = 64;

/// Returns the dot products of each row of `left` with each row of `right`.
fn product(left: &[Element], right: &[Element], depth: usize) -> Vec<Element> {
    let depth = depth.max(1);
    let factors = Factors::of(right.to_vec(), right.len() / depth);
    let rows = |left: &[Element]| products(&factors, left, None);
    left.par_chunks(ROWS * depth).flat_map_iter(rows).collect()
}

/// Multiplies contiguous rows by `factors`.
fn products(factors: &Factors, left: &[Element], addends: Option<&[Element]>) -> Vec<Element> {
    let depth = factors.depth();
    let rows = Rows { values: left, pitch: depth, count: left.len() / depth.max(1) };
    let mut out = vec![Element::ZERO; rows.count * factors.outputs()];
    factors.products(rows, addends, &mut out);
    out
}

fn gemm(op: &Gemm, operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
    let (a, b) = (operands.field(0)?, operands.field(1)?);
    let of = |tensor: &FieldTensor, transposed| {
        let matrix = Matrices::of(tensor, |k| [1, k]);
        if transposed { matrix.transposed() } else { matrix }
    };
    let (left, right) = (of(&a, op.trans_a), of(&b, !op.trans_b));
    let (m, n) = (left.rows, right.rows);
    let mut elements = product(&left.elements, &right.elements, left.columns);
    let scale = |factor: f32, elements: &mut [Element]| {
        let image = operands.constant(factor)?;
        elements.iter_mut().for_each(|x| *x = *x * image);
        Ok::<(), NoImage>(())
    };
    if op.alpha != 1.0 {
        scale(op.alpha, &mut elements)?;
    }
    if let Some(addend) = operands.optional(2)? {
        let mut addend = super::pointwise::spread(&addend, &[m, n]);
        if op.beta != 1.0 {
            scale(op.beta, &mut addend)?;
        }
        elements.iter_mut().zip(addend).for_each(|(x, addend)| *x += addend);
    }
    Ok(FieldTensor { shape: vec![m, n], elements })
}

/// Returns the weights of each filter, tap by tap, channel by channel.
fn filters(weights: &FieldTensor) -> Vec<Element> {
    let count = weights.shape[3];
    let depth = weights.elements.len() / count.max(1);
    let filter = |filter| (0..depth).map(move |i| (i, filter));
    (0..count).flat_map(filter).map(|(i, filter)| weights.elements[i * count + filter]).collect()
}

fn conv(op: &Conv, operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
    let (x, weights, bias) = (operands.field(0)?, operands.field(1)?, operands.optional(2)?);
    let (&[images, height, width, channels], &[kh, kw, depth, count]) = (&x.shape[..], &weights.shape[..])
    else {
        return Err(NoImage::Operator);
    };
    let window = op.window([kh, kw]);
    let [rows, columns] = window.output([height, width]).map_err(|_| NoImage::Operator)?;
    let (size, in_group) = (kh * kw * depth, (count / op.group).max(1));
    let groups = groups(&filters(&weights), bias.as_deref(), in_group, size);
    let pixels = images * rows * columns;
    let block = |first: usize| {
        let block = first..pixels.min(first + ROWS);
        let mut out = vec![Element::ZERO; block.len() * count];
        let mut seen = vec![Element::ZERO; block.len() * size];
        let taps = taps(&window, block, [height, width], [rows, columns]);
        for (group, (factors, bias)) in groups.iter().enumerate() {
            for &(row, tap, pixel) in &taps {
                let from = &x.elements[pixel * channels + group * depth..][..depth];
                seen[row * size + tap * depth..][..depth].copy_from_slice(from);
            }
            let own = products(factors, &seen, bias.as_deref());
            for (out, own) in out.chunks_mut(count.max(1)).zip(own.chunks(in_group)) {
                out[group * in_group..][..own.len()].copy_from_slice(own);
            }
        }
        out
    };
    let elements = (0..pixels.div_ceil(ROWS)).into_par_iter().flat_map_iter(|index| block(index * ROWS));
    Ok(FieldTensor { shape: vec![images, rows, columns, count], elements: elements.collect() })
}

/// Returns the filters and the biases of each group.
fn groups(
    filters: &[Element],
    bias: Option<&FieldTensor>,
    in_group: usize,
    size: usize,
) -> Vec<(Factors, Option<Vec<Element>>)> {
    let of_group = |(group, filters): (usize, &[Element])| {
        let own = bias.map(|bias| bias.elements.iter().skip(group * in_group).take(in_group));
        (Factors::of(filters.to_vec(), in_group), own.map(|own| own.copied().collect()))
    };
    filters.chunks((in_group * size).max(1)).enumerate().map(of_group).collect()
}

/// Returns the taps of the result pixels: for each the index of the result pixel in `pixels`, the
/// tap, and the operand's pixel.
fn taps(
    window: &Window,
    pixels: Range<usize>,
    image: [usize; 2],
    result: [usize; 2],
) -> Vec<(usize, usize, usize)> {
    let mut taps = Vec::new();
    for (row, pixel) in pixels.enumerate() {
        window.taps(pixel, image, result, |tap, pixel| taps.push((row, tap, pixel)));
    }
    taps
}

fn conv_transpose(op: &ConvTranspose, operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
    let (x, weights, bias) = (operands.field(0)?, operands.field(1)?, operands.optional(2)?);
    let (&[images, height, width, channels], &[kh, kw, depth, count]) = (&x.shape[..], &weights.shape[..])
    else {
        return Err(NoImage::Operator);
    };
    let [rows, columns] = op.output([height, width], [kh, kw]).map_err(|_| NoImage::Operator)?;
    let filters = filters(&weights);
    let (size, in_group) = (kh * kw * depth, (count / op.group).max(1));
    let pixels = images * rows * columns;
    let mut elements = match &bias {
        Some(bias) => bias.elements.iter().copied().cycle().take(pixels * count).collect(),
        None => vec![Element::ZERO; pixels * count],
    };
    for (pixel, operand) in x.elements.chunks(channels.max(1)).enumerate() {
        for tap in 0..kh * kw {
            let y = op.target(0, pixel / width % height, tap / kw, rows);
            let x = op.target(1, pixel % width, tap % kw, columns);
            let Some((y, x)) = y.zip(x) else { continue };
            let at = ((pixel / (height * width) * rows + y) * columns + x) * count;
            for (filter, out) in elements[at..at + count].iter_mut().enumerate() {
                let own = &operand[filter / in_group * depth..][..depth];
                *out += Products::of(own, &filters[filter * size + tap * depth..][..depth]);
            }
        }
    }
    Ok(FieldTensor { shape: vec![images, rows, columns, count], elements })
}
