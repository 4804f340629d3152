//! Convolution2DTransposeBias, MediaPipe's custom operator: a transposed convolution with weights
//! `[co, kh, kw, ci]` and a bias.
//!
//! Source: MediaPipe's kernel `transpose_conv_bias.cc`. The options are three 32-bit integers:
//! padding (1 SAME, 2 VALID), and columns and rows of the stride.

use npukit_graph::ValueId;
use npukit_numeric::TensorData;

use super::super::context::Context;
use crate::error::Reason;
use crate::node::unsupported;
use crate::shape::tensor;
use crate::tensorflow::proto::{Attr, ListValue};

/// Maximum stride, so that all computed sizes fit 64 bits.
const MAX_STRIDE: i32 = 1 << 24;

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, weights) = (context.input(0, "input")?, context.input(1, "weights")?);
    let options = context.custom_options();
    let &[padding, right, down] = &options[..] else {
        return Err(unsupported("custom_options", options.len(), "3 integers of 32 bits"));
    };
    if ![right, down].iter().all(|stride| (1..=MAX_STRIDE).contains(stride)) {
        return Err(unsupported("stride", [down, right], format!("1 to {MAX_STRIDE}")));
    }
    let (&[n, h, w, _], &[filters, rows, columns, _]) = (context.shape(x), context.shape(weights)) else {
        return Err(unsupported("weights", context.shape(weights), "four axes, as the input has"));
    };
    let (name, size): (&[u8], _) = match padding {
        1 => (b"SAME", [h * down as usize, w * right as usize]),
        2 => {
            let size = |from: usize, stride: i32, kernel| from.saturating_sub(1) * stride as usize + kernel;
            (b"VALID", [size(h, down, rows), size(w, right, columns)])
        }
        other => return Err(unsupported("padding", other, "SAME (1) or VALID (2)")),
    };
    let i = vec![1, down.into(), right.into(), 1];
    let strides = Attr::List(ListValue { i, ..ListValue::default() });
    let sizes = [n, size[0], size[1], filters].map(|size| size as i64);
    let sizes = context.make_constant(tensor(vec![4], TensorData::I64(sizes.to_vec()))?);
    let weights = context.permute(weights, &[1, 2, 0, 3], "hwoi")?;
    let attributes = [("padding", Attr::S(name.to_vec())), ("strides", strides)];
    let results = context.tensorflow("Conv2DBackpropInput", attributes, vec![sizes, weights, x])?;
    results.into_iter().map(|y| context.biased(y, 2)).collect()
}
