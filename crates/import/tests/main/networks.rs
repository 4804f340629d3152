//! The real networks beside the repository, against the results published with them.

use std::path::PathBuf;

use npukit_graph::{Graph, evaluate};
use npukit_import::onnx::{Options, read};
use npukit_numeric::Tensor;

use crate::model::floats;

/// A file of the shared folder; `None` when the folder is absent and need not be there.
fn shared(name: &str) -> Option<Vec<u8>> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    let folder = std::env::var_os("NPUKIT_SHARED").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let path = folder.join("models").join(name);
    if !folder.exists() {
        assert!(std::env::var_os("NPUKIT_REQUIRE_SHARED").is_none_or(|v| v != "1"), "{path:?} is absent");
        println!("skipped: {path:?} is absent");
        return None;
    }
    Some(std::fs::read(&path).unwrap())
}

/// Shape and elements of a little-endian float32 `.npy` file, version 1.
fn npy(bytes: &[u8]) -> (Vec<usize>, Vec<f32>) {
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let end = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..end]).unwrap();
    assert!(header.contains("'<f4'") && header.contains("False"), "{header}");
    let (_, shape) = header.split_once('(').unwrap();
    let (shape, _) = shape.split_once(')').unwrap();
    let shape = shape.split(',').filter_map(|size| size.trim().parse().ok()).collect();
    (shape, bytes[end..].as_chunks().0.iter().map(|&word| f32::from_le_bytes(word)).collect())
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

#[test]
fn resnet_logits() {
    let Some(model) = shared("resnet20v2_cifar.onnx") else { return };
    let graph = read(&model, "resnet20v2", &Options::default()).unwrap();
    assert_eq!(graph.value(graph.inputs[0]).name, "x:0");
    assert_eq!(graph.shape(graph.inputs[0]), [1, 32, 32, 3]);
    assert_eq!(graph.value(graph.outputs[0]).name, "Identity:0");
    let (shape, images) = npy(&shared("cifar10_inputs.npy").unwrap());
    let (_, logits) = npy(&shared("resnet20v2_cifar_logits.npy").unwrap());
    assert_eq!(shape, [10, 32, 32, 3]);
    for (image, logits) in images.chunks(32 * 32 * 3).zip(logits.chunks(10)) {
        assert_close(&run(&graph, floats(&[1, 32, 32, 3], image)), logits, 1e-3);
    }
}

#[test]
fn resnet_with_softmax_sums_to_one() {
    let Some(model) = shared("resnet20v2_cifar_softmax.onnx") else { return };
    let graph = read(&model, "resnet20v2", &Options::default()).unwrap();
    let (_, images) = npy(&shared("cifar10_inputs.npy").unwrap());
    let labels = [0, 9, 5, 7, 9, 8, 5, 7, 8, 6];
    for (image, label) in images.chunks(32 * 32 * 3).zip(labels) {
        let probabilities = run(&graph, floats(&[1, 32, 32, 3], image));
        assert!((probabilities.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        let best = (0..10).max_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b]));
        assert_eq!(best, Some(label));
    }
}

/// Speech commands, read both ways: opset 10 does not say how Resize maps coordinates.
#[test]
fn speech_logits() {
    let Some(model) = shared("speech_commands.onnx") else { return };
    let expected: serde_json::Value =
        serde_json::from_slice(&shared("speech_commands_expected.json").unwrap()).unwrap();
    let (shape, sample) = npy(&shared("speech_commands_input.npy").unwrap());
    for (resize_half_pixel, key) in
        [(false, "float_logits_opset10_asymmetric_resize"), (true, "float_logits_half_pixel_resize")]
    {
        let options = Options { resize_half_pixel, ..Options::default() };
        let graph = read(&model, "speech", &options).unwrap();
        assert_eq!(graph.shape(graph.inputs[0]), [1, 1, 124, 129]);
        assert_eq!(graph.value(graph.outputs[0]).name, "dense_1");
        let logits = expected[key].as_array().unwrap();
        let logits: Vec<f32> = logits.iter().map(|value| value.as_f64().unwrap() as f32).collect();
        assert_close(&run(&graph, floats(&shape, &sample)), &logits, 1e-3);
    }
}
