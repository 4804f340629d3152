//! Attention on the machine against the reference evaluator.

use npukit_graph::op::{
    BinaryKind, Compare, CompareKind, MatMul, Reduce, ReduceKind, Softmax, Transpose, Where,
};
use npukit_graph::quantise::rows::Int4Rows;
use npukit_graph::{ValueId, evaluate};
use npukit_numeric::{Tensor, TensorData};
use npukit_pccx::lower::{Options, Weights, compile};

use crate::net::{Net, PRODUCT, check, instances};
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
