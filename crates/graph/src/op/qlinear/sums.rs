//! Exact sums of integer products, in wrapping 32-bit arithmetic: [`sums`]. There is one scalar
//! loop nest for each operator; the innermost loop runs over the last axis of both operands.

use npukit_numeric::Tensor;

use super::super::operands::tensor;
use super::super::{Conv, Gemm, Op, OpError, Operator};
use super::integers;
use crate::shape::{broadcast, broadcast_strides, elements, gather_strided};

/// Bytes with their scales and zero points.
pub(super) struct Integers<'a> {
    pub(super) tensor: &'a Tensor,
    values: &'a [i32],
    scales: &'a [f32],
    zeros: &'a [i32],
}

impl<'a> Integers<'a> {
    /// Takes the operand at `first` with its scale and zero point, which follow it.
    pub(super) fn new(op: &dyn Operator, inputs: &[&'a Tensor], first: usize) -> Result<Self, OpError> {
        let count =
            || OpError::OperandCount { op: op.name(), least: 3, most: usize::MAX, found: inputs.len() };
        let scales = tensor(op, inputs, first + 1)?.as_f32().filter(|scales| !scales.is_empty());
        let zeros = Some(integers(op, inputs, first + 2)?).filter(|zeros| !zeros.is_empty());
        Ok(Self {
            tensor: tensor(op, inputs, first)?,
            values: integers(op, inputs, first)?,
            scales: scales.ok_or_else(count)?,
            zeros: zeros.ok_or_else(count)?,
        })
    }

    /// Returns the number of scales.
    pub(super) fn scales(&self) -> usize {
        self.scales.len()
    }

    /// Returns the scale at an index of the last axis.
    pub(super) fn scale(&self, column: usize) -> f32 {
        self.scales[column % self.scales.len()]
    }

    /// Returns the zero point at an index of the last axis.
    pub(super) fn zero(&self, column: usize) -> i32 {
        self.zeros[column % self.zeros.len()]
    }

    /// Returns the integers unchanged, as floats, which represent 8 bits exactly.
    pub(super) fn numbers(&self) -> Vec<f32> {
        self.values.iter().map(|&value| value as f32).collect()
    }

    /// Returns the real numbers that the integers represent.
    pub(super) fn reals(&self) -> Vec<f32> {
        self.above_zero().iter().enumerate().map(|(i, &above)| above as f32 * self.scale(i)).collect()
    }

    /// Returns the integers minus their zero points. There is one zero point, or one per element of
    /// the last axis.
    fn above_zero(&self) -> Vec<i32> {
        self.values.iter().enumerate().map(|(i, value)| value - self.zero(i)).collect()
    }
}

/// Returns the sums of `op`, whose result has `shape`.
pub(super) fn sums(
    qlinear: &dyn Operator,
    op: &Op,
    operands: &[Integers<'_>],
    shape: &[usize],
) -> Result<Vec<i32>, OpError> {
    let mut out = vec![0; elements(shape)?];
    if out.is_empty() {
        return Ok(out);
    }
    match (op, operands) {
        (Op::AveragePool(_), [x]) => whole_images(x, shape, &mut out),
        (Op::Conv(conv), [x, weights]) => convolve(conv, x, weights, shape, &mut out),
        (Op::Gemm(gemm), [a, b]) => gemm_sums(gemm, a, b, &mut out),
        (Op::MatMul(_), [a, b]) => matmul(a, b, &mut out),
        _ => {
            let (op, found) = (qlinear.name(), 3 * operands.len());
            return Err(OpError::OperandCount { op, least: 3, most: 6, found });
        }
    }
    Ok(out)
}

/// Adds `left * right[j]` to each `out[j]`.
fn add_scaled(out: &mut [i32], left: i32, right: &[i32]) {
    for (out, right) in out.iter_mut().zip(right) {
        *out = out.wrapping_add(left.wrapping_mul(*right));
    }
}

/// Sums over the pixels: `[n, h, w, c]` to `[n, 1, 1, c]`.
fn whole_images(x: &Integers<'_>, shape: &[usize], out: &mut [i32]) {
    let channels = shape[3];
    let pixels = x.values.len() / out.len();
    for (i, row) in x.above_zero().chunks(channels).enumerate() {
        add_scaled(&mut out[i / pixels * channels..][..channels], 1, row);
    }
}

/// Convolves as [`Conv`] does; padding has the value of the zero point.
fn convolve(conv: &Conv, x: &Integers<'_>, weights: &Integers<'_>, shape: &[usize], out: &mut [i32]) {
    let (image, kernel) = (x.tensor.shape(), weights.tensor.shape());
    let (x, weights) = (x.above_zero(), weights.above_zero());
    let (height, width, channels) = (image[1], image[2], image[3]);
    let (depth, filters) = (kernel[2], kernel[3]);
    let window = conv.window([kernel[0], kernel[1]]);
    let of_group = filters / conv.group;
    for (pixel, out) in out.chunks_mut(filters).enumerate() {
        let (n, row, column) = (pixel / (shape[1] * shape[2]), pixel / shape[2] % shape[1], pixel % shape[2]);
        let (down, right) = (window.span(0, row, height), window.span(1, column, width));
        for (i, ky) in down.taps.clone().enumerate() {
            let y = n * height + down.first + i * window.dilations[0];
            for (j, kx) in right.taps.clone().enumerate() {
                let start = (y * width + right.first + j * window.dilations[1]) * channels;
                let tap = (ky * kernel[1] + kx) * depth * filters;
                for (group, out) in out.chunks_mut(of_group).enumerate() {
                    for channel in 0..depth {
                        let left = x[start + group * depth + channel];
                        add_scaled(
                            out,
                            left,
                            &weights[tap + channel * filters + group * of_group..][..of_group],
                        );
                    }
                }
            }
        }
    }
}

/// Multiplies `a' [m, k]` by `b' [k, n]`, transposed as the flags request.
fn gemm_sums(gemm: &Gemm, a: &Integers<'_>, b: &Integers<'_>, out: &mut [i32]) {
    let plain = |x: &Integers<'_>, transposed: bool| {
        let (rows, columns) = (x.tensor.shape()[0], x.tensor.shape()[1]);
        let values = x.above_zero();
        match transposed {
            false => (values, rows, columns),
            true => (gather_strided(&values, 0, &[columns, rows], &[1, columns as isize]), columns, rows),
        }
    };
    let ((a, _, k), (b, _, n)) = (plain(a, gemm.trans_a), plain(b, gemm.trans_b));
    product(&a, &b, k, n, out);
}

/// Multiplies as [`MatMul`](super::super::MatMul) does.
fn matmul(a: &Integers<'_>, b: &Integers<'_>, out: &mut [i32]) {
    let (left, right) = (a.tensor.shape(), b.tensor.shape());
    let (a, b) = (a.above_zero(), b.above_zero());
    let k = left[left.len() - 1];
    let (m, batch_left) = match left {
        [batch @ .., m, _] => (*m, batch),
        _ => (1, &[][..]),
    };
    let (n, batch_right) = match right {
        [batch @ .., _, n] => (*n, batch),
        _ => (1, &[][..]),
    };
    let batch = broadcast(batch_left, batch_right).expect("inference checks that batches broadcast");
    let matrices = |own: &[usize]| {
        let indices: Vec<usize> = (0..own.iter().product()).collect();
        gather_strided(&indices, 0, &batch, &broadcast_strides(own, &batch))
    };
    let pairs = matrices(batch_left).into_iter().zip(matrices(batch_right));
    for ((left, right), out) in pairs.zip(out.chunks_mut((m * n).max(1))) {
        product(&a[left * m * k..][..m * k], &b[right * k * n..][..k * n], k, n, out);
    }
}

/// Multiplies row-major matrices `[m, k]` and `[k, n]`.
fn product(a: &[i32], b: &[i32], k: usize, n: usize, out: &mut [i32]) {
    if k == 0 || n == 0 {
        return;
    }
    for (row, out) in a.chunks(k).zip(out.chunks_mut(n)) {
        for (left, right) in row.iter().zip(b.chunks(n)) {
            add_scaled(out, *left, right);
        }
    }
}
