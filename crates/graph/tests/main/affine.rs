//! Folding of arithmetic with constants, of every kind and with the constant on either side, into
//! weights and into other arithmetic.

use npukit_graph::ValueId;
use npukit_graph::op::{BinaryKind, Conv, ConvTranspose, Gemm, MatMul, Reshape};

use crate::forms::Sketch;
use crate::support::{f32s, noise};

/// Affine functions: the kind, and whether the constant is on the left.
const FOLDED: [(BinaryKind, bool); 7] = [
    (BinaryKind::Add, false),
    (BinaryKind::Add, true),
    (BinaryKind::Sub, false),
    (BinaryKind::Sub, true),
    (BinaryKind::Mul, false),
    (BinaryKind::Mul, true),
    (BinaryKind::Div, false),
];

/// Adds arithmetic on `x` with a constant of one number or of one number per channel.
fn arithmetic(s: &mut Sketch, x: ValueId, (kind, reversed): (BinaryKind, bool), by_channel: bool) -> ValueId {
    let channels = *s.graph.shape(x).last().unwrap();
    let constant = if by_channel {
        let values: Vec<f32> = (0..channels).map(|channel| 0.75 - 0.5 * channel as f32).collect();
        s.constant(f32s(&[channels], &values))
    } else {
        s.constant(f32s(&[], &[-1.75]))
    };
    let operands = if reversed { [constant, x] } else { [x, constant] };
    s.binary(kind, operands[0], operands[1])
}

/// Adds the products that take factors into their weights, with or without an addend.
fn products(s: &mut Sketch) -> Vec<(&'static str, ValueId)> {
    let (square, matrix) = (s.constant(noise(&[1, 1, 4, 4], 1)), s.constant(noise(&[4, 4], 2)));
    let (bias, x) = (s.constant(noise(&[4], 3)), s.x);
    let conv = Conv { strides: [1, 1], dilations: [1, 1], pads: [0; 4], group: 1 };
    let (strides, dilations) = ([1, 1], [1, 1]);
    let transposed = ConvTranspose { strides, dilations, pads: [0; 4], output_padding: [0; 2], group: 1 };
    let rows = s.node(Reshape { shape: vec![6, 4] }, &[x]);
    vec![
        ("Conv", s.node(conv.clone(), &[x, square])),
        ("Conv", s.node(conv, &[x, square, bias])),
        ("ConvTranspose", s.node(transposed.clone(), &[x, square])),
        ("ConvTranspose", s.node(transposed, &[x, square, bias])),
        ("Gemm", s.node(Gemm::PLAIN, &[rows, matrix])),
        ("Gemm", s.node(Gemm::PLAIN, &[rows, matrix, bias])),
        ("MatMul", s.node(MatMul, &[x, matrix])),
    ]
}

/// Returns the operators that remain of the product at `index` followed by `steps`, after comparing
/// the results.
fn folded(index: usize, steps: &[((BinaryKind, bool), bool)]) -> (&'static str, Vec<String>) {
    let mut s = Sketch::new();
    let (name, mut y) = products(&mut s)[index];
    for &(step, by_channel) in steps {
        y = arithmetic(&mut s, y, step, by_channel);
    }
    let left = s.simplified(y, 2e-5);
    (name, left.iter().map(|op| op.split(' ').next().unwrap().to_owned()).collect())
}

#[test]
fn every_kind_goes_into_every_product() {
    for index in 0..7 {
        for step in FOLDED {
            for by_channel in [false, true] {
                let (name, left) = folded(index, &[(step, by_channel)]);
                let multiplies = matches!(step.0, BinaryKind::Mul | BinaryKind::Div);
                let expected: &[&str] = match name {
                    "Gemm" => &["Reshape", "Gemm"],
                    // MatMul has no addend.
                    "MatMul" if multiplies => &["MatMul"],
                    "MatMul" if step == (BinaryKind::Sub, false) => &["MatMul", "Sub"],
                    "MatMul" => &["MatMul", "Add"],
                    name => &[name],
                };
                assert_eq!(left, expected, "{step:?}, by channel: {by_channel}");
            }
        }
    }
}

/// The order of factor and addend matters: every pair of kinds in sequence, and a third.
#[test]
fn chains_of_every_two_kinds_are_one_addend_and_one_factor() {
    for first in FOLDED {
        for second in FOLDED {
            let steps = [(first, true), (second, false), ((BinaryKind::Sub, true), true)];
            assert_eq!(folded(0, &steps).1, ["Conv"], "{first:?} {second:?}");
            let mut s = Sketch::new();
            let mut y = s.x;
            for (step, by_channel) in steps {
                y = arithmetic(&mut s, y, step, by_channel);
            }
            assert!(s.simplified(y, 2e-5).len() <= 2, "{first:?} {second:?}");
        }
    }
}

#[test]
fn what_is_no_affine_function_by_channel_stays() {
    for kind in [BinaryKind::Div, BinaryKind::Sub] {
        let mut s = Sketch::new();
        let y = products(&mut s)[0].1;
        // A constant on the left of a quotient; one per column instead of one per channel.
        let y = match kind {
            BinaryKind::Div => arithmetic(&mut s, y, (kind, true), true),
            _ => {
                let columns = s.constant(noise(&[2, 1], 9));
                s.binary(kind, y, columns)
            }
        };
        let left = s.simplified(y, 0.0);
        assert_eq!((left.len(), &left[1]), (2, &format!("{kind:?}")));
    }
}
