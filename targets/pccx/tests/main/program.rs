//! Contents of programs for small graphs: transfers, products, constants, and messages.

use npukit_graph::ValueId;
use npukit_graph::op::{BinaryKind, GeluForm, Gemm, MatMul, Reshape, RotaryEmbedding, Softmax, UnaryKind};
use npukit_pccx::Config;
use npukit_pccx::internals::fault::Direction;
use npukit_pccx::internals::host::HostStep;
use npukit_pccx::internals::lower::{Activations, Executable, Gelu, Options, Weights, compile};
use npukit_pccx::internals::op::{Banks, CvoFunc, Device, Memcpy, Op};
use npukit_pccx::internals::usage::Use;

use crate::net::{BY_ROWS, Net, PRODUCT, ROUNDED_TWICE, check, compiled, instances, run_with, steps};

fn plain(config: &Config, build: impl FnOnce(&mut Net) -> Vec<ValueId>) -> Executable {
    compiled(config, &Options::of(config), build)
}

/// Returns the words of each transfer in a direction, in order.
fn transfers(executable: &Executable, from: Device, to: Device) -> Vec<u64> {
    let mut banks = Banks::default();
    let mut found = Vec::new();
    for op in &executable.program.code {
        let uses = Use::of(&banks, op);
        banks.step(op);
        if let Op::Memcpy(Memcpy { from_device, to_device, .. }) = *op
            && (from_device, to_device) == (from, to)
        {
            found.extend(uses.reads[0].or(uses.writes).map(|words| words.end - words.first));
        }
    }
    found
}

fn products(executable: &Executable) -> usize {
    executable.program.code.iter().filter(|op| matches!(op, Op::Gemv(_) | Op::Gemm(_))).count()
}

/// Returns the bytes of the windows in a direction.
fn window_bytes(executable: &Executable, direction: Direction) -> u64 {
    let windows = executable.program.windows.iter().filter(|window| window.direction == direction);
    windows.map(|window| window.size_bytes).sum()
}

/// The machine begins when all data is there: 3 of each operand, 16 values, 2 words.
#[test]
fn what_is_known_before_a_run_is_sent_before_it() {
    for config in instances() {
        let executable = plain(&config, |net| {
            let (x, y, c) = (net.input(&[16]), net.input(&[16]), net.random(&[16]));
            let x = net.unary(UnaryKind::Exp, x);
            let sum = net.binary(BinaryKind::Add, x, y);
            vec![net.binary(BinaryKind::Sub, sum, c)]
        });
        let sends: Vec<u32> = steps(&executable)
            .into_iter()
            .filter_map(|(position, step)| matches!(step, HostStep::Send { .. }).then_some(position))
            .collect();
        // The program sends two operands, the constant, 1 and -1.
        assert_eq!(sends, [0; 5]);
    }
}

/// A value that the host needs twice, or computes itself, is not sent again.
#[test]
fn values_go_to_the_host_once() {
    for config in instances() {
        // The host's function uses the value, which is also an output.
        let executable = plain(&config, |net| {
            let x = net.input(&[64]);
            let y = net.unary(UnaryKind::Exp, x);
            vec![net.unary(UnaryKind::Erf, y), y, net.unary(UnaryKind::Sin, y)]
        });
        assert_eq!(transfers(&executable, Device::Npu, Device::Host), [8, 8]);
        // The host makes the value, and both the host and the machine use it.
        let executable = plain(&config, |net| {
            let x = net.input(&[64]);
            let y = net.unary(UnaryKind::Erf, x);
            let first = net.unary(UnaryKind::Exp, y);
            vec![first, net.unary(UnaryKind::Erf, y), net.unary(UnaryKind::Sin, y)]
        });
        assert_eq!(transfers(&executable, Device::Npu, Device::Host), [8, 8]);
        assert_eq!(transfers(&executable, Device::Host, Device::Npu), [8]);
    }
}

/// A sum may overwrite either operand; copies are of scalars, one word each.
#[test]
fn sums_take_the_place_of_the_operand_that_is_done_with() {
    let copies = |kind, is_first_wanted: bool| {
        let executable = plain(&instances()[0], |net| {
            let (x, y) = (net.input(&[64]), net.input(&[64]));
            let (x, y) = (net.unary(UnaryKind::Exp, x), net.unary(UnaryKind::Exp, y));
            let sum = net.binary(kind, x, y);
            vec![sum, net.unary(UnaryKind::Sin, if is_first_wanted { x } else { y })]
        });
        let words = transfers(&executable, Device::Npu, Device::Npu);
        words.into_iter().filter(|&words| words > 1).count()
    };
    assert_eq!((copies(BinaryKind::Add, true), copies(BinaryKind::Add, false)), (0, 0));
    assert_eq!((copies(BinaryKind::Sub, true), copies(BinaryKind::Sub, false)), (1, 0));
}

#[test]
fn a_difference_of_one_value_is_nothing() {
    check("x - x + y", ROUNDED_TWICE, [0, 0], |net| {
        let (x, y) = (net.input(&[20]), net.input(&[20]));
        let x = net.unary(UnaryKind::Exp, x);
        let nothing = net.binary(BinaryKind::Sub, x, x);
        vec![net.binary(BinaryKind::Add, nothing, y)]
    });
}

/// One of two products is added to the other, and one product stays separate.
#[test]
fn products_add_only_where_nobody_else_wants_them() {
    let product = |net: &mut Net, x| {
        let weights = net.weights(16, 16);
        net.op(BY_ROWS, &[x, weights])
    };
    check("wanted twice", PRODUCT, [0, 0], |net| {
        let (x, y) = (net.input(&[2, 16]), net.input(&[2, 16]));
        let xs = product(net, x);
        vec![net.binary(BinaryKind::Add, xs, y), net.unary(UnaryKind::Neg, xs)]
    });
    check("an output", PRODUCT, [0, 0], |net| {
        let (x, y) = (net.input(&[2, 16]), net.input(&[2, 16]));
        let xs = product(net, x);
        vec![net.binary(BinaryKind::Add, xs, y), xs]
    });
    check("three summands", PRODUCT, [0, 0], |net| {
        let (x, y, z) = (net.input(&[2, 16]), net.input(&[2, 16]), net.input(&[2, 16]));
        let xs = product(net, x);
        let sum = net.binary(BinaryKind::Add, xs, y);
        vec![net.binary(BinaryKind::Add, sum, z)]
    });
    check("a bias and a summand", PRODUCT, [0, 0], |net| {
        let (x, y) = (net.input(&[2, 16]), net.input(&[2, 16]));
        let (weights, bias) = (net.weights(16, 16), net.constant(&[16], vec![3.0; 16]));
        let xs = net.op(BY_ROWS, &[x, weights, bias]);
        vec![net.binary(BinaryKind::Add, xs, y)]
    });
}

/// Equal weights with different factors are separate images.
#[test]
fn factors_of_products_are_kept_apart() {
    check("factors", PRODUCT, [0, 0], |net| {
        let (x, weights) = (net.input(&[2, 16]), net.weights(16, 16));
        [0.5, 1.0, 2.0, -1.0].map(|alpha| net.op(Gemm { alpha, ..BY_ROWS }, &[x, weights])).to_vec()
    });
}

/// More rows than an entry can hold: 65,528 and 4,472.
#[test]
fn rows_of_a_long_product_go_in_two_parts() {
    check("70,000 rows", PRODUCT, [0, 0], |net| {
        let (x, weights) = (net.input(&[70_000, 1]), net.weights(1, 1));
        vec![net.op(BY_ROWS, &[x, weights])]
    });
}

/// A row of 64 values is 8 words, the operand of 16 rows of 32 is 64; a bias for all rows takes 128
/// words.
#[test]
fn a_bias_for_all_rows_is_sent_once() {
    for (shape, words) in [(&[64][..], 8), (&[1, 64], 8), (&[], 128), (&[16, 1], 128), (&[16, 64], 128)] {
        let executable = plain(&instances()[0], |net| {
            let (x, weights, bias) = (net.input(&[16, 32]), net.weights(64, 32), net.random(shape));
            vec![net.op(BY_ROWS, &[x, weights, bias])]
        });
        assert_eq!(window_bytes(&executable, Direction::HostToL2), 16 * (64 + words), "{shape:?}");
        assert_eq!(transfers(&executable, Device::Host, Device::Npu).iter().sum::<u64>(), 64 + words);
    }
}

#[test]
fn words_in_use_are_counted() {
    // There are eight values and the word before them, twice: the operand, which the result
    // overwrites, and -1.
    let executable = plain(&instances()[0], |net| {
        let x = net.input(&[8]);
        vec![net.unary(UnaryKind::Neg, x)]
    });
    assert_eq!(executable.host.words, [4, 4]);
    // 3 words; the result of the first function overwrites its operand, that of the second one does
    // not.
    let executable = plain(&instances()[0], |net| {
        let x = net.input(&[16]);
        let y = net.unary(UnaryKind::Exp, x);
        let z = net.input(&[16]);
        vec![y, net.unary(UnaryKind::Sin, z)]
    });
    assert_eq!(executable.host.words, [3, 6]);
}

/// Weights are stored in their images only; constants that the host sends or uses stay with the
/// host.
#[test]
fn constants_that_became_weights_are_not_kept_twice() {
    let executable = plain(&instances()[1], |net| {
        let (x, weights, sent) = (net.input(&[1, 16]), net.weights(16, 16), net.random(&[16]));
        net.graph.values[weights.0 as usize].name = "weights".to_owned();
        net.graph.values[sent.0 as usize].name = "sent".to_owned();
        let y = net.op(BY_ROWS, &[x, weights, sent]);
        let used = net.constant(&[16], vec![3.0; 16]);
        net.graph.values[used.0 as usize].name = "used".to_owned();
        let given = net.constant(&[1], vec![4.0]);
        net.graph.values[given.0 as usize].name = "given".to_owned();
        vec![net.binary(BinaryKind::Max, y, used), given]
    });
    let graph = &executable.host.graph;
    let kept = |name: &str| graph.constant(graph.find_value(name).unwrap()).is_some();
    assert_eq!(["weights", "sent", "used", "given"].map(kept), [false, true, true, true]);
}

#[test]
fn warnings_are_of_what_is_not_exact_or_not_counted() {
    let [reference, extended] = instances();
    let gelus = |net: &mut Net, forms: &[GeluForm]| -> Vec<ValueId> {
        let x = net.input(&[16]);
        forms.iter().map(|&form| net.unary(UnaryKind::Gelu { form }, x)).collect()
    };
    let warnings = |config: &Config, gelu: Gelu, build: &dyn Fn(&mut Net) -> Vec<ValueId>| {
        compiled(config, &Options { gelu, ..Options::of(config) }, build).host.warnings
    };
    let approximated = |count: usize| {
        format!(
            "{count} Gelu of the error function computed by the machine with tanh: up to 0.0005 apart; \
             `--option gelu=exact` leaves them to the host"
        )
    };
    let hosts = |count: usize| {
        let nodes = if count == 1 { "1 node is".to_owned() } else { format!("{count} nodes are") };
        format!("{nodes} computed by the host, in time that is not included")
    };
    let exact = GeluForm::Exact;
    for (forms, tanh, hosts_of_exact) in [
        (vec![], vec![], vec![]),
        (vec![GeluForm::Tanh], vec![], vec![]),
        (vec![exact], vec![approximated(1)], vec![hosts(1)]),
        (vec![exact, GeluForm::Tanh, exact], vec![approximated(2)], vec![hosts(2)]),
    ] {
        let build = |net: &mut Net| gelus(net, &forms);
        assert_eq!(warnings(&reference, Gelu::Tanh, &build), tanh);
        assert_eq!(warnings(&reference, Gelu::Exact, &build), hosts_of_exact);
        assert_eq!(warnings(&extended, Gelu::Tanh, &build), tanh);
        assert_eq!(warnings(&extended, Gelu::Exact, &build), hosts_of_exact);
    }
    let both = |net: &mut Net| {
        let mut outputs = gelus(net, &[exact]);
        outputs.push(net.unary(UnaryKind::Erf, outputs[0]));
        outputs
    };
    assert_eq!(warnings(&reference, Gelu::Tanh, &both), [approximated(1), hosts(1)]);
    // If values are at the host, an operation that only moves them stays there.
    let moved = |net: &mut Net| {
        let x = net.input(&[2, 8]);
        let x = net.unary(UnaryKind::Erf, x);
        let x = net.op(Reshape { shape: vec![16] }, &[x]);
        vec![net.unary(UnaryKind::Neg, x)]
    };
    assert_eq!(warnings(&extended, Gelu::Tanh, &moved), [hosts(2)]);
}

/// 7 and 3.25 have the scale 1, and 3.25 becomes 3: an error of 0.25, relative to the root of 49 +
/// 10.5625. (7 and 3.5 are 3.5 times integers, and are exact.)
#[test]
fn the_worst_weights_are_named() {
    let warnings = |matrices: &[[f32; 2]]| {
        let executable = plain(&instances()[0], |net| {
            let x = net.input(&[1, 2]);
            let product = |(index, values): (usize, &[f32; 2])| {
                let weights = net.constant(&[1, 2], values.to_vec());
                net.graph.values[weights.0 as usize].name = format!("w{index}");
                net.op(BY_ROWS, &[x, weights])
            };
            matrices.iter().enumerate().map(product).collect()
        });
        executable.host.warnings
    };
    assert_eq!(warnings(&[[7.0, -3.0], [7.0, 3.5]]), Vec::<String>::new());
    assert_eq!(
        warnings(&[[7.0, 1.0], [7.0, 3.25], [70.0, 31.0]]),
        ["3 matrices became 4-bit rows; the worst, `w1`, is 3.2 % off (RMS, relative to its \
          weights), at most 0.250"]
    );
}

/// With 16-bit activations, only BF16 rounding of the result remains. Rows that are not whole words
/// keep 8 bits.
#[test]
fn activations_of_16_bits_are_finer() {
    for config in instances() {
        for (size, is_finer) in [
            ([1, 64, 40], true),
            ([1, 100, 7], true),
            ([1, 7, 40], true),
            ([16, 64, 48], true),
            ([3, 40, 16], true),
            ([5, 33, 9], false),
        ] {
            let build = |net: &mut Net| {
                let [m, k, n] = size;
                let (x, weights) = (net.input(&[m, k]), net.weights(n, k));
                vec![net.op(BY_ROWS, &[x, weights])]
            };
            let error = |activations| {
                let mut net = Net::new();
                let outputs = build(&mut net);
                let options = Options { activations, ..Options::of(&config) };
                run_with(&mut net, &config, &options, &outputs).error
            };
            let (coarse, fine) = (error(Activations::Bits8), error(Activations::Bits16));
            assert!(coarse < PRODUCT, "{size:?}: {coarse}");
            match is_finer {
                // The measured error is at most 0.00225, and 0.438 of the error with 8 bits.
                true => assert!(
                    fine < 1.2 * 0.002_25 && fine < 1.2 * 0.438 * coarse,
                    "{size:?}: {fine} of {coarse}"
                ),
                false => assert_eq!(fine, coarse, "{size:?}"),
            }
            let options = |activations| Options { activations, ..Options::of(&config) };
            assert_eq!(products(&compiled(&config, &options(Activations::Bits8), build)), 1, "{size:?}");
            let fine = products(&compiled(&config, &options(Activations::Bits16), build));
            assert_eq!(fine > 1, is_finer, "{size:?}");
        }
    }
}

/// Batches of heads by position: two of two heads and three positions, and a table for each batch.
#[test]
fn rotations_of_several_batches() {
    check("batches", PRODUCT, [1, 0], |net| {
        let (x, table) = (net.input(&[2, 2, 3, 16]), net.random(&[2, 3, 4]));
        let other = net.random(&[2, 3, 4]);
        vec![net.op(RotaryEmbedding { heads: 2, size: 8, interleaved: true }, &[x, table, other])]
    });
}

/// Adds attention with these numbers of heads, rows and tokens, and 16 features.
fn attention(net: &mut Net, [heads, rows, tokens]: [usize; 3]) -> Vec<ValueId> {
    let (queries, keys) = (net.input(&[heads, rows, 16]), net.input(&[heads, 16, tokens]));
    let values = net.input(&[heads, tokens, 16]);
    let scores = net.op(MatMul, &[queries, keys]);
    let chances = net.op(Softmax { axis: 2, axis_end: 3 }, &[scores]);
    vec![net.op(MatMul, &[chances, values])]
}

/// With extensions, the machine multiplies probabilities by the scales of values; otherwise the
/// host does.
#[test]
fn chances_are_weighed_where_they_can_be() {
    for config in instances() {
        let executable = plain(&config, |net| attention(net, [1, 3, 8]));
        let weighed =
            steps(&executable).iter().filter(|(_, step)| matches!(step, HostStep::Weigh { .. })).count();
        let is_mul = |op: &&Op| matches!(op, Op::Cvo(cvo) if cvo.cvo_func == CvoFunc::Mul);
        let multiplied = executable.program.code.iter().filter(is_mul).count();
        assert_eq!([weighed, multiplied], if config.extensions { [0, 3] } else { [3, 0] });
    }
}

/// Probabilities of 64 rows of 5000 tokens would take 40,000 words; a quarter of the published L2
/// can hold 45 rows.
#[test]
fn chances_of_many_rows_are_in_l2_a_group_at_a_time() {
    for mut config in instances() {
        config.l2_words = 30_500;
        let executable = plain(&config, |net| attention(net, [1, 64, 5000]));
        let [most, _] = executable.host.words;
        // The limit is 45 rows of 625 words.
        assert!(most > 28_125, "{most}");
    }
}

/// Half a word of tokens is hidden, and rows that see the same tokens share their weights.
#[test]
fn only_tokens_that_are_seen_become_weights() {
    for config in instances() {
        let executable = plain(&config, |net| {
            let (queries, keys) = (net.input(&[3, 16]), net.input(&[16, 8]));
            let values = net.input(&[8, 16]);
            let scores = net.op(MatMul, &[queries, keys]);
            let row =
                |seen: &str| seen.chars().map(|c| if c == '1' { 0.0 } else { -1e9 }).collect::<Vec<f32>>();
            let mask = net.constant(&[3, 8], ["11001111", "01010001", "11001111"].map(row).concat());
            let scores = net.binary(BinaryKind::Add, scores, mask);
            let chances = net.op(Softmax { axis: 1, axis_end: 2 }, &[scores]);
            vec![net.op(MatMul, &[chances, values])]
        });
        let tokens: Vec<_> = steps(&executable)
            .into_iter()
            .filter_map(|(_, step)| match step {
                HostStep::Keys { tokens, factor, .. } => Some((tokens, factor)),
                _ => None,
            })
            .collect();
        assert_eq!(tokens, [(vec![0..2, 4..8], 1.0), (vec![1..2, 3..4, 7..8], 1.0)]);
    }
}

/// Weights of the same name and size in further graphs are shared.
#[test]
fn weights_are_quantized_once() {
    let [config, _] = instances();
    let mut weights = Weights::default();
    let mut net = Net::new();
    let (x, matrix) = (net.input(&[1, 16]), net.weights(8, 16));
    net.graph.outputs = vec![net.op(BY_ROWS, &[x, matrix])];
    let of = |executable: &Executable| executable.program.images.clone();
    let first = compile(&config, &net.graph, &Options::of(&config), &mut weights).unwrap();
    let second = compile(&config, &net.graph, &Options::of(&config), &mut weights).unwrap();
    assert!(std::sync::Arc::ptr_eq(&of(&first)[0], &of(&second)[0]));
}
