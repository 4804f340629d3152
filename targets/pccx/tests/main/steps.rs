//! Every step of the compiler alone, on both instruction sets, against the reference evaluator.

use npukit_graph::op::{
    Binary, BinaryKind, Compare, CompareKind, Concat, Gather, GeluForm, Gemm, LayerNormalization, MatMul,
    Pow, Reduce, ReduceKind, Relu, Reshape, RmsNormalization, RotaryEmbedding, Softmax, Split, Transpose,
    Unary, UnaryKind, Where,
};
use npukit_graph::quantise::rows::Int4Rows;
use npukit_graph::{Graph, Op, ValueId, ValueInfo, evaluate};
use npukit_numeric::{ElementType, Tensor, TensorData};
use npukit_pccx::check::unfenced;
use npukit_pccx::lower::{Activations, LowerError, Options, Weights, compile};
use npukit_pccx::{Config, runtime};

/// A graph under construction; every value is `f32`.
struct Net {
    graph: Graph,
    seed: u32,
}

impl Net {
    fn new() -> Self {
        Self { graph: Graph::default(), seed: 1 }
    }

    fn noise(&mut self, count: usize) -> Vec<f32> {
        let mut next = || {
            self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (self.seed >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    fn input(&mut self, shape: &[usize]) -> ValueId {
        let name = format!("x{}", self.graph.inputs.len());
        self.graph.add_input(name, ValueInfo { shape: shape.to_vec(), element: ElementType::F32 })
    }

    fn constant(&mut self, shape: &[usize], values: Vec<f32>) -> ValueId {
        let name = format!("c{}", self.graph.values.len());
        self.graph.add_constant(name, Tensor::from_f32(shape.to_vec(), values).unwrap())
    }

    fn random(&mut self, shape: &[usize]) -> ValueId {
        let values = self.noise(shape.iter().product());
        self.constant(shape, values)
    }

    /// Weights `[n, k]` that 4 bits hold as they are.
    fn weights(&mut self, n: usize, k: usize) -> ValueId {
        let values = self.noise(n * k);
        let values = Int4Rows::new(n, k, &values).unwrap().dequantised();
        self.constant(&[n, k], values)
    }

    fn op(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
        self.ops(op, inputs, 1)[0]
    }

    fn ops(&mut self, op: impl Into<Op>, inputs: &[ValueId], results: usize) -> Vec<ValueId> {
        let names: Vec<String> =
            (0..results).map(|result| format!("v{}_{result}", self.graph.values.len())).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.graph.add_node(names[0], op.into(), inputs.to_vec(), &names).unwrap()
    }

    fn unary(&mut self, kind: UnaryKind, x: ValueId) -> ValueId {
        self.op(Unary { kind }, &[x])
    }

    fn binary(&mut self, kind: BinaryKind, left: ValueId, right: ValueId) -> ValueId {
        self.op(Binary { kind }, &[left, right])
    }
}

/// How a graph does on a machine.
struct Found {
    /// Root of the mean square error next to the outputs' own, the worst of them.
    error: f64,
    /// Nodes that the host computes.
    hosts: usize,
}

/// Compiles and runs the graph on random inputs and compares every output with the evaluator's.
fn run(net: &mut Net, config: &Config, outputs: &[ValueId]) -> Found {
    net.graph.outputs = outputs.to_vec();
    let inputs: Vec<Tensor> = net
        .graph
        .inputs
        .clone()
        .into_iter()
        .map(|id| {
            let shape = net.graph.shape(id).to_vec();
            let values = net.noise(shape.iter().product());
            Tensor::from_f32(shape, values).unwrap()
        })
        .collect();
    let executable = compile(config, &net.graph, &Options::of(config), &mut Weights::default()).unwrap();
    let program = &executable.program;
    program.check().unwrap();
    let syncs: Vec<u32> = program.host_ops.iter().map(|op| op.position).collect();
    assert_eq!(unfenced(&program.code, &syncs), []);
    let found = runtime::run(config, program, &executable.host, &inputs).unwrap();
    let expected = evaluate(&net.graph, &inputs).unwrap();
    let error = |(found, expected): (&Tensor, &Tensor)| {
        let (found, expected) = (found.as_f32().unwrap(), expected.as_f32().unwrap());
        assert_eq!(found.len(), expected.len());
        let square = |x: f64| x * x;
        let error: f64 = found.iter().zip(expected).map(|(a, b)| square(f64::from(a - b))).sum();
        let energy: f64 = expected.iter().map(|&b| square(f64::from(b))).sum();
        (error / energy).sqrt()
    };
    let hosts = executable.host.layers.iter().filter(|layer| layer.host.is_some()).count();
    Found { error: found.iter().zip(&expected).map(error).fold(0.0, f64::max), hosts }
}

/// Instances without and with extensions.
fn instances() -> [Config; 2] {
    ["reference", "extended"].map(|name| Config::preset(name).unwrap())
}

/// On both instances; `hosts` are the nodes left to the host by each.
fn check(what: &str, most: f64, hosts: [usize; 2], build: impl Fn(&mut Net) -> Vec<ValueId>) {
    for (config, hosts) in instances().iter().zip(hosts) {
        let mut net = Net::new();
        let outputs = build(&mut net);
        let found = run(&mut net, config, &outputs);
        assert!(found.error <= most, "{what}, extensions {}: error {}", config.extensions, found.error);
        assert_eq!(found.hosts, hosts, "{what}, extensions {}", config.extensions);
    }
}

/// What BF16 does to a value or two.
const ROUNDED: f64 = 0.005;
/// What blocks of 8 bits do to a product.
const PRODUCT: f64 = 0.02;

const BY_ROWS: Gemm = Gemm { trans_b: true, ..Gemm::PLAIN };

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

/// Rows of several images that are no whole words of L2.
#[test]
fn rows_between_words_of_several_images_are_the_hosts() {
    for (k, n) in [(4, 70_000), (8, 65_530)] {
        check(&format!("{k} {n}"), PRODUCT, [1, 1], |net| {
            let (x, weights) = (net.input(&[2, k]), net.weights(n, k));
            vec![net.op(BY_ROWS, &[x, weights])]
        });
    }
}

/// As many rows as results: a column is no row.
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
        // The old one is still wanted.
        vec![sum, net.binary(BinaryKind::Sub, old, sum)]
    });
    check("two products", PRODUCT, [0, 0], |net| {
        let (x, first, second) = (net.input(&[4, 64]), net.weights(64, 64), net.weights(64, 64));
        let (a, b) = (net.op(BY_ROWS, &[x, first]), net.op(BY_ROWS, &[x, second]));
        vec![net.binary(BinaryKind::Add, a, b)]
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
        // 5,000 values are three instructions.
        for count in [5, 5000] {
            check(&format!("{kind:?} of {count}"), 2.0 * ROUNDED, hosts, |net| {
                let x = net.input(&[count]);
                let y = net.unary(kind, x);
                // The operand goes on in one place, and ends in the other.
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
            check(&format!("{kind:?} of {count}"), 2.0 * ROUNDED, hosts, |net| {
                let (x, y) = (net.input(&[2, count]), net.input(&[2, count]));
                vec![net.binary(kind, x, y)]
            });
            check(&format!("{kind:?} of {count} and a constant"), 2.0 * ROUNDED, hosts, |net| {
                let (x, y) = (net.input(&[2, count]), net.random(&[count]));
                vec![net.binary(kind, x, y)]
            });
        }
    }
    check("factors", 2.0 * ROUNDED, [0, 0], |net| {
        let (x, third) = (net.input(&[2, 3000]), net.constant(&[], vec![3.0]));
        let y = net.binary(Mul, third, x);
        vec![net.binary(Div, x, third), y, net.binary(Add, x, x)]
    });
    check("squares", 2.0 * ROUNDED, [2, 0], |net| {
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
        check(&format!("RMS of {shape:?}"), 2.0 * ROUNDED, [1, 0], |net| {
            let (x, gain) = (net.input(&shape), net.random(&[shape[1]]));
            vec![net.op(RmsNormalization { axis: 1, epsilon: 1e-5 }, &[x, gain])]
        });
        check(&format!("layer norm of {shape:?}"), 3.0 * ROUNDED, [1, 0], |net| {
            let x = net.input(&shape);
            let (gain, bias) = (net.random(&[shape[1]]), net.random(&[shape[1]]));
            let y = net.op(LayerNormalization { axis: 1, epsilon: 1e-5 }, &[x, gain, bias]);
            vec![y]
        });
    }
    check("rows of 9 are no whole words", ROUNDED, [1, 1], |net| {
        let (x, gain) = (net.input(&[2, 9]), net.random(&[9]));
        vec![net.op(RmsNormalization { axis: 1, epsilon: 1e-5 }, &[x, gain])]
    });
}

#[test]
fn norms_with_gains_that_change() {
    check("gain and bias", 2.0 * ROUNDED, [1, 0], |net| {
        let (x, gain, bias) = (net.input(&[3, 64]), net.input(&[64]), net.input(&[64]));
        let (gain, bias) = (net.unary(UnaryKind::Exp, gain), net.unary(UnaryKind::Neg, bias));
        vec![net.op(LayerNormalization { axis: 1, epsilon: 1e-5 }, &[x, gain, bias])]
    });
    check("itself", 2.0 * ROUNDED, [1, 0], |net| {
        let x = net.input(&[64]);
        let x = net.unary(UnaryKind::Exp, x);
        vec![net.op(RmsNormalization { axis: 0, epsilon: 1e-5 }, &[x, x])]
    });
}

/// Nodes share tables, and turn heads otherwise.
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

/// The host makes tables of what changes from run to run, and the machine rotates all the same.
#[test]
fn rotations_by_tables_that_change() {
    for (size, interleaved, hosts) in [(16, true, 6), (16, false, 4), (8, true, 8), (8, false, 6)] {
        check(&format!("{size} {interleaved}"), 2.0 * PRODUCT, [2, hosts], |net| {
            let (x, cos, sin) =
                (net.input(&[1, 3, 64]), net.input(&[1, 3, size / 2]), net.input(&[1, 3, size / 2]));
            let rotary = RotaryEmbedding { heads: 4, size, interleaved };
            let y = net.op(rotary.clone(), &[x, cos, sin]);
            vec![net.op(rotary, &[y, cos, sin])]
        });
    }
}

/// Empty tensors, scalars, powers that repeat their operand, and outputs that are inputs or constants.
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
        let found = runtime::run(&config, &executable.program, &executable.host, &inputs).unwrap();
        let expected = evaluate(&net.graph, &inputs).unwrap();
        let (found, expected) = (found[0].as_f32().unwrap(), expected[0].as_f32().unwrap());
        let square = |x: f64| x * x;
        let error: f64 = found.iter().zip(expected).map(|(a, b)| square(f64::from(a - b))).sum();
        let energy: f64 = expected.iter().map(|&b| square(f64::from(b))).sum();
        assert!((error / energy).sqrt() < 2.0 * PRODUCT, "{}", (error / energy).sqrt());
    }
}

/// Long residuals on an L2 that does not hold them: they wait at the host.
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
            assert!(run(&mut net, &config, &[sum]).error < 2.0 * ROUNDED);
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
    assert!(run(&mut net, &config, &[x]).error < 0.1);
}

/// Constants of the compiler's make room for others.
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

/// A graph of steps of all kinds, each of values before it.
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

/// Values that wait at the host, and constants that left, make no difference.
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
                let program = &executable.program;
                let syncs: Vec<u32> = program.host_ops.iter().map(|op| op.position).collect();
                assert_eq!(unfenced(&program.code, &syncs), []);
                Some(runtime::run(&config, program, &executable.host, &inputs).unwrap())
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
