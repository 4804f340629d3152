//! Reductions and positions of extremes, against values of ONNX Runtime 1.31.1 (one model per node;
//! opset 12, ReduceSum 22, ArgMax and ArgMin 13).

use npukit_graph::op::{ArgMax, Reduce, ReduceKind};
use npukit_graph::{Op, OpError, Operator};
use npukit_numeric::{Tensor, TensorData};

use crate::support::{distance, f32s, i64s, iota, refuse, run};

const X: [f32; 6] = [1.0, -2.0, 3.0, 0.5, 4.0, -1.0];

#[test]
fn reductions_are_those_of_onnx_runtime() {
    let cases: &[(ReduceKind, &[usize], &[f32])] = &[
        (ReduceKind::Mean, &[1], &[0.75, 1.0, 1.0]),
        (ReduceKind::Mean, &[1, 2], &[0.9166667]),
        (ReduceKind::Sum, &[1], &[1.5, 2.0, 2.0]),
        (ReduceKind::Sum, &[1, 2], &[5.5]),
        (ReduceKind::Prod, &[1], &[0.5, -8.0, -3.0]),
        (ReduceKind::Prod, &[1, 2], &[12.0]),
        (ReduceKind::Max, &[1], &[1.0, 4.0, 3.0]),
        (ReduceKind::Max, &[1, 2], &[4.0]),
        (ReduceKind::Min, &[1], &[0.5, -2.0, -1.0]),
        (ReduceKind::Min, &[1, 2], &[-2.0]),
        (ReduceKind::L1, &[1], &[1.5, 6.0, 4.0]),
        (ReduceKind::L1, &[1, 2], &[11.5]),
        (ReduceKind::L2, &[1], &[1.118034, 4.472136, 3.1622777]),
        (ReduceKind::L2, &[1, 2], &[5.59017]),
        (ReduceKind::LogSumExp, &[1], &[1.474077, 4.0024757, 3.0181499]),
        (ReduceKind::LogSumExp, &[1, 2], &[4.376435]),
        (ReduceKind::SumSquare, &[1], &[1.25, 20.0, 10.0]),
        (ReduceKind::SumSquare, &[1, 2], &[31.25]),
    ];
    let x = f32s(&[1, 2, 3], &X);
    for &(kind, axes, expected) in cases {
        let shape: &[usize] = if axes.len() == 1 { &[1, 1, 3] } else { &[1, 1, 1] };
        let kept = run(Reduce { kind, axes: axes.to_vec(), keep_dims: true }, &[&x]);
        assert!(distance(&kept, &f32s(shape, expected)) <= 1e-6, "{kind:?} {axes:?}: {kept:?}");
        let dropped = run(Reduce { kind, axes: axes.to_vec(), keep_dims: false }, &[&x]);
        assert_eq!((dropped.shape().len(), dropped.data()), (3 - axes.len(), kept.data()));
    }
    let logarithm = Reduce { kind: ReduceKind::LogSum, axes: vec![2], keep_dims: false };
    let sums = run(logarithm, &[&f32s(&[1, 2, 3], &X.map(f32::abs))]);
    assert!(distance(&sums, &f32s(&[1, 2], &[1.7917595, 1.704748])) <= 1e-6);
}

/// The standard's values for empty operands, and for no axes.
#[test]
fn nothing_to_reduce() {
    let none = f32s(&[2, 0], &[]);
    let neutral = |kind| run(Reduce { kind, axes: vec![1], keep_dims: false }, &[&none]);
    assert_eq!(neutral(ReduceKind::Sum), f32s(&[2], &[0.0; 2]));
    assert_eq!(neutral(ReduceKind::Prod), f32s(&[2], &[1.0; 2]));
    assert_eq!(neutral(ReduceKind::Max), f32s(&[2], &[f32::NEG_INFINITY; 2]));
    assert_eq!(neutral(ReduceKind::LogSumExp), f32s(&[2], &[f32::NEG_INFINITY; 2]));
    let extreme = Reduce { kind: ReduceKind::Max, axes: vec![1], keep_dims: false };
    assert!(matches!(refuse(extreme, &[&i64s(&[2, 0], &[])]), OpError::Attribute { attribute: "axes", .. }));
    let each = Reduce { kind: ReduceKind::SumSquare, axes: vec![], keep_dims: true };
    assert_eq!(run(each, &[&f32s(&[2], &[3.0, -4.0])]), f32s(&[2], &[9.0, 16.0]));
}

#[test]
fn integers_and_truth_values() {
    let x = i64s(&[2, 2], &[7, -2, i64::MAX, 1]);
    let rows = |kind| run(Reduce { kind, axes: vec![1], keep_dims: false }, &[&x]);
    assert_eq!(rows(ReduceKind::Sum), i64s(&[2], &[5, i64::MIN]));
    assert_eq!(rows(ReduceKind::Prod), i64s(&[2], &[-14, i64::MAX]));
    assert_eq!(rows(ReduceKind::Mean), i64s(&[2], &[2, i64::MIN / 2]));
    assert_eq!(rows(ReduceKind::Min), i64s(&[2], &[-2, 1]));
    let truth = Tensor::new(vec![2, 2], TensorData::Bool(vec![true, false, true, true])).unwrap();
    let rows = |kind| run(Reduce { kind, axes: vec![1], keep_dims: false }, &[&truth]);
    assert_eq!(rows(ReduceKind::Max).data(), &TensorData::Bool(vec![true, true]));
    assert_eq!(rows(ReduceKind::Min).data(), &TensorData::Bool(vec![false, true]));
}

#[test]
fn axes_are_checked() {
    let reduce = |axes: &[usize]| Reduce { kind: ReduceKind::Sum, axes: axes.to_vec(), keep_dims: true };
    assert!(matches!(refuse(reduce(&[2]), &[&iota(&[2, 2])]), OpError::Axis { axis: 2, rank: 2, .. }));
    assert!(matches!(
        refuse(reduce(&[1, 1]), &[&iota(&[2, 2])]),
        OpError::Attribute { attribute: "axes", .. }
    ));
    let moved = reduce(&[1, 2]).permuted(&[0, 2, 3, 1]).unwrap();
    assert_eq!(moved, Op::from(reduce(&[1, 3])));
}

#[test]
fn positions_are_those_of_onnx_runtime() {
    let x = f32s(&[2, 3], &[3.0, 1.0, 3.0, 0.0, 2.0, 2.0]);
    let cases: [(bool, usize, bool, &[i64]); 8] = [
        (false, 0, false, &[0, 1, 0]),
        (false, 0, true, &[0, 1, 0]),
        (false, 1, false, &[0, 1]),
        (false, 1, true, &[2, 2]),
        (true, 0, false, &[1, 0, 1]),
        (true, 0, true, &[1, 0, 1]),
        (true, 1, false, &[1, 0]),
        (true, 1, true, &[1, 0]),
    ];
    for (smallest, axis, select_last, expected) in cases {
        let op = ArgMax { smallest, axis, keep_dims: false, select_last };
        assert_eq!(run(op.clone(), &[&x]), i64s(&[expected.len()], expected), "{op:?}");
    }
    let none = ArgMax { smallest: false, axis: 1, keep_dims: false, select_last: false };
    assert!(matches!(refuse(none, &[&f32s(&[2, 0], &[])]), OpError::Size { found: 0, .. }));
}
