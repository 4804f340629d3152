//! Biases and caps of attention scores.

use npukit_graph::ValueId;
use npukit_graph::op::{BinaryKind, MatMul, Softmax, UnaryKind};
use npukit_pccx::internals::lower::{Kv, Options};

use crate::net::{ATTENTION, Net, instances, reasons, run_with};

/// Adds two heads of `rows` queries and 8 tokens, with an operation between the scores and their
/// softmax.
fn attention(net: &mut Net, rows: usize, between: impl FnOnce(&mut Net, ValueId) -> ValueId) -> ValueId {
    let queries = net.input(&[2, rows, 16]);
    let (keys, values) = (net.input(&[2, 16, 8]), net.input(&[2, 8, 16]));
    // The functions ensure that the machine computes the operands.
    let queries = net.unary(UnaryKind::Sin, queries);
    let scores = net.op(MatMul, &[queries, keys]);
    let scores = between(net, scores);
    let chances = net.op(Softmax { axis: 2, axis_end: 3 }, &[scores]);
    net.op(MatMul, &[chances, values])
}

/// Relative positions that differ by head, row and token, followed by a factor and a mask.
#[test]
fn what_is_added_to_scores_stays_on_the_machine() {
    type Between = fn(&mut Net, ValueId) -> ValueId;
    let cases: [(&str, Between); 4] = [
        ("a number for each head, row and token", |net, x| {
            let bias = net.random(&[2, 4, 8]);
            net.binary(BinaryKind::Add, x, bias)
        }),
        ("a row for all", |net, x| {
            let bias = net.random(&[1, 1, 8]);
            net.binary(BinaryKind::Add, bias, x)
        }),
        ("a factor after it", |net, x| {
            let (bias, half) = (net.random(&[2, 4, 8]), net.constant(&[], vec![0.5]));
            let x = net.binary(BinaryKind::Add, x, bias);
            net.binary(BinaryKind::Mul, x, half)
        }),
        ("tokens that are hidden, and what is added to the others", |net, x| {
            let noise = net.noise(64);
            let value = |i: usize| if i % 8 > 2 + i / 8 % 4 { f32::NEG_INFINITY } else { 2.0 * noise[i] };
            let mask = net.constant(&[2, 4, 8], (0..64).map(value).collect());
            net.binary(BinaryKind::Add, x, mask)
        }),
    ];
    for config in instances() {
        for (what, between) in cases {
            let mut net = Net::new();
            let y = attention(&mut net, 4, between);
            let found = run_with(&mut net, &config, &Options::of(&config), &[y]);
            assert!(found.error < ATTENTION, "{what}, extensions {}: {}", config.extensions, found.error);
            assert_eq!(found.hosts, 0, "{what}");
            // Checks that the operation matters: without it, the result differs.
            let mut plain = Net::new();
            let without = attention(&mut plain, 4, |net, x| {
                between(net, x);
                x
            });
            let evaluated = |net: &mut Net, y: ValueId| {
                net.graph.outputs = vec![y];
                let inputs: Vec<_> = net
                    .graph
                    .inputs
                    .clone()
                    .into_iter()
                    .map(|id| {
                        let shape = net.graph.shape(id).to_vec();
                        let values =
                            (0..shape.iter().product()).map(|i: usize| (i as f32 * 0.7).sin()).collect();
                        npukit_numeric::Tensor::from_f32(shape, values).unwrap()
                    })
                    .collect();
                npukit_graph::evaluate(&net.graph, &inputs).unwrap()
            };
            assert_ne!(evaluated(&mut net, y), evaluated(&mut plain, without), "{what}");
        }
    }
}

/// Adds `cap * tanh(scores / cap)`, as in Gemma 2; the machine computes it with TANH.
fn capped(net: &mut Net, x: ValueId, cap: f32) -> ValueId {
    let cap = net.constant(&[], vec![cap]);
    let x = net.binary(BinaryKind::Div, x, cap);
    let x = net.unary(UnaryKind::Tanh, x);
    net.binary(BinaryKind::Mul, x, cap)
}

#[test]
fn caps_of_scores_are_the_machines_with_tanh() {
    let [base, ext] = instances();
    for cap in [1.5, 50.0] {
        let mut net = Net::new();
        let y = attention(&mut net, 4, |net, x| {
            let x = capped(net, x, cap);
            let value = |i: usize| if i % 8 > 3 + i / 8 { f32::NEG_INFINITY } else { 0.0 };
            let mask = net.constant(&[4, 8], (0..32).map(value).collect());
            net.binary(BinaryKind::Add, x, mask)
        });
        let found = run_with(&mut net, &ext, &Options::of(&ext), &[y]);
        assert!(found.error < ATTENTION, "{cap}: {}", found.error);
        assert_eq!(found.hosts, 0);
    }
    let without = "scores of the attention have a cap, and isa=base can compute tanh only with EXP and RECIP, which loses small values";
    let large = "the cap of the attention's scores is negative, or too large for sums of e^cap";
    let inner = "an unsupported operation is between the product with the keys and the attention's softmax";
    for (config, cap, hides_within, reason) in
        [(&base, 50.0, false, without), (&ext, 65.0, false, large), (&ext, 50.0, true, inner)]
    {
        let executable =
            crate::net::compiled(config, &Options { kv: Kv::Npu, ..Options::of(config) }, |net| {
                vec![attention(net, 4, |net, mut x| {
                    if hides_within {
                        let mask =
                            net.constant(&[8], (0..8).map(|i| if i < 7 { 0.0 } else { -1e9 }).collect());
                        x = net.binary(BinaryKind::Add, x, mask);
                    }
                    capped(net, x, cap)
                })]
            });
        let found = reasons(&executable);
        let softmax = found.iter().find(|(op, _)| *op == "Softmax");
        assert_eq!(softmax, Some(&("Softmax", reason)), "{found:?}");
    }
}

/// If the machine does not support the operation in between, it still computes the products, with
/// weights that the host makes.
#[test]
fn products_around_what_is_the_hosts_stay_on_the_machine() {
    type Between = fn(&mut Net, ValueId) -> ValueId;
    let cases: [(&str, Between); 3] = [
        ("what is added changes", |net, x| {
            let bias = net.input(&[2, 4, 8]);
            net.binary(BinaryKind::Add, x, bias)
        }),
        ("a cap without tanh", |net, x| capped(net, x, 2.0)),
        ("a factor for each token", |net, x| {
            let factors = net.random(&[8]);
            net.binary(BinaryKind::Mul, x, factors)
        }),
    ];
    let [base, _] = instances();
    for (what, between) in cases {
        let mut net = Net::new();
        let y = attention(&mut net, 4, between);
        let found = run_with(&mut net, &base, &Options::of(&base), &[y]);
        assert!(found.error < ATTENTION, "{what}: {}", found.error);
        let weights = &mut npukit_pccx::internals::lower::Weights::default();
        let executable =
            npukit_pccx::internals::lower::compile(&base, &net.graph, &Options::of(&base), weights).unwrap();
        let host = executable.host.layers.iter().filter(|layer| layer.host.is_some());
        assert_eq!(host.map(|layer| layer.macs).sum::<u64>(), 0, "{what}");
        assert_eq!(executable.program.bindings.len(), 4, "{what}: two products of two heads");
    }
}
