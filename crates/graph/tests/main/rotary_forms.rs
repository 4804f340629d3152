//! Rotation of pairs of features as exporters write it. The operand is `[1, 3, 2, 4]`: 3 heads, 2
//! positions, 4 features, or 3 positions and 2 heads.

use npukit_graph::ValueId;
use npukit_graph::op::{ArgMax, BinaryKind, Concat, Gather, Reshape, Slice, SliceRange, Split, UnaryKind};
use npukit_numeric::Tensor;

use crate::forms::{SHAPE, Sketch};
use crate::support::{f32s, noise};

/// The first or second features of the pairs.
fn part(s: &mut Sketch, interleaved: bool, second: bool) -> ValueId {
    let (start, step) = match (interleaved, second) {
        (_, false) => (0, if interleaved { 2 } else { 1 }),
        (true, true) => (1, 2),
        (false, true) => (2, 1),
    };
    let x = s.x;
    s.node(Slice { ranges: vec![SliceRange { axis: 3, start, length: 2, step }] }, &[x])
}

/// Interleaves or concatenates the two parts of all pairs.
fn join(s: &mut Sketch, interleaved: bool, parts: [ValueId; 2]) -> ValueId {
    if !interleaved {
        return s.node(Concat { axis: 3 }, &parts);
    }
    let parts = parts.map(|part| s.node(Reshape { shape: vec![1, 3, 2, 2, 1] }, &[part]));
    let stacked = s.node(Concat { axis: 4 }, &parts);
    s.node(Reshape { shape: SHAPE.to_vec() }, &[stacked])
}

/// A table `shape` of noise; with entries per feature, both features of a pair have equal entries.
fn table(shape: &[usize], by_feature: Option<bool>, seed: u64) -> Tensor {
    let rows: usize = shape[..shape.len() - 1].iter().product();
    let pairs = noise(&[rows, 2], seed);
    let row = |row: &[f32]| match by_feature {
        None => row.to_vec(),
        Some(true) => vec![row[0], row[0], row[1], row[1]],
        Some(false) => [row, row].concat(),
    };
    let values: Vec<f32> = pairs.as_f32().unwrap().chunks(2).flat_map(row).collect();
    f32s(shape, &values)
}

/// `x * cos + turn(x) * sin`.
fn turned(s: &mut Sketch, interleaved: bool, [cos, sin]: [ValueId; 2]) -> ValueId {
    let (first, second) = (part(s, interleaved, false), part(s, interleaved, true));
    let negated = s.unary(UnaryKind::Neg, second);
    let turned = join(s, interleaved, [negated, first]);
    let x = s.x;
    let plain = s.binary(BinaryKind::Mul, x, cos);
    let turned = s.binary(BinaryKind::Mul, turned, sin);
    s.binary(BinaryKind::Add, plain, turned)
}

/// `(a cos - b sin, a sin + b cos)`.
fn apart(s: &mut Sketch, interleaved: bool, [cos, sin]: [ValueId; 2]) -> ValueId {
    let (a, b) = (part(s, interleaved, false), part(s, interleaved, true));
    let product = |s: &mut Sketch, x, table| s.binary(BinaryKind::Mul, x, table);
    let (ac, bs) = (product(s, a, cos), product(s, b, sin));
    let (bc, sa) = (product(s, b, cos), product(s, sin, a));
    let first = s.binary(BinaryKind::Sub, ac, bs);
    let second = s.binary(BinaryKind::Add, bc, sa);
    join(s, interleaved, [first, second])
}

fn rotary(heads: usize, interleaved: bool) -> String {
    format!("RotaryEmbedding {{ heads: {heads}, size: 4, interleaved: {interleaved} }}")
}

#[test]
fn whole_tables_and_tables_of_pairs() {
    for interleaved in [false, true] {
        let mut s = Sketch::new();
        let tables = [3, 4].map(|seed| s.constant(table(&[1, 1, 2, 4], Some(interleaved), seed)));
        let y = turned(&mut s, interleaved, tables);
        assert_eq!(s.simplified(y, 1e-6), [rotary(3, interleaved)]);

        let mut s = Sketch::new();
        let tables = [3, 4].map(|seed| s.constant(table(&[2, 2], None, seed)));
        let y = apart(&mut s, interleaved, tables);
        assert_eq!(s.simplified(y, 1e-6), [rotary(3, interleaved)]);
    }
}

#[test]
fn positions_before_heads() {
    let mut s = Sketch::new();
    let tables = [3, 4].map(|seed| s.constant(table(&[1, 3, 1, 4], Some(false), seed)));
    let y = turned(&mut s, false, tables);
    let reshape = |shape: &str| format!("Reshape {{ shape: [{shape}] }}");
    assert_eq!(s.simplified(y, 1e-6), [reshape("1, 3, 8"), rotary(2, false), reshape("1, 3, 2, 4")]);
}

#[test]
fn chunks_and_tables_that_are_looked_up() {
    let mut s = Sketch::new();
    // Positions that depend on the input.
    let x = s.x;
    let one = s.node(Slice { ranges: vec![SliceRange { axis: 1, start: 0, length: 1, step: 1 }] }, &[x]);
    let largest = s.node(ArgMax { smallest: false, axis: 3, keep_dims: false, select_last: false }, &[one]);
    let positions = s.node(Reshape { shape: vec![2] }, &[largest]);
    let tables = [3, 4].map(|seed| {
        let table = s.constant(table(&[7, 4], Some(false), seed));
        s.node(Gather { axis: 0 }, &[table, positions])
    });
    let names = ["first", "second"];
    let halves =
        s.graph.add_node("split", Split { axis: 3, sizes: vec![2, 2] }.into(), vec![x], &names).unwrap();
    let negated = s.unary(UnaryKind::Neg, halves[1]);
    let turned = s.node(Concat { axis: 3 }, &[negated, halves[0]]);
    let plain = s.binary(BinaryKind::Mul, tables[0], x);
    let turned = s.binary(BinaryKind::Mul, tables[1], turned);
    let y = s.binary(BinaryKind::Add, turned, plain);
    assert_eq!(s.simplified(y, 1e-6).last(), Some(&rotary(3, false)));
}

#[test]
fn what_is_no_rotation_stays() {
    // The features of a pair differ.
    let mut s = Sketch::new();
    let tables = [3, 4].map(|seed| s.constant(noise(&[1, 1, 2, 4], seed)));
    let y = turned(&mut s, false, tables);
    assert!(s.simplified(y, 1e-6).iter().all(|op| !op.starts_with("Rotary")));

    // A table that differs by head.
    let mut s = Sketch::new();
    let tables = [3, 4].map(|seed| s.constant(table(&[1, 3, 2, 4], Some(false), seed)));
    let y = turned(&mut s, false, tables);
    assert!(s.simplified(y, 1e-6).iter().all(|op| !op.starts_with("Rotary")));

    // The wrong half is negated.
    let mut s = Sketch::new();
    let [cos, sin] = [3, 4].map(|seed| s.constant(table(&[1, 1, 2, 4], Some(false), seed)));
    let (first, second) = (part(&mut s, false, false), part(&mut s, false, true));
    let negated = s.unary(UnaryKind::Neg, first);
    let swapped = s.node(Concat { axis: 3 }, &[second, negated]);
    let x = s.x;
    let (plain, swapped) = (s.binary(BinaryKind::Mul, x, cos), s.binary(BinaryKind::Mul, swapped, sin));
    let y = s.binary(BinaryKind::Add, plain, swapped);
    assert!(s.simplified(y, 1e-6).iter().all(|op| !op.starts_with("Rotary")));
}
