//! Operators one by one and in random graphs, on instances with arrays smaller and larger than the
//! channels, with one stride code, and with hardly any memory.

use super::edges::{any_config, refused};
use super::*;
use npukit_graph::op::{
    ArgMax, Compare, CompareKind, ConvTranspose, Gather, PRelu, Pow, Reduce, ReduceKind, Trilu, Unary,
    UnaryKind, Where,
};
use npukit_numeric::TensorData;

fn instances() -> Vec<Config> {
    let roomy = |n, local, accumulators| Config {
        dram0_depth: 1 << 16,
        dram1_depth: 1 << 16,
        ..config(n, local, accumulators)
    };
    let one_stride = Config { stride0_depth: 1, stride1_depth: 1, ..roomy(4, 300, 90) };
    vec![
        roomy(1, 900, 300),
        roomy(3, 64, 40),
        roomy(4, 200, 64),
        one_stride,
        roomy(8, 2000, 600),
        roomy(16, 400, 500),
    ]
}

/// Checks the graph of `build` on every instance.
fn everywhere(build: impl Fn(&mut Net) -> Vec<ValueId>) {
    for config in instances() {
        let mut net = Net::new();
        let outputs = build(&mut net);
        net.check(&outputs, &config);
    }
}

/// Checks the graph in FP16BP8, where every element is within `ulps` of 1/256.
fn in_fixed_point(ulps: f32, build: impl Fn(&mut Net) -> Vec<ValueId>) {
    for config in instances() {
        let mut net = Net::new();
        let outputs = build(&mut net);
        let fixed = Config { data_type: DataType::Fp16Bp8, ..config };
        net.check_within(&outputs, &fixed, |_| ulps / 256.0);
    }
}

fn depthwise(channels: usize, strides: [usize; 2], dilation: usize, pads: [usize; 4]) -> Conv {
    Conv { strides, dilations: [dilation; 2], pads, group: channels }
}

#[test]
fn depthwise_convolutions() {
    for (strides, dilation, pads) in
        [([1, 1], 1, [1; 4]), ([2, 2], 1, [0, 0, 1, 1]), ([1, 2], 2, [2, 1, 2, 3]), ([1, 1], 1, [4, 0, 0, 4])]
    {
        everywhere(|net| {
            let x = net.input(&[2, 6, 7, 5]);
            let wide = net.conv(x, [1, 1], 9, dense(1));
            let relu = net.node(Clip { min: 0.0, max: 6.0 }, &[wide]);
            let fused = net.conv(relu, [3, 3], 9, depthwise(9, strides, dilation, pads));
            let fused = net.node(Clip { min: 0.0, max: 6.0 }, &[fused]);
            let alone = net.conv(x, [3, 3], 5, depthwise(5, strides, dilation, pads));
            vec![fused, alone]
        });
    }
}

#[test]
fn a_depthwise_convolution_takes_the_cheaper_form() {
    let steps = |size: usize, accumulators: u64| {
        let mut net = Net::new();
        let x = net.input(&[1, size, size, 16]);
        let y = net.conv(x, [3, 3], 16, depthwise(16, [1, 1], 1, [1; 4]));
        net.graph.outputs = vec![y];
        let config = Config { accumulator_depth: accumulators, ..config(16, 2000, 0) };
        lower::stages(&net.graph, &config, &Options::default()).unwrap().hir
    };
    assert!(steps(5, 500).contains("weighted sum"), "few pixels: squares of weights are what takes long");
    assert!(steps(40, 2000).contains("matmul"), "many pixels: the array needs one cycle for each");
    assert!(steps(5, 20).contains("matmul"), "the windows do not fit the accumulators");
}

#[test]
fn transposed_convolutions() {
    let plain =
        ConvTranspose { strides: [2, 2], dilations: [1, 1], pads: [0; 4], output_padding: [0; 2], group: 1 };
    let cases = [
        ([2, 2], plain.clone()),
        ([3, 3], ConvTranspose { pads: [1; 4], output_padding: [1, 1], ..plain.clone() }),
        ([4, 3], ConvTranspose { strides: [3, 1], pads: [1, 0, 2, 1], ..plain.clone() }),
        ([2, 3], ConvTranspose { strides: [1, 2], dilations: [2, 3], ..plain.clone() }),
        ([1, 2], ConvTranspose { strides: [4, 4], output_padding: [3, 2], ..plain.clone() }),
        ([3, 3], ConvTranspose { group: 3, pads: [0, 1, 1, 0], ..plain }),
    ];
    for (kernel, conv) in cases {
        everywhere(|net| {
            let x = net.input(&[2, 4, 3, 6]);
            let weights = net.constant(&[kernel[0], kernel[1], 6 / conv.group, 9]);
            let bias = net.constant(&[9]);
            let y = net.node(conv.clone(), &[x, weights, bias]);
            let without = net.node(conv.clone(), &[x, weights]);
            vec![net.node(Relu, &[y]), without]
        });
    }
}

/// Kernels that tile the result add the bias with every tap, so no multiplication is needed only
/// for the bias.
#[test]
fn a_transposed_convolution_issues_nothing_for_missing_pixels() {
    let mut net = Net::new();
    let x = net.input(&[1, 8, 8, 4]);
    let (weights, bias) = (net.constant(&[2, 2, 4, 4]), net.constant(&[4]));
    let conv =
        ConvTranspose { strides: [2, 2], dilations: [1, 1], pads: [0; 4], output_padding: [0; 2], group: 1 };
    let y = net.node(conv, &[x, weights, bias]);
    net.graph.outputs = vec![y];
    let program = lower::compile(&net.graph, &config(4, 2000, 500), &Options::default()).unwrap().program;
    let multiplied = |op: &npukit_tcu::Op| match op {
        npukit_tcu::Op::MatMul { size, .. } => *size,
        _ => 0,
    };
    assert_eq!(program.instructions.iter().map(multiplied).sum::<u64>(), 16 * 16);
}

#[test]
fn one_dimensional_convolutions_and_pools() {
    everywhere(|net| {
        let x = net.input(&[2, 1, 30, 5]);
        let along = Conv { strides: [1, 2], dilations: [1, 2], pads: [0, 3, 0, 2], group: 1 };
        let y = net.conv(x, [1, 5], 7, along);
        let window = Window {
            kernel: [1, 3],
            strides: [1, 2],
            dilations: [1, 1],
            pads: [0, 1, 0, 1],
            ceil_mode: true,
        };
        let most = net.node(MaxPool { window: window.clone() }, &[y]);
        let mean = net.node(AveragePool { window, count_include_pad: true }, &[y]);
        vec![most, mean]
    });
}

fn activations(net: &mut Net) -> Vec<ValueId> {
    let x = net.input(&[1, 3, 4, 7]);
    let kinds = [
        UnaryKind::Neg,
        UnaryKind::Abs,
        UnaryKind::HardSigmoid { alpha: 0.25, beta: 0.5 },
        UnaryKind::HardSwish,
        UnaryKind::ThresholdedRelu { alpha: 0.25 },
    ];
    let mut outputs: Vec<ValueId> = kinds.map(|kind| net.node(Unary { kind }, &[x])).to_vec();
    for slopes in [vec![0.5], vec![1.5; 7], vec![-2.0, -0.5, 0.0, 0.25, 1.0, 2.0, 3.0]] {
        let slope = net.constant_of(&[slopes.len()], slopes);
        outputs.push(net.node(PRelu, &[x, slope]));
    }
    let each = net.constant(&[3, 4, 7]);
    outputs.push(net.node(PRelu, &[x, each]));
    outputs.extend([-0.75, 0.0, 1.25].map(|alpha| net.node(LeakyRelu { alpha }, &[x])));
    for exponent in [1.0, 2.0, 3.0, 5.0] {
        let exponent = net.constant_of(&[], vec![exponent]);
        outputs.push(net.node(Pow, &[x, exponent]));
    }
    outputs
}

#[test]
fn functions_of_one_element() {
    everywhere(activations);
    in_fixed_point(8.0, activations);
}

/// `x / 6` is off by up to 0.8 % in eight fractional bits; the error must not show where the limit
/// is 1.
#[test]
fn hard_swish_is_exact_beyond_its_limits() {
    let mut net = Net::new();
    let x = net.input(&[1, 4, 4, 5]);
    let twenty = net.constant_of(&[], vec![20.0]);
    let wide = net.node(Binary { kind: BinaryKind::Mul }, &[x, twenty]);
    let y = net.node(Unary { kind: UnaryKind::HardSwish }, &[wide]);
    let fixed = Config { data_type: DataType::Fp16Bp8, ..config(4, 200, 64) };
    net.check_within(&[y], &fixed, |expected| if expected > 3.2 { 12.0 / 256.0 } else { 0.15 });
}

fn combinations(net: &mut Net) -> Vec<ValueId> {
    let x = net.input(&[2, 3, 4, 6]);
    let mut outputs = Vec::new();
    for shape in [vec![2, 3, 4, 6], vec![2, 1, 1, 6], vec![3, 4, 1], vec![6], vec![1]] {
        let (other, constant) = (net.input(&shape), net.constant(&shape));
        for kind in [BinaryKind::Max, BinaryKind::Min, BinaryKind::Mul] {
            outputs.push(net.node(Binary { kind }, &[x, other]));
            outputs.push(net.node(Binary { kind }, &[constant, x]));
        }
        let divisors = net.numbers(shape.iter().product()).into_iter().map(|x| 1.5 + x.abs()).collect();
        let divisor = net.constant_of(&shape, divisors);
        outputs.push(net.node(Binary { kind: BinaryKind::Div }, &[x, divisor]));
    }
    outputs
}

#[test]
fn combinations_of_two_values() {
    everywhere(combinations);
    in_fixed_point(4.0, combinations);
}

#[test]
fn squeeze_and_excitation() {
    everywhere(|net| {
        let x = net.input(&[1, 5, 5, 6]);
        let y = net.conv(x, [3, 3], 10, dense(3));
        let mean = net.node(Reduce { kind: ReduceKind::Mean, axes: vec![1, 2], keep_dims: true }, &[y]);
        let few = net.conv(mean, [1, 1], 3, dense(1));
        let few = net.node(Relu, &[few]);
        let gate = net.conv(few, [1, 1], 10, dense(1));
        let gate = net.node(Unary { kind: UnaryKind::HardSigmoid { alpha: 0.2, beta: 0.5 } }, &[gate]);
        vec![net.node(Binary { kind: BinaryKind::Mul }, &[y, gate])]
    });
}

fn reductions(net: &mut Net, kinds: &[ReduceKind]) -> Vec<ValueId> {
    let x = net.input(&[2, 3, 2, 6]);
    let y = net.node(Relu, &[x]);
    let mut outputs = Vec::new();
    for &kind in kinds {
        for axes in [vec![1, 2], vec![3], vec![0, 3], vec![1], vec![0, 1, 2, 3], vec![2, 3], vec![]] {
            for keep_dims in [false, true] {
                let operand = if keep_dims { x } else { y };
                outputs.push(net.node(Reduce { kind, axes: axes.clone(), keep_dims }, &[operand]));
            }
        }
    }
    outputs
}

#[test]
fn reductions_of_any_axes() {
    use ReduceKind::{L1, Max, Mean, Min, Prod, Sum, SumSquare};
    for kind in [Sum, Mean, Max, Min, Prod, L1, SumSquare] {
        everywhere(|net| reductions(net, &[kind]));
    }
    in_fixed_point(40.0, |net| reductions(net, &[Mean, Max, Min]));
}

#[test]
fn reductions_of_more_than_the_accumulators() {
    use ReduceKind::{L1, Max, Mean, Min, Prod, Sum, SumSquare};
    for kind in [Sum, Mean, Max, Min, Prod, L1, SumSquare] {
        let mut net = Net::new();
        let x = net.input(&[2, 6, 6, 5]);
        let pixels = net.node(Reduce { kind, axes: vec![1, 2], keep_dims: true }, &[x]);
        let all = net.node(Reduce { kind, axes: vec![1, 2, 3], keep_dims: false }, &[x]);
        net.check(&[pixels, all], &config(4, 64, 12));
    }
}

#[test]
fn products_of_two_activations() {
    let shapes: [(&[usize], &[usize]); 7] = [
        (&[5, 7], &[7, 6]),
        (&[2, 3, 5, 7], &[2, 3, 7, 4]),
        (&[2, 1, 5, 3], &[4, 3, 5]),
        (&[4, 6], &[6]),
        (&[6], &[6, 5]),
        (&[3, 2, 6], &[6]),
        (&[6], &[6]),
    ];
    for (left, right) in shapes {
        everywhere(|net| {
            let (x, y) = (net.input(left), net.input(right));
            let (a, b) = (net.constant(left), net.constant(right));
            let relu = net.node(Relu, &[y]);
            [[x, relu], [a, y], [x, b]].map(|operands| net.node(MatMul, &operands)).to_vec()
        });
    }
    in_fixed_point(8.0, |net| {
        let (x, y) = (net.input(&[2, 5, 3]), net.input(&[2, 3, 6]));
        vec![net.node(MatMul, &[x, y])]
    });
}

#[test]
fn gemm_of_two_activations() {
    everywhere(|net| {
        let (x, y, c) = (net.input(&[5, 7]), net.input(&[7, 6]), net.constant(&[6]));
        let gemm = Gemm { alpha: 0.5, beta: 1.0, trans_a: false, trans_b: false };
        vec![net.node(gemm.clone(), &[x, y, c]), net.node(gemm, &[x, y])]
    });
}

#[test]
fn attention_without_its_softmax() {
    everywhere(|net| {
        let x = net.input(&[1, 6, 8]);
        let heads = |net: &mut Net| {
            let weights = net.constant(&[8, 8]);
            let y = net.node(MatMul, &[x, weights]);
            let split = net.node(Reshape { shape: vec![1, 6, 2, 4] }, &[y]);
            net.node(Transpose { perm: vec![0, 2, 1, 3] }, &[split])
        };
        let (q, k, v) = (heads(net), heads(net), heads(net));
        let k = net.node(Transpose { perm: vec![0, 1, 3, 2] }, &[k]);
        let scores = net.node(MatMul, &[q, k]);
        let mixed = net.node(MatMul, &[scores, v]);
        let joined = net.node(Transpose { perm: vec![0, 2, 1, 3] }, &[mixed]);
        vec![net.node(Reshape { shape: vec![1, 6, 8] }, &[joined])]
    });
}

#[test]
fn elements_chosen_by_constants() {
    everywhere(|net| {
        let (x, y) = (net.input(&[2, 3, 4, 5]), net.input(&[4, 5]));
        let holds = net.numbers(20).into_iter().map(|x| x > 0.0).collect();
        let condition = Tensor::new(vec![4, 5], TensorData::Bool(holds)).unwrap();
        let condition = net.graph.add_constant("condition".to_owned(), condition);
        let zero = net.constant_of(&[], vec![0.0]);
        let chosen = net.node(Where, &[condition, x, y]);
        let masked = net.node(Where, &[condition, zero, x]);
        let triangles = [(true, 0), (false, 1), (true, -2), (false, i64::MIN), (true, i64::MIN)];
        let triangles = triangles.map(|(upper, offset)| net.node(Trilu { upper, offset }, &[x]));
        let indices = Tensor::new(vec![2, 3], TensorData::I64(vec![0, -1, 2, 1, 1, 0])).unwrap();
        let indices = net.graph.add_constant("indices".to_owned(), indices);
        let picked = [0, 1, 2, 3].map(|axis| {
            let indices = if axis == 0 {
                let rows = Tensor::new(vec![], TensorData::I64(vec![-1])).unwrap();
                net.graph.add_constant("row".to_owned(), rows)
            } else {
                indices
            };
            net.node(Gather { axis }, &[x, indices])
        });
        [vec![chosen, masked], triangles.to_vec(), picked.to_vec()].concat()
    });
}

#[test]
fn padding_of_every_mode() {
    let modes = [PadMode::Constant(0.5), PadMode::Edge, PadMode::Reflect, PadMode::Symmetric, PadMode::Wrap];
    for mode in modes {
        everywhere(|net| {
            let x = net.input(&[1, 4, 5, 6]);
            let grown = net.node(Pad { pads: vec![[0, 0], [1, 2], [3, 0], [2, 1]], mode }, &[x]);
            let cut = net.node(Pad { pads: vec![[0, 0], [-1, 2], [0, -3], [0, 0]], mode }, &[x]);
            vec![grown, cut]
        });
    }
}

#[test]
fn channels_change_places() {
    everywhere(|net| {
        let x = net.input(&[1, 4, 4, 12]);
        // Channel shuffle, depth to space and space to depth, in the form that exporters write.
        let mut moved = |first: Vec<usize>, perm: Vec<usize>, last: Vec<usize>| {
            let split = net.node(Reshape { shape: first }, &[x]);
            let turned = net.node(Transpose { perm }, &[split]);
            net.node(Reshape { shape: last }, &[turned])
        };
        let shuffled = moved(vec![1, 4, 4, 3, 4], vec![0, 1, 2, 4, 3], vec![1, 4, 4, 12]);
        let spread = moved(vec![1, 4, 4, 2, 2, 3], vec![0, 1, 3, 2, 4, 5], vec![1, 8, 8, 3]);
        let packed = moved(vec![1, 2, 2, 2, 2, 12], vec![0, 1, 3, 2, 4, 5], vec![1, 2, 2, 48]);
        let last = net.conv(packed, [1, 1], 5, dense(1));
        vec![shuffled, spread, last]
    });
}

#[test]
fn equal_weights_are_stored_once() {
    let constants = |twice: bool| {
        let mut net = Net::new();
        let x = net.input(&[1, 4, 4, 8]);
        let weights = net.constant(&[3, 3, 8, 8]);
        let y = net.node(dense(3), &[x, weights]);
        let z = if twice { net.node(dense(3), &[y, weights]) } else { y };
        net.graph.outputs = vec![z];
        lower::compile(&net.graph, &config(4, 200, 64), &Options::default()).unwrap().program.constants.len()
    };
    assert_eq!(constants(true), constants(false));
}

#[test]
fn what_combines_two_vectors_needs_a_simd_register() {
    let mut net = Net::new();
    let x = net.input(&[1, 4, 4, 6]);
    let largest = net.node(Reduce { kind: ReduceKind::Max, axes: vec![1, 2], keep_dims: true }, &[x]);
    net.graph.outputs = vec![largest];
    let without = Config { simd_registers_depth: 0, ..config(4, 128, 64) };
    let problems = lower::check(&net.graph, &without);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].reason.contains("the instance has no SIMD register"), "{problems:?}");
    assert_eq!(lower::check(&net.graph, &config(4, 128, 64)), []);
}

#[test]
fn every_node_without_a_form_is_named_with_the_extension_that_helps() {
    let mut net = Net::new();
    let x = net.input(&[1, 4, 4, 6]);
    let kinds = [UnaryKind::Erf, UnaryKind::Sqrt, UnaryKind::Exp, UnaryKind::Floor];
    let mut y = x;
    for kind in kinds {
        y = net.node(Unary { kind }, &[y]);
    }
    let quotient = net.node(Binary { kind: BinaryKind::Div }, &[y, x]);
    let norm = net.node(Reduce { kind: ReduceKind::L2, axes: vec![3], keep_dims: true }, &[quotient]);
    net.graph.outputs = vec![norm];
    let problems = lower::check(&net.graph, &config(4, 128, 64));
    assert_eq!(problems.len(), 6, "{problems:?}");
    assert!(problems.iter().all(|problem| problem.hint.contains("lookup_tables")), "{problems:?}");
    assert_eq!(refused(net, &[norm], &config(4, 128, 64)).len(), 6);
}

#[test]
fn results_that_are_no_floats_are_explained() {
    let mut net = Net::new();
    let x = net.input(&[1, 4, 4, 6]);
    let best = net.node(ArgMax { smallest: false, axis: 3, keep_dims: false, select_last: false }, &[x]);
    let less = net.node(Compare { kind: CompareKind::Less }, &[x, x]);
    net.graph.outputs = vec![best, less];
    let problems = lower::check(&net.graph, &config(4, 128, 64));
    assert!(problems[0].reason.contains("not its index"), "{problems:?}");
    assert!(problems[1].reason.contains("Booleans"), "{problems:?}");
}

/// Adds one node of kind `kind` that reads `x`, and possibly `other`.
fn any_node(net: &mut Net, kind: usize, size: usize, x: ValueId, other: ValueId) -> ValueId {
    let shape = net.graph.shape(x).to_vec();
    let (image, last) = (shape.len() == 4, shape.len().saturating_sub(1));
    let pick = |sides: usize| size % sides;
    match kind {
        // The widest window takes five rows, three of them padding.
        0 if image && shape[1] >= 2 => {
            let conv = depthwise(shape[3], [1 + pick(2), 1], 1 + pick(2), [2, 1 + pick(2), 1, 2]);
            net.conv(x, [1 + pick(3), 2], shape[3], conv)
        }
        1 if image => net.conv(x, [1, 1], size, dense(1)),
        2 if image => {
            let (strides, dilations) = ([1 + pick(3), 1 + pick(2)], [1, 1 + pick(2)]);
            let conv = ConvTranspose {
                strides,
                dilations,
                pads: [0, pick(2), 0, 0],
                output_padding: [0; 2],
                group: 1,
            };
            let weights = net.constant(&[2, 2, shape[3], size]);
            net.node(conv, &[x, weights])
        }
        3 => net.node(Unary { kind: [UnaryKind::Neg, UnaryKind::Abs, UnaryKind::HardSwish][pick(3)] }, &[x]),
        4 => net.node(Clip { min: -0.5, max: 0.75 }, &[x]),
        5 if net.graph.shape(other) == shape => net
            .node(Binary { kind: [BinaryKind::Max, BinaryKind::Min, BinaryKind::Add][pick(3)] }, &[x, other]),
        6 if !shape.is_empty() => {
            let slope = net.constant(&shape[last..]);
            net.node(PRelu, &[x, slope])
        }
        7 if !shape.is_empty() => {
            use ReduceKind::{Max, Mean, Min, Sum};
            let axes = if pick(2) == 0 { vec![last] } else { (0..last).collect() };
            net.node(Reduce { kind: [Mean, Max, Min, Sum][pick(4)], axes, keep_dims: pick(3) > 0 }, &[x])
        }
        8 if shape.len() > 1 => {
            let perm: Vec<usize> = (0..last - 1).chain([last, last - 1]).collect();
            let turned = net.node(Transpose { perm }, &[x]);
            net.node(MatMul, &[x, turned])
        }
        9 if shape.len() > 1 => {
            let left = net.constant(&[size, shape[last - 1]]);
            net.node(MatMul, &[left, x])
        }
        10 if shape.len() > 1 => net.node(Trilu { upper: pick(2) == 0, offset: size as i64 - 3 }, &[x]),
        11 if image => {
            let pads = vec![[0, 0], [1, 1], [1, 0], [0, pick(2) as isize]];
            net.node(Pad { pads, mode: [PadMode::Wrap, PadMode::Symmetric][pick(2)] }, &[x])
        }
        _ => net.node(Relu, &[x]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Random graphs on random instances: correct, or too large with numbers in the message.
    #[test]
    fn random_graphs(
        nodes in prop::collection::vec((0usize..13, 1usize..8, 0usize..6, 0usize..6), 1..7),
        batch in 1usize..3,
        config in any_config(),
    ) {
        let mut net = Net::new();
        let mut values = vec![net.input(&[batch, 4, 3, 5]), net.input(&[batch, 4, 3, 5])];
        for (kind, size, x, other) in nodes {
            // The newest value is chosen most often, so that chains form.
            let at = |back: usize| values[values.len() - 1 - (back / 3) % values.len()];
            let (x, other) = (at(x), at(other));
            if net.graph.shape(x).iter().product::<usize>() < 1000 {
                values.push(any_node(&mut net, kind, size, x, other));
            }
        }
        let outputs = [values[values.len() - 1], values[values.len() / 2]];
        net.try_check(&outputs, &config);
    }
}
