//! Ten small networks whose stages the filetests of `tests/filetests/stages` show. They have few
//! enough numbers to be followed by a reader.

use crate::filetest_models::weights;
use crate::model::{Model, With, node};

/// Returns the networks with their file names.
pub fn networks() -> [(&'static str, Model); 10] {
    [
        ("perceptron.onnx", perceptron()),
        ("convolution.onnx", convolution()),
        ("residual.onnx", residual()),
        ("max_pool.onnx", max_pool()),
        ("average.onnx", average()),
        ("depthwise.onnx", depthwise()),
        ("softmax.onnx", softmax()),
        ("batch_norm.onnx", batch_norm()),
        ("concat.onnx", concat()),
        ("transpose.onnx", transpose()),
    ]
}

/// An image of `channels` channels with 2x2 pixels.
fn image(channels: i64) -> Model {
    Model::new(13).input("x", &[1, channels, 2, 2])
}

/// Two layers of neurons, with ReLU between them.
fn perceptron() -> Model {
    Model::new(13)
        .input("x", &[1, 8])
        .floats("w1", &[8, 4], &weights(32))
        .floats("b1", &[4], &weights(4))
        .floats("w2", &[4, 2], &weights(8))
        .node(node("Gemm", &["x", "w1", "b1"], &["a"]))
        .node(node("Relu", &["a"], &["b"]))
        .node(node("MatMul", &["b", "w2"], &["y"]))
        .output("y")
}

/// A 3x3 convolution that keeps the size of the image, with ReLU.
fn convolution() -> Model {
    image(2)
        .floats("w", &[4, 2, 3, 3], &weights(72))
        .node(node("Conv", &["x", "w"], &["a"]).ints("pads", &[1, 1, 1, 1]))
        .node(node("Relu", &["a"], &["y"]))
        .output("y")
}

/// A 1x1 convolution whose input is added to its result.
fn residual() -> Model {
    image(4)
        .floats("w", &[4, 4, 1, 1], &weights(16))
        .node(node("Conv", &["x", "w"], &["a"]))
        .node(node("Add", &["a", "x"], &["b"]))
        .node(node("Relu", &["b"], &["y"]))
        .output("y")
}

/// Maximum of each 2x2 pixels.
fn max_pool() -> Model {
    let pool = node("MaxPool", &["x"], &["y"]).ints("kernel_shape", &[2, 2]).ints("strides", &[2, 2]);
    image(4).node(pool).output("y")
}

/// Mean of each channel, followed by a classifier.
fn average() -> Model {
    image(4)
        .floats("w", &[4, 2], &weights(8))
        .node(node("GlobalAveragePool", &["x"], &["a"]))
        .node(node("Flatten", &["a"], &["b"]))
        .node(node("MatMul", &["b", "w"], &["y"]))
        .output("y")
}

/// A depthwise convolution, with one kernel per channel.
fn depthwise() -> Model {
    let conv = node("Conv", &["x", "w"], &["y"]).ints("kernel_shape", &[2, 2]).int("group", 4);
    image(4).floats("w", &[4, 1, 2, 2], &weights(16)).node(conv).output("y")
}

/// Scores as probabilities.
fn softmax() -> Model {
    Model::new(13)
        .input("x", &[1, 4])
        .floats("w", &[4, 4], &weights(16))
        .node(node("MatMul", &["x", "w"], &["a"]))
        .node(node("Softmax", &["a"], &["y"]))
        .output("y")
}

/// A 1x1 convolution, normalized by the statistics of training.
fn batch_norm() -> Model {
    image(2)
        .floats("w", &[2, 2, 1, 1], &weights(4))
        .floats("scale", &[2], &[1.0, 2.0])
        .floats("shift", &[2], &[0.5, -0.5])
        .floats("mean", &[2], &[0.25, 0.125])
        .floats("variance", &[2], &[1.0, 4.0])
        .node(node("Conv", &["x", "w"], &["a"]))
        .node(node("BatchNormalization", &["a", "scale", "shift", "mean", "variance"], &["y"]))
        .output("y")
}

/// The concatenated channels of two convolutions.
fn concat() -> Model {
    image(2)
        .floats("w1", &[4, 2, 1, 1], &weights(8))
        .floats("w2", &[4, 2, 1, 1], &weights(8))
        .node(node("Conv", &["x", "w1"], &["a"]))
        .node(node("Conv", &["x", "w2"], &["b"]))
        .node(node("Concat", &["a", "b"], &["y"]).int("axis", 1))
        .output("y")
}

/// A product with a transposed input.
fn transpose() -> Model {
    Model::new(13)
        .input("x", &[4, 2])
        .floats("w", &[4, 2], &weights(8))
        .node(node("Transpose", &["x"], &["a"]).ints("perm", &[1, 0]))
        .node(node("MatMul", &["a", "w"], &["y"]))
        .output("y")
}
