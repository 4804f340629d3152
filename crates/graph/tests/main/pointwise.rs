//! Elementwise operators and Softmax.

use npukit_graph::OpError;
use npukit_graph::op::{Binary, BinaryKind, Cast, Clip, LeakyRelu, Relu, Softmax};
use npukit_numeric::{ElementType, Tensor, TensorData};

use crate::support::{f32s, floats, i64s, iota, refuse, run};

#[test]
fn rectifiers() {
    let x = f32s(&[4], &[-2.0, 0.0, 3.0, f32::NAN]);
    assert_eq!(floats(&run(Relu, &[&x]))[..3], [0.0, 0.0, 3.0]);
    assert!(floats(&run(Relu, &[&x]))[3].is_nan());
    assert_eq!(floats(&run(LeakyRelu { alpha: 0.5 }, &[&x]))[..3], [-1.0, 0.0, 3.0]);
    assert_eq!(run(Relu, &[&i64s(&[2], &[-1, 1])]), i64s(&[2], &[0, 1]));
}

#[test]
fn clip_and_its_bounds() {
    let x = f32s(&[3], &[-2.0, 1.0, 9.0]);
    assert_eq!(floats(&run(Clip { min: 0.0, max: 6.0 }, &[&x])), [0.0, 1.0, 6.0]);
    assert_eq!(floats(&run(Clip { min: 5.0, max: 2.0 }, &[&x])), [2.0, 2.0, 2.0]);
    assert_eq!(floats(&run(Clip { min: f32::NEG_INFINITY, max: 2.0 }, &[&x])), [-2.0, 1.0, 2.0]);
    let wide = Clip { min: f32::NEG_INFINITY, max: f32::INFINITY };
    assert_eq!(run(wide, &[&i64s(&[2], &[i64::MIN, i64::MAX])]), i64s(&[2], &[i64::MIN, i64::MAX]));
    assert!(matches!(refuse(Clip { min: f32::NAN, max: 1.0 }, &[&x]), OpError::Attribute { .. }));
}

fn binary(kind: BinaryKind, left: &Tensor, right: &Tensor) -> Tensor {
    run(Binary { kind }, &[left, right])
}

#[test]
fn arithmetic_broadcasts() {
    let (column, row) = (f32s(&[2, 1], &[10.0, 20.0]), f32s(&[3], &[1.0, 2.0, 4.0]));
    assert_eq!(binary(BinaryKind::Sub, &column, &row), f32s(&[2, 3], &[9.0, 8.0, 6.0, 19.0, 18.0, 16.0]));
    assert_eq!(binary(BinaryKind::Div, &row, &f32s(&[], &[2.0])), f32s(&[3], &[0.5, 1.0, 2.0]));
    assert_eq!(binary(BinaryKind::Mul, &row, &row), f32s(&[3], &[1.0, 4.0, 16.0]));
    assert_eq!(binary(BinaryKind::Add, &iota(&[0, 3]), &row), f32s(&[0, 3], &[]));
    let refused = refuse(Binary { kind: BinaryKind::Add }, &[&iota(&[2]), &row]);
    assert_eq!(refused.to_string(), "Add: shapes [2] and [3] do not fit together");
}

#[test]
fn integers_divide_towards_zero() {
    let quotient = binary(BinaryKind::Div, &i64s(&[3], &[7, -7, i64::MIN]), &i64s(&[3], &[2, 2, -1]));
    assert_eq!(quotient, i64s(&[3], &[3, -3, i64::MIN]));
    let div = Binary { kind: BinaryKind::Div };
    let refused = refuse(div.clone(), &[&i64s(&[2], &[1, 1]), &i64s(&[2], &[1, 0])]);
    assert_eq!(refused, OpError::DivisionByZero { op: "Div", position: 1 });
    let mixed = refuse(div, &[&i64s(&[1], &[1]), &iota(&[1])]);
    assert!(matches!(mixed, OpError::ElementType { found: ElementType::F32, .. }));
}

#[test]
fn casts_saturate_and_truncate() {
    let x = f32s(&[4], &[-1.5, 0.0, 2.9, 1e30]);
    assert_eq!(run(Cast::new(ElementType::I64), &[&x]), i64s(&[4], &[-1, 0, 2, i64::MAX]));
    let truth = run(Cast::new(ElementType::Bool), &[&x]);
    assert_eq!(truth.data(), &TensorData::Bool(vec![true, false, true, true]));
    assert_eq!(run(Cast::new(ElementType::F32), &[&truth]), f32s(&[4], &[1.0, 0.0, 1.0, 1.0]));
}

#[test]
fn softmax_over_one_axis_or_several() {
    let x = f32s(&[1, 2, 2], &[0.0, 2f32.ln(), 0.0, 100.0]);
    let rows = run(Softmax { axis: 2, axis_end: 3 }, &[&x]);
    assert!((floats(&rows)[0] - 1.0 / 3.0).abs() < 1e-6 && (floats(&rows)[3] - 1.0).abs() < 1e-6);
    let columns = run(Softmax { axis: 1, axis_end: 2 }, &[&x]);
    assert!((floats(&columns)[0] - 0.5).abs() < 1e-6 && floats(&columns)[1] < 1e-6);
    let all = run(Softmax { axis: 1, axis_end: 3 }, &[&x]);
    assert!((floats(&all).iter().sum::<f32>() - 1.0).abs() < 1e-6);
    assert!(matches!(refuse(Softmax { axis: 3, axis_end: 4 }, &[&x]), OpError::Axis { rank: 3, .. }));
}
