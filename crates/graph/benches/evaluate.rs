//! Run time of the reference evaluator and of the passes, on layers of the sizes in ResNet-20.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use npukit_graph::op::{Conv, ConvTranspose, Relu, Transpose};
use npukit_graph::pass::simplify;
use npukit_graph::{Graph, Op, Operator, ValueInfo};
use npukit_numeric::{ElementType, Tensor};

fn main() {
    divan::main();
}

fn tensor(shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    let data = (0..count).map(|i| (i % 17) as f32 / 8.0 - 1.0).collect();
    Tensor::from_f32(shape.to_vec(), data).expect("the number of elements matches the shape")
}

/// A 3x3 convolution of an image of `size * size` with `channels` channels; items are
/// multiply-accumulates.
#[divan::bench(args = [(32, 16), (16, 64), (8, 128)])]
fn conv_3x3(bencher: Bencher, (size, channels): (usize, usize)) {
    let op: Op = Conv { strides: [1, 1], dilations: [1, 1], pads: [1; 4], group: 1 }.into();
    let (x, weights) = (tensor(&[1, size, size, channels]), tensor(&[3, 3, channels, channels]));
    let macs = size * size * 9 * channels * channels;
    bencher.counter(ItemsCount::new(macs)).bench(|| op.eval(black_box(&[&x, &weights])));
}

/// A transposed 4x4 convolution with stride 2, as decoders use to double an image.
#[divan::bench(args = [(16, 64), (32, 16)])]
fn conv_transpose_4x4(bencher: Bencher, (size, channels): (usize, usize)) {
    let (strides, pads) = ([2, 2], [1; 4]);
    let op: Op = ConvTranspose { strides, dilations: [1, 1], pads, output_padding: [0; 2], group: 1 }.into();
    let (x, weights) = (tensor(&[1, size, size, channels]), tensor(&[4, 4, channels, channels]));
    let macs = size * size * 16 * channels * channels;
    bencher.counter(ItemsCount::new(macs)).bench(|| op.eval(black_box(&[&x, &weights])));
}

/// Simplification of a chain of convolutions as an importer writes it.
#[divan::bench(args = [20, 200])]
fn simplify_chain(bencher: Bencher, layers: usize) {
    let graph = chain(layers);
    bencher.with_inputs(|| graph.clone()).bench_values(|mut graph| simplify(&mut graph));
}

fn chain(layers: usize) -> Graph {
    let mut graph = Graph::default();
    let info = ValueInfo { shape: vec![1, 4, 8, 8], element: ElementType::F32 };
    let mut x = graph.add_input("x", info);
    for layer in 0..layers {
        let weights = graph.add_constant(format!("w{layer}"), tensor(&[3, 3, 4, 4]));
        let conv = Conv { strides: [1, 1], dilations: [1, 1], pads: [1; 4], group: 1 };
        let steps: [(Op, bool); 4] = [
            (Transpose { perm: vec![0, 2, 3, 1] }.into(), false),
            (conv.into(), true),
            (Transpose { perm: vec![0, 3, 1, 2] }.into(), false),
            (Relu.into(), false),
        ];
        for (step, (op, weighted)) in steps.into_iter().enumerate() {
            let name = format!("v{layer}_{step}");
            let inputs = if weighted { vec![x, weights] } else { vec![x] };
            x = graph.add_node(name.clone(), op, inputs, &[&name]).expect("layers fit each other")[0];
        }
    }
    graph.outputs = vec![x];
    graph
}
