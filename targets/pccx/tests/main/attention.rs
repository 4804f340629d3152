//! Attention on the machine against the reference evaluator.

use npukit_graph::op::{
    BinaryKind, Cast, Compare, CompareKind, MatMul, Reduce, ReduceKind, Reshape, Softmax, Transpose,
    UnaryKind, Where,
};
use npukit_graph::quantise::rows::Int4Rows;
use npukit_graph::{ValueId, evaluate};
use npukit_numeric::{ElementType, Tensor, TensorData};
use npukit_pccx::Config;
use npukit_pccx::host::{HostStep, Tokens};
use npukit_pccx::lower::{Kv, Options, Weights, compile};

use crate::net::{BY_ROWS, Net, PRODUCT, check, compiled, instances, reasons, steps};
use crate::twice;

/// `[heads, rows, tokens]` scores with a mask that is added, or chosen by.
fn attention(net: &mut Net, [heads, rows, tokens]: [usize; 3], mask: Option<bool>) -> Vec<ValueId> {
    let size = 16;
    let (queries, keys) = (net.input(&[heads, rows, size]), net.input(&[heads, size, tokens]));
    let values = net.input(&[heads, tokens, size]);
    let scores = net.op(MatMul, &[queries, keys]);
    let scale = net.constant(&[], vec![0.25]);
    let mut scores = net.binary(BinaryKind::Mul, scores, scale);
    let past = tokens - rows;
    let sees = |i: usize| i % tokens <= past + i / tokens;
    match mask {
        None => {}
        Some(true) => {
            let mask = (0..rows * tokens).map(|i| if sees(i) { 0.0 } else { f32::NEG_INFINITY }).collect();
            let mask = net.constant(&[1, rows, tokens], mask);
            scores = net.binary(BinaryKind::Add, scores, mask);
        }
        Some(false) => {
            let mask = TensorData::Bool((0..rows * tokens).map(sees).collect());
            let mask = net.graph.add_constant("mask", Tensor::new(vec![rows, tokens], mask).unwrap());
            let hidden = net.constant(&[], vec![-1e9]);
            scores = net.op(Where, &[mask, scores, hidden]);
        }
    }
    let mut chances = net.op(Softmax { axis: 2, axis_end: 3 }, &[scores]);
    // As importers write it where a row may see nothing.
    if mask == Some(false) {
        let largest = Reduce { kind: ReduceKind::Max, axes: vec![2], keep_dims: true };
        let largest = net.op(largest, &[scores]);
        let (hidden, zero) = (net.constant(&[], vec![-1e9]), net.constant(&[], vec![0.0]));
        let blind = net.op(Compare { kind: CompareKind::Equal }, &[largest, hidden]);
        chances = net.op(Where, &[blind, zero, chances]);
    }
    vec![net.op(MatMul, &[chances, values])]
}

/// Matrices of values that are repeated: for heads that follow each other, and for others.
#[test]
fn attention_with_repeated_values() {
    for (batch, hosts) in [(&[2, 1][..], 0), (&[1, 3], 3), (&[3], 3), (&[1, 1, 1], 0)] {
        check(&format!("{batch:?}"), 0.25, [hosts, hosts], |net| {
            let (queries, keys) = (net.input(&[2, 3, 4, 16]), net.input(&[2, 3, 16, 9]));
            let values = net.input(&[batch, &[9, 16]].concat());
            let scores = net.op(MatMul, &[queries, keys]);
            let chances = net.op(Softmax { axis: 3, axis_end: 4 }, &[scores]);
            vec![net.op(MatMul, &[chances, values])]
        });
    }
}

/// A factor behind a mask turns what was hidden into what is seen.
#[test]
fn a_factor_behind_a_mask() {
    check("negative", 0.25, [3, 3], |net| {
        let (queries, keys, values) = (net.input(&[2, 16]), net.input(&[16, 3]), net.input(&[3, 16]));
        let (mask, minus) = (net.constant(&[3], vec![0.0, -1e9, 0.0]), net.constant(&[], vec![-1.0]));
        let scores = net.op(MatMul, &[queries, keys]);
        let scores = net.binary(BinaryKind::Add, scores, mask);
        let scores = net.binary(BinaryKind::Mul, scores, minus);
        let chances = net.op(Softmax { axis: 1, axis_end: 2 }, &[scores]);
        vec![net.op(MatMul, &[chances, values])]
    });
}

/// Keys and values of few bits each are coarse; the judge with the same weights is
/// `attention_of_weights_that_4_bits_hold`.
#[test]
fn attention_is_the_machines() {
    for size in [[1, 1, 1], [2, 1, 9], [3, 7, 20], [1, 40, 40], [1, 1, 5000]] {
        for mask in [None, Some(true), Some(false)] {
            check(&format!("{size:?} {mask:?}"), 0.25, [0, 0], |net| attention(net, size, mask));
        }
    }
}

#[test]
fn attention_of_weights_that_4_bits_hold() {
    for config in instances() {
        let mut net = Net::new();
        let (heads, rows, tokens, size) = (2, 3, 40, 32);
        net.graph.outputs = {
            let (queries, keys) = (net.input(&[heads, rows, size]), net.input(&[heads, tokens, size]));
            let values = net.input(&[heads, tokens, size]);
            let keys = net.op(Transpose { perm: vec![0, 2, 1] }, &[keys]);
            let scores = net.op(MatMul, &[queries, keys]);
            let chances = net.op(Softmax { axis: 2, axis_end: 3 }, &[scores]);
            vec![net.op(MatMul, &[chances, values])]
        };
        let queries = net.noise(heads * rows * size);
        let mut rows_of = || Int4Rows::new(heads * tokens, size, &net.noise(heads * tokens * size)).unwrap();
        let (keys, values) = (rows_of().dequantised(), rows_of().dequantised());
        let tensor = |shape: &[usize], values| Tensor::from_f32(shape.to_vec(), values).unwrap();
        let inputs = [
            tensor(&[heads, rows, size], queries),
            tensor(&[heads, tokens, size], keys),
            tensor(&[heads, tokens, size], values),
        ];
        let executable =
            compile(&config, &net.graph, &Options::of(&config), &mut Weights::default()).unwrap();
        let found = twice::run(&config, &executable, &inputs);
        let expected = evaluate(&net.graph, &inputs).unwrap();
        let (found, expected) = (found[0].as_f32().unwrap(), expected[0].as_f32().unwrap());
        let square = |x: f64| x * x;
        let error: f64 = found.iter().zip(expected).map(|(a, b)| square(f64::from(a - b))).sum();
        let energy: f64 = expected.iter().map(|&b| square(f64::from(b))).sum();
        assert!((error / energy).sqrt() < 2.0 * PRODUCT, "{}", (error / energy).sqrt());
    }
}

/// What is put between the parts of an attention.
#[derive(Clone, Copy, PartialEq)]
enum Between {
    Nothing,
    Bound,
    FactorForEach,
    Clip,
    MovingMask,
    Mask(f32),
    Exponential,
    OtherAxis,
    Watched,
    Narrow,
}

/// Attention of two heads with something between; gives the values that are wanted.
fn with(net: &mut Net, between: Between) -> Vec<ValueId> {
    let size = if between == Between::Narrow { 12 } else { 16 };
    let (queries, keys) = (net.input(&[2, 3, size]), net.input(&[2, size, 8]));
    let values = net.input(&[2, 8, size]);
    let mut scores = net.op(MatMul, &[queries, keys]);
    scores = match between {
        Between::Bound => {
            let least = net.constant(&[], vec![f32::MIN]);
            net.binary(BinaryKind::Max, scores, least)
        }
        Between::FactorForEach => {
            let factors = net.random(&[8]);
            net.binary(BinaryKind::Mul, scores, factors)
        }
        Between::Clip => net.unary(UnaryKind::Tanh, scores),
        Between::MovingMask => {
            let mask = net.input(&[2, 1, 8]);
            net.binary(BinaryKind::Add, scores, mask)
        }
        Between::Mask(value) => {
            let mask = net.constant(&[8], vec![value; 8]);
            net.binary(BinaryKind::Add, scores, mask)
        }
        _ => scores,
    };
    let axis = if between == Between::OtherAxis { 1 } else { 2 };
    let chances = net.op(Softmax { axis, axis_end: axis + 1 }, &[scores]);
    let other = match between {
        Between::Exponential => net.unary(UnaryKind::Exp, chances),
        _ => chances,
    };
    let seen = net.op(MatMul, &[other, values]);
    if between == Between::Watched { vec![seen, chances] } else { vec![seen] }
}

/// Both products and the softmax say what keeps the attention at the host, and nothing else.
#[test]
fn an_attention_at_the_host_says_why() {
    let config = instances()[0].clone();
    let reasons = |between: Between, kv: Kv| -> Vec<String> {
        let mut net = Net::new();
        net.graph.outputs = with(&mut net, between);
        let options = Options { kv, ..Options::of(&config) };
        let host = compile(&config, &net.graph, &options, &mut Weights::default()).unwrap().host;
        let of = |layer: &npukit_pccx::host::Layer| layer.host.clone();
        let named = host.layers.iter().filter_map(of);
        named.filter(|(op, _)| op == "MatMul" || op == "Softmax").map(|(_, reason)| reason).collect()
    };
    for between in [Between::Nothing, Between::Bound, Between::Mask(0.0)] {
        assert_eq!(reasons(between, Kv::Npu), Vec::<String>::new());
        assert_eq!(reasons(between, Kv::Host), ["kv=host leaves attention to the host"; 3]);
    }
    let mask = "the attention's mask changes from run to run, or has other values than 0 and what hides";
    for (between, reason) in [
        (Between::FactorForEach, "scores of the attention have factors of their own"),
        (Between::Clip, "something else lies between the product with the keys and the attention's softmax"),
        (Between::MovingMask, mask),
        (Between::Mask(1.0), mask),
        (Between::Mask(-1e9), "a row of the attention sees no token"),
        (
            Between::Exponential,
            "something else lies between the attention's softmax and the product with the values",
        ),
        (Between::OtherAxis, "the attention's softmax is over other axes than the last"),
        (Between::Watched, "scores or probabilities of the attention are wanted elsewhere too"),
        (
            Between::Narrow,
            "heads of the attention are no whole words of L2: their features are no multiple of 8",
        ),
    ] {
        assert_eq!(reasons(between, Kv::Npu), [reason; 3]);
    }
}

/// A softmax of a product with constants chooses among values: the product is the machine's all the same.
#[test]
fn a_product_with_constants_before_a_softmax_is_the_machines() {
    check("gates", 0.05, [2, 2], |net| {
        let (x, weights, values) = (net.input(&[3, 16]), net.weights(8, 16), net.input(&[8, 16]));
        let scores = net.op(BY_ROWS, &[x, weights]);
        let chances = net.op(Softmax { axis: 1, axis_end: 2 }, &[scores]);
        vec![net.op(MatMul, &[chances, values])]
    });
}

/// A bound below which everything is hidden changes nothing.
#[test]
fn a_bound_of_scores_is_none() {
    check("a bound", 0.25, [0, 0], |net| with(net, Between::Bound));
}

/// Attention of two heads, three rows and eight tokens, with something done to its scores and to its chances.
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

/// Reasons of products and softmaxes at the host.
fn reasons_of(config: &Config, build: impl FnOnce(&mut Net) -> Vec<ValueId>) -> Vec<String> {
    let executable = compiled(config, &Options::of(config), build);
    let named = reasons(&executable).into_iter().filter(|(op, _)| *op == "MatMul" || *op == "Softmax");
    named.map(|(_, reason)| reason.to_owned()).collect()
}

/// What is done to the scores.
type Scores = fn(&mut Net, ValueId) -> ValueId;

fn by(net: &mut Net, kind: BinaryKind, x: ValueId, number: f32) -> ValueId {
    let number = net.constant(&[], vec![number]);
    net.binary(kind, x, number)
}

/// Hides the last token by a number in its place.
fn hide(net: &mut Net, scores: ValueId, number: f32) -> ValueId {
    let mask = TensorData::Bool((0..8).map(|token| token < 7).collect());
    let mask = net.graph.add_constant("mask", Tensor::new(vec![8], mask).unwrap());
    let number = net.constant(&[], vec![number]);
    net.op(Where, &[mask, scores, number])
}

/// Hides the last token by a number that is added.
fn add_mask(net: &mut Net, scores: ValueId, number: f32) -> ValueId {
    let mask = net.constant(&[8], (0..8).map(|token| if token < 7 { 0.0 } else { number }).collect());
    net.binary(BinaryKind::Add, scores, mask)
}

/// The factor of the scores and the last token seen, of what is the machine's.
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
    let something = "something else lies between the product with the keys and the attention's softmax";
    let mask = "the attention's mask changes from run to run, or has other values than 0 and what hides";
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
            "what is added, then a small factor",
            |net, x| {
                let x = add_mask(net, x, -1e9);
                by(net, Mul, x, 1e-6)
            },
            mask,
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
            assert_eq!(found, [reason; 3], "{what}");
        }
    }
}

/// What is done to the chances, of which the scores are the other.
type Chances = fn(&mut Net, [ValueId; 2]) -> ValueId;

/// Chances as an importer guards them, with one thing or another changed.
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
    let something = "something else lies between the attention's softmax and the product with the values";
    let unknown = "what hides rows of the attention that see nothing is not known";
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
            "as many rows",
            |net, [_, x]| {
                let x = net.op(Reshape { shape: vec![1, 6, 8] }, &[x]);
                net.op(Reshape { shape: vec![2, 3, 8] }, &[x])
            },
            None,
        ),
    ] {
        for config in instances() {
            let found = reasons_of(&config, |net| between(net, |_, x| x, chances));
            let expected: Vec<&str> = reason.map(|reason| vec![reason; 3]).unwrap_or_default();
            assert_eq!(found, expected, "{what}");
        }
    }
}

/// A softmax over the last two axes at once is not over the last one.
#[test]
fn a_softmax_over_several_axes_is_the_hosts() {
    let found = reasons_of(&instances()[0], |net| {
        let (queries, keys) = (net.input(&[2, 3, 16]), net.input(&[2, 16, 8]));
        let values = net.input(&[2, 8, 16]);
        let scores = net.op(MatMul, &[queries, keys]);
        let chances = net.op(Softmax { axis: 1, axis_end: 3 }, &[scores]);
        vec![net.op(MatMul, &[chances, values])]
    });
    assert_eq!(found, ["the attention's softmax is over other axes than the last"; 3]);
}

#[test]
fn attention_of_other_shapes_is_the_hosts() {
    let nothing = "the attention has no rows or no tokens";
    let words = "heads of the attention are no whole words of L2: their features are no multiple of 8";
    let repeated = "keys of the attention are repeated, or values for heads that do not follow each other";
    for (shapes, reason) in [
        ([&[2, 3, 16][..], &[2, 16, 8], &[2, 8, 16]], None),
        ([&[2, 3, 16], &[2, 16, 0], &[2, 0, 16]], Some(nothing)),
        ([&[2, 0, 16], &[2, 16, 8], &[2, 8, 16]], Some(nothing)),
        ([&[2, 3, 0], &[2, 0, 8], &[2, 8, 16]], Some(words)),
        ([&[2, 3, 16], &[2, 16, 8], &[2, 8, 0]], Some(words)),
        ([&[2, 3, 16], &[16, 8], &[2, 8, 16]], Some(repeated)),
        ([&[2, 3, 16], &[1, 16, 8], &[8, 16]], Some(repeated)),
        ([&[3, 16], &[2, 16, 8], &[2, 8, 16]], Some(repeated)),
    ] {
        for config in instances() {
            let found = reasons_of(&config, |net| {
                let [queries, keys, values] = shapes.map(|shape| net.input(shape));
                let scores = net.op(MatMul, &[queries, keys]);
                let last = net.graph.shape(scores).len() - 1;
                let chances = net.op(Softmax { axis: last, axis_end: last + 1 }, &[scores]);
                vec![net.op(MatMul, &[chances, values])]
            });
            let expected: Vec<&str> = reason.map(|reason| vec![reason; 3]).unwrap_or_default();
            assert_eq!(found, expected, "{shapes:?}");
        }
    }
}

/// A softmax makes what is multiplied only when no other product lies between.
#[test]
fn products_behind_products_are_no_attention() {
    let changes = "both operands change, and no softmax makes one of them";
    let config = &instances()[0];
    assert_eq!(
        reasons_of(config, |net| {
            let (x, values, others) = (net.input(&[3, 8]), net.random(&[8, 16]), net.input(&[16, 4]));
            let chances = net.op(Softmax { axis: 1, axis_end: 2 }, &[x]);
            let seen = net.op(MatMul, &[chances, values]);
            let seen = net.unary(UnaryKind::Exp, seen);
            vec![net.op(MatMul, &[seen, others])]
        }),
        ["its largest operand is known only behind a product with all of it", changes]
    );
    assert_eq!(
        reasons_of(config, |net| {
            let (x, y) = (net.input(&[3, 8]), net.input(&[8, 16]));
            vec![net.op(MatMul, &[x, y])]
        }),
        [changes]
    );
}

/// Sixty-four nodes are looked at, each once however often it is used.
#[test]
fn a_softmax_is_looked_for_among_so_many_nodes() {
    let chain = |nodes: usize, step: fn(&mut Net, ValueId) -> ValueId| {
        reasons_of(&instances()[0], |net| {
            between(net, |_, x| x, |net, [_, x]| (0..nodes).fold(x, |x, _| step(net, x)))
        })
    };
    let something = "something else lies between the attention's softmax and the product with the values";
    let changes = "both operands change, and no softmax makes one of them";
    let alone = "its largest operand is known only behind a product with all of it";
    assert_eq!(chain(40, |net, x| net.binary(BinaryKind::Add, x, x)), [something; 3]);
    assert_eq!(chain(63, |net, x| net.unary(UnaryKind::Neg, x)), [something; 3]);
    assert_eq!(chain(64, |net, x| net.unary(UnaryKind::Neg, x)), [changes, alone, changes]);
}
