//! Operators that select, write, sort and add up elements by position.

use npukit_graph::op::{
    BitCast, Bitwise, BitwiseKind, Cumulative, Det, GatherElements, GatherNd, ScatterElements, ScatterKind,
    ScatterNd, TopK,
};
use npukit_graph::{Op, OpError, Operator};
use npukit_numeric::{ElementType, Tensor, TensorData};

use crate::support::{f32s, floats, i64s, iota, refuse, run};

#[test]
fn elements_by_an_index_each() {
    let x = iota(&[2, 3]);
    let indices = i64s(&[2, 2], &[0, -1, 2, 1]);
    assert_eq!(run(GatherElements { axis: 1 }, &[&x, &indices]), f32s(&[2, 2], &[0.0, 2.0, 5.0, 4.0]));
    assert_eq!(
        run(GatherElements { axis: 0 }, &[&x, &i64s(&[1, 3], &[1, 0, 1])]),
        f32s(&[1, 3], &[3.0, 1.0, 5.0])
    );
    let beyond = refuse(GatherElements { axis: 1 }, &[&x, &i64s(&[1, 1], &[3])]);
    assert_eq!(beyond, OpError::Index { op: "GatherElements", axis: 1, index: 3, size: 3 });
    assert!(matches!(
        refuse(GatherElements { axis: 0 }, &[&x, &i64s(&[1, 4], &[0; 4])]),
        OpError::Shapes { .. }
    ));
    assert!(matches!(refuse(GatherElements { axis: 0 }, &[&x, &i64s(&[1], &[0])]), OpError::Shapes { .. }));
}

#[test]
fn blocks_by_tuples_of_indices() {
    let x = iota(&[2, 2, 2]);
    let nd = |batch_dims| GatherNd { batch_dims };
    assert_eq!(run(nd(0), &[&x, &i64s(&[2, 2], &[0, 1, -1, 0])]), f32s(&[2, 2], &[2.0, 3.0, 4.0, 5.0]));
    assert_eq!(run(nd(1), &[&x, &i64s(&[2, 1], &[1, 0])]), f32s(&[2, 2], &[2.0, 3.0, 4.0, 5.0]));
    assert_eq!(run(nd(0), &[&x, &i64s(&[1, 3], &[1, 1, 0])]), f32s(&[1], &[6.0]));
    assert!(matches!(refuse(nd(0), &[&x, &i64s(&[1, 4], &[0; 4])]), OpError::Attribute { .. }));
    assert!(matches!(refuse(nd(1), &[&x, &i64s(&[3, 1], &[0; 3])]), OpError::Shapes { .. }));
    assert!(matches!(refuse(nd(9), &[&x, &i64s(&[2, 1], &[0; 2])]), OpError::Shapes { .. }));
    assert!(matches!(refuse(nd(0), &[&x, &i64s(&[1, 1], &[-3])]), OpError::Index { index: -3, size: 2, .. }));
}

#[test]
fn elements_are_put_and_combined() {
    let x = iota(&[2, 2]);
    let (indices, updates) = (i64s(&[2, 1], &[1, 1]), f32s(&[2, 1], &[10.0, 20.0]));
    let elements = |axis, kind| run(ScatterElements { axis, kind }, &[&x, &indices, &updates]);
    assert_eq!(floats(&elements(1, ScatterKind::Replace)), [0.0, 10.0, 2.0, 20.0]);
    assert_eq!(floats(&elements(0, ScatterKind::Replace)), [0.0, 1.0, 20.0, 3.0], "the last update wins");
    assert_eq!(floats(&elements(0, ScatterKind::Add)), [0.0, 1.0, 32.0, 3.0]);
    assert_eq!(floats(&elements(0, ScatterKind::Mul)), [0.0, 1.0, 400.0, 3.0]);
    let rows = |kind| run(ScatterNd { kind }, &[&x, &i64s(&[1, 1], &[-1]), &f32s(&[1, 2], &[2.5, 2.5])]);
    assert_eq!(floats(&rows(ScatterKind::Max)), [0.0, 1.0, 2.5, 3.0]);
    assert_eq!(floats(&rows(ScatterKind::Min)), [0.0, 1.0, 2.0, 2.5]);
    let truths = Tensor::new(vec![1], TensorData::Bool(vec![true])).unwrap();
    let add = ScatterNd { kind: ScatterKind::Add };
    assert!(matches!(refuse(add, &[&truths, &i64s(&[1, 1], &[0]), &truths]), OpError::ElementType { .. }));
    let wrong = [&x, &i64s(&[1, 1], &[0]), &f32s(&[1, 1], &[0.0])];
    assert!(matches!(refuse(ScatterNd { kind: ScatterKind::Replace }, &wrong), OpError::Shapes { .. }));
}

#[test]
fn the_largest_come_first_and_equal_ones_in_order() {
    let x = f32s(&[2, 4], &[1.0, 3.0, 3.0, f32::NAN, -1.0, -2.0, 0.0, 0.0]);
    let results = |largest, k| Op::from(TopK { axis: 1, k, largest }).eval(&[&x]).unwrap();
    assert_eq!(results(true, 3)[1], i64s(&[2, 3], &[3, 1, 2, 2, 3, 0]));
    assert_eq!(results(false, 2), [f32s(&[2, 2], &[1.0, 3.0, -2.0, -1.0]), i64s(&[2, 2], &[0, 1, 1, 0])]);
    let columns =
        Op::from(TopK { axis: 0, k: 1, largest: true }).eval(&[&i64s(&[2, 2], &[1, 4, 3, 2])]).unwrap();
    assert_eq!(columns, [i64s(&[1, 2], &[3, 4]), i64s(&[1, 2], &[1, 0])]);
    assert!(matches!(refuse(TopK { axis: 1, k: 5, largest: true }, &[&x]), OpError::Attribute { .. }));
}

#[test]
fn sums_of_what_came_before() {
    let x = iota(&[2, 3]);
    let sums = |axis, exclusive, reverse| {
        floats(&run(Cumulative { axis, product: false, exclusive, reverse }, &[&x])).to_vec()
    };
    assert_eq!(sums(1, false, false), [0.0, 1.0, 3.0, 3.0, 7.0, 12.0]);
    assert_eq!(sums(1, true, true), [3.0, 2.0, 0.0, 9.0, 5.0, 0.0]);
    assert_eq!(sums(0, false, false), [0.0, 1.0, 2.0, 3.0, 5.0, 7.0]);
    let product = Cumulative { axis: 0, product: true, exclusive: true, reverse: false };
    assert_eq!(run(product, &[&i64s(&[3], &[2, 3, 5])]), i64s(&[3], &[1, 2, 6]));
}

#[test]
fn bits_stay_within_their_type() {
    let bytes = |values: &[i32], element| {
        let tensor = Tensor::new(vec![values.len()], TensorData::I32(values.to_vec())).unwrap();
        tensor.with_element(element).unwrap()
    };
    let shifted = |kind, element, left: i32, right: i32| {
        run(Bitwise { kind }, &[&bytes(&[left], element), &bytes(&[right], element)])
    };
    use ElementType::{I8, U8};
    assert_eq!(shifted(BitwiseKind::ShiftLeft, U8, 0x81, 1), bytes(&[2], U8));
    assert_eq!(shifted(BitwiseKind::ShiftLeft, U8, 1, 8), bytes(&[0], U8));
    assert_eq!(shifted(BitwiseKind::ShiftRight, I8, -3, 1), bytes(&[-2], I8));
    assert_eq!(shifted(BitwiseKind::ShiftRight, I8, -3, 9), bytes(&[-1], I8));
    assert_eq!(shifted(BitwiseKind::Xor, I8, -1, 6), bytes(&[-7], I8));
    assert_eq!(run(BitCast { to: I8 }, &[&bytes(&[0x81], U8)]), bytes(&[-127], I8));
    assert_eq!(
        run(BitCast { to: ElementType::F32 }, &[&bytes(&[0x3f80_0000], ElementType::I32)]),
        f32s(&[1], &[1.0])
    );
    let wider = refuse(BitCast { to: ElementType::I32 }, &[&bytes(&[0], U8)]);
    assert!(matches!(wider, OpError::ElementType { found: U8, .. }));
}

#[test]
fn determinants_by_hand() {
    let x = f32s(&[2, 2, 2], &[0.0, 2.0, 3.0, 4.0, 1.0, 2.0, 2.0, 4.0]);
    assert_eq!(run(Det, &[&x]), f32s(&[2], &[-6.0, 0.0]));
    assert_eq!(run(Det, &[&f32s(&[3, 0, 0], &[])]), f32s(&[3], &[1.0; 3]));
    assert!(matches!(refuse(Det, &[&iota(&[2, 3])]), OpError::Size { .. }));
}
