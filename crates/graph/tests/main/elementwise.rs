//! Elementwise operators of several operands, against values of ONNX Runtime 1.31.1.

use npukit_graph::op::{
    Binary, BinaryKind, Compare, CompareKind, Logic, LogicKind, PRelu, Pow, Trilu, Where,
};
use npukit_graph::{Op, OpError, Operator};
use npukit_numeric::{Tensor, TensorData};

use crate::support::{distance, f32s, floats, i64s, iota, refuse, run};

fn bools(shape: &[usize], data: &[bool]) -> Tensor {
    Tensor::new(shape.to_vec(), TensorData::Bool(data.to_vec())).unwrap()
}

#[test]
fn a_nan_wins_among_extremes() {
    let (x, y) = (f32s(&[4], &[1.0, f32::NAN, 3.0, f32::NAN]), f32s(&[4], &[2.0, 0.0, f32::NAN, f32::NAN]));
    for (kind, first) in [(BinaryKind::Max, 2.0), (BinaryKind::Min, 1.0)] {
        let result = run(Binary { kind }, &[&x, &y]);
        assert!(floats(&result)[0] == first && floats(&result)[1..].iter().all(|x| x.is_nan()), "{result:?}");
    }
}

#[test]
fn remainders() {
    let (x, y) = (f32s(&[4], &[-4.3, 7.2, 5.0, 4.3]), f32s(&[4], &[2.1, -3.4, 8.0, -2.1]));
    let truncated = run(Binary { kind: BinaryKind::Fmod }, &[&x, &y]);
    assert_eq!(truncated, f32s(&[4], &[-0.10000038, 0.39999962, 5.0, 0.10000038]));
    let (x, y) = (i64s(&[6], &[-4, 7, 5, 4, -7, 8]), i64s(&[6], &[2, -3, 8, -2, 3, 5]));
    assert_eq!(run(Binary { kind: BinaryKind::Mod }, &[&x, &y]), i64s(&[6], &[0, -2, 5, 0, 2, 3]));
    assert_eq!(run(Binary { kind: BinaryKind::Fmod }, &[&x, &y]), i64s(&[6], &[0, 1, 5, 0, -1, 3]));
    let last = i64s(&[1], &[i64::MIN]);
    assert_eq!(run(Binary { kind: BinaryKind::Mod }, &[&last, &i64s(&[1], &[-1])]), i64s(&[1], &[0]));
    let zero = refuse(Binary { kind: BinaryKind::Mod }, &[&last, &i64s(&[1], &[0])]);
    assert_eq!(zero, OpError::DivisionByZero { op: "Mod", position: 0 });
}

/// The special cases that the standard lists for Mod at opset 28.
#[test]
fn remainders_of_infinities() {
    let (inf, kind) = (f32::INFINITY, BinaryKind::Mod);
    let x = f32s(&[6], &[0.0, -0.0, inf, 1.0, 3.0, -3.0]);
    let y = f32s(&[6], &[-2.0, 2.0, 1.0, 0.0, inf, inf]);
    let result = run(Binary { kind }, &[&x, &y]);
    let bits = |x: f32| x.to_bits();
    assert_eq!((bits(floats(&result)[0]), bits(floats(&result)[1])), (bits(-0.0), bits(0.0)));
    assert!(floats(&result)[2].is_nan() && floats(&result)[3].is_nan());
    assert_eq!(floats(&result)[4..], [3.0, inf]);
}

#[test]
fn powers() {
    let x = f32s(&[4], &[2.0, -3.0, 9.0, 4.0]);
    assert_eq!(run(Pow, &[&x, &f32s(&[4], &[3.0, 2.0, 0.5, -1.0])]), f32s(&[4], &[8.0, 9.0, 3.0, 0.25]));
    assert_eq!(run(Pow, &[&x, &i64s(&[], &[2])]), f32s(&[4], &[4.0, 9.0, 81.0, 16.0]));
    let integers = i64s(&[3], &[2, -3, 9]);
    assert_eq!(run(Pow, &[&integers, &i64s(&[3], &[10, 3, 0])]), i64s(&[3], &[1024, -27, 1]));
    let roots = run(Pow, &[&i64s(&[3], &[2, 3, 9]), &f32s(&[3], &[2.5, 3.0, 0.5])]);
    assert_eq!(roots, i64s(&[3], &[5, 27, 3]));
    assert_eq!(run(Pow, &[&i64s(&[2], &[-1, 5]), &i64s(&[], &[-3])]), i64s(&[2], &[-1, 0]));
    let zero = refuse(Pow, &[&i64s(&[2], &[1, 0]), &i64s(&[], &[-1])]);
    assert_eq!(zero, OpError::DivisionByZero { op: "Pow", position: 1 });
}

#[test]
fn comparisons_and_logic_broadcast() {
    let (column, row) = (f32s(&[2, 1], &[1.0, f32::NAN]), f32s(&[2], &[1.0, 2.0]));
    let cases = [
        (CompareKind::Equal, [true, false]),
        (CompareKind::Greater, [false, false]),
        (CompareKind::GreaterOrEqual, [true, false]),
        (CompareKind::Less, [false, true]),
        (CompareKind::LessOrEqual, [true, true]),
    ];
    for (kind, [first, second]) in cases {
        let result = run(Compare { kind }, &[&column, &row]);
        assert_eq!(result, bools(&[2, 2], &[first, second, false, false]), "{kind:?}");
    }
    let (left, right) = (bools(&[2, 1], &[true, false]), bools(&[2], &[true, false]));
    for (kind, expected) in [
        (LogicKind::And, [true, false, false, false]),
        (LogicKind::Or, [true, true, true, false]),
        (LogicKind::Xor, [false, true, true, false]),
    ] {
        assert_eq!(run(Logic { kind }, &[&left, &right]), bools(&[2, 2], &expected), "{kind:?}");
    }
    let refused = refuse(Compare { kind: CompareKind::Less }, &[&left, &right]);
    assert!(matches!(refused, OpError::ElementType { .. }));
    assert_eq!(run(Compare { kind: CompareKind::Equal }, &[&right, &right]), bools(&[2], &[true, true]));
}

#[test]
fn choices_broadcast() {
    let condition = bools(&[2, 1], &[true, false]);
    let result = run(Where, &[&condition, &i64s(&[3], &[1, 2, 3]), &i64s(&[], &[9])]);
    assert_eq!(result, i64s(&[2, 3], &[1, 2, 3, 9, 9, 9]));
    let refused = refuse(Where, &[&condition, &i64s(&[], &[1]), &iota(&[1])]);
    assert!(matches!(refused, OpError::ElementType { operand: "third operand", .. }));
}

#[test]
fn slopes_broadcast_to_the_operand_alone() {
    let x = f32s(&[1, 2, 2], &[-1.0, 2.0, -3.0, 4.0]);
    let result = run(PRelu, &[&x, &f32s(&[2, 1], &[0.5, 0.25])]);
    assert_eq!(result, f32s(&[1, 2, 2], &[-0.5, 2.0, -0.75, 4.0]));
    assert!(matches!(refuse(PRelu, &[&x, &iota(&[3, 1, 1])]), OpError::Shapes { .. }));
    assert!(distance(&result, &x) > 0.0);
}

/// NumPy's `triu` and `tril` of `arange(1, 7).reshape(2, 3)`.
#[test]
fn triangles() {
    let x = i64s(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    let cases = [
        (true, 0, [1, 2, 3, 0, 5, 6]),
        (true, 1, [0, 2, 3, 0, 0, 6]),
        (false, 0, [1, 0, 0, 4, 5, 0]),
        (false, -1, [0, 0, 0, 4, 0, 0]),
        (false, i64::MAX, [1, 2, 3, 4, 5, 6]),
        (true, i64::MAX, [0; 6]),
    ];
    for (upper, offset, expected) in cases {
        assert_eq!(run(Trilu { upper, offset }, &[&x]), i64s(&[2, 3], &expected), "{upper} {offset}");
    }
    let turned = Trilu { upper: true, offset: 1 }.permuted(&[1, 0]);
    assert_eq!(turned, Some(Op::from(Trilu { upper: false, offset: -1 })));
}
