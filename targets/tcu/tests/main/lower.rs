//! Lowering, compared with the graph's own evaluator: programs run on the machine in FLOAT32, where
//! only the order of additions differs, on instances small enough to need tiles and chunks.

#[path = "lower/additions.rs"]
mod additions;
#[path = "lower/choices.rs"]
mod choices;
#[path = "lower/edges.rs"]
mod edges;
#[path = "lower/lookups.rs"]
mod lookups;
#[path = "lower/operators.rs"]
mod operators;
#[path = "lower/prepared.rs"]
mod prepared;
#[path = "lower/quick.rs"]
mod quick;
#[path = "lower/rewrites.rs"]
mod rewrites;
#[path = "lower/sweep.rs"]
mod sweep;
#[path = "lower/unread.rs"]
mod unread;

use npukit_graph::op::{
    AveragePool, BatchNormalization, Binary, BinaryKind, Clip, Concat, Conv, Coordinates, Crop, Gemm,
    LeakyRelu, MatMul, MaxPool, NearestMode, Pad, PadMode, Relu, Reshape, Resize, ResizeMode, Slice,
    SliceRange, Softmax, Split, Tile, Transpose, Window,
};
use npukit_graph::{Graph, Op, ValueId, ValueInfo, eval};
use npukit_numeric::{ElementType, Tensor};
use npukit_tcu::internals::lower::{self, LowerError, Options, Order, Strategy};
use npukit_tcu::internals::program::Binding;
use npukit_tcu::{Config, DataType, Overlap, Program, Reading};
use proptest::prelude::*;

use crate::driven;

/// A small instance: every layer of the tests needs several tiles of some kind.
fn config(array_size: usize, local_depth: u64, accumulator_depth: u64) -> Config {
    Config {
        data_type: DataType::Float32,
        array_size,
        dram0_depth: 1 << 14,
        dram1_depth: 1 << 14,
        local_depth,
        accumulator_depth,
        simd_registers_depth: 1,
        stride0_depth: 8,
        stride1_depth: 8,
        number_of_threads: 1,
        thread_queue_depth: 8,
        lookup_tables: 0,
        lookup_depth: 0,
        sample_block_size: 0,
        reading: Reading::Released,
        overlap: Overlap::RELEASED,
        registered_rows: false,
    }
}

/// A graph under construction, with values from a fixed sequence.
struct Net {
    graph: Graph,
    seed: u64,
}

impl Net {
    fn new() -> Self {
        Self { graph: Graph { name: "net".to_owned(), ..Graph::default() }, seed: 1 }
    }

    /// Returns pseudorandom numbers in -1..1.
    fn numbers(&mut self, count: usize) -> Vec<f32> {
        let mut next = || {
            self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.seed >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    fn input(&mut self, shape: &[usize]) -> ValueId {
        let name = format!("input{}", self.graph.inputs.len());
        self.graph.add_input(name, ValueInfo { shape: shape.to_vec(), element: ElementType::F32 })
    }

    fn constant(&mut self, shape: &[usize]) -> ValueId {
        let data = self.numbers(shape.iter().product());
        self.constant_of(shape, data)
    }

    fn constant_of(&mut self, shape: &[usize], data: Vec<f32>) -> ValueId {
        let name = format!("constant{}", self.graph.values.len());
        self.graph.add_constant(name, Tensor::from_f32(shape.to_vec(), data).unwrap())
    }

    fn node(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
        self.nodes(op, inputs, 1)[0]
    }

    fn nodes(&mut self, op: impl Into<Op>, inputs: &[ValueId], outputs: usize) -> Vec<ValueId> {
        let i = self.graph.nodes.len();
        let names: Vec<String> = (0..outputs).map(|k| format!("value{i}_{k}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.graph.add_node(format!("node{i}"), op.into(), inputs.to_vec(), &names).unwrap()
    }

    /// Adds a convolution with results of about the size of its operands, so that a chain of them
    /// stays in the range of [`float_bound`].
    fn conv(&mut self, x: ValueId, kernel: [usize; 2], channels: usize, conv: Conv) -> ValueId {
        let group_in = self.graph.shape(x)[3] / conv.group;
        let shape = [kernel[0], kernel[1], group_in, channels];
        let smaller = 1.0 / ((kernel[0] * kernel[1] * group_in) as f32).sqrt();
        let weights =
            self.numbers(shape.iter().product()).into_iter().map(|weight| weight * smaller).collect();
        let weights = self.constant_of(&shape, weights);
        let bias = self.constant(&[channels]);
        self.node(conv, &[x, weights, bias])
    }

    /// Compiles with every strategy and order that fits, runs, and compares.
    fn check(self, outputs: &[ValueId], config: &Config) {
        self.check_within(outputs, config, float_bound);
    }

    /// Like [`Net::check`], with a bound on the error of a value.
    fn check_within(self, outputs: &[ValueId], config: &Config, bound: impl Fn(f32) -> f32) {
        assert!(self.fitting(outputs, config, bound) >= 2, "not even local-isolated fits");
    }

    /// Like [`Net::check`], but no strategy has to fit.
    fn try_check(self, outputs: &[ValueId], config: &Config) {
        self.fitting(outputs, config, float_bound);
    }

    /// Returns the number of strategies and orders that fit; all of them must match the evaluator.
    fn fitting(mut self, outputs: &[ValueId], config: &Config, bound: impl Fn(f32) -> f32) -> usize {
        self.graph.outputs = outputs.to_vec();
        let shapes: Vec<Vec<usize>> =
            self.graph.inputs.iter().map(|&id| self.graph.shape(id).to_vec()).collect();
        let inputs: Vec<Tensor> = shapes
            .into_iter()
            .map(|shape| {
                let data = self.numbers(shape.iter().product());
                Tensor::from_f32(shape, data).unwrap()
            })
            .collect();
        let names: Vec<String> = outputs.iter().map(|&id| self.graph.value(id).name.clone()).collect();
        let expected = eval::evaluate(&self.graph, &inputs).unwrap();
        let mut fitting = 0;
        for strategy in Strategy::ALL {
            for order in [Order::Default, Order::Upstream] {
                let options = Options { strategy: Some(strategy), order, ..Options::default() };
                match lower::compile(&self.graph, config, &options) {
                    Ok(compiled) => {
                        fitting += 1;
                        let found = run(&compiled.program, &inputs, &names);
                        compare(&found, &expected, &bound, &format!("{strategy} {order:?}"));
                    }
                    Err(
                        LowerError::Insufficient { needed, available, .. }
                        | LowerError::Constants { needed, available },
                    ) => assert!(needed > available),
                    Err(LowerError::Unsupported { problems }) => {
                        assert_eq!(config.simd_registers_depth, 0, "{problems:?}");
                    }
                    Err(error @ LowerError::LostAddition { .. }) => panic!("{error}"),
                }
            }
        }
        fitting
    }
}

/// Returns the possible effect of another order of additions on values of about 1.
fn float_bound(expected: f32) -> f32 {
    1e-4 * (1.0 + expected.abs())
}

/// Runs a program as a driver would: constants, inputs, instructions, outputs, host steps.
fn run(program: &Program, inputs: &[Tensor], outputs: &[String]) -> Vec<Tensor> {
    let (n, format) = (program.config.array_size, program.config.data_type.format());
    let packed = |binding: &Binding| {
        let i: usize = binding.name.strip_prefix("input").unwrap().parse().unwrap();
        let raw: Vec<i32> = inputs[i].as_f32().unwrap().iter().map(|&x| format.raw_from_f32(x)).collect();
        binding.layout.as_ref().unwrap().pack(&raw, n).unwrap()
    };
    let packed: Vec<Vec<i32>> = program.inputs.iter().map(packed).collect();
    let found = driven::outputs(program, &packed);
    let read = |name: &String| {
        let at = program.outputs.iter().position(|binding| binding.name == *name).unwrap();
        let layout = program.outputs[at].layout.as_ref().unwrap();
        let raw = layout.unpack(&found[at], n).unwrap();
        let data: Vec<f32> = raw.into_iter().map(|raw| format.raw_to_f32(raw)).collect();
        let tensor = Tensor::from_f32(layout.model_shape.clone(), data).unwrap();
        let steps = program.host_steps.iter().filter(|step| step.output == *name);
        steps.fold(tensor, |tensor, step| step.op.apply(&tensor).unwrap())
    };
    outputs.iter().map(read).collect()
}

fn compare(found: &[Tensor], expected: &[Tensor], bound: impl Fn(f32) -> f32, what: &str) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.shape(), expected.shape(), "{what}");
        let pairs = found.as_f32().unwrap().iter().zip(expected.as_f32().unwrap());
        for (i, (found, expected)) in pairs.enumerate() {
            let bound = bound(*expected);
            assert!((found - expected).abs() < bound, "{what}: element {i} is {found}, expected {expected}");
        }
    }
}

fn dense(kernel: usize) -> Conv {
    let pad = kernel / 2;
    Conv { strides: [1, 1], dilations: [1, 1], pads: [pad; 4], group: 1 }
}

fn window(kernel: usize, stride: usize, pads: [usize; 4]) -> Window {
    Window { kernel: [kernel; 2], strides: [stride; 2], dilations: [1, 1], pads, ceil_mode: false }
}

#[test]
fn convolutions_of_every_shape() {
    let shapes = [
        ([3, 3], 5, Conv { strides: [1, 1], dilations: [1, 1], pads: [1, 1, 1, 1], group: 1 }),
        ([3, 2], 9, Conv { strides: [2, 1], dilations: [1, 1], pads: [0, 1, 1, 0], group: 1 }),
        ([1, 1], 6, Conv { strides: [2, 2], dilations: [1, 1], pads: [0; 4], group: 1 }),
        ([3, 3], 12, Conv { strides: [1, 1], dilations: [2, 2], pads: [2; 4], group: 2 }),
        ([3, 3], 6, Conv { strides: [1, 1], dilations: [1, 1], pads: [1; 4], group: 6 }),
        ([5, 5], 7, Conv { strides: [3, 2], dilations: [1, 1], pads: [4, 4, 4, 4], group: 1 }),
    ];
    for (kernel, channels, conv) in shapes {
        for config in [config(4, 256, 64), config(8, 128, 40), config(3, 100, 17)] {
            let mut net = Net::new();
            let x = net.input(&[2, 7, 6, 6]);
            let y = net.conv(x, kernel, channels, conv.clone());
            net.check(&[y], &config);
        }
    }
}

#[test]
fn a_deep_reduction_is_done_in_chunks() {
    let mut net = Net::new();
    let x = net.input(&[1, 5, 5, 64]);
    let y = net.conv(x, [3, 3], 20, dense(3));
    net.check(&[y], &config(4, 96, 16));
}

#[test]
fn a_residual_block() {
    let mut net = Net::new();
    let x = net.input(&[1, 8, 8, 5]);
    let shortcut = net.conv(x, [1, 1], 12, dense(1));
    let a = net.conv(x, [3, 3], 7, dense(3));
    let a = net.node(Relu, &[a]);
    let b = net.conv(a, [1, 1], 12, dense(1));
    let sum = net.node(Binary { kind: BinaryKind::Add }, &[shortcut, b]);
    let parameters: Vec<ValueId> = (0..3).map(|_| net.constant(&[12])).collect();
    let variance = net.constant_of(&[12], (1..13).map(|i| i as f32 / 4.0).collect());
    let normal = net.node(
        BatchNormalization { epsilon: 1e-3 },
        &[sum, parameters[0], parameters[1], parameters[2], variance],
    );
    let normal = net.node(Relu, &[normal]);
    let c = net.conv(normal, [3, 3], 12, Conv { strides: [2, 2], ..dense(3) });
    let down = net.node(AveragePool { window: window(2, 2, [0; 4]), count_include_pad: false }, &[sum]);
    let last = net.node(Binary { kind: BinaryKind::Add }, &[c, down]);
    let mean = net.node(AveragePool { window: window(4, 4, [0; 4]), count_include_pad: false }, &[last]);
    let flat = net.node(Reshape { shape: vec![1, 12] }, &[mean]);
    let (weights, bias) = (net.constant(&[12, 10]), net.constant(&[10]));
    let gemm = Gemm { alpha: 1.0, beta: 1.0, trans_a: false, trans_b: false };
    let y = net.node(gemm, &[flat, weights, bias]);
    net.check(&[y], &config(4, 256, 64));
}

#[test]
fn pools_with_padding_and_any_divisor() {
    for count_include_pad in [false, true] {
        for ceil_mode in [false, true] {
            let window = Window { ceil_mode, ..window(3, 2, [1, 0, 1, 1]) };
            let mut net = Net::new();
            let x = net.input(&[1, 8, 7, 5]);
            let conv = net.conv(x, [3, 3], 6, dense(3));
            let maximum = net.node(MaxPool { window: window.clone() }, &[conv]);
            let mean = net.node(AveragePool { window: window.clone(), count_include_pad }, &[x]);
            let again = net.node(AveragePool { window, count_include_pad }, &[maximum]);
            net.check(&[mean, again], &config(4, 200, 48));
        }
    }
}

#[test]
fn element_wise_operators_broadcast() {
    let kinds = [BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul];
    for kind in kinds {
        for shape in [vec![1, 4, 5, 6], vec![6], vec![1], vec![1, 1, 1, 6], vec![4, 5, 6], vec![5, 1]] {
            for swapped in [false, true] {
                let mut net = Net::new();
                let x = net.input(&[1, 4, 5, 6]);
                let other = net.constant(&shape);
                let operands = if swapped { [other, x] } else { [x, other] };
                let y = net.node(Binary { kind }, &operands);
                let other = net.input(&shape);
                let operands = if swapped { [other, y] } else { [y, other] };
                let z = net.node(Binary { kind }, &operands);
                net.check(&[y, z], &config(4, 200, 60));
            }
        }
    }
}

#[test]
fn a_value_combined_with_itself() {
    let mut net = Net::new();
    let x = net.input(&[1, 3, 3, 5]);
    let y = net.conv(x, [1, 1], 6, dense(1));
    let double = net.node(Binary { kind: BinaryKind::Add }, &[y, y]);
    let square = net.node(Binary { kind: BinaryKind::Mul }, &[double, double]);
    net.check(&[square], &config(4, 64, 32));
}

#[test]
fn activations() {
    let mut net = Net::new();
    let x = net.input(&[1, 4, 4, 7]);
    let relu = net.node(Relu, &[x]);
    let clip = net.node(Clip { min: -0.25, max: 0.5 }, &[x]);
    let relu6 = net.node(Clip { min: 0.0, max: 6.0 }, &[x]);
    let leaky = net.node(LeakyRelu { alpha: 0.1 }, &[x]);
    let steep = net.node(LeakyRelu { alpha: 1.5 }, &[x]);
    net.check(&[relu, clip, relu6, leaky, steep], &config(4, 128, 32));
}

#[test]
fn elements_move() {
    let mut net = Net::new();
    let x = net.input(&[1, 4, 4, 6]);
    let y = net.input(&[1, 4, 4, 4]);
    let joined = net.node(Concat { axis: 3 }, &[x, y, x]);
    let parts = net.nodes(Split { axis: 3, sizes: vec![4, 7, 5] }, &[joined], 3);
    let cut = net.node(
        Slice {
            ranges: vec![
                SliceRange { axis: 1, start: 3, length: 2, step: -2 },
                SliceRange { axis: 3, start: 1, length: 4, step: 1 },
            ],
        },
        &[joined],
    );
    let pads = vec![[0, 0], [1, 2], [2, 1], [0, 0]];
    let zero = net.node(Pad { pads: pads.clone(), mode: PadMode::Constant(0.0) }, &[y]);
    let half = net.node(Pad { pads: pads.clone(), mode: PadMode::Constant(0.5) }, &[x]);
    let edge = net.node(Pad { pads: pads.clone(), mode: PadMode::Edge }, &[x]);
    let mirror = net.node(Pad { pads, mode: PadMode::Reflect }, &[x]);
    let turned = net.node(Transpose { perm: vec![0, 3, 1, 2] }, &[joined]);
    let relu = net.node(Relu, &[turned]);
    let reshaped = net.node(Reshape { shape: vec![1, 8, 2, 6] }, &[x]);
    let odd = net.node(Reshape { shape: vec![1, 3, 32] }, &[x]);
    let odd = net.node(Relu, &[odd]);
    let outputs = [parts[0], parts[1], parts[2], cut, zero, half, edge, mirror, relu, reshaped, odd];
    net.check(&outputs, &config(4, 300, 64));
}

#[test]
fn a_flattened_image_meets_its_weights() {
    for channels in [4, 6] {
        let mut net = Net::new();
        let x = net.input(&[1, 3, 3, channels]);
        let y = net.conv(x, [1, 1], channels, dense(1));
        let flat = net.node(Reshape { shape: vec![1, 9 * channels] }, &[y]);
        let weights = net.constant(&[9 * channels, 5]);
        let product = net.node(MatMul, &[flat, weights]);
        let bias = net.constant(&[5]);
        let sum = net.node(Binary { kind: BinaryKind::Add }, &[product, bias]);
        net.check(&[sum], &config(4, 64, 16));
    }
}

#[test]
fn resizing() {
    let modes = [
        ResizeMode::Linear,
        ResizeMode::LinearAntialiased,
        ResizeMode::Nearest(NearestMode::Floor),
        ResizeMode::Nearest(NearestMode::RoundPreferFloor),
    ];
    let part = Crop { roi: [[0.25, 0.75], [1.0, 0.0]], extrapolation: 0.5 };
    for mode in modes {
        for coordinates in [
            Coordinates::HalfPixel,
            Coordinates::HalfPixelSymmetric,
            Coordinates::Asymmetric,
            Coordinates::AlignCorners,
            Coordinates::TfHalfPixelForNn,
            Coordinates::TfCropAndResize(part),
        ] {
            for size in [[3, 4], [9, 10], [5, 5]] {
                let mut net = Net::new();
                let x = net.input(&[1, 5, 5, 6]);
                let scales = size.map(|size| size as f32 / 5.0);
                let y = net.node(Resize { size, scales, mode, coordinates }, &[x]);
                net.check(&[y], &config(4, 256, 128));
            }
        }
    }
}

#[test]
fn samples_beyond_the_image() {
    let beyond = |extrapolation, mode| {
        let mut net = Net::new();
        let x = net.input(&[1, 4, 4, 6]);
        let coordinates = Coordinates::TfCropAndResize(Crop { roi: [[0.5, 1.5], [0.0, 1.0]], extrapolation });
        let y = net.node(Resize { size: [4, 3], scales: [1.0, 0.75], mode, coordinates }, &[x]);
        (net, y)
    };
    let nearest = ResizeMode::Nearest(NearestMode::Floor);
    for mode in [nearest, ResizeMode::Linear] {
        let (net, y) = beyond(0.0, mode);
        net.check(&[y], &config(4, 256, 128));
        let (mut net, y) = beyond(0.5, mode);
        net.graph.outputs = vec![y];
        let refused = lower::compile(&net.graph, &config(4, 256, 128), &Options::default());
        assert!(refused.is_err_and(|error| format!("{error:?}").contains("beyond the image")));
    }
}

#[test]
fn repetition() {
    for repeats in [vec![1, 2, 1, 1], vec![1, 1, 3, 2], vec![2, 1, 1, 3]] {
        let mut net = Net::new();
        let x = net.input(&[1, 2, 3, 3]);
        let y = net.node(Tile { repeats }, &[x]);
        net.check(&[y], &config(4, 256, 128));
    }
}

#[test]
fn inputs_and_outputs_in_the_order_of_channels_first() {
    let mut net = Net::new();
    let x = net.input(&[1, 3, 6, 6]);
    let image = net.node(Transpose { perm: vec![0, 2, 3, 1] }, &[x]);
    let y = net.conv(image, [3, 3], 5, dense(3));
    let y = net.node(Transpose { perm: vec![0, 3, 1, 2] }, &[y]);
    net.check(&[y], &config(4, 128, 64));
}

#[test]
fn an_image_of_one_channel_is_packed_as_its_reader_wants_it() {
    let mut net = Net::new();
    let x = net.input(&[1, 1, 6, 6]);
    let image = net.node(Reshape { shape: vec![1, 6, 6, 1] }, &[x]);
    let y = net.conv(image, [3, 3], 5, dense(3));
    net.graph.outputs = vec![y];
    let compiled = lower::compile(&net.graph, &config(4, 128, 64), &Options::default()).unwrap();
    assert_eq!(compiled.program.layers.len(), 1);
    net.check(&[y], &config(4, 128, 64));
}

#[test]
fn a_closing_softmax_is_the_hosts() {
    let mut net = Net::new();
    let x = net.input(&[3, 6]);
    let weights = net.constant(&[6, 5]);
    let y = net.node(MatMul, &[x, weights]);
    let y = net.node(Softmax { axis: 1, axis_end: 2 }, &[y]);
    net.check(&[y], &config(4, 64, 16));
}

#[test]
fn outputs_that_are_inputs_or_views_are_copied() {
    let mut net = Net::new();
    let x = net.input(&[1, 4, 4, 8]);
    let parts = net.nodes(Split { axis: 3, sizes: vec![4, 4] }, &[x], 2);
    net.check(&[x, parts[1]], &config(4, 128, 64));
}

#[test]
fn every_node_in_the_way_is_named() {
    let mut net = Net::new();
    let x = net.input(&[1, 4, 4, 6]);
    let soft = net.node(Softmax { axis: 3, axis_end: 4 }, &[x]);
    let quotient = net.node(Binary { kind: BinaryKind::Div }, &[soft, x]);
    let relu = net.node(Relu, &[quotient]);
    net.graph.outputs = vec![relu];
    let problems = lower::check(&net.graph, &config(4, 128, 64));
    let named: Vec<(&str, &str)> = problems.iter().map(|p| (p.node.as_str(), p.op.as_str())).collect();
    assert_eq!(named, [("node0", "Softmax"), ("node1", "Div")]);
    assert!(problems.iter().all(|problem| !problem.reason.is_empty() && !problem.hint.is_empty()));
}

#[test]
fn a_memory_that_is_too_small_is_named_with_numbers() {
    let mut net = Net::new();
    let x = net.input(&[1, 16, 16, 6]);
    let y = net.conv(x, [3, 3], 6, dense(3));
    net.graph.outputs = vec![y];
    let small = Config { dram0_depth: 600, ..config(4, 128, 64) };
    let error = lower::compile(&net.graph, &small, &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "layer `node0` does not fit in DRAM0: it needs 1024 vectors, but 598 are available; use an instance with more \
         of it, or another --strategy"
    );
    let tiny = config(4, 6, 64);
    let error = lower::compile(&net.graph, &tiny, &Options::default()).unwrap_err();
    assert!(matches!(error, LowerError::Insufficient { needed: 6.., available: 5, .. }), "{error}");
}

/// Each limit alone, with numbers just beyond it.
#[test]
fn sizes_out_of_proportion_are_refused_with_the_limit() {
    let problem = |shape: &[usize], kernel: usize, array_size| {
        let mut net = Net::new();
        let x = net.input(shape);
        let y = if kernel > 0 { net.conv(x, [kernel; 2], 1, dense(kernel)) } else { net.node(Relu, &[x]) };
        net.graph.outputs = vec![y];
        let problems = lower::check(&net.graph, &config(array_size, 128, 64));
        problems.first().map(|problem| problem.reason.clone()).unwrap_or_default()
    };
    let larger = "is larger than 16777216 vectors or 268435456 elements";
    let vectors = problem(&[1, 4097, 4096, 1], 0, 8);
    assert!(vectors.contains(larger), "{vectors}");
    let elements = problem(&[1, 1024, 1024, 260], 0, 32);
    assert!(elements.contains(larger), "{elements}");
    let uses = problem(&[1, 1024, 1024, 1], 9, 8);
    assert!(uses.contains("counting each use; the limit is 67108864"), "{uses}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Chains of random layers on random instances.
    #[test]
    fn random_networks(
        layers in prop::collection::vec((0usize..8, 1usize..14), 1..6),
        array_size in 2usize..9,
        local in 80u64..400,
        accumulators in 24u64..160,
    ) {
        let mut net = Net::new();
        let mut x = net.input(&[1, 8, 8, 5]);
        let mut earlier = x;
        for (kind, channels) in layers {
            let before = x;
            let shape = net.graph.shape(x).to_vec();
            x = match kind {
                0 => net.conv(x, [3, 3], channels, dense(3)),
                1 => net.conv(x, [1, 1], channels, dense(1)),
                2 => net.node(Relu, &[x]),
                3 if shape[1] > 2 => net.node(MaxPool { window: window(2, 2, [0; 4]) }, &[x]),
                4 if shape[1] > 2 => net.node(AveragePool { window: window(3, 2, [1; 4]), count_include_pad: false }, &[x]),
                5 if net.graph.shape(earlier) == shape => net.node(Binary { kind: BinaryKind::Add }, &[x, earlier]),
                6 if net.graph.shape(earlier)[..3] == shape[..3] => net.node(Concat { axis: 3 }, &[earlier, x]),
                _ => net.node(Clip { min: -0.5, max: 0.75 }, &[x]),
            };
            earlier = before;
        }
        net.check(&[x], &config(array_size, local, accumulators));
    }
}
