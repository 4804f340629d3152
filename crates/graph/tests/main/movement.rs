//! Operators that move elements.

use npukit_graph::OpError;
use npukit_graph::op::{Concat, Gather, Pad, PadMode, Reshape, Slice, SliceRange, Split, Tile, Transpose};
use npukit_graph::{Op, Operator};

use crate::support::{f32s, floats, i64s, iota, refuse, run};

#[test]
fn transposition_by_coordinates() {
    let x = iota(&[2, 3, 4]);
    let result = run(Transpose { perm: vec![2, 0, 1] }, &[&x]);
    assert_eq!(result.shape(), [4, 2, 3]);
    for (i, j, k) in [(0, 0, 0), (3, 1, 2), (2, 0, 1)] {
        assert_eq!(floats(&result)[(i * 2 + j) * 3 + k], floats(&x)[(j * 3 + k) * 4 + i]);
    }
    assert!(matches!(refuse(Transpose { perm: vec![0, 0, 1] }, &[&x]), OpError::Permutation { .. }));
}

#[test]
fn joining_and_cutting() {
    let (left, right) = (f32s(&[2, 1], &[1.0, 2.0]), f32s(&[2, 2], &[3.0, 4.0, 5.0, 6.0]));
    let joined = run(Concat { axis: 1 }, &[&left, &right]);
    assert_eq!(joined, f32s(&[2, 3], &[1.0, 3.0, 4.0, 2.0, 5.0, 6.0]));
    let parts = Op::from(Split { axis: 1, sizes: vec![1, 2] }).eval(&[&joined]).unwrap();
    assert_eq!(parts, [left.clone(), right]);
    assert!(matches!(refuse(Concat { axis: 0 }, &[&left, &joined]), OpError::Shapes { .. }));
    let uneven = Split { axis: 1, sizes: vec![1, 1] };
    assert!(matches!(refuse(uneven, &[&joined]), OpError::Size { expected: 3, found: 2, .. }));
    assert_eq!(run(Concat { axis: 0 }, &[&i64s(&[1], &[7]), &i64s(&[2], &[8, 9])]), i64s(&[3], &[7, 8, 9]));
}

#[test]
fn gathering_counts_from_both_ends() {
    let x = iota(&[2, 3]);
    let columns = run(Gather { axis: 1 }, &[&x, &i64s(&[2], &[-1, 0])]);
    assert_eq!(columns, f32s(&[2, 2], &[2.0, 0.0, 5.0, 3.0]));
    assert_eq!(run(Gather { axis: 0 }, &[&i64s(&[3], &[5, 6, 7]), &i64s(&[], &[1])]), i64s(&[], &[6]));
    let refused = refuse(Gather { axis: 1 }, &[&x, &i64s(&[1], &[3])]);
    assert_eq!(refused, OpError::Index { op: "Gather", axis: 1, index: 3, size: 3 });
}

#[test]
fn slices_step_either_way() {
    let x = iota(&[2, 5]);
    let slice = |start, length, step| Slice { ranges: vec![SliceRange { axis: 1, start, length, step }] };
    assert_eq!(floats(&run(slice(4, 3, -2), &[&x])), [4.0, 2.0, 0.0, 9.0, 7.0, 5.0]);
    assert_eq!(floats(&run(slice(1, 2, 3), &[&x])), [1.0, 4.0, 6.0, 9.0]);
    assert_eq!(run(slice(5, 0, 1), &[&x]), f32s(&[2, 0], &[]));
    assert!(matches!(refuse(slice(1, 3, 2), &[&iota(&[2, 4])]), OpError::Range { size: 4, .. }));
    assert!(matches!(refuse(slice(0, 2, -1), &[&x]), OpError::Range { .. }));
    assert!(matches!(refuse(slice(0, 1, 0), &[&x]), OpError::Attribute { .. }));
    assert!(matches!(refuse(slice(0, usize::MAX, isize::MAX), &[&x]), OpError::Range { .. }));
}

#[test]
fn padding_of_all_kinds() {
    let x = iota(&[1, 3]);
    let pad = |before, after, mode| Pad { pads: vec![[0, 0], [before, after]], mode };
    let padded = |before, after, mode| floats(&run(pad(before, after, mode), &[&x])).to_vec();
    assert_eq!(padded(2, 1, PadMode::Constant(9.0)), [9.0, 9.0, 0.0, 1.0, 2.0, 9.0]);
    assert_eq!(padded(2, 1, PadMode::Edge), [0.0, 0.0, 0.0, 1.0, 2.0, 2.0]);
    assert_eq!(padded(2, 2, PadMode::Reflect), [2.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0]);
    assert_eq!(padded(2, 3, PadMode::Symmetric), [1.0, 0.0, 0.0, 1.0, 2.0, 2.0, 1.0, 0.0]);
    assert_eq!(padded(4, 5, PadMode::Wrap), [2.0, 0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 0.0, 1.0]);
    assert_eq!(padded(-1, 3, PadMode::Wrap), [1.0, 2.0, 1.0, 2.0, 1.0]);
    assert_eq!(padded(-1, 2, PadMode::Edge), [1.0, 2.0, 2.0, 2.0]);
    assert_eq!(padded(-1, 1, PadMode::Reflect), [1.0, 2.0, 1.0]);
    assert_eq!(padded(-2, -1, PadMode::Constant(9.0)), [0.0; 0]);
    assert!(matches!(
        refuse(pad(3, 0, PadMode::Reflect), &[&x]),
        OpError::Padding { size: 3, before: 3, .. }
    ));
    assert!(matches!(refuse(pad(0, 4, PadMode::Symmetric), &[&x]), OpError::Padding { after: 4, .. }));
    assert!(matches!(refuse(pad(-3, 1, PadMode::Wrap), &[&x]), OpError::Padding { after: 1, .. }));
    assert!(matches!(refuse(pad(-4, 0, PadMode::Edge), &[&x]), OpError::Padding { .. }));
    assert!(matches!(refuse(pad(isize::MAX, isize::MAX, PadMode::Edge), &[&x]), OpError::TooLarge { .. }));
    assert!(matches!(refuse(pad(isize::MIN, isize::MIN, PadMode::Edge), &[&x]), OpError::Padding { .. }));
}

#[test]
fn tiling_repeats_axes() {
    let x = iota(&[2, 1, 2]);
    let tiled = run(Tile { repeats: vec![1, 2, 1] }, &[&x]);
    assert_eq!(tiled, f32s(&[2, 2, 2], &[0.0, 1.0, 0.0, 1.0, 2.0, 3.0, 2.0, 3.0]));
    let tiled = run(Tile { repeats: vec![2, 1, 2] }, &[&x]);
    let once = [0.0, 1.0, 0.0, 1.0, 2.0, 3.0, 2.0, 3.0];
    assert_eq!(tiled, f32s(&[4, 1, 4], &[once, once].concat()));
    assert_eq!(run(Tile { repeats: vec![0, 1, 1] }, &[&x]), f32s(&[0, 1, 2], &[]));
    assert!(matches!(refuse(Tile { repeats: vec![2] }, &[&x]), OpError::Size { expected: 3, found: 1, .. }));
    let endless = Tile { repeats: vec![usize::MAX; 3] };
    assert!(matches!(refuse(endless, &[&x]), OpError::TooLarge { .. }));
}

#[test]
fn reshaping_keeps_the_count() {
    assert_eq!(run(Reshape { shape: vec![3, 2] }, &[&iota(&[2, 3])]), iota(&[3, 2]));
    let refused = refuse(Reshape { shape: vec![4] }, &[&iota(&[2, 3])]);
    assert_eq!(refused.to_string(), "Reshape: number of elements of the new shape must be 6, found 4");
}
