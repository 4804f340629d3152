//! Translation of the operators. One that equals a TensorFlow operator has a row in `tensorflow`.
//! The others have a file each, with a `mod` line and a line in the list below, which holds its
//! number in the schema.
//!
//! Quantized operators become the operator on real numbers, rounded once. The graph's
//! `integer_forms` computes sums exactly and rounds ties to even. TensorFlow Lite's default, the
//! XNNPACK kernels, does the same for convolutions and products. Other kernels differ by one step:
//!
//! - The reference kernels multiply by a 32-bit integer and shift, with ties away from zero
//!   (`MultiplyByQuantizedMultiplier`).
//! - Add and Mul shift their operands first.
//! - LeakyRelu rounds negative numbers down.
//! - Softmax, Logistic and Tanh are tables or polynomials in integers.
//!
//! Products of floats and integer weights (dynamic range) become products of floats. TensorFlow
//! Lite rounds the operand to bytes at run time.

mod complex;
mod concatenation;
mod conv;
mod embedding_lookup;
mod fully_connected;
mod gather;
mod l2_normalization;
mod non_max_suppression;
mod passed;
mod pointwise;
mod pool;
mod reshape;
mod sequence;
mod softmax;
mod svdf;
mod tensorflow;
mod transpose_conv;
mod transpose_conv_bias;
mod volume;

use npukit_graph::ValueId;

use super::context::Context;
use super::control;
use super::model::Operator;
use super::names::NAMES;
use crate::error::Reason;

/// Function that translates one operator.
pub(super) type Handler = fn(&mut Context<'_>) -> Result<Vec<ValueId>, Reason>;

macro_rules! operators {
    ($($module:ident: $($code:literal $name:literal),+;)*) => {
        /// Handlers by code and name.
        const HANDLERS: &[(i32, &str, Handler)] = &[$($(($code, $name, $module::translate)),+),*];
    };
}

operators! {
    complex: 131 "RFFT2D", 133 "IMAG", 134 "REAL", 135 "COMPLEX_ABS";
    concatenation: 2 "CONCATENATION";
    conv: 3 "CONV_2D", 4 "DEPTHWISE_CONV_2D";
    embedding_lookup: 7 "EMBEDDING_LOOKUP";
    fully_connected: 9 "FULLY_CONNECTED";
    gather: 36 "GATHER";
    l2_normalization: 11 "L2_NORMALIZATION";
    non_max_suppression: 120 "NON_MAX_SUPPRESSION_V4", 121 "NON_MAX_SUPPRESSION_V5";
    passed: 6 "DEQUANTIZE", 53 "CAST", 114 "QUANTIZE", 124 "DENSIFY";
    pointwise: 20 "RELU_N1_TO_1", 54 "PRELU", 117 "HARD_SWISH", 150 "GELU", 152 "RELU_0_TO_1";
    pool: 1 "AVERAGE_POOL_2D", 12 "L2_POOL_2D", 17 "MAX_POOL_2D";
    reshape: 22 "RESHAPE";
    sequence: 35 "UNIDIRECTIONAL_SEQUENCE_RNN", 44 "UNIDIRECTIONAL_SEQUENCE_LSTM";
    softmax: 25 "SOFTMAX";
    svdf: 27 "SVDF";
    transpose_conv: 67 "TRANSPOSE_CONV";
    volume: 132 "CONV_3D", 141 "CONV_3D_TRANSPOSE";
}

/// Iterates over all operators: the list above and TensorFlow's.
fn all() -> impl Iterator<Item = (i32, &'static str, Handler)> {
    let rows = tensorflow::ROWS.iter().map(|row| (row.code, row.name, tensorflow::translate as Handler));
    HANDLERS.iter().copied().chain(rows)
}

/// Number of custom operators in the schema.
const CUSTOM: i32 = 32;

/// Handlers of custom operators, by name.
const CUSTOM_HANDLERS: &[(&str, Handler)] = &[("Convolution2DTransposeBias", transpose_conv_bias::translate)];

/// Returns the name and handler of an operator, or `None` if it is not supported.
pub(super) fn handler(operator: &Operator<'_>) -> Option<(&'static str, Handler)> {
    if operator.code == CUSTOM {
        return CUSTOM_HANDLERS.iter().find(|(name, _)| *name == operator.custom).copied();
    }
    all().find(|&(code, ..)| code == operator.code).map(|(_, name, handler)| (name, handler))
}

/// Whether all of TensorFlow Lite's kernels for the operator round ties away from 0.
pub(super) fn rounds_away(operator: &Operator<'_>) -> bool {
    matches!(handler(operator), Some(("AVERAGE_POOL_2D", _)))
}

/// Whether the operator's states start at zero in every run.
pub(super) fn begins_anew(operator: &Operator<'_>) -> bool {
    matches!(handler(operator), Some(("UNIDIRECTIONAL_SEQUENCE_LSTM" | "UNIDIRECTIONAL_SEQUENCE_RNN", _)))
}

/// Whether the operator handles complex numbers itself.
pub(super) fn takes_complex(operator: &Operator<'_>) -> bool {
    matches!(handler(operator), Some(("CAST" | "COMPLEX_ABS" | "IMAG" | "REAL", _)))
}

/// Name of an operator.
pub(super) fn name_of(operator: &Operator<'_>) -> String {
    let name = usize::try_from(operator.code).ok().and_then(|code| NAMES.get(code));
    match name {
        _ if operator.code == CUSTOM => format!("custom operator {:?}", operator.custom),
        Some(name) => (*name).to_owned(),
        None => format!("builtin operator {}", operator.code),
    }
}

/// Names of all operators, in alphabetical order.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let mut names: Vec<&'static str> = all().map(|(_, name, _)| name).chain(control::names()).collect();
    names.extend(CUSTOM_HANDLERS.iter().map(|(name, _)| *name));
    names.sort_unstable();
    names.into_iter()
}
