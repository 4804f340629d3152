//! Whole networks compared with float.

use npukit_graph::{Graph, evaluate, pass};
use npukit_import::onnx;
use npukit_numeric::{Tensor, npy};
use npukit_opu::internals::config::Config;
use npukit_opu::internals::lower::{Lowered, Options, backend, compile};

use super::quantized;
use super::runner::{check_repeats, run};
use npukit_testing::{needs, shared_bytes};

fn model(bytes: &[u8]) -> Graph {
    let mut graph = onnx::read(bytes, "model", &onnx::Options::default()).unwrap().graph;
    pass::simplify(&mut graph).unwrap();
    graph
}

/// Returns the samples of a tensor, each of the graph's input shape.
fn samples(graph: &Graph, bytes: &[u8]) -> Vec<Tensor> {
    let tensor = npy::read_npy("samples", bytes).unwrap();
    let shape = graph.shape(graph.inputs[0]);
    let size = shape.iter().product();
    tensor
        .as_f32()
        .unwrap()
        .chunks(size)
        .map(|x| Tensor::from_f32(shape.to_vec(), x.to_vec()).unwrap())
        .collect()
}

fn lower(graph: &Graph, calibration: &[Tensor]) -> Lowered {
    let quantization = quantized(graph, calibration);
    let options = Options { quantization: Some(&quantization), ..Options::default() };
    compile(graph, &Config::preset("reference").unwrap(), options).unwrap()
}

/// Returns the classes that the program and float find for each sample.
fn classes(graph: &Graph, lowered: &Lowered, samples: &[Tensor]) -> Vec<[usize; 2]> {
    let config = Config::preset("reference").unwrap();
    let program = backend::program(lowered, "test".into(), "reference".into(), &config);
    let class = |sample: &Tensor| {
        let outputs = run(lowered, &program, &config.types, sample, false);
        if std::ptr::eq(sample, &raw const samples[0]) {
            check_repeats(&program, sample, &outputs);
        }
        let found = &outputs[0];
        let float = evaluate(graph, std::slice::from_ref(sample)).unwrap();
        let float = float[0].as_f32().unwrap();
        let largest = |better: &dyn Fn(usize, usize) -> bool| {
            (1..float.len()).fold(0, |a, b| if better(b, a) { b } else { a })
        };
        [largest(&|b, a| found[b] > found[a]), largest(&|b, a| float[b] > float[a])]
    };
    samples.iter().map(class).collect()
}

#[needs(NPUKIT_SHARED)]
#[test]
fn resnet20_agrees_with_float_on_other_images_than_those_it_was_calibrated_on() {
    let graph = model(&shared_bytes("models/resnet20v2_cifar.onnx"));
    let images = samples(&graph, &shared_bytes("models/cifar10_inputs.npy"));
    // Mirrored images are different images with the same statistics.
    let mirrored: Vec<Tensor> = images.iter().map(mirror).collect();
    let lowered = lower(&graph, &mirrored);
    let classes = classes(&graph, &lowered, &images);
    let equal = classes.iter().filter(|[found, float]| found == float).count();
    assert!(equal >= 9, "{classes:?}");
}

/// Mirrors an image `[1, h, w, c]` horizontally.
fn mirror(image: &Tensor) -> Tensor {
    let &[_, _, columns, channels] = image.shape() else { panic!("an image") };
    let rows = image.as_f32().unwrap().chunks(columns * channels);
    let mirrored = rows.flat_map(|row| row.chunks(channels).rev().flatten().copied()).collect();
    Tensor::from_f32(image.shape().to_vec(), mirrored).unwrap()
}

#[test]
fn digits_lose_less_than_a_point() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/npukit/assets/");
    let read = |name: &str| std::fs::read(format!("{folder}{name}")).unwrap();
    let graph = model(&read("digits.onnx"));
    let images = samples(&graph, &read("digits_images.npy"));
    let labels = npy::read_npy("labels", &read("digits_labels.npy")).unwrap();
    let labels: Vec<usize> = match labels.data() {
        npukit_numeric::TensorData::I64(values) => values.iter().map(|&label| label as usize).collect(),
        other => panic!("labels are {other:?}"),
    };
    let (calibration, rest) = images.split_at(images.len() / 10);
    let classes = classes(&graph, &lower(&graph, calibration), rest);
    let right = |which: usize| {
        classes.iter().zip(&labels[calibration.len()..]).filter(|(c, l)| c[which] == **l).count()
    };
    let (found, float) = (right(0), right(1));
    assert!(found * 100 + rest.len() >= float * 100, "{found} of {} right, {float} in float", rest.len());
}
