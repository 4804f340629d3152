//! Programs with an L2 that cannot hold all data.

use npukit_graph::ValueId;
use npukit_graph::op::{BinaryKind, Concat, Reshape, RmsNormalization, Softmax, Split, UnaryKind};
use npukit_numeric::Tensor;
use npukit_pccx::Config;
use npukit_pccx::internals::lower::{Activations, LowerError, Options, Weights, compile};

use crate::net::{BY_ROWS, Net, ROUNDED, instances, run};
use crate::twice;

/// Long residuals that do not fit into L2 wait at the host.
#[test]
fn values_that_have_no_room_wait_at_the_host() {
    for (words, fits) in [(114_688, true), (420, true), (150, false)] {
        let mut net = Net::new();
        let x = net.input(&[1024]);
        let functions = [UnaryKind::Exp, UnaryKind::Sin, UnaryKind::Cos, UnaryKind::Neg];
        let waiting: Vec<ValueId> = functions.iter().map(|&kind| net.unary(kind, x)).collect();
        let sum = waiting.iter().skip(1).fold(waiting[0], |sum, &y| net.binary(BinaryKind::Add, sum, y));
        let mut config = Config::preset("extended").unwrap();
        config.l2_words = words;
        if fits {
            assert!(run(&mut net, &config, &[sum]).error < ROUNDED);
            continue;
        }
        net.graph.outputs = vec![sum];
        let refused = compile(&config, &net.graph, &Options::of(&config), &mut Weights::default());
        assert!(
            matches!(refused, Err(LowerError::L2Full { values: 1024, l2_words: 150, .. })),
            "{refused:?}"
        );
    }
}

/// The gains of many norms are in L2 only while they are used.
#[test]
fn norms_leave_no_gains_behind() {
    let mut net = Net::new();
    let mut x = net.input(&[1, 512]);
    for _ in 0..40 {
        let gain = net.random(&[512]);
        x = net.op(RmsNormalization { axis: 1, epsilon: 1e-5 }, &[x, gain]);
    }
    let mut config = Config::preset("extended").unwrap();
    config.l2_words = 5 * 65;
    // The measured error after forty consecutive norms is 0.0147.
    assert!(run(&mut net, &config, &[x]).error < 1.2 * 0.0147);
}

/// Constants of the compiler are dropped to make room.
#[test]
fn constants_that_were_kept_leave_when_there_is_no_room() {
    let mut net = Net::new();
    let outputs: Vec<ValueId> = [1100, 1000, 1100]
        .map(|size| {
            let x = net.input(&[size]);
            net.unary(UnaryKind::Sigmoid, x)
        })
        .to_vec();
    let mut config = Config::preset("extended").unwrap();
    config.l2_words = 400;
    assert!(run(&mut net, &config, &outputs).error < ROUNDED);
}

/// Returns a graph of steps of all kinds, with earlier values as operands.
fn mixture(seed: u32) -> Net {
    let mut net = Net { seed, ..Net::new() };
    let shape = [4, 64];
    let mut values = vec![net.input(&shape), net.input(&shape)];
    for _ in 0..24 {
        let choice = |net: &mut Net, count: usize| (net.noise(1)[0].abs() * count as f32) as usize % count;
        let kind = choice(&mut net, 12);
        let [a, b] = [choice(&mut net, values.len()), choice(&mut net, values.len())].map(|i| values[i]);
        let value = match kind {
            0 => net.binary(BinaryKind::Add, a, b),
            1 => net.binary(BinaryKind::Sub, a, b),
            2 => net.binary(BinaryKind::Mul, a, b),
            3 => net.unary(UnaryKind::Sin, a),
            4 => net.unary(UnaryKind::Sigmoid, a),
            5 => net.op(Softmax { axis: 1, axis_end: 2 }, &[a]),
            6 => {
                let gain = net.random(&[64]);
                net.op(RmsNormalization { axis: 1, epsilon: 1e-2 }, &[a, gain])
            }
            7 => {
                let flat = net.op(Reshape { shape: vec![256] }, &[a]);
                let flat = net.unary(UnaryKind::Neg, flat);
                net.op(Reshape { shape: shape.to_vec() }, &[flat])
            }
            8 => net.op(Reshape { shape: shape.to_vec() }, &[a]),
            9 => {
                let parts = net.ops(Split { axis: 0, sizes: vec![1, 3] }, &[a], 2);
                net.op(Concat { axis: 0 }, &[parts[1], parts[0]])
            }
            _ => {
                let weights = net.weights(64, 64);
                let product = net.op(BY_ROWS, &[a, weights]);
                if kind == 10 { product } else { net.binary(BinaryKind::Add, product, b) }
            }
        };
        values.push(value);
    }
    net.graph.outputs = [3, 9, 17, 25].map(|i| values[i]).to_vec();
    net
}

/// Values moved to the host and dropped constants do not change the results.
#[test]
fn a_small_l2_gives_the_same() {
    let mut small = 0;
    for seed in 0..60 {
        let net = mixture(1000 + seed);
        let inputs = [0.3f32, 0.7].map(|step| {
            let values = (0..256).map(|i| (i as f32 * step).sin()).collect();
            Tensor::from_f32(vec![4, 64], values).unwrap()
        });
        for (mut config, activations) in instances()
            .into_iter()
            .flat_map(|config| [(config.clone(), Activations::Bits8), (config, Activations::Bits16)])
        {
            let options = Options { activations, ..Options::of(&config) };
            let mut run = |words: u32| {
                config.l2_words = words;
                let executable = compile(&config, &net.graph, &options, &mut Weights::default()).ok()?;
                Some(twice::run(&config, &executable, &inputs))
            };
            let expected = run(114_688).unwrap();
            for words in [180, 220, 300, 400] {
                let found = run(words);
                small += usize::from(found.is_some());
                assert!(
                    found.is_none_or(|found| found == expected),
                    "{seed}: {words} words, {activations:?}"
                );
            }
        }
    }
    assert!(small > 500, "{small} of 960 fit");
}
