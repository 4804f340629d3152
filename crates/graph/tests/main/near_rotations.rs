//! Rotations of pairs of features in all written forms, and near misses.

use npukit_graph::ValueId;
use npukit_graph::op::{BinaryKind, Concat, Gather, Reshape, Slice, SliceRange, Split, UnaryKind};
use npukit_numeric::Tensor;

use crate::near_misses::{after, names};
use crate::support::{Net, f32s, i64s, noise};

use BinaryKind::{Add, Mul, Sub};

/// Returns the first or second features of the pairs of `x`.
fn part(net: &mut Net, x: ValueId, interleaved: bool, second: bool) -> ValueId {
    let shape = net.graph.shape(x);
    let (axis, length) = (shape.len() - 1, shape[shape.len() - 1] / 2);
    let (start, step) =
        if interleaved { (usize::from(second), 2) } else { (length * usize::from(second), 1) };
    net.node(Slice { ranges: vec![SliceRange { axis, start, length, step }] }, &[x])
}

/// Interleaves or concatenates the two parts of all pairs.
fn join(net: &mut Net, interleaved: bool, parts: [ValueId; 2]) -> ValueId {
    let shape = net.graph.shape(parts[0]).to_vec();
    if !interleaved {
        return net.node(Concat { axis: shape.len() - 1 }, &parts);
    }
    let apart = [&shape[..], &[1]].concat();
    let parts = parts.map(|part| net.node(Reshape { shape: apart.clone() }, &[part]));
    let stacked = net.node(Concat { axis: shape.len() }, &parts);
    let whole = [&shape[..shape.len() - 1], &[2 * shape[shape.len() - 1]]].concat();
    net.node(Reshape { shape: whole }, &[stacked])
}

/// `x * cos + turn * sin`.
fn turned(net: &mut Net, x: ValueId, turn: ValueId, [cos, sin]: [ValueId; 2]) -> ValueId {
    let (plain, turned) = (net.binary(Mul, x, cos), net.binary(Mul, turn, sin));
    net.binary(Add, plain, turned)
}

/// `(-b, a)` for pairs `(a, b)`.
fn turn(net: &mut Net, x: ValueId, interleaved: bool) -> ValueId {
    let (first, second) = (part(net, x, interleaved, false), part(net, x, interleaved, true));
    let negated = net.unary(UnaryKind::Neg, second);
    join(net, interleaved, [negated, first])
}

/// A table of noise per feature, equal for both features of a pair.
fn paired(shape: &[usize], interleaved: bool, seed: u64) -> Tensor {
    let features = shape[shape.len() - 1];
    let pair = |feature: usize| if interleaved { feature / 2 } else { feature % (features / 2) };
    let by_pair = noise(shape, seed);
    let row = |row: &[f32]| (0..features).map(|feature| row[pair(feature)]).collect::<Vec<_>>();
    let values: Vec<f32> = by_pair.as_f32().unwrap().chunks(features).flat_map(row).collect();
    f32s(shape, &values)
}

/// Returns the operators that the pass leaves of a graph with an input of `shape`.
fn left(shape: &[usize], build: impl FnOnce(&mut Net, ValueId) -> ValueId) -> Vec<&'static str> {
    let mut net = Net::default();
    let x = net.input(noise(shape, 1));
    let y = build(&mut net, x);
    names(&after("rotary-forms", &net.giving(y)))
}

fn is_rotary(left: &[&str]) -> bool {
    left.contains(&"RotaryEmbedding")
}

/// Two batches of three heads, two positions and six features, with tables per batch or for both.
#[test]
fn tables_are_for_each_batch_or_for_all() {
    for (interleaved, batch) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
        let whole = left(&[2, 3, 2, 6], |net, x| {
            let tables = [3, 4].map(|seed| net.constant(paired(&[batch, 1, 2, 6], interleaved, seed)));
            let turn = turn(net, x, interleaved);
            turned(net, x, turn, tables)
        });
        let pairs = left(&[2, 3, 2, 6], |net, x| {
            let tables = [3, 4].map(|seed| net.constant(noise(&[batch, 1, 2, 3], seed)));
            apart(net, x, interleaved, tables, ROTATION)
        });
        for left in [whole, pairs] {
            assert!(is_rotary(&left), "{left:?}");
            let repeated = left.iter().filter(|name| **name == "Tile").count();
            assert_eq!(repeated, if batch == 1 { 2 } else { 0 });
        }
    }
}

#[test]
fn both_tables_are_alike_for_the_features_of_a_pair() {
    for (interleaved, which) in [(false, 0), (false, 1), (true, 0), (true, 1)] {
        for spoilt in [false, true] {
            let left = left(&[1, 3, 2, 4], |net, x| {
                let tables = [0, 1].map(|table| {
                    let shape = [1, 1, 2, 4];
                    let alike = !(spoilt && table == which);
                    let seed = 3 + table;
                    net.constant(if alike { paired(&shape, interleaved, seed) } else { noise(&shape, seed) })
                });
                let turn = turn(net, x, interleaved);
                turned(net, x, turn, tables)
            });
            assert_eq!(is_rotary(&left), !spoilt, "{which} {left:?}");
        }
    }
}

#[test]
fn a_turn_is_the_second_negated_and_the_first() {
    // Which parts are concatenated, and whether the first of them is negated.
    for (parts, negated, expected) in [
        ([true, false], true, true),
        ([true, false], false, false),
        ([false, false], true, false),
        ([true, true], true, false),
        ([false, true], true, false),
    ] {
        let left = left(&[1, 3, 2, 4], |net, x| {
            let tables = [3, 4].map(|seed| net.constant(paired(&[1, 1, 2, 4], false, seed)));
            let [first, second] = parts.map(|is_second| part(net, x, false, is_second));
            let first = if negated { net.unary(UnaryKind::Neg, first) } else { first };
            let turn = join(net, false, [first, second]);
            turned(net, x, turn, tables)
        });
        assert_eq!(is_rotary(&left), expected, "{parts:?} {negated}");
    }
}

/// A factor: whether it is the second of its pair, whether it is multiplied by the sine, whether it
/// is from `x`.
type Factor = (bool, bool, bool);

/// `(a cos - b sin, a sin + b cos)`.
const ROTATION: [Factor; 4] =
    [(false, false, true), (true, true, true), (false, true, true), (true, false, true)];

/// The difference of the first two factors and the sum of the others, concatenated.
fn apart(
    net: &mut Net,
    x: ValueId,
    interleaved: bool,
    tables: [ValueId; 2],
    factors: [Factor; 4],
) -> ValueId {
    let other = net.unary(UnaryKind::Sin, x);
    let [minuend, subtrahend, left, right] = factors.map(|(is_second, by_sine, of_x)| {
        let part = part(net, if of_x { x } else { other }, interleaved, is_second);
        net.binary(Mul, part, tables[usize::from(by_sine)])
    });
    let difference = net.binary(Sub, minuend, subtrahend);
    let sum = net.binary(Add, left, right);
    join(net, interleaved, [difference, sum])
}

/// Each of the four factors changed in one respect; only cosines and sines may be exchanged
/// everywhere at once.
#[test]
fn every_factor_of_a_rotation_counts() {
    let recognized = |factors| {
        [false, true].map(|interleaved| {
            let left = left(&[1, 3, 2, 4], |net, x| {
                let tables = [3, 4].map(|seed| net.constant(noise(&[2, 2], seed)));
                apart(net, x, interleaved, tables, factors)
            });
            is_rotary(&left)
        })
    };
    let turned = ROTATION.map(|(second, by_sine, of_x)| (second, !by_sine, of_x));
    let [minuend, subtrahend, left, right] = ROTATION;
    for factors in [ROTATION, turned, [minuend, subtrahend, right, left]] {
        assert_eq!(recognized(factors), [true; 2], "{factors:?}");
    }
    for place in 0..4 {
        for change in 0..3 {
            let mut factors = ROTATION;
            let (second, by_sine, of_x) = &mut factors[place];
            *[second, by_sine, of_x][change] ^= true;
            assert_eq!(recognized(factors), [false; 2], "{factors:?}");
        }
    }
    assert_eq!(recognized([subtrahend, minuend, left, right]), [false; 2]);
    assert_eq!(recognized([minuend, minuend, left, left]), [false; 2]);
}

/// Four of five features are not pairs of all features.
#[test]
fn a_feature_without_a_pair_is_not_turned() {
    let left = left(&[1, 3, 2, 5], |net, x| {
        let tables = [3, 4].map(|seed| net.constant(noise(&[2, 2], seed)));
        apart(net, x, false, tables, ROTATION)
    });
    assert!(!is_rotary(&left));
}

#[test]
fn only_a_split_of_features_into_halves_makes_pairs() {
    // Four features, or two where columns are split, with a table per row of columns.
    for (shape, axis, sizes, table, interleaved, expected) in [
        ([1, 3, 2, 4], 3, [2, 2], [1, 1, 2, 2], false, true),
        ([1, 3, 2, 4], 3, [2, 2], [1, 1, 2, 2], true, false),
        ([1, 3, 2, 2], 2, [1, 1], [1, 3, 1, 1], false, false),
        ([1, 3, 2, 4], 3, [3, 1], [1, 1, 2, 1], false, false),
    ] {
        let left = left(&shape, |net, x| {
            let [cos, sin] = [3, 4].map(|seed| net.constant(noise(&table, seed)));
            let op = Split { axis, sizes: sizes.to_vec() }.into();
            let parts = net.graph.add_node("split", op, vec![x], &["a", "b"]).unwrap();
            let mut product = |part, table| net.binary(Mul, part, table);
            let [ac, bs] = [product(parts[0], cos), product(parts[1], sin)];
            let [a_s, bc] = [product(parts[0], sin), product(parts[1], cos)];
            let (difference, sum) = (net.binary(Sub, ac, bs), net.binary(Add, a_s, bc));
            join(net, interleaved, [difference, sum])
        });
        assert_eq!(is_rotary(&left), expected, "{shape:?} {sizes:?}");
    }
    // One plain feature and three negated ones.
    let left = left(&[1, 3, 2, 4], |net, x| {
        let tables = [3, 4].map(|seed| net.constant(paired(&[1, 1, 2, 4], false, seed)));
        let op = Split { axis: 3, sizes: vec![3, 1] }.into();
        let parts = net.graph.add_node("split", op, vec![x], &["a", "b"]).unwrap();
        let negated = net.unary(UnaryKind::Neg, parts[1]);
        let turn = join(net, false, [negated, parts[0]]);
        turned(net, x, turn, tables)
    });
    assert!(!is_rotary(&left));
}

/// Tables are computed from inputs: their computation shows whether the features of a pair are
/// equal.
#[test]
fn tables_are_alike_by_how_they_are_made() {
    /// A concatenation of a value with itself.
    fn twice(net: &mut Net, shape: &[usize], seed: u64) -> ValueId {
        let once = net.input(noise(shape, seed));
        net.node(Concat { axis: shape.len() - 1 }, &[once, once])
    }
    fn reshaped(net: &mut Net, table: ValueId) -> ValueId {
        net.node(Reshape { shape: vec![1, 1, 2, 4] }, &[table])
    }
    fn by_number(net: &mut Net, table: ValueId) -> ValueId {
        let number = net.constant(f32s(&[1], &[0.5]));
        net.binary(Mul, number, table)
    }
    fn rows(net: &mut Net, table: ValueId, axis: usize, indices: &[i64]) -> ValueId {
        let indices = net.constant(i64s(&[indices.len()], indices));
        net.node(Gather { axis }, &[table, indices])
    }
    type Make = fn(&mut Net, u64) -> ValueId;
    // Whether the table is valid for halves, and for neighbors.
    let makes: [(Make, [bool; 2]); 15] = [
        (|net, seed| twice(net, &[2, 2], seed), [true, false]),
        (|net, seed| net.input(noise(&[2, 4], seed)), [false; 2]),
        (
            |net, seed| {
                let table = twice(net, &[2, 2], seed);
                net.unary(UnaryKind::Cos, table)
            },
            [true, false],
        ),
        (
            |net, seed| {
                let table = net.input(noise(&[2, 4], seed));
                net.unary(UnaryKind::Cos, table)
            },
            [false; 2],
        ),
        (
            |net, seed| {
                let table = twice(net, &[2, 2], seed);
                by_number(net, table)
            },
            [true, false],
        ),
        (
            |net, seed| {
                let table = net.input(noise(&[2, 4], seed));
                by_number(net, table)
            },
            [false; 2],
        ),
        (
            |net, seed| {
                let table = twice(net, &[2, 2], seed);
                reshaped(net, table)
            },
            [true, false],
        ),
        // The halves of eight features are rows of four.
        (
            |net, seed| {
                let table = twice(net, &[1, 4], seed);
                reshaped(net, table)
            },
            [false; 2],
        ),
        (
            |net, seed| {
                let table = net.input(noise(&[2, 4], seed));
                reshaped(net, table)
            },
            [false; 2],
        ),
        (
            |net, seed| {
                let parts = [seed, seed + 1].map(|seed| net.input(noise(&[2, 2], seed)));
                net.node(Concat { axis: 1 }, &parts)
            },
            [false; 2],
        ),
        // One row, used twice.
        (
            |net, seed| {
                let row = net.input(noise(&[1, 4], seed));
                net.node(Concat { axis: 0 }, &[row, row])
            },
            [false; 2],
        ),
        (
            |net, seed| {
                let table = net.constant(paired(&[5, 4], true, seed));
                rows(net, table, 0, &[3, 1])
            },
            [false, true],
        ),
        (
            |net, seed| {
                let table = net.constant(paired(&[5, 4], false, seed));
                rows(net, table, 0, &[3, 1])
            },
            [true, false],
        ),
        (
            |net, seed| {
                let table = net.input(noise(&[5, 4], seed));
                rows(net, table, 0, &[3, 1])
            },
            [false; 2],
        ),
        // Other features of the same rows.
        (
            |net, seed| {
                let table = net.constant(paired(&[2, 4], false, seed));
                rows(net, table, 1, &[0, 1, 1, 3])
            },
            [false; 2],
        ),
    ];
    for (index, (make, expected)) in makes.into_iter().enumerate() {
        let found = [false, true].map(|interleaved| {
            let left = left(&[1, 3, 2, 4], |net, x| {
                let tables = [3, 9].map(|seed| make(net, seed));
                let turn = turn(net, x, interleaved);
                turned(net, x, turn, tables)
            });
            is_rotary(&left)
        });
        assert_eq!(found, expected, "{index}");
    }
}
