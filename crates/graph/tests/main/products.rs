//! Gemm and MatMul.

use npukit_graph::OpError;
use npukit_graph::op::{BatchNormalization, Gemm, MatMul};

use crate::support::{f32s, floats, iota, noise, refuse, run};

#[test]
fn gemm_by_hand() {
    let a = f32s(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let b = f32s(&[3, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    let c = f32s(&[2], &[10.0, 20.0]);
    let gemm = Gemm { alpha: 2.0, beta: 0.5, trans_a: false, trans_b: false };
    assert_eq!(floats(&run(gemm.clone(), &[&a, &b, &c])), [13.0, 20.0, 25.0, 32.0]);
    assert_eq!(floats(&run(gemm.clone(), &[&a, &b])), [8.0, 10.0, 20.0, 22.0]);
    let at = f32s(&[3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    let bt = f32s(&[2, 3], &[1.0, 0.0, 1.0, 0.0, 1.0, 1.0]);
    let both = Gemm { trans_a: true, trans_b: true, ..gemm };
    assert_eq!(floats(&run(both.clone(), &[&at, &bt, &c])), [13.0, 20.0, 25.0, 32.0]);
    let by_row = f32s(&[2, 1], &[10.0, 20.0]);
    assert_eq!(floats(&run(both.clone(), &[&at, &bt, &by_row])), [13.0, 15.0, 30.0, 32.0]);
    assert!(matches!(refuse(both, &[&a, &bt]), OpError::Size { expected: 2, found: 3, .. }));
}

#[test]
fn matmul_broadcasts_stacks_and_takes_vectors() {
    let stack = iota(&[2, 1, 2, 3]);
    let other = iota(&[2, 3, 1]);
    let result = run(MatMul, &[&stack, &other]);
    assert_eq!(result.shape(), [2, 2, 2, 1]);
    assert_eq!(floats(&result), [5.0, 14.0, 14.0, 50.0, 23.0, 32.0, 86.0, 122.0]);
    let vector = f32s(&[3], &[1.0, 1.0, 2.0]);
    assert_eq!(run(MatMul, &[&vector, &iota(&[3, 2])]), f32s(&[2], &[10.0, 14.0]));
    assert_eq!(run(MatMul, &[&iota(&[2, 3]), &vector]), f32s(&[2], &[5.0, 17.0]));
    assert_eq!(run(MatMul, &[&vector, &vector]), f32s(&[], &[6.0]));
    assert_eq!(run(MatMul, &[&noise(&[0, 3], 1), &vector]), f32s(&[0], &[]));
    assert_eq!(run(MatMul, &[&noise(&[2, 0], 1), &noise(&[0, 2], 1)]), f32s(&[2, 2], &[0.0; 4]));
}

#[test]
fn stacks_that_do_not_broadcast_are_refused() {
    assert!(matches!(refuse(MatMul, &[&iota(&[2, 1, 3]), &iota(&[3, 3, 1])]), OpError::Shapes { .. }));
    assert!(matches!(
        refuse(MatMul, &[&iota(&[2, 3]), &iota(&[4, 2])]),
        OpError::Size { expected: 3, found: 4, .. }
    ));
    assert!(matches!(refuse(MatMul, &[&f32s(&[], &[1.0]), &iota(&[3])]), OpError::Rank { .. }));
}

#[test]
fn batch_normalization_by_hand() {
    let x = f32s(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let (scale, bias) = (f32s(&[2], &[2.0, 3.0]), f32s(&[2], &[0.5, -1.0]));
    let (mean, var) = (f32s(&[2], &[1.0, 2.0]), f32s(&[2], &[3.0, 0.0]));
    let op = BatchNormalization { epsilon: 1.0 };
    assert_eq!(floats(&run(op.clone(), &[&x, &scale, &bias, &mean, &var])), [0.5, -1.0, 2.5, 5.0]);
    assert_eq!(op.factors(&[2.0], &[0.5], &[1.0], &[3.0]), [[1.0, -0.5]]);
}
