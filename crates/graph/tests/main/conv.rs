//! Conv against seven nested loops.

use npukit_graph::OpError;
use npukit_graph::op::Conv;
use npukit_numeric::Tensor;
use proptest::prelude::*;

use crate::support::{distance, f32s, floats, noise, refuse, run};

fn plain() -> Conv {
    Conv { strides: [1, 1], dilations: [1, 1], pads: [0; 4], group: 1 }
}

/// The definition, one product at a time.
fn naive(conv: &Conv, x: &Tensor, weights: &Tensor, bias: &Tensor) -> Tensor {
    let (&[n, h, w, c], &[kh, kw, cg, co]) = (x.shape(), weights.shape()) else { panic!() };
    let out = |axis: usize, size: usize, kernel: usize| {
        let padded = size + conv.pads[axis] + conv.pads[axis + 2];
        (padded - ((kernel - 1) * conv.dilations[axis] + 1)) / conv.strides[axis] + 1
    };
    let (oh, ow) = (out(0, h, kh), out(1, w, kw));
    let mut data = Vec::new();
    for image in 0..n {
        for y in 0..oh {
            for x_out in 0..ow {
                for o in 0..co {
                    let mut sum = f64::from(floats(bias)[o]);
                    for ky in 0..kh {
                        for kx in 0..kw {
                            for i in 0..cg {
                                let row = (y * conv.strides[0] + ky * conv.dilations[0]) as isize;
                                let column = (x_out * conv.strides[1] + kx * conv.dilations[1]) as isize;
                                let row = row - conv.pads[0] as isize;
                                let column = column - conv.pads[1] as isize;
                                if row < 0 || column < 0 || row >= h as isize || column >= w as isize {
                                    continue;
                                }
                                let channel = o / (co / conv.group) * cg + i;
                                let at = ((image * h + row as usize) * w + column as usize) * c + channel;
                                let weight = floats(weights)[((ky * kw + kx) * cg + i) * co + o];
                                sum += f64::from(floats(x)[at]) * f64::from(weight);
                            }
                        }
                    }
                    data.push(sum as f32);
                }
            }
        }
    }
    f32s(&[n, oh, ow, co], &data)
}

proptest! {
    #[test]
    fn agrees_with_the_definition(
        (n, h, w) in (1..3usize, 1..9usize, 1..9usize),
        (kh, kw) in (1..4usize, 1..4usize),
        (cg, og, group) in (1..4usize, 1..11usize, 1..4usize),
        strides in [1..4usize, 1..4],
        dilations in [1..3usize, 1..3],
        pads in [0..4usize, 0..4, 0..4, 0..4],
        depthwise: bool,
        seed: u64,
    ) {
        let (cg, og) = if depthwise { (1, 1) } else { (cg, og) };
        let conv = Conv { strides, dilations, pads, group };
        prop_assume!((kh - 1) * dilations[0] < h + pads[0] + pads[2]);
        prop_assume!((kw - 1) * dilations[1] < w + pads[1] + pads[3]);
        let x = noise(&[n, h, w, cg * group], seed);
        let weights = noise(&[kh, kw, cg, og * group], seed ^ 1);
        let bias = noise(&[og * group], seed ^ 2);
        let result = run(conv.clone(), &[&x, &weights, &bias]);
        prop_assert!(distance(&result, &naive(&conv, &x, &weights, &bias)) < 1e-5);
    }
}

#[test]
fn a_sum_over_a_window() {
    let x = f32s(&[1, 2, 2, 1], &[1.0, 2.0, 3.0, 4.0]);
    let weights = f32s(&[2, 2, 1, 1], &[1.0, 10.0, 100.0, 1000.0]);
    assert_eq!(floats(&run(plain(), &[&x, &weights])), [4321.0]);
    let padded = Conv { pads: [1, 0, 0, 0], ..plain() };
    assert_eq!(floats(&run(padded, &[&x, &weights])), [2100.0, 4321.0]);
}

#[test]
fn operands_that_do_not_fit_are_refused_with_the_numbers() {
    let x = noise(&[1, 4, 4, 6], 1);
    let refused = refuse(Conv { group: 4, ..plain() }, &[&x, &noise(&[1, 1, 1, 4], 2)]);
    assert_eq!(refused.to_string(), "Conv: input channels 6 must be a positive multiple of 4");
    let refused = refuse(plain(), &[&x, &noise(&[1, 1, 5, 4], 2)]);
    assert!(matches!(refused, OpError::Size { expected: 6, found: 5, .. }));
    let refused = refuse(plain(), &[&x, &noise(&[5, 1, 6, 4], 2)]);
    assert!(matches!(refused, OpError::WindowTooLarge { axis: 0, reach: 5, padded: 4 }));
    let refused = refuse(plain(), &[&x, &noise(&[1, 1, 6, 4], 2), &noise(&[3], 3)]);
    assert!(matches!(refused, OpError::Size { expected: 4, found: 3, .. }));
    assert!(matches!(refuse(plain(), &[&x]), OpError::OperandCount { found: 1, .. }));
    assert!(matches!(
        refuse(Conv { group: 0, ..plain() }, &[&x, &noise(&[1, 1, 6, 4], 2)]),
        OpError::Multiple { divisor: 0, .. }
    ));
    let huge = Conv { pads: [usize::MAX; 4], ..plain() };
    assert!(matches!(refuse(huge, &[&x, &noise(&[1, 1, 6, 4], 2)]), OpError::TooLarge { .. }));
}
