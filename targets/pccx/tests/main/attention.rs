//! Attention on the machine, compared with the reference evaluator.

use npukit_graph::op::{
    BinaryKind, Compare, CompareKind, MatMul, Reduce, ReduceKind, Softmax, Transpose, UnaryKind, Where,
};
use npukit_graph::quantize::rows::Int4Rows;
use npukit_graph::{ValueId, evaluate};
use npukit_numeric::{Tensor, TensorData};
use npukit_pccx::internals::lower::{Kv, Options, Weights, compile};

use crate::net::{ATTENTION, BY_ROWS, Net, check, instances};
use crate::twice;

/// Adds `[heads, rows, tokens]` scores with a mask that is added, or used to choose.
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
    // If a row may see nothing, importers write this form.
    if mask == Some(false) {
        let largest = Reduce { kind: ReduceKind::Max, axes: vec![2], keep_dims: true };
        let largest = net.op(largest, &[scores]);
        let (hidden, zero) = (net.constant(&[], vec![-1e9]), net.constant(&[], vec![0.0]));
        let blind = net.op(Compare { kind: CompareKind::Equal }, &[largest, hidden]);
        chances = net.op(Where, &[blind, zero, chances]);
    }
    vec![net.op(MatMul, &[chances, values])]
}

/// Repeated matrices of values: for consecutive heads, and for others.
#[test]
fn attention_with_repeated_values() {
    for (batch, hosts) in [(&[2, 1][..], 0), (&[1, 3], 3), (&[3], 3), (&[1, 1, 1], 0)] {
        check(&format!("{batch:?}"), ATTENTION, [hosts, hosts], |net| {
            let (queries, keys) = (net.input(&[2, 3, 4, 16]), net.input(&[2, 3, 16, 9]));
            let values = net.input(&[batch, &[9, 16]].concat());
            let scores = net.op(MatMul, &[queries, keys]);
            let chances = net.op(Softmax { axis: 3, axis_end: 4 }, &[scores]);
            vec![net.op(MatMul, &[chances, values])]
        });
    }
}

/// A factor after a mask makes hidden scores visible.
#[test]
fn a_factor_behind_a_mask() {
    check("negative", ATTENTION, [0, 0], |net| {
        let (queries, keys, values) = (net.input(&[2, 16]), net.input(&[16, 3]), net.input(&[3, 16]));
        let (mask, minus) = (net.constant(&[3], vec![0.0, -1e9, 0.0]), net.constant(&[], vec![-1.0]));
        let scores = net.op(MatMul, &[queries, keys]);
        let scores = net.binary(BinaryKind::Add, scores, mask);
        let scores = net.binary(BinaryKind::Mul, scores, minus);
        let chances = net.op(Softmax { axis: 1, axis_end: 2 }, &[scores]);
        vec![net.op(MatMul, &[chances, values])]
    });
}

/// Keys and values of few bits are coarse. The test with exactly equal weights is
/// `attention_of_weights_that_4_bits_hold`.
#[test]
fn attention_is_the_machines() {
    for size in [[1, 1, 1], [2, 1, 9], [3, 7, 20], [1, 40, 40], [1, 1, 5000]] {
        for mask in [None, Some(true), Some(false)] {
            check(&format!("{size:?} {mask:?}"), ATTENTION, [0, 0], |net| attention(net, size, mask));
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
        let (keys, values) = (rows_of().dequantized(), rows_of().dequantized());
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
        let error = (error / energy).sqrt();
        // The largest measured error is 0.0288.
        assert!(error < 1.2 * 0.0288, "{error}");
    }
}

/// Operation between the parts of an attention.
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

/// Adds attention of two heads with something in between; returns its outputs.
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

/// Both products and the softmax report the reason why the host computes the attention, and nothing
/// more.
#[test]
fn an_attention_at_the_host_says_why() {
    let config = instances()[0].clone();
    let reasons = |between: Between, kv: Kv| -> Vec<String> {
        let mut net = Net::new();
        net.graph.outputs = with(&mut net, between);
        let options = Options { kv, ..Options::of(&config) };
        let host = compile(&config, &net.graph, &options, &mut Weights::default()).unwrap().host;
        let of = |layer: &npukit_pccx::internals::host::Layer| layer.host.clone();
        let named = host.layers.iter().filter_map(of);
        named.filter(|(op, _)| op == "MatMul" || op == "Softmax").map(|(_, reason)| reason).collect()
    };
    for between in [Between::Nothing, Between::Bound, Between::Mask(0.0), Between::Mask(1.0)] {
        assert_eq!(reasons(between, Kv::Npu), Vec::<String>::new());
        assert_eq!(reasons(between, Kv::Host), ["kv=host leaves attention to the host"; 3]);
    }
    let mask = "the attention's mask is not constant, or its replacement value does not hide scores";
    for (between, reason) in [
        (Between::FactorForEach, "scores of the attention have different factors"),
        (
            Between::Clip,
            "scores of the attention have a cap, and isa=base can compute tanh only with EXP and RECIP, which loses small values",
        ),
        (Between::MovingMask, mask),
        (Between::Mask(-1e9), "a row of the attention sees no token"),
        (
            Between::Exponential,
            "an unsupported operation is between the attention's softmax and the product with the values",
        ),
        (Between::OtherAxis, "the attention's softmax is over other axes than the last"),
        (Between::Watched, "scores or probabilities of the attention have other users"),
        (
            Between::Narrow,
            "heads of the attention are not whole words of L2: their features are not a multiple of 8",
        ),
    ] {
        // The machine still computes products of matrices whose rows are whole words.
        let count = if between == Between::Narrow { 3 } else { 1 };
        assert_eq!(reasons(between, Kv::Npu), vec![reason; count], "{reason}");
    }
}

/// A softmax of a product with constants selects values: the machine still computes the product.
#[test]
fn a_product_with_constants_before_a_softmax_is_the_machines() {
    // The largest measured error is 0.00433.
    check("gates", 1.2 * 0.004_33, [2, 2], |net| {
        let (x, weights, values) = (net.input(&[3, 16]), net.weights(8, 16), net.input(&[8, 16]));
        let scores = net.op(BY_ROWS, &[x, weights]);
        let chances = net.op(Softmax { axis: 1, axis_end: 2 }, &[scores]);
        vec![net.op(MatMul, &[chances, values])]
    });
}

/// A bound below which everything is hidden has no effect.
#[test]
fn a_bound_of_scores_is_none() {
    check("a bound", ATTENTION, [0, 0], |net| with(net, Between::Bound));
}
