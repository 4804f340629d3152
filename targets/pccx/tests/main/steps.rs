//! Single steps of the compiler on both instruction sets, compared with the reference evaluator.

use npukit_graph::op::{
    BinaryKind, Concat, Gather, GeluForm, Gemm, LayerNormalization, MatMul, Pow, Relu, Reshape,
    RmsNormalization, RotaryEmbedding, Softmax, Split, Transpose, UnaryKind,
};
use npukit_numeric::{Tensor, TensorData};

use crate::net::{BY_ROWS, Net, PRODUCT, ROUNDED, ROUNDED_TWICE, check};

#[test]
fn products() {
    for [m, k, n] in [[1, 64, 40], [1, 100, 7], [5, 33, 9], [16, 64, 48], [3, 2500, 16]] {
        check(&format!("{m} {k} {n}"), PRODUCT, [0, 0], |net| {
            let (x, weights) = (net.input(&[m, k]), net.weights(n, k));
            vec![net.op(BY_ROWS, &[x, weights])]
        });
        check(&format!("{m} {k} {n} with a bias"), PRODUCT, [0, 0], |net| {
            let (x, weights, bias) = (net.input(&[m, k]), net.weights(n, k), net.random(&[n]));
            let gemm = Gemm { alpha: 0.5, beta: 2.0, ..BY_ROWS };
            vec![net.op(gemm, &[x, weights, bias])]
        });
        check(&format!("{m} {k} {n} by columns"), PRODUCT, [0, 0], |net| {
            let (x, weights) = (net.input(&[2, m, k]), net.weights(n, k));
            let values = net.graph.constant(weights).unwrap().as_f32().unwrap().to_vec();
            let columns = (0..k).flat_map(|i| values.iter().skip(i).step_by(k).copied()).collect();
            let weights = net.constant(&[k, n], columns);
            vec![net.op(MatMul, &[x, weights])]
        });
    }
}

#[test]
fn a_matrix_of_more_rows_than_an_image_has() {
    check("70,000 rows", PRODUCT, [0, 0], |net| {
        let (x, weights) = (net.input(&[2, 8]), net.weights(70_000, 8));
        vec![net.op(BY_ROWS, &[x, weights])]
    });
}

/// Rows of several images that are not whole words of L2.
#[test]
fn rows_between_words_of_several_images_are_the_hosts() {
    for (k, n) in [(4, 70_000), (8, 65_530)] {
        check(&format!("{k} {n}"), PRODUCT, [1, 1], |net| {
            let (x, weights) = (net.input(&[2, k]), net.weights(n, k));
            vec![net.op(BY_ROWS, &[x, weights])]
        });
    }
}

/// With equal numbers of rows and results, a column must not be mistaken for a row.
#[test]
fn biases_of_every_form() {
    for shape in [&[][..], &[1], &[16], &[1, 16], &[16, 1], &[16, 16]] {
        check(&format!("{shape:?}"), PRODUCT, [0, 0], |net| {
            let (x, weights, bias) = (net.input(&[16, 32]), net.weights(16, 32), net.random(shape));
            vec![net.op(BY_ROWS, &[x, weights, bias])]
        });
    }
}

#[test]
fn a_product_adds_to_what_is_there() {
    check("residual", PRODUCT, [0, 0], |net| {
        let (x, weights, old) = (net.input(&[4, 64]), net.weights(64, 64), net.input(&[4, 64]));
        let product = net.op(BY_ROWS, &[x, weights]);
        let sum = net.binary(BinaryKind::Add, old, product);
        // The old value is still needed, so it must not be overwritten.
        vec![sum, net.binary(BinaryKind::Sub, old, sum)]
    });
    check("two products", PRODUCT, [0, 0], |net| {
        let (x, first, second) = (net.input(&[4, 64]), net.weights(64, 64), net.weights(64, 64));
        let (a, b) = (net.op(BY_ROWS, &[x, first]), net.op(BY_ROWS, &[x, second]));
        vec![net.binary(BinaryKind::Add, a, b)]
    });
}

#[test]
fn a_product_finds_the_largest_of_its_softmax() {
    let softmax = |net: &mut Net, x, rank: usize| net.op(Softmax { axis: rank - 1, axis_end: rank }, &[x]);
    for [m, k, n] in [[1, 64, 10], [1, 9, 3], [5, 64, 16], [3, 32, 2056]] {
        check(&format!("{m} rows of {n} results"), PRODUCT, [0, 0], |net| {
            let (x, weights) = (net.input(&[m, k]), net.weights(n, k));
            let scores = net.op(BY_ROWS, &[x, weights]);
            vec![softmax(net, scores, 2)]
        });
        check(&format!("{m} rows of {n} results with a bias"), PRODUCT, [0, 0], |net| {
            let (x, weights, bias) = (net.input(&[m, k]), net.weights(n, k), net.random(&[n]));
            let scores = net.op(BY_ROWS, &[x, weights, bias]);
            vec![softmax(net, scores, 2)]
        });
    }
    check("scores that are added to", PRODUCT, [0, 0], |net| {
        let (x, weights, old) = (net.input(&[4, 64]), net.weights(64, 64), net.input(&[4, 64]));
        let product = net.op(BY_ROWS, &[x, weights]);
        let scores = net.binary(BinaryKind::Add, old, product);
        vec![softmax(net, scores, 2)]
    });
    // Each row has its own maximum, so a row of much smaller values keeps its precision. The BF16
    // step of these values is 4.
    check("rows far apart", PRODUCT, [0, 0], |net| {
        let (x, weights) = (net.input(&[2, 8]), net.constant(&[8, 8], vec![0.0; 64]));
        let low = (0..16).map(|i| if i < 8 { 4.0 * i as f32 } else { -1000.0 + 4.0 * (i % 3) as f32 });
        let low = net.constant(&[2, 8], low.collect());
        let product = net.op(BY_ROWS, &[x, weights]);
        let scores = net.binary(BinaryKind::Add, product, low);
        vec![softmax(net, scores, 2)]
    });
    check("scores that are wanted as well", PRODUCT, [1, 1], |net| {
        let (x, weights) = (net.input(&[1, 64]), net.weights(16, 64));
        let scores = net.op(BY_ROWS, &[x, weights]);
        vec![scores, softmax(net, scores, 2)]
    });
    check("rows that are not whole words", PRODUCT, [1, 1], |net| {
        let (x, weights) = (net.input(&[3, 64]), net.weights(9, 64));
        let scores = net.op(BY_ROWS, &[x, weights]);
        vec![softmax(net, scores, 2)]
    });
}

#[test]
fn functions() {
    use UnaryKind::{Cos, Exp, Gelu, Neg, Sigmoid, Sin, Swish, Tanh};
    for (kind, hosts) in [
        (Exp, [0, 0]),
        (Sin, [0, 0]),
        (Cos, [0, 0]),
        (Neg, [0, 0]),
        (Sigmoid, [0, 0]),
        (Gelu { form: GeluForm::Tanh }, [0, 0]),
        (Gelu { form: GeluForm::Exact }, [0, 0]),
        (Swish { alpha: 1.0 }, [1, 0]),
        (Swish { alpha: 1.7 }, [1, 0]),
        (Tanh, [1, 0]),
        (UnaryKind::Erf, [1, 1]),
    ] {
        // 5,000 values need three instructions.
        for count in [5, 5000] {
            check(&format!("{kind:?} of {count}"), ROUNDED_TWICE, hosts, |net| {
                let x = net.input(&[count]);
                let y = net.unary(kind, x);
                // The operand is overwritten in one case, and has its last use in the other.
                let z = net.unary(Neg, x);
                vec![y, z]
            });
        }
    }
    check("square root", ROUNDED, [0, 0], |net| {
        let x = net.input(&[300]);
        let y = net.unary(Exp, x);
        vec![net.unary(UnaryKind::Sqrt, y)]
    });
    check("relu", ROUNDED, [1, 0], |net| {
        let x = net.input(&[300]);
        vec![net.op(Relu, &[x])]
    });
}

#[test]
fn arithmetic() {
    use BinaryKind::{Add, Div, Mul, Sub};
    for (kind, hosts) in [(Add, [0, 0]), (Sub, [0, 0]), (Mul, [1, 0])] {
        for count in [3, 640, 4100] {
            check(&format!("{kind:?} of {count}"), ROUNDED_TWICE, hosts, |net| {
                let (x, y) = (net.input(&[2, count]), net.input(&[2, count]));
                vec![net.binary(kind, x, y)]
            });
            check(&format!("{kind:?} of {count} and a constant"), ROUNDED_TWICE, hosts, |net| {
                let (x, y) = (net.input(&[2, count]), net.random(&[count]));
                vec![net.binary(kind, x, y)]
            });
        }
    }
    check("factors", ROUNDED_TWICE, [0, 0], |net| {
        let (x, third) = (net.input(&[2, 3000]), net.constant(&[], vec![3.0]));
        let y = net.binary(Mul, third, x);
        vec![net.binary(Div, x, third), y, net.binary(Add, x, x)]
    });
    check("squares", ROUNDED_TWICE, [2, 0], |net| {
        let (x, two) = (net.input(&[2, 3000]), net.constant(&[], vec![2.0]));
        vec![net.op(Pow, &[x, two]), net.binary(Mul, x, x)]
    });
    check("a quotient is the host's", ROUNDED, [1, 1], |net| {
        let (x, y) = (net.input(&[8]), net.input(&[8]));
        vec![net.binary(Div, x, y)]
    });
}

#[test]
fn norms() {
    for shape in [[1, 64], [1, 50], [7, 64], [3, 2048], [2, 4096]] {
        check(&format!("RMS of {shape:?}"), ROUNDED_TWICE, [1, 0], |net| {
            let (x, gain) = (net.input(&shape), net.random(&[shape[1]]));
            vec![net.op(RmsNormalization { axis: 1, epsilon: 1e-5 }, &[x, gain])]
        });
        check(&format!("layer norm of {shape:?}"), ROUNDED, [1, 0], |net| {
            let x = net.input(&shape);
            let (gain, bias) = (net.random(&[shape[1]]), net.random(&[shape[1]]));
            let y = net.op(LayerNormalization { axis: 1, epsilon: 1e-5 }, &[x, gain, bias]);
            vec![y]
        });
    }
    check("rows of 9 are not whole words", ROUNDED, [1, 1], |net| {
        let (x, gain) = (net.input(&[2, 9]), net.random(&[9]));
        vec![net.op(RmsNormalization { axis: 1, epsilon: 1e-5 }, &[x, gain])]
    });
}

#[test]
fn norms_with_gains_that_change() {
    check("gain and bias", ROUNDED_TWICE, [1, 0], |net| {
        let (x, gain, bias) = (net.input(&[3, 64]), net.input(&[64]), net.input(&[64]));
        let (gain, bias) = (net.unary(UnaryKind::Exp, gain), net.unary(UnaryKind::Neg, bias));
        vec![net.op(LayerNormalization { axis: 1, epsilon: 1e-5 }, &[x, gain, bias])]
    });
    check("itself", ROUNDED_TWICE, [1, 0], |net| {
        let x = net.input(&[64]);
        let x = net.unary(UnaryKind::Exp, x);
        vec![net.op(RmsNormalization { axis: 0, epsilon: 1e-5 }, &[x, x])]
    });
}

/// Nodes share tables, and rotate heads differently.
#[test]
fn rotations_that_share_tables() {
    check("one table", PRODUCT, [3, 0], |net| {
        let (x, y) = (net.input(&[1, 2, 32]), net.input(&[1, 2, 64]));
        let table = net.random(&[1, 2, 4]);
        let rotary = |heads, interleaved| RotaryEmbedding { heads, size: 8, interleaved };
        [(x, 2, true), (x, 2, false), (y, 2, false)]
            .map(|(x, heads, interleaved)| net.op(rotary(heads, interleaved), &[x, table, table]))
            .to_vec()
    });
}

#[test]
fn rotations() {
    for (heads, size, interleaved, shape) in [
        (4, 16, true, &[1, 5, 64][..]),
        (4, 16, false, &[1, 5, 64]),
        (1, 8, true, &[1, 1, 16]),
        (2, 8, false, &[1, 2, 3, 16]),
    ] {
        check(&format!("{size} of {shape:?}"), PRODUCT, [1, 0], |net| {
            let x = net.input(shape);
            let positions = if shape.len() == 3 { shape[1] } else { shape[2] };
            let angles: Vec<f32> = (0..positions * size / 2).map(|i| i as f32 * 0.37).collect();
            let table = |function: fn(f32) -> f32| angles.iter().map(|&angle| function(angle)).collect();
            let (cos, sin): (Vec<f32>, Vec<f32>) = (table(f32::cos), table(f32::sin));
            let (cos, sin) =
                (net.constant(&[1, positions, size / 2], cos), net.constant(&[1, positions, size / 2], sin));
            vec![net.op(RotaryEmbedding { heads, size, interleaved }, &[x, cos, sin])]
        });
    }
}

/// The host computes tables that are not constant, and the machine still rotates.
#[test]
fn rotations_by_tables_that_change() {
    for (size, interleaved, hosts) in [(16, true, 6), (16, false, 4), (8, true, 8), (8, false, 6)] {
        // The largest measured error is 0.0103.
        check(&format!("{size} {interleaved}"), 1.2 * 0.0103, [2, hosts], |net| {
            let (x, cos, sin) =
                (net.input(&[1, 3, 64]), net.input(&[1, 3, size / 2]), net.input(&[1, 3, size / 2]));
            let rotary = RotaryEmbedding { heads: 4, size, interleaved };
            let y = net.op(rotary.clone(), &[x, cos, sin]);
            vec![net.op(rotary, &[y, cos, sin])]
        });
    }
}

/// Empty tensors, scalars, powers that repeat their operand, and outputs that are inputs or
/// constants.
#[test]
fn odd_shapes() {
    check("scalars", ROUNDED, [0, 0], |net| {
        let x = net.input(&[]);
        let y = net.unary(UnaryKind::Sigmoid, x);
        vec![net.binary(BinaryKind::Sub, y, x), y, y]
    });
    check("a power that repeats", ROUNDED, [1, 1], |net| {
        let (x, two) = (net.input(&[8]), net.constant(&[3, 8], vec![2.0; 24]));
        vec![net.op(Pow, &[x, two])]
    });
    check("no values", ROUNDED, [3, 3], |net| {
        let (x, y) = (net.input(&[0, 8]), net.input(&[2, 8]));
        let (x, y) = (net.unary(UnaryKind::Sigmoid, x), net.unary(UnaryKind::Neg, y));
        let weights = net.weights(8, 8);
        let product = net.op(BY_ROWS, &[x, weights]);
        vec![net.op(Concat { axis: 0 }, &[product, y])]
    });
    check("nothing is computed", 0.0, [0, 0], |net| {
        let (x, c) = (net.input(&[2]), net.random(&[3]));
        vec![x, c, x]
    });
}

#[test]
fn moves() {
    check("transposition", ROUNDED, [0, 0], |net| {
        let x = net.input(&[3, 4, 16]);
        let x = net.unary(UnaryKind::Neg, x);
        let y = net.op(Transpose { perm: vec![1, 0, 2] }, &[x]);
        let z = net.op(Reshape { shape: vec![12, 16] }, &[y]);
        vec![net.unary(UnaryKind::Exp, z), net.unary(UnaryKind::Neg, y)]
    });
    check("parts", ROUNDED, [0, 0], |net| {
        let x = net.input(&[3, 48]);
        let x = net.unary(UnaryKind::Neg, x);
        let parts = net.ops(Split { axis: 1, sizes: vec![16, 8, 24] }, &[x], 3);
        let whole = net.op(Concat { axis: 1 }, &[parts[2], parts[0], parts[1]]);
        vec![net.unary(UnaryKind::Exp, whole)]
    });
    check("less than a word is the host's", ROUNDED, [1, 1], |net| {
        let x = net.input(&[4, 6]);
        let x = net.unary(UnaryKind::Neg, x);
        let y = net.op(Transpose { perm: vec![1, 0] }, &[x]);
        vec![net.unary(UnaryKind::Exp, y)]
    });
    check("rows of a table", ROUNDED, [1, 1], |net| {
        let table = net.random(&[6, 16]);
        let index = Tensor::new(vec![2], TensorData::I64(vec![5, 1])).unwrap();
        let index = net.graph.add_constant("index", index);
        let rows = net.op(Gather { axis: 0 }, &[table, index]);
        let x = net.input(&[2, 16]);
        vec![net.binary(BinaryKind::Add, x, rows)]
    });
}
