//! Normalizations, against values of ONNX Runtime 1.31.1 unless noted otherwise.

use npukit_graph::op::{
    GroupNormalization, InstanceNormalization, LayerNormalization, LogSoftmax, LpNormalization, Lrn, Norm,
    RmsNormalization, RotaryEmbedding,
};
use npukit_graph::{Op, OpError};
use npukit_numeric::Tensor;

use crate::support::{distance, f32s, iota, noise, refuse, run};

/// One image of two positions and three channels.
fn x3() -> Tensor {
    f32s(&[1, 2, 3], &[1.0, -2.0, 3.0, 0.5, 4.0, -1.0])
}

/// One image of two positions and four channels.
fn x4() -> Tensor {
    f32s(&[1, 2, 4], &[1.0, -2.0, 3.0, 0.0, 0.5, 4.0, -1.0, 2.0])
}

fn agree(op: impl Into<Op>, operands: &[&Tensor], expected: &[f32]) {
    let op = op.into();
    let result = run(op.clone(), operands);
    let expected = f32s(operands[0].shape(), expected);
    assert!(distance(&result, &expected) <= 2e-6, "{op}: {result:?}, expected {expected:?}");
}

#[test]
fn over_trailing_axes() {
    let (scale, bias) = (f32s(&[3], &[1.0, 2.0, 0.5]), f32s(&[3], &[0.0, 1.0, -1.0]));
    let layer = LayerNormalization { axis: 2, epsilon: 0.1 };
    let expected = [0.16033386, -1.5653412, -0.4388315, -0.31465837, 3.6745965, -1.5113199];
    agree(layer.clone(), &[&x3(), &scale, &bias], &expected);
    let both = f32s(&[2, 3], &[1.0, 2.0, 0.5, 0.0, 1.0, -1.0]);
    let expected = [0.039423913, -2.7596724, 0.4927987, -0.0, 1.4586841, 0.9067495];
    agree(LayerNormalization { axis: 1, epsilon: 0.1 }, &[&x3(), &both], &expected);
    // onnx's reference evaluator 1.23.2.
    let expected = [0.4580286, -1.8321145, 0.68704295, 0.20672455, 3.3075929, -0.20672455];
    agree(RmsNormalization { axis: 2, epsilon: 0.1 }, &[&x3(), &scale], &expected);
    assert!(matches!(refuse(layer.clone(), &[&x3(), &both]), OpError::Shapes { .. }));
    assert!(matches!(
        refuse(LayerNormalization { axis: 3, ..layer }, &[&x3(), &scale]),
        OpError::Axis { .. }
    ));
}

#[test]
fn by_channel() {
    let (scale, bias) = (f32s(&[3], &[1.0, 2.0, 0.5]), f32s(&[3], &[0.0, 1.0, -1.0]));
    let expected = [0.6201737, -0.98898065, -0.50613517, -0.6201737, 2.9889808, -1.4938648];
    agree(InstanceNormalization { epsilon: 0.1 }, &[&x3(), &scale, &bias], &expected);
    let (scale, bias) = (f32s(&[4], &[1.0, 2.0, 0.5, -1.0]), f32s(&[4], &[0.0, 1.0, -1.0, 2.0]));
    let expected =
        [0.05798685, -1.6673951, -0.3798263, 2.6201737, -0.17396055, 3.8993425, -1.6201737, 1.3798263];
    agree(GroupNormalization { groups: 2, epsilon: 0.1 }, &[&x4(), &scale, &bias], &expected);
    let refused = refuse(GroupNormalization { groups: 3, epsilon: 0.1 }, &[&x4(), &scale, &bias]);
    assert!(matches!(refused, OpError::Multiple { found: 4, divisor: 3, .. }));
}

#[test]
fn groups_of_one_channel_are_instances() {
    let (x, scale, bias) = (noise(&[2, 3, 2, 4], 1), noise(&[4], 2), noise(&[4], 3));
    let groups = run(GroupNormalization { groups: 4, epsilon: 0.01 }, &[&x, &scale, &bias]);
    assert_eq!(run(InstanceNormalization { epsilon: 0.01 }, &[&x, &scale, &bias]), groups);
}

#[test]
fn over_neighboring_channels() {
    let lrn = Lrn { size: 3, alpha: 0.5, beta: 0.75, bias: 2.0 };
    let expected = [0.45790642, -0.6659067, 1.0286785, 0.0, 0.15642984, 1.2192115, -0.27843764, 0.9158129];
    agree(lrn.clone(), &[&x4()], &expected);
    assert!(matches!(refuse(Lrn { size: 0, ..lrn }, &[&x4()]), OpError::Attribute { attribute: "size", .. }));
    // ONNX Runtime supports only odd sizes. Computed manually: `x / (1 + s / 2)`, with `s` over a
    // channel and the next one.
    let even = Lrn { size: 2, alpha: 1.0, beta: 1.0, bias: 1.0 };
    agree(even, &[&f32s(&[4], &[1.0, -2.0, 3.0, 0.0])], &[1.0 / 3.5, -2.0 / 7.5, 3.0 / 5.5, 0.0]);
}

#[test]
fn logarithms_of_softmax() {
    let expected = [-2.1328452, -5.1328454, -0.13284527, -3.5362697, -0.036269564, -5.0362697];
    agree(LogSoftmax { axis: 2, axis_end: 3 }, &[&x3()], &expected);
    let expected = [-3.3764348, -6.376435, -1.3764348, -3.8764348, -0.37643483, -5.376435];
    agree(LogSoftmax { axis: 1, axis_end: 3 }, &[&x3()], &expected);
    agree(LogSoftmax { axis: 0, axis_end: 1 }, &[&f32s(&[2], &[1e30, 0.0])], &[0.0, -1e30]);
}

#[test]
fn by_norms() {
    let expected = [0.16666667, -0.33333334, 0.5, 0.09090909, 0.72727275, -0.18181819];
    agree(LpNormalization { axis: 2, norm: Norm::L1 }, &[&x3()], &expected);
    let expected = [0.26726124, -0.5345225, 0.8017837, 0.120385855, 0.96308684, -0.24077171];
    agree(LpNormalization { axis: 2, norm: Norm::L2 }, &[&x3()], &expected);
    agree(LpNormalization { axis: 0, norm: Norm::L2 }, &[&f32s(&[2], &[0.0; 2])], &[0.0; 2]);
}

/// Values of onnx's reference evaluator 1.23.2.
#[test]
fn rotations() {
    let x = iota(&[1, 2, 2, 4]);
    let (cos, sin) = (f32s(&[1, 2, 2], &[1.0, 0.5, 0.25, -1.0]), f32s(&[1, 2, 2], &[0.0, 0.75, -0.5, 2.0]));
    let rotary = |size, interleaved| RotaryEmbedding { heads: 2, size, interleaved };
    let expected =
        [0.0, -1.75, 2.0, 2.25, 4.0, -19.0, -0.5, 3.0, 8.0, -3.75, 10.0, 12.25, 10.0, -43.0, -2.5, 11.0];
    agree(rotary(4, false), &[&x, &cos, &sin], &expected);
    let expected =
        [0.0, 1.0, -1.25, 3.0, 3.5, -0.75, -20.0, 5.0, 8.0, 9.0, -3.25, 13.0, 9.5, -2.75, -44.0, 13.0];
    agree(rotary(4, true), &[&x, &cos, &sin], &expected);
    let (cos, sin) = (f32s(&[1, 2, 1], &[1.0, 0.25]), f32s(&[1, 2, 1], &[0.0, -0.5]));
    let expected = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 6.5, -1.75, 10.0, 11.0, 9.5, -2.75, 14.0, 15.0];
    agree(rotary(2, false), &[&iota(&[1, 2, 8]), &cos, &sin], &expected);
    assert!(matches!(
        refuse(rotary(3, true), &[&x, &cos, &sin]),
        OpError::Attribute { attribute: "size", .. }
    ));
    assert!(matches!(refuse(rotary(2, true), &[&iota(&[1, 2, 7]), &cos, &sin]), OpError::Multiple { .. }));
}

/// Deviations far below the mean: their squares are exact, unlike the squares of the numbers and of
/// the mean.
#[test]
fn variances_are_of_differences_from_the_mean() {
    let x = [-1.0, 1.0].map(|count| 4096.0 + count / 2048.0);
    let op = InstanceNormalization { epsilon: 1e-14 };
    agree(op, &[&f32s(&[1, 2, 1], &x), &f32s(&[1], &[1.0]), &f32s(&[1], &[0.0])], &[-1.0, 1.0]);
}
