//! Small networks that exercise many rules of the compilers: odd sizes, overlapping windows,
//! branches.

use crate::network::Attribute::{Float, Integer, Integers, Text};
use crate::network::{Attribute, Net};

/// Adds a convolution of `filters` over `channels`, with a bias.
fn conv(
    net: &mut Net,
    x: &str,
    [filters, channels]: [i64; 2],
    size: [i64; 2],
    more: Vec<Attribute>,
) -> String {
    let scale = 1.7 / ((channels * size[0] * size[1]) as f32).sqrt();
    let (w, b) = (net.random(&[filters, channels, size[0], size[1]], scale), net.random(&[filters], 0.3));
    let attributes = [vec![Integers("kernel_shape", size.to_vec())], more].concat_all();
    net.node("Conv", &[x, &w, &b], attributes)
}

/// Concatenation of lists of attributes.
trait ConcatAll {
    fn concat_all(self) -> Vec<Attribute>;
}

impl ConcatAll for [Vec<Attribute>; 2] {
    fn concat_all(self) -> Vec<Attribute> {
        self.into_iter().flatten().collect()
    }
}

fn pads(pads: [i64; 4]) -> Attribute {
    Integers("pads", pads.to_vec())
}

fn strides(strides: [i64; 2]) -> Attribute {
    Integers("strides", strides.to_vec())
}

/// Adds a fully connected layer, with weights by outputs.
fn dense(net: &mut Net, x: &str, [outputs, inputs]: [i64; 2]) -> String {
    let (w, b) = (net.random(&[outputs, inputs], 1.7 / (inputs as f32).sqrt()), net.random(&[outputs], 0.3));
    net.node("Gemm", &[x, &w, &b], vec![Integer("transB", 1)])
}

/// Convolutions padded on one side, pooling, branches that join, a residual addition, and a final
/// layer.
pub fn branches() -> Vec<u8> {
    let mut net = Net::new();
    let x = net.input("x", &[1, 3, 13, 10]);
    let y = conv(&mut net, &x, [6, 3], [3, 3], vec![strides([2, 1]), pads([1, 0, 0, 2])]);
    let [scale, shift, mean] = [0.9, 0.4, 0.3].map(|size| net.random(&[6], size));
    let variance = net.positive(&[6]);
    let y = net.node("BatchNormalization", &[&y, &scale, &shift, &mean, &variance], vec![]);
    let y = net.node("Relu", &[&y], vec![]);
    let pool = vec![Integers("kernel_shape", vec![2, 3]), strides([1, 2]), pads([0, 1, 0, 0])];
    let y = net.node("MaxPool", &[&y], pool);
    let narrow = conv(&mut net, &y, [5, 6], [1, 1], vec![]);
    let narrow = net.node("Relu", &[&narrow], vec![]);
    let wide = conv(&mut net, &y, [7, 6], [3, 3], vec![pads([1, 1, 1, 1])]);
    let both = net.node("Concat", &[&narrow, &wide], vec![Integer("axis", 1)]);
    let z = conv(&mut net, &both, [12, 12], [3, 3], vec![pads([1, 1, 1, 1])]);
    let z = net.node("Add", &[&z, &both], vec![]);
    let z = net.node("Relu", &[&z], vec![]);
    let z = conv(&mut net, &z, [9, 12], [3, 2], vec![strides([2, 2]), pads([1, 0, 0, 0])]);
    let z = net.node("Flatten", &[&z], vec![]);
    let z = dense(&mut net, &z, [10, 9 * 2 * 2]);
    net.onnx(&[(&z, &[1, 10])])
}

/// Depthwise and dilated convolutions, means, and activations with a limit.
pub fn separable() -> Vec<u8> {
    let mut net = Net::new();
    let x = net.input("x", &[1, 4, 9, 7]);
    let y = conv(&mut net, &x, [10, 4], [1, 1], vec![]);
    let (low, high) = (net.floats(&[], &[0.0]), net.floats(&[], &[6.0]));
    let y = net.node("Clip", &[&y, &low, &high], vec![]);
    let depthwise = vec![Integer("group", 10), strides([2, 1]), pads([1, 1, 1, 1])];
    let y = conv(&mut net, &y, [10, 1], [3, 3], depthwise);
    let y = net.node("LeakyRelu", &[&y], vec![Float("alpha", 0.125)]);
    let dilated = vec![Integers("dilations", vec![2, 2]), pads([2, 2, 2, 2])];
    let y = conv(&mut net, &y, [6, 10], [3, 3], dilated);
    let pool = vec![Integers("kernel_shape", vec![2, 2]), strides([1, 1])];
    let y = net.node("AveragePool", &[&y], pool);
    let y = net.node("GlobalAveragePool", &[&y], vec![]);
    let y = net.node("Flatten", &[&y], vec![]);
    let y = dense(&mut net, &y, [5, 6]);
    net.onnx(&[(&y, &[1, 5])])
}

/// Layers over a batch, a product of the layers of two inputs, and sums over all of it.
pub fn layers() -> Vec<u8> {
    let mut net = Net::new();
    let (x, y) = (net.input("x", &[3, 21]), net.input("y", &[3, 13]));
    let a = dense(&mut net, &x, [13, 21]);
    let a = net.node("Relu", &[&a], vec![]);
    let sum = net.node("Add", &[&a, &y], vec![]);
    let b = dense(&mut net, &sum, [18, 13]);
    let b = net.node("Relu", &[&b], vec![]);
    let w = net.random(&[18, 13], 0.4);
    let c = net.node("MatMul", &[&b, &w], vec![]);
    let scale = net.random(&[13], 0.8);
    let scaled = net.node("Mul", &[&c, &scale], vec![]);
    let d = net.node("Sub", &[&scaled, &y], vec![]);
    let d = dense(&mut net, &d, [9, 13]);
    net.onnx(&[(&d, &[3, 9]), (&sum, &[3, 13])])
}

/// Operators that only move numbers: slices, permutations, padding, upsampling.
pub fn moves() -> Vec<u8> {
    let mut net = Net::new();
    let x = net.input("x", &[1, 6, 6, 4]);
    let x = conv(&mut net, &x, [6, 6], [1, 1], vec![]);
    let [starts, ends, axes] = [[1, 0], [6, 3], [2, 3]].map(|numbers| net.integers(&numbers));
    let piece = net.node("Slice", &[&x, &starts, &ends, &axes], vec![]);
    let sizes = net.integers(&[2, 4]);
    let parts = net.node_of("Split", &[&piece, &sizes], vec![Integer("axis", 1)], 2);
    let joined = net.node("Concat", &[&parts[1], &parts[0]], vec![Integer("axis", 1)]);
    let border = net.integers(&[0, 0, 1, 0, 0, 0, 0, 2]);
    let padded = net.node("Pad", &[&joined, &border], vec![]);
    let y = conv(&mut net, &padded, [4, 6], [2, 2], vec![]);
    let empty = "";
    let scales = net.floats(&[4], &[1.0, 1.0, 2.0, 2.0]);
    let nearest = vec![
        Text("mode", "nearest"),
        Text("coordinate_transformation_mode", "asymmetric"),
        Text("nearest_mode", "floor"),
    ];
    let y = net.node("Resize", &[&y, empty, &scales], nearest);
    let y = conv(&mut net, &y, [3, 4], [3, 3], vec![strides([2, 2])]);
    let y = net.node("Transpose", &[&y], vec![Integers("perm", vec![0, 2, 3, 1])]);
    let shape = net.integers(&[1, -1]);
    let y = net.node("Reshape", &[&y, &shape], vec![]);
    let y = dense(&mut net, &y, [6, 36]);
    net.onnx(&[(&y, &[1, 6])])
}

/// Norms, attention of two heads with a mask, gates and a softmax.
pub fn attention() -> Vec<u8> {
    let mut net = Net::new();
    let x = net.input("x", &[4, 16]);
    let (gain, shift) = (net.positive(&[16]), net.random(&[16], 0.3));
    let normal = net.node("LayerNormalization", &[&x, &gain, &shift], vec![Integer("axis", -1)]);
    let project = |net: &mut Net| {
        let w = net.random(&[16, 16], 0.4);
        let y = net.node("MatMul", &[&normal, &w], vec![]);
        let shape = net.integers(&[4, 2, 8]);
        net.node("Reshape", &[&y, &shape], vec![])
    };
    let [queries, keys, values] = [(); 3].map(|()| project(&mut net));
    let turned = |net: &mut Net, x: &str, perm: [i64; 3]| {
        net.node("Transpose", &[x], vec![Integers("perm", perm.to_vec())])
    };
    let queries = turned(&mut net, &queries, [1, 0, 2]);
    let keys = turned(&mut net, &keys, [1, 2, 0]);
    let values = turned(&mut net, &values, [1, 0, 2]);
    let scores = net.node("MatMul", &[&queries, &keys], vec![]);
    let scale = net.floats(&[], &[0.354]);
    let scores = net.node("Mul", &[&scores, &scale], vec![]);
    let mask: Vec<f32> = (0..16).map(|i| if i % 4 > i / 4 { -1e4 } else { 0.0 }).collect();
    let mask = net.floats(&[4, 4], &mask);
    let scores = net.node("Add", &[&scores, &mask], vec![]);
    let chances = net.node("Softmax", &[&scores], vec![Integer("axis", -1)]);
    let context = net.node("MatMul", &[&chances, &values], vec![]);
    let context = turned(&mut net, &context, [1, 0, 2]);
    let shape = net.integers(&[4, 16]);
    let context = net.node("Reshape", &[&context, &shape], vec![]);
    let w = net.random(&[16, 16], 0.4);
    let y = net.node("MatMul", &[&context, &w], vec![]);
    let y = net.node("Add", &[&y, &x], vec![]);
    let gate = dense(&mut net, &y, [12, 16]);
    let open = net.node("Sigmoid", &[&gate], vec![]);
    let z = dense(&mut net, &y, [12, 16]);
    let z = net.node("Mul", &[&z, &open], vec![]);
    let z = dense(&mut net, &z, [7, 12]);
    net.onnx(&[(&z, &[4, 7])])
}

/// A perceptron with two samples, a softmax and a sigmoid.
pub fn perceptron() -> Vec<u8> {
    let mut net = Net::new();
    let x = net.input("x", &[2, 40]);
    let y = dense(&mut net, &x, [24, 40]);
    let y = net.node("Sigmoid", &[&y], vec![]);
    let y = dense(&mut net, &y, [40, 24]);
    let y = net.node("Add", &[&y, &x], vec![]);
    let y = dense(&mut net, &y, [16, 40]);
    let y = net.node("Softmax", &[&y], vec![Integer("axis", -1)]);
    net.onnx(&[(&y, &[2, 16])])
}

/// An image through activations, maxima of two branches, sums over axes and a mean.
pub fn pointwise() -> Vec<u8> {
    let mut net = Net::new();
    let (x, y) = (net.input("x", &[1, 5, 4, 6]), net.input("y", &[1, 5, 4, 6]));
    let scale = net.random(&[5, 1, 1], 0.9);
    let a = net.node("Mul", &[&x, &scale], vec![]);
    let b = net.node("Sub", &[&a, &y], vec![]);
    let c = net.node("Max", &[&b, &x], vec![]);
    let c = net.node("Neg", &[&c], vec![]);
    let d = net.node("Relu", &[&c], vec![]);
    let d = net.node("Add", &[&d, &y], vec![]);
    let axes = net.integers(&[2, 3]);
    let mean = net.node("ReduceMean", &[&d, &axes], vec![Integer("keepdims", 0)]);
    let out = dense(&mut net, &mean, [4, 5]);
    net.onnx(&[(&out, &[1, 4]), (&d, &[1, 5, 4, 6])])
}

/// Images that are added to each other and to results computed from them, factors by channel, and a
/// mean.
pub fn sums() -> Vec<u8> {
    let mut net = Net::new();
    let (x, y) = (net.input("x", &[1, 5, 4, 6]), net.input("y", &[1, 5, 4, 6]));
    let scale = net.random(&[5, 1, 1], 0.9);
    let a = conv(&mut net, &x, [5, 5], [3, 3], vec![pads([1, 1, 1, 1])]);
    let a = net.node("Add", &[&a, &y], vec![]);
    let a = net.node("Relu", &[&a], vec![]);
    let a = net.node("Mul", &[&a, &scale], vec![]);
    let b = net.node("Sub", &[&a, &x], vec![]);
    let c = conv(&mut net, &b, [5, 5], [1, 1], vec![]);
    let c = net.node("Add", &[&c, &a], vec![]);
    let axes = net.integers(&[2, 3]);
    let mean = net.node("ReduceMean", &[&c, &axes], vec![Integer("keepdims", 0)]);
    let out = dense(&mut net, &mean, [4, 5]);
    net.onnx(&[(&out, &[1, 4]), (&b, &[1, 5, 4, 6])])
}

/// The sum of two convolutions, zero padding around negative values, and transpositions before a
/// layer.
pub fn padded() -> Vec<u8> {
    let mut net = Net::new();
    let x = net.input("x", &[1, 3, 5, 6]);
    let one = conv(&mut net, &x, [4, 3], [1, 1], vec![]);
    let other = conv(&mut net, &x, [4, 3], [3, 3], vec![pads([1, 1, 1, 1])]);
    let y = net.node("Add", &[&one, &other], vec![]);
    let border = net.integers(&[0, 0, 1, 1, 0, 0, 1, 1]);
    let y = net.node("Pad", &[&y, &border], vec![]);
    let y = net.node("MaxPool", &[&y], vec![Integers("kernel_shape", vec![3, 2]), strides([2, 2])]);
    let y = conv(&mut net, &y, [5, 4], [3, 3], vec![]);
    net.onnx(&[(&y, &[1, 5, 1, 2])])
}

/// Consecutive transpositions, and sums over axes after one.
pub fn turns() -> Vec<u8> {
    let mut net = Net::new();
    let x = net.input("x", &[1, 3, 4, 5]);
    let y = conv(&mut net, &x, [6, 3], [1, 1], vec![]);
    let turned = |net: &mut Net, x: &str, perm: [i64; 4]| {
        net.node("Transpose", &[x], vec![Integers("perm", perm.to_vec())])
    };
    let z = turned(&mut net, &y, [0, 2, 1, 3]);
    let z = turned(&mut net, &z, [0, 3, 1, 2]);
    let shape = net.integers(&[1, -1]);
    let z = net.node("Reshape", &[&z, &shape], vec![]);
    let z = dense(&mut net, &z, [7, 120]);
    let axes = net.integers(&[1, 2]);
    let means = turned(&mut net, &y, [0, 2, 3, 1]);
    let means = net.node("ReduceMean", &[&means, &axes], vec![Integer("keepdims", 0)]);
    let means = dense(&mut net, &means, [2, 6]);
    net.onnx(&[(&z, &[1, 7]), (&means, &[1, 2])])
}

/// An image that needs several tiles, in a convolution and in overlapping pooling.
pub fn picture() -> Vec<u8> {
    let mut net = Net::new();
    let x = net.input("x", &[1, 1, 50, 46]);
    let y = conv(&mut net, &x, [3, 1], [2, 1], vec![]);
    let y = net.node("Relu", &[&y], vec![]);
    let pool = vec![Integers("kernel_shape", vec![3, 3]), strides([2, 2]), pads([1, 1, 1, 1])];
    let y = net.node("MaxPool", &[&y], pool);
    let y = conv(&mut net, &y, [2, 3], [2, 1], vec![strides([3, 2])]);
    net.onnx(&[(&y, &[1, 2, 8, 12])])
}

/// More channels than a machine has lanes, with and without biases.
pub fn wide() -> Vec<u8> {
    let mut net = Net::new();
    let x = net.input("x", &[1, 70, 3, 4]);
    let y = conv(&mut net, &x, [66, 70], [2, 2], vec![]);
    let y = net.node("Relu", &[&y], vec![]);
    let w = net.random(&[130, 66, 1, 1], 0.2);
    let z = net.node("Conv", &[&y, &w], vec![Integers("kernel_shape", vec![1, 1])]);
    let z = conv(&mut net, &z, [66, 130], [1, 1], vec![]);
    let z = net.node("Add", &[&z, &y], vec![]);
    net.onnx(&[(&z, &[1, 66, 2, 3])])
}

/// Operators that a fabric of words supports: a convolution, pooling, limits, sums.
pub fn tiny() -> Vec<u8> {
    let mut net = Net::new();
    let x = net.input("x", &[1, 2, 6, 5]);
    let y = conv(&mut net, &x, [3, 2], [3, 3], vec![pads([1, 1, 1, 1])]);
    let y = net.node("Relu", &[&y], vec![]);
    let pool = vec![Integers("kernel_shape", vec![3, 2]), strides([2, 2]), pads([1, 0, 0, 1])];
    let y = net.node("MaxPool", &[&y], pool);
    let scale = net.random(&[3, 1, 1], 0.9);
    let y = net.node("Mul", &[&y, &scale], vec![]);
    let y = net.node("Flatten", &[&y], vec![]);
    let y = dense(&mut net, &y, [8, 27]);
    let (low, high) = (net.floats(&[], &[-0.5]), net.floats(&[], &[0.75]));
    let y = net.node("Clip", &[&y, &low, &high], vec![]);
    net.onnx(&[(&y, &[1, 8])])
}

/// An upsampling convolution.
pub fn enlarging() -> Vec<u8> {
    let mut net = Net::new();
    let x = net.input("x", &[1, 5, 4, 3]);
    let (w, b) = (net.random(&[5, 4, 3, 3], 0.3), net.random(&[4], 0.3));
    let up = vec![strides([2, 2]), pads([1, 1, 1, 1])];
    let y = net.node("ConvTranspose", &[&x, &w, &b], up);
    let y = net.node("Relu", &[&y], vec![]);
    net.onnx(&[(&y, &[1, 4, 7, 5])])
}
