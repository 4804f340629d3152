//! Released networks next to the repository, compared with their published results.

use npukit_graph::pass::simplify;
use npukit_graph::{Graph, Op, evaluate};
use npukit_import::onnx::{Options, read};
use npukit_numeric::Tensor;
use npukit_numeric::npy::read_npy;
use npukit_shared::{needs, shared_bytes};

use crate::model::floats;

fn shared(name: &str) -> Vec<u8> {
    shared_bytes(&format!("models/{name}"))
}

/// Reads shape and elements of a `.npy` file of floats.
fn npy(name: &str) -> (Vec<usize>, Vec<f32>) {
    let tensor = read_npy(name, &shared(name)).unwrap();
    (tensor.shape().to_vec(), tensor.as_f32().unwrap().to_vec())
}

fn run(graph: &Graph, input: Tensor) -> Vec<f32> {
    evaluate(graph, &[input]).unwrap()[0].as_f32().unwrap().to_vec()
}

fn assert_close(found: &[f32], expected: &[f32], tolerance: f32) {
    let close = |(found, expected): (&f32, &f32)| (found - expected).abs() <= tolerance;
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(close),
        "{found:?}\n{expected:?}"
    );
}

#[needs(NPUKIT_SHARED)]
#[test]
fn resnet_logits() {
    let model = shared("resnet20v2_cifar.onnx");
    let graph = read(&model, "resnet20v2", &Options::default()).unwrap().graph;
    assert_eq!(graph.value(graph.inputs[0]).name, "x:0");
    assert_eq!(graph.shape(graph.inputs[0]), [1, 32, 32, 3]);
    assert_eq!(graph.value(graph.outputs[0]).name, "Identity:0");
    let (shape, images) = npy("cifar10_inputs.npy");
    let (_, logits) = npy("resnet20v2_cifar_logits.npy");
    assert_eq!(shape, [10, 32, 32, 3]);
    for (image, logits) in images.chunks(32 * 32 * 3).zip(logits.chunks(10)) {
        assert_close(&run(&graph, floats(&[1, 32, 32, 3], image)), logits, 1e-3);
    }
}

#[needs(NPUKIT_SHARED)]
#[test]
fn resnet_with_softmax_sums_to_one() {
    let model = shared("resnet20v2_cifar_softmax.onnx");
    let graph = read(&model, "resnet20v2", &Options::default()).unwrap().graph;
    let (_, images) = npy("cifar10_inputs.npy");
    let labels = [0, 9, 5, 7, 9, 8, 5, 7, 8, 6];
    for (image, label) in images.chunks(32 * 32 * 3).zip(labels) {
        let probabilities = run(&graph, floats(&[1, 32, 32, 3], image));
        assert!((probabilities.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        let best = (0..10).max_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b]));
        assert_eq!(best, Some(label));
    }
}

/// Speech commands with both coordinate modes: opset 10 does not define how Resize maps
/// coordinates.
#[needs(NPUKIT_SHARED)]
#[test]
fn speech_logits() {
    let model = shared("speech_commands.onnx");
    let expected: serde_json::Value =
        serde_json::from_slice(&shared("speech_commands_expected.json")).unwrap();
    let (shape, sample) = npy("speech_commands_input.npy");
    for (resize_half_pixel, key) in
        [(false, "float_logits_opset10_asymmetric_resize"), (true, "float_logits_half_pixel_resize")]
    {
        let options = Options { resize_half_pixel: Some(resize_half_pixel), ..Options::default() };
        let graph = read(&model, "speech", &options).unwrap().graph;
        assert_eq!(graph.shape(graph.inputs[0]), [1, 1, 124, 129]);
        assert_eq!(graph.value(graph.outputs[0]).name, "dense_1");
        let logits = expected[key].as_array().unwrap();
        let logits: Vec<f32> = logits.iter().map(|value| value.as_f64().unwrap() as f32).collect();
        assert_close(&run(&graph, floats(&shape, &sample)), &logits, 1e-3);
    }
}

/// Names of the Transpose nodes that remain after simplification.
fn transposes(graph: &Graph) -> Vec<&str> {
    let transposes = graph.nodes.iter().filter(|node| matches!(node.op, Op::Transpose(_)));
    transposes.map(|node| node.name.as_str()).collect()
}

#[needs(NPUKIT_SHARED)]
#[test]
fn simplified_resnet_has_no_transposes() {
    for name in ["resnet20v2_cifar.onnx", "resnet20v2_cifar_softmax.onnx"] {
        let model = shared(name);
        let mut graph = read(&model, "resnet20v2", &Options::default()).unwrap().graph;
        simplify(&mut graph).unwrap();
        assert_eq!(transposes(&graph), [""; 0], "{name}");
    }
}

#[needs(NPUKIT_SHARED)]
#[test]
fn simplified_speech_network_has_no_transposes() {
    let model = shared("speech_commands.onnx");
    let mut graph = read(&model, "speech", &Options::default()).unwrap().graph;
    simplify(&mut graph).unwrap();
    // The input is NCHW with one channel, so its Transpose moves nothing.
    assert_eq!(transposes(&graph), [""; 0]);
}
