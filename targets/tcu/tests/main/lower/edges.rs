//! Edge cases of models: shapes, memories and graphs that ordinary networks do not have.

use super::*;
use npukit_graph::op::Cast;
use npukit_numeric::TensorData;

fn gemm() -> Gemm {
    Gemm { alpha: 1.0, beta: 1.0, trans_a: false, trans_b: false }
}

fn add() -> Binary {
    Binary { kind: BinaryKind::Add }
}

/// Returns the nodes that `check` names, after asserting that `compile` names the same.
pub fn refused(mut net: Net, outputs: &[ValueId], config: &Config) -> Vec<String> {
    net.graph.outputs = outputs.to_vec();
    let problems = lower::check(&net.graph, config);
    let error = lower::compile(&net.graph, config, &Options::default()).unwrap_err();
    assert_eq!(error, LowerError::Unsupported { problems: problems.clone() });
    problems.into_iter().map(|problem| problem.node).collect()
}

#[test]
fn a_graph_without_nodes() {
    Net::new().check(&[], &config(4, 64, 16));
    let mut net = Net::new();
    let x = net.input(&[2, 3]);
    net.check(&[x, x], &config(4, 64, 16));
}

#[test]
fn constants_and_scalars_as_outputs() {
    let mut net = Net::new();
    let x = net.input(&[]);
    let (scalar, matrix) = (net.constant(&[]), net.constant(&[3, 7]));
    let sum = net.node(add(), &[x, scalar]);
    let wide = net.node(add(), &[x, matrix]);
    net.check(&[scalar, matrix, sum, wide], &config(4, 64, 16));
}

#[test]
fn operands_that_are_both_broadcast() {
    for (left, right) in [(vec![4, 1], vec![1, 5]), (vec![4, 1, 6], vec![3, 6]), (vec![6], vec![2, 3, 1])] {
        for kind in [BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul] {
            let mut net = Net::new();
            let (x, y) = (net.input(&left), net.input(&right));
            let (a, b) = (net.constant(&left), net.constant(&right));
            let operands = [[x, y], [y, x], [x, b], [b, x], [y, a]];
            let results: Vec<ValueId> = operands.iter().map(|pair| net.node(Binary { kind }, pair)).collect();
            net.check(&results, &config(4, 64, 32));
        }
    }
}

#[test]
fn outputs_that_are_the_same_vectors() {
    let mut net = Net::new();
    let x = net.input(&[1, 4, 4, 6]);
    let y = net.conv(x, [1, 1], 8, dense(1));
    let flat = net.node(Reshape { shape: vec![1, 128] }, &[y]);
    let turned = net.node(Transpose { perm: vec![0, 3, 1, 2] }, &[y]);
    let soft = net.node(Softmax { axis: 3, axis_end: 4 }, &[y]);
    let relu = net.node(Relu, &[y]);
    net.check(&[y, flat, y, turned, soft, relu], &config(4, 64, 24));
}

#[test]
fn a_value_saved_before_a_pool_that_skips_pixels() {
    let mut net = Net::new();
    let x = net.input(&[1, 6, 6, 5]);
    let y = net.conv(x, [1, 1], 6, dense(1));
    let relu = net.node(Relu, &[y]);
    let sparse = net.node(MaxPool { window: window(1, 2, [0; 4]) }, &[relu]);
    let also = net.node(Clip { min: -0.5, max: 0.5 }, &[y]);
    net.check(&[sparse, also, y], &config(4, 64, 16));
}

#[test]
fn a_value_added_to_a_pool_of_other_pixels() {
    let mut net = Net::new();
    let x = net.input(&[1, 6, 6, 5]);
    let y = net.conv(x, [1, 1], 6, dense(1));
    let relu = net.node(Relu, &[y]);
    let spread = Window { dilations: [2, 2], ..window(2, 1, [1; 4]) };
    let pooled = net.node(MaxPool { window: spread }, &[relu]);
    let sum = net.node(add(), &[pooled, y]);
    net.check(&[sum], &config(4, 64, 16));
}

#[test]
fn an_average_over_padding_alone_is_zero() {
    let mut net = Net::new();
    let x = net.input(&[1, 4, 4, 5]);
    let outside = window(2, 2, [3, 3, 3, 3]);
    let mean = net.node(AveragePool { window: outside, count_include_pad: true }, &[x]);
    net.check(&[mean], &config(4, 64, 48));
}

#[test]
fn windows_larger_than_the_accumulators() {
    for size in [8, 9] {
        let mut net = Net::new();
        let x = net.input(&[2, size, size, 6]);
        let y = net.conv(x, [3, 3], 9, dense(3));
        let mean = net.node(AveragePool { window: window(size, 1, [0; 4]), count_include_pad: false }, &[y]);
        let relu = net.node(Relu, &[mean]);
        let edges = Window { ceil_mode: true, ..window(7, 3, [2, 0, 1, 3]) };
        let means = net.node(AveragePool { window: edges.clone(), count_include_pad: false }, &[y]);
        let maxima = net.node(MaxPool { window: edges }, &[x]);
        net.check(&[relu, means, maxima], &config(4, 64, 12));
    }
}

#[test]
fn a_closing_softmax_over_any_axes() {
    let shapes = [
        (vec![2, 1, 5], 1, 2),
        (vec![2, 5, 1], 1, 2),
        (vec![3, 4], 0, 1),
        (vec![3, 1, 5], 1, 3),
        (vec![2, 3], 0, 2),
    ];
    for (shape, axis, axis_end) in shapes {
        let mut net = Net::new();
        let x = net.input(&shape);
        let y = net.node(Softmax { axis, axis_end }, &[x]);
        net.check(&[y], &config(4, 64, 16));
    }
}

#[test]
fn a_softmax_before_the_closing_transpose() {
    let softmax = Softmax { axis: 3, axis_end: 4 };
    let perm = Transpose { perm: vec![0, 3, 1, 2] };
    let mut net = Net::new();
    let x = net.input(&[1, 3, 2, 5]);
    let y = net.node(softmax.clone(), &[x]);
    let y = net.node(perm.clone(), &[y]);
    net.check(&[y], &config(4, 64, 16));

    let mut net = Net::new();
    let x = net.input(&[1, 3, 2, 5]);
    let y = net.node(Softmax { axis: 2, axis_end: 4 }, &[x]);
    let y = net.node(perm, &[y]);
    assert_eq!(refused(net, &[y], &config(4, 64, 16)), ["node0"]);
}

#[test]
fn tensors_without_elements_or_floats_are_refused() {
    let config = config(4, 64, 16);
    for shape in [vec![0], vec![0, 5], vec![5, 0], vec![1, 0, 4, 3], vec![1, 4, 4, 0]] {
        let mut net = Net::new();
        let x = net.input(&shape);
        let y = net.node(Relu, &[x]);
        assert_eq!(refused(net, &[y], &config), ["input0", "node0"]);
    }
    let mut net = Net::new();
    let x = net.input(&[4, 0]);
    let weights = net.constant(&[0, 3]);
    let y = net.node(MatMul, &[x, weights]);
    assert_eq!(refused(net, &[y], &config), ["input0", "node0"]);
    let mut net = Net::new();
    let x = net.input(&[3, 6]);
    let parts = net.nodes(Split { axis: 1, sizes: vec![0, 6] }, &[x], 2);
    assert_eq!(refused(net, &[parts[1]], &config), ["node0"]);
    let mut net = Net::new();
    let x = net.input(&[3, 6]);
    let whole = net.node(Cast::new(ElementType::I64), &[x]);
    assert_eq!(refused(net, &[whole], &config), ["node0"]);
    let mut net = Net::new();
    let info = ValueInfo { shape: vec![2, 2], element: ElementType::I64 };
    let x = net.graph.add_input("input0", info);
    assert_eq!(refused(net, &[x], &config), ["input0"]);
    let mut net = Net::new();
    let whole = net.graph.add_constant("whole", Tensor::new(vec![1], TensorData::I64(vec![3])).unwrap());
    assert_eq!(refused(net, &[whole], &config), ["whole"]);
}

#[test]
fn a_split_into_no_parts() {
    let mut net = Net::new();
    let x = net.input(&[0]);
    net.nodes(Split { axis: 0, sizes: vec![] }, &[x], 0);
    assert_eq!(refused(net, &[], &config(4, 64, 16)), ["input0", "node0"]);
}

#[test]
fn products_of_any_rank_and_bias() {
    for shape in [vec![6], vec![3, 6], vec![2, 3, 6], vec![2, 2, 2, 6]] {
        for bias in [vec![1], vec![5], vec![1, 5]] {
            let mut net = Net::new();
            let x = net.input(&shape);
            let weights = net.constant(&[6, 5]);
            let y = net.node(MatMul, &[x, weights]);
            let constant = net.constant(&bias);
            let sum = net.node(add(), &[constant, y]);
            net.check(&[sum], &config(4, 64, 16));
        }
    }
    for bias in [None, Some(vec![]), Some(vec![1]), Some(vec![5]), Some(vec![1, 5])] {
        let mut net = Net::new();
        let x = net.input(&[3, 6]);
        let mut operands = vec![x, net.constant(&[6, 5])];
        operands.extend(bias.map(|shape| net.constant(&shape)));
        let y = net.node(gemm(), &operands);
        net.check(&[y], &config(4, 64, 16));
    }
}

#[test]
fn convolutions_of_views() {
    let mut net = Net::new();
    let x = net.input(&[2, 5, 5, 10]);
    let parts = net.nodes(Split { axis: 3, sizes: vec![3, 7] }, &[x], 2);
    let pads = vec![[0, 0], [2, 1], [1, 1], [0, 0]];
    let padded = net.node(Pad { pads: pads.clone(), mode: PadMode::Constant(0.0) }, &[parts[1]]);
    let half = net.node(Pad { pads, mode: PadMode::Constant(-0.5) }, &[parts[0]]);
    let joined = net.node(Concat { axis: 3 }, &[half, padded, half]);
    let conv = net.conv(joined, [3, 3], 6, dense(3));
    let pooled = net.node(MaxPool { window: window(3, 2, [1; 4]) }, &[padded]);
    let mean = net.node(AveragePool { window: window(2, 1, [0; 4]), count_include_pad: true }, &[half]);
    let odd = net.node(Reshape { shape: vec![2, 8, 7, 3] }, &[half]);
    let again = net.conv(odd, [1, 1], 4, dense(1));
    let minus = net.node(Binary { kind: BinaryKind::Sub }, &[joined, joined]);
    net.check(&[conv, pooled, mean, again, minus], &config(4, 200, 64));
}

#[test]
fn dead_nodes_do_no_harm() {
    let mut net = Net::new();
    let x = net.input(&[1, 4, 4, 6]);
    let unused = net.input(&[3]);
    net.node(Relu, &[unused]);
    let y = net.node(Relu, &[x]);
    net.conv(y, [3, 3], 4, dense(3));
    net.check(&[y], &config(4, 64, 24));
}

/// Depths of a careless file: sums of addresses must not overflow.
#[test]
fn enormous_memories() {
    let huge = Config {
        dram0_depth: 1 << 62,
        dram1_depth: 1 << 62,
        local_depth: 1 << 62,
        accumulator_depth: 1 << 62,
        ..config(4, 1, 1)
    };
    let mut net = Net::new();
    let x = net.input(&[1, 6, 6, 5]);
    let y = net.conv(x, [3, 3], 9, dense(3));
    net.graph.outputs = vec![y];
    for strategy in Strategy::ALL {
        let options = Options { strategy: Some(strategy), ..Options::default() };
        let compiled = lower::compile(&net.graph, &huge, &options).unwrap();
        assert_eq!(npukit_tcu::validate(&huge, &compiled.program.instructions), []);
    }
}

/// Small files that request huge sizes are refused before anything of that size is created.
#[test]
fn models_out_of_proportion_are_refused() {
    let huge = Config { dram0_depth: 1 << 62, dram1_depth: 1 << 62, ..config(1024, 1 << 20, 1 << 20) };
    let mut net = Net::new();
    let x = net.input(&[1, 1, 1, 1]);
    let pads = vec![[0, 0], [20_000, 20_000], [20_000, 20_000], [0, 0]];
    let y = net.node(Pad { pads, mode: PadMode::Edge }, &[x]);
    let z = net.node(Relu, &[y]);
    assert_eq!(refused(net, &[z], &huge), ["node0", "node1"]);

    let mut net = Net::new();
    let x = net.input(&[1024, 1024]);
    let turned = net.node(Transpose { perm: vec![1, 0] }, &[x]);
    let other = net.node(Relu, &[x]);
    let y = net.node(Binary { kind: BinaryKind::Mul }, &[turned, other]);
    assert_eq!(refused(net, &[y], &huge), ["node0"]);

    let mut net = Net::new();
    let x = net.input(&[1, 20, 20, 1]);
    let y = net.conv(x, [20, 20], 1, Conv { pads: [0; 4], ..dense(1) });
    assert_eq!(refused(net, &[y], &huge), ["node0"]);

    // Two added convolutions are one product; their missing sum is not reported separately.
    let mut net = Net::new();
    let x = net.input(&[1, 20, 20, 1]);
    let whole = Conv { pads: [0; 4], ..dense(1) };
    let [y, z] = [whole.clone(), whole].map(|conv| net.conv(x, [20, 20], 1, conv));
    let sum = net.node(add(), &[y, z]);
    assert_eq!(refused(net, &[sum], &huge), ["node1"]);
}

/// If some nodes cannot be lowered, the error that the other nodes' constants do not fit is still
/// reported.
#[test]
fn constants_are_told_beside_problems() {
    let mut net = Net::new();
    let x = net.input(&[1, 6, 6, 8]);
    let y = net.conv(x, [3, 3], 8, dense(3));
    let z = net.node(Cast::new(ElementType::I64), &[y]);
    net.graph.outputs = vec![z];
    let small = Config { dram1_depth: 50, ..config(4, 128, 64) };
    let problems = lower::check(&net.graph, &small);
    let last = problems.last().map(|problem| problem.reason.as_str());
    assert_eq!(last, Some("constants of the other nodes need 146 vectors of DRAM1, but it holds 50"));
    assert_eq!(problems.len(), 2);
}

#[test]
fn weights_that_dram1_cannot_hold() {
    let mut net = Net::new();
    let x = net.input(&[1, 6, 6, 8]);
    let y = net.conv(x, [3, 3], 8, dense(3));
    net.graph.outputs = vec![y];
    let small = Config { dram1_depth: 50, ..config(4, 128, 64) };
    let error = lower::compile(&net.graph, &small, &Options::default()).unwrap_err();
    assert_eq!(error, LowerError::Constants { needed: 146, available: 50 });
    // Drivers copy either all constants to local memory or none.
    let options = Options { strategy: Some(Strategy::LocalConsts), ..Options::default() };
    let error = lower::compile(&net.graph, &config(4, 128, 64), &options).unwrap_err();
    assert!(matches!(error, LowerError::Insufficient { needed: 146, available: 127, .. }), "{error}");
}

/// Values that only pass through the accumulators do not have to fit in DRAM0.
#[test]
fn values_larger_than_dram0_that_are_never_stored() {
    let mut net = Net::new();
    let x = net.input(&[1, 8, 8, 4]);
    let y = net.conv(x, [1, 1], 32, dense(1));
    let pooled = net.node(MaxPool { window: window(4, 4, [0; 4]) }, &[y]);
    net.check(&[pooled], &Config { dram0_depth: 64 + 32 + 2, ..config(4, 128, 64) });
}

/// The result is within the sum of all roundings: of inputs, of weights, and of each pass.
#[test]
fn fixed_point_stays_within_its_roundings() {
    for array_size in [1, 3, 4, 8, 16] {
        let mut net = Net::new();
        let x = net.input(&[1, 6, 6, 7]);
        let y = net.conv(x, [3, 3], 5, dense(3));
        let pooled = net.node(AveragePool { window: window(2, 2, [0; 4]), count_include_pad: false }, &[y]);
        let fixed = Config { data_type: DataType::Fp16Bp8, ..config(array_size, 256, 64) };
        let (products, half) = (9.0 * 7.0 + 1.0, 1.0 / 512.0);
        // For each product of factors below one, both factors are rounded. Each pass adds at most
        // one rounding.
        net.check_within(&[pooled], &fixed, |_| products * 3.0 * half + 2.0 * half);
    }
}

pub fn any_config() -> impl proptest::strategy::Strategy<Value = Config> {
    let sizes = prop::sample::select(vec![1usize, 2, 3, 4, 5, 8, 17]);
    let memories = (1u64..200, 1u64..80, 0usize..3, 1usize..5, 1usize..5, 1usize..3);
    proptest::strategy::Strategy::prop_map(
        (sizes, memories),
        |(n, (local, accumulators, registers, stride0, stride1, threads))| Config {
            simd_registers_depth: registers,
            stride0_depth: stride0,
            stride1_depth: stride1,
            number_of_threads: threads,
            ..config(n, local, accumulators)
        },
    )
}

/// Adds one node of kind `kind` that reads `x`, and possibly `other`.
fn any_node(net: &mut Net, kind: usize, size: usize, x: ValueId, other: ValueId) -> ValueId {
    let shape = net.graph.shape(x).to_vec();
    let image = shape.len() == 4;
    let last = shape.len() - 1;
    let same = net.graph.shape(other) == shape;
    let kinds = [BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul];
    let pick = |sides: usize| size % sides;
    match kind {
        0 | 1 if image => {
            let conv = Conv {
                strides: [1 + pick(2), 1 + pick(3)],
                dilations: [1 + pick(2), 1],
                pads: [2, pick(3), 1, 2],
                group: if shape[3].is_multiple_of(2) { 2 } else { 1 },
            };
            net.conv(x, [1 + pick(2), 2], 2 * size, conv)
        }
        2 if image => {
            let window =
                Window { dilations: [1 + pick(2), 1], ..window(1 + pick(2), 1 + pick(3), [pick(2); 4]) };
            let fits = window.always_on_image([shape[1], shape[2]]);
            if fits == Ok(true) { net.node(MaxPool { window }, &[x]) } else { net.node(Relu, &[x]) }
        }
        3 if image && shape[1] > 1 && shape[2] > 1 => {
            let window =
                Window { ceil_mode: pick(2) == 0, ..window(2, 1 + pick(3), [pick(2), 0, 1, pick(2)]) };
            net.node(AveragePool { window, count_include_pad: pick(2) == 0 }, &[x])
        }
        4 if image => {
            let sides = [1 + pick(5), 1 + pick(7)];
            let scales = [sides[0] as f32 / shape[1] as f32, sides[1] as f32 / shape[2] as f32];
            let mode =
                if pick(2) == 0 { ResizeMode::Linear } else { ResizeMode::Nearest(NearestMode::Floor) };
            net.node(Resize { size: sides, scales, mode, coordinates: Coordinates::HalfPixel }, &[x])
        }
        5 => net.node(Binary { kind: kinds[pick(3)] }, &[x, if same { other } else { x }]),
        6 => {
            let constant = net.constant(&shape[pick(shape.len() + 1)..]);
            let operands = if pick(2) == 0 { [x, constant] } else { [constant, x] };
            net.node(Binary { kind: kinds[pick(3)] }, &operands)
        }
        7 => {
            let joined = net.node(Concat { axis: pick(shape.len()) }, &[x, x]);
            let axis = pick(shape.len());
            let sizes = vec![1, net.graph.shape(joined)[axis] - 1];
            let parts =
                if sizes[1] > 0 { net.nodes(Split { axis, sizes }, &[joined], 2) } else { vec![joined] };
            parts[parts.len() - 1]
        }
        8 => {
            let mut perm: Vec<usize> = (0..shape.len()).collect();
            perm.rotate_left(pick(shape.len()));
            net.node(Transpose { perm }, &[x])
        }
        9 => {
            let mut shape = shape;
            let inner = shape.pop().unwrap();
            let outer: usize = shape.iter().product();
            net.node(
                Reshape { shape: if pick(2) == 0 { vec![outer * inner] } else { vec![1, inner, 1, outer] } },
                &[x],
            )
        }
        10 => {
            let modes = [PadMode::Constant(0.0), PadMode::Constant(0.25), PadMode::Edge];
            let pads =
                shape.iter().enumerate().map(|(axis, _)| [isize::from(axis == last), pick(2) as isize]);
            net.node(Pad { pads: pads.collect(), mode: modes[pick(3)] }, &[x])
        }
        11 => {
            let weights = net.constant(&[shape[last], size]);
            net.node(MatMul, &[x, weights])
        }
        12 => {
            let step = if pick(2) == 0 { -1 } else { 2 };
            let length = if step == 2 { shape[last].div_ceil(2) } else { shape[last] };
            let start = if step == 2 { 0 } else { shape[last] - 1 };
            net.node(Slice { ranges: vec![SliceRange { axis: last, start, length, step }] }, &[x])
        }
        13 => {
            let parameters: Vec<ValueId> = (0..3).map(|_| net.constant(&[shape[last]])).collect();
            let variance = net.constant_of(&[shape[last]], vec![1.5; shape[last]]);
            let operands = [x, parameters[0], parameters[1], parameters[2], variance];
            if shape.len() > 1 { net.node(BatchNormalization { epsilon: 0.1 }, &operands) } else { x }
        }
        14 => net.node(LeakyRelu { alpha: size as f32 / 8.0 }, &[x]),
        _ => net.node(Relu, &[x]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Random graphs on random instances: correct, or too large with numbers in the message.
    #[test]
    fn random_graphs(
        nodes in prop::collection::vec((0usize..16, 1usize..10, 0usize..8, 0usize..8), 0..8),
        batch in 1usize..3,
        taken in prop::collection::vec(0usize..10, 1..4),
        config in any_config(),
    ) {
        let mut net = Net::new();
        let mut values = vec![net.input(&[batch, 4, 3, 5]), net.input(&[batch, 4, 3, 5])];
        for (kind, size, x, other) in nodes {
            // The newest value is chosen most often, so that chains form.
            let at = |back: usize| values[values.len() - 1 - (back / 3) % values.len()];
            let (x, other) = (at(x), at(other));
            if net.graph.shape(x).iter().product::<usize>() < 1500 {
                values.push(any_node(&mut net, kind, size, x, other));
            }
        }
        let outputs: Vec<ValueId> = taken.iter().map(|&back| values[values.len() - 1 - back % values.len()]).collect();
        net.try_check(&outputs, &config);
    }
}
