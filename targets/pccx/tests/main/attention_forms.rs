//! Forms of attention that the machine computes, and reasons for the host to compute others.

use npukit_graph::ValueId;
use npukit_graph::op::{
    BinaryKind, Cast, Compare, CompareKind, MatMul, Reduce, ReduceKind, Reshape, Softmax, UnaryKind, Where,
};
use npukit_numeric::{ElementType, Tensor, TensorData};
use npukit_pccx::Config;
use npukit_pccx::internals::host::{HostStep, Tokens};
use npukit_pccx::internals::lower::Options;

use crate::net::{Net, compiled, instances, reasons, steps};

/// Adds attention of two heads, three rows and eight tokens, with operations on its scores and
/// probabilities.
fn between(
    net: &mut Net,
    scores_become: impl FnOnce(&mut Net, ValueId) -> ValueId,
    chances_become: impl FnOnce(&mut Net, [ValueId; 2]) -> ValueId,
) -> Vec<ValueId> {
    let (queries, keys) = (net.input(&[2, 3, 16]), net.input(&[2, 16, 8]));
    let scores = net.op(MatMul, &[queries, keys]);
    let scores = scores_become(net, scores);
    let last = net.graph.shape(scores).len() - 1;
    let chances = net.op(Softmax { axis: last, axis_end: last + 1 }, &[scores]);
    let chances = chances_become(net, [scores, chances]);
    let tokens = *net.graph.shape(chances).last().unwrap();
    let values = net.input(&[2, tokens, 16]);
    vec![net.op(MatMul, &[chances, values])]
}

/// Returns the reasons of products and softmaxes at the host.
fn reasons_of(config: &Config, build: impl FnOnce(&mut Net) -> Vec<ValueId>) -> Vec<String> {
    let executable = compiled(config, &Options::of(config), build);
    let named = reasons(&executable).into_iter().filter(|(op, _)| *op == "MatMul" || *op == "Softmax");
    named.map(|(_, reason)| reason.to_owned()).collect()
}

/// Operation on the scores.
type Scores = fn(&mut Net, ValueId) -> ValueId;

fn by(net: &mut Net, kind: BinaryKind, x: ValueId, number: f32) -> ValueId {
    let number = net.constant(&[], vec![number]);
    net.binary(kind, x, number)
}

/// Hides the last token by replacing its scores with a number.
fn hide(net: &mut Net, scores: ValueId, number: f32) -> ValueId {
    let mask = TensorData::Bool((0..8).map(|token| token < 7).collect());
    let mask = net.graph.add_constant("mask", Tensor::new(vec![8], mask).unwrap());
    let number = net.constant(&[], vec![number]);
    net.op(Where, &[mask, scores, number])
}

/// Hides the last token by adding a number.
fn add_mask(net: &mut Net, scores: ValueId, number: f32) -> ValueId {
    let mask = net.constant(&[8], (0..8).map(|token| if token < 7 { 0.0 } else { number }).collect());
    net.binary(BinaryKind::Add, scores, mask)
}

/// Factor of the scores and last visible token, for attentions of the machine.
#[test]
fn factors_and_masks_of_scores_become_those_of_keys() {
    use BinaryKind::{Div, Max, Mul};
    for (what, scores, expected) in [
        ("nothing", (|_, x| x) as Scores, (1.0, 8)),
        ("a factor", |net, x| by(net, Mul, x, 0.25), (0.25, 8)),
        ("a divisor", |net, x| by(net, Div, x, 4.0), (0.25, 8)),
        (
            "both",
            |net, x| {
                let x = by(net, Mul, x, 3.0);
                by(net, Div, x, 4.0)
            },
            (0.75, 8),
        ),
        (
            "a factor on the left",
            |net, x| {
                let c = net.constant(&[], vec![0.5]);
                net.binary(Mul, c, x)
            },
            (0.5, 8),
        ),
        ("a bound", |net, x| by(net, Max, x, -1e9), (1.0, 8)),
        (
            "a bound, then a factor",
            |net, x| {
                let x = by(net, Max, x, -1.0);
                by(net, Mul, x, 1e6)
            },
            (1e6, 8),
        ),
        ("what is added", |net, x| add_mask(net, x, -1e9), (1.0, 7)),
        (
            "what is added, then a factor",
            |net, x| {
                let x = add_mask(net, x, -1.0);
                by(net, Mul, x, 1e6)
            },
            (1e6, 7),
        ),
        (
            "what is added, then a small factor: it does not hide",
            |net, x| {
                let x = add_mask(net, x, -1e9);
                by(net, Mul, x, 1e-6)
            },
            (1e-6, 8),
        ),
        ("what is chosen", |net, x| hide(net, x, -1e9), (1.0, 7)),
        (
            "what is chosen, then a factor",
            |net, x| {
                let x = hide(net, x, -1.0);
                by(net, Mul, x, 1e6)
            },
            (1e6, 7),
        ),
        (
            "another type of floats",
            |net, x| {
                let x = net.op(Cast::new(ElementType::F16), &[x]);
                net.op(Cast::new(ElementType::F32), &[x])
            },
            (1.0, 8),
        ),
        (
            "more axes",
            |net, x| {
                let x = net.op(Reshape { shape: vec![1, 6, 8] }, &[x]);
                net.op(Reshape { shape: vec![2, 3, 8] }, &[x])
            },
            (1.0, 8),
        ),
    ] {
        for config in instances() {
            let executable =
                compiled(&config, &Options::of(&config), |net| between(net, scores, |_, [_, x]| x));
            assert_eq!(reasons(&executable), [], "{what}");
            let keys: Vec<(f32, Tokens)> = steps(&executable)
                .into_iter()
                .filter_map(|(_, step)| match step {
                    HostStep::Keys { factor, tokens, .. } => Some((factor, tokens)),
                    _ => None,
                })
                .collect();
            let (factor, seen) = expected;
            let mine = (factor, Tokens::from_iter(std::iter::once(0..seen)));
            assert_eq!(keys, [mine.clone(), mine], "{what}");
        }
    }
}

#[test]
fn scores_of_other_forms_are_the_hosts() {
    use BinaryKind::{Div, Max, Mul};
    let something =
        "an unsupported operation is between the product with the keys and the attention's softmax";
    let mask = "the attention's mask is not constant, or its replacement value does not hide scores";
    let large = "the attention has more tokens or features than weights have rows, or an infinite factor";
    for (what, scores, reason) in [
        (
            "a dividend",
            (|net, x| {
                let c = net.constant(&[], vec![4.0]);
                net.binary(Div, c, x)
            }) as Scores,
            something,
        ),
        ("a bound that is reached", |net, x| by(net, Max, x, 0.0), something),
        (
            "a bound, then a small factor",
            |net, x| {
                let x = by(net, Max, x, -1e9);
                by(net, Mul, x, 1e-6)
            },
            something,
        ),
        (
            "what is chosen, then a small factor",
            |net, x| {
                let x = hide(net, x, -1e9);
                by(net, Mul, x, 1e-6)
            },
            mask,
        ),
        (
            "what is chosen, then a negative factor",
            |net, x| {
                let x = hide(net, x, -1e9);
                by(net, Mul, x, -1.0)
            },
            mask,
        ),
        ("what does not hide", |net, x| hide(net, x, -1.0), mask),
        (
            "an infinite factor",
            |net, x| {
                let x = by(net, Mul, x, 1e30);
                by(net, Mul, x, 1e30)
            },
            large,
        ),
        (
            "integers",
            |net, x| {
                let x = net.op(Cast::new(ElementType::I64), &[x]);
                net.op(Cast::new(ElementType::F32), &[x])
            },
            something,
        ),
        ("other rows", |net, x| net.op(Reshape { shape: vec![2, 4, 6] }, &[x]), something),
    ] {
        for config in instances() {
            let found = reasons_of(&config, |net| between(net, scores, |_, [_, x]| x));
            // The machine still computes all products except the product of repeated matrices.
            let count = 1 + usize::from(what == "other rows");
            assert_eq!(found, vec![reason; count], "{what}");
        }
    }
}

/// Operation on the probabilities; the first operand is the scores.
type Chances = fn(&mut Net, [ValueId; 2]) -> ValueId;

/// Adds probabilities with an importer's guard, with one detail changed.
fn guarded(
    net: &mut Net,
    [scores, chances]: [ValueId; 2],
    kinds: (CompareKind, ReduceKind, usize),
    [hidden, zero]: [f32; 2],
) -> ValueId {
    let (compare, kind, axis) = kinds;
    let largest = net.op(Reduce { kind, axes: vec![axis], keep_dims: true }, &[scores]);
    let (hidden, zero) = (net.constant(&[], vec![hidden]), net.constant(&[], vec![zero]));
    let blind = net.op(Compare { kind: compare }, &[largest, hidden]);
    net.op(Where, &[blind, zero, chances])
}

#[test]
fn chances_of_other_forms_are_the_hosts() {
    use CompareKind::{Equal, Less};
    use ReduceKind::{Max, Min};
    let something =
        "an unsupported operation is between the attention's softmax and the product with the values";
    let unknown = "the guard of attention rows that see no token is not recognized";
    for (what, chances, reason) in [
        ("nothing", (|_, [_, x]| x) as Chances, None),
        ("a guard", |net, x| guarded(net, x, (Equal, Max, 2), [-1e9, 0.0]), None),
        ("by order", |net, x| guarded(net, x, (Less, Max, 2), [-1e9, 0.0]), Some(unknown)),
        ("of the least", |net, x| guarded(net, x, (Equal, Min, 2), [-1e9, 0.0]), Some(unknown)),
        ("of columns", |net, x| guarded(net, x, (Equal, Max, 1), [-1e9, 0.0]), Some(unknown)),
        ("that may be seen", |net, x| guarded(net, x, (Equal, Max, 2), [-1.0, 0.0]), Some(unknown)),
        (
            "of others",
            |net, [_, x]| {
                let other = net.input(&[2, 3, 8]);
                guarded(net, [other, x], (Equal, Max, 2), [-1e9, 0.0])
            },
            Some(unknown),
        ),
        ("not by zero", |net, x| guarded(net, x, (Equal, Max, 2), [-1e9, 0.5]), Some(something)),
        (
            "twice",
            |net, [scores, x]| {
                let x = guarded(net, [scores, x], (Equal, Max, 2), [-1e9, 0.0]);
                guarded(net, [scores, x], (Equal, Max, 2), [-1e9, 0.0])
            },
            Some(something),
        ),
        (
            "another type of floats",
            |net, [_, x]| {
                let x = net.op(Cast::new(ElementType::F16), &[x]);
                net.op(Cast::new(ElementType::F32), &[x])
            },
            None,
        ),
        (
            "integers",
            |net, [_, x]| {
                let x = net.op(Cast::new(ElementType::I64), &[x]);
                net.op(Cast::new(ElementType::F32), &[x])
            },
            Some(something),
        ),
        ("other rows", |net, [_, x]| net.op(Reshape { shape: vec![2, 4, 6] }, &[x]), Some(something)),
        (
            "equally many rows",
            |net, [_, x]| {
                let x = net.op(Reshape { shape: vec![1, 6, 8] }, &[x]);
                net.op(Reshape { shape: vec![2, 3, 8] }, &[x])
            },
            None,
        ),
    ] {
        for config in instances() {
            let found = reasons_of(&config, |net| between(net, |_, x| x, chances));
            let count = 1 + usize::from(what == "other rows");
            let expected: Vec<&str> = reason.map(|reason| vec![reason; count]).unwrap_or_default();
            assert_eq!(found, expected, "{what}");
        }
    }
}

/// A softmax over the last two axes together is not over the last one.
#[test]
fn a_softmax_over_several_axes_is_the_hosts() {
    let found = reasons_of(&instances()[0], |net| {
        let (queries, keys) = (net.input(&[2, 3, 16]), net.input(&[2, 16, 8]));
        let values = net.input(&[2, 8, 16]);
        let scores = net.op(MatMul, &[queries, keys]);
        let chances = net.op(Softmax { axis: 1, axis_end: 3 }, &[scores]);
        vec![net.op(MatMul, &[chances, values])]
    });
    assert_eq!(found, ["the attention's softmax is over other axes than the last"]);
}

#[test]
fn attention_of_other_shapes_is_the_hosts() {
    let nothing = "the attention has no rows or no tokens";
    let words = "heads of the attention are not whole words of L2: their features are not a multiple of 8";
    let repeated = "keys of the attention are repeated, or values for heads that are not consecutive";
    // The host computes the softmax, as well as products of empty or repeated matrices.
    for (shapes, reason, count) in [
        ([&[2, 3, 16][..], &[2, 16, 8], &[2, 8, 16]], nothing, 0),
        ([&[2, 3, 16], &[2, 16, 0], &[2, 0, 16]], nothing, 3),
        ([&[2, 0, 16], &[2, 16, 8], &[2, 8, 16]], nothing, 3),
        ([&[2, 3, 0], &[2, 0, 8], &[2, 8, 16]], words, 2),
        ([&[2, 3, 16], &[2, 16, 8], &[2, 8, 0]], words, 2),
        ([&[2, 3, 16], &[16, 8], &[2, 8, 16]], repeated, 2),
        ([&[2, 3, 16], &[1, 16, 8], &[8, 16]], repeated, 3),
        ([&[3, 16], &[2, 16, 8], &[2, 8, 16]], repeated, 2),
    ] {
        for config in instances() {
            let found = reasons_of(&config, |net| {
                let [queries, keys, values] = shapes.map(|shape| net.input(shape));
                let scores = net.op(MatMul, &[queries, keys]);
                let last = net.graph.shape(scores).len() - 1;
                let chances = net.op(Softmax { axis: last, axis_end: last + 1 }, &[scores]);
                vec![net.op(MatMul, &[chances, values])]
            });
            assert_eq!(found, vec![reason; count], "{shapes:?}");
        }
    }
}

/// A softmax belongs to an attention only if no other product is in between.
#[test]
fn products_behind_products_are_no_attention() {
    let changes = "product of two activations outside attention";
    let config = &instances()[0];
    assert_eq!(
        reasons_of(config, |net| {
            let (x, values, others) = (net.input(&[3, 8]), net.random(&[8, 16]), net.input(&[16, 4]));
            let chances = net.op(Softmax { axis: 1, axis_end: 2 }, &[x]);
            let seen = net.op(MatMul, &[chances, values]);
            let seen = net.unary(UnaryKind::Exp, seen);
            vec![net.op(MatMul, &[seen, others])]
        }),
        [
            "the softmax does not follow a product: the machine finds maxima only in results of products",
            changes
        ]
    );
    assert_eq!(
        reasons_of(config, |net| {
            let (x, y) = (net.input(&[3, 8]), net.input(&[8, 16]));
            vec![net.op(MatMul, &[x, y])]
        }),
        [changes]
    );
}

/// Up to 64 nodes are searched, each once, regardless of the number of its uses.
#[test]
fn a_softmax_is_looked_for_among_so_many_nodes() {
    let chain = |nodes: usize, step: fn(&mut Net, ValueId) -> ValueId| {
        reasons_of(&instances()[0], |net| {
            between(net, |_, x| x, |net, [_, x]| (0..nodes).fold(x, |x, _| step(net, x)))
        })
    };
    let something =
        "an unsupported operation is between the attention's softmax and the product with the values";
    let changes = "product of two activations outside attention";
    let alone = "the softmax does not follow a product: the machine finds maxima only in results of products";
    assert_eq!(chain(40, |net, x| net.binary(BinaryKind::Add, x, x)), [something]);
    assert_eq!(chain(63, |net, x| net.unary(UnaryKind::Neg, x)), [something]);
    assert_eq!(chain(64, |net, x| net.unary(UnaryKind::Neg, x)), [changes, alone, changes]);
}
