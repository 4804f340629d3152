//! Whole networks in 16 bits: compared with float, and with the same network on more columns.

use npukit_drra::internals::config::preset;
use npukit_drra::internals::executable::Executable;
use npukit_drra::internals::fabric::Fabric;
use npukit_drra::internals::lower::{lower, prepare, scheme};
use npukit_drra::internals::word::integer;
use npukit_graph::op::{Binary, BinaryKind, Conv, Gemm, MaxPool, Op, Relu, Reshape, Window};
use npukit_graph::quantize::{Distributions, Method, quantize};
use npukit_graph::{Graph, ValueId, ValueInfo, evaluate};
use npukit_import::onnx;
use npukit_numeric::npy::read_npy;
use npukit_numeric::{ElementType, Tensor};

use npukit_testing::{needs, shared_bytes};

use crate::artifact::reloaded;
use crate::run::checked;

pub const MLP: &[u8] = include_bytes!("../../../../crates/npukit/assets/digits_mlp.onnx");
const IMAGES: &[u8] = include_bytes!("../../../../crates/npukit/assets/digits_images.npy");
const LABELS: &[u8] = include_bytes!("../../../../crates/npukit/assets/digits_labels.npy");
pub const CALIBRATION: &[u8] = include_bytes!("../../../../crates/npukit/assets/digits_calibration.npy");

/// Compiles a network for a fabric, with fraction lengths from samples.
pub fn compile(fabric: &Fabric, graph: &Graph, samples: &[Tensor]) -> Executable {
    let graph = prepare(graph).unwrap();
    let mut seen = Distributions::new(&graph);
    samples.iter().for_each(|sample| seen.observe(&graph, std::slice::from_ref(sample)).unwrap());
    let quantization = quantize(&graph, &seen, &scheme(fabric), Method::MinMax, &Default::default());
    let plan = lower(fabric, &graph, Some(&quantization)).unwrap_or_else(|problems| panic!("{problems:#?}"));
    Executable::new(fabric, plan).unwrap()
}

/// Quantizes the single input.
fn words(executable: &Executable, sample: &Tensor) -> Vec<i16> {
    let fraction = executable.plan.values[executable.plan.inputs[0]].fraction;
    sample.as_f32().unwrap().iter().map(|&x| integer(x.into(), fraction)).collect()
}

/// Returns the real values of the single output, and the cycles.
fn run(executable: &Executable, sample: &Tensor) -> (Vec<f32>, u64) {
    let value = |number: usize| &executable.plan.values[number];
    let ran = executable.run(&[words(executable, sample)]).unwrap();
    let output = executable.plan.outputs[0];
    let scale = 2f32.powi(-value(output).fraction);
    (ran.values[output].iter().map(|&word| f32::from(word) * scale).collect(), ran.cycles.iter().sum())
}

fn largest(values: &[f32]) -> usize {
    (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap()
}

pub fn samples(bytes: &[u8]) -> Vec<Tensor> {
    let all = read_npy("x.npy", bytes).unwrap();
    let image = |values: &[f32]| Tensor::from_f32(vec![1, 1, 8, 8], values.to_vec()).unwrap();
    all.as_f32().unwrap().chunks(64).map(image).collect()
}

/// Fabrics with wide sums; with 11 fraction bits and only the modes that all sources agree on;
/// without any.
pub fn fabrics() -> [(&'static str, Fabric); 3] {
    let (mut wide, mut plain) = (preset("3x4").unwrap(), preset("3x1").unwrap());
    wide.options.extensions = true;
    let parts = plain.cells.iter_mut().flat_map(|cell| &mut cell.resources);
    parts.for_each(|part| part.fraction_bits = 11);
    let whole = preset("3x1").unwrap();
    [("3x4 with extensions", wide), ("3x1 with 11 fraction bits", plain), ("3x1", whole)]
}

#[test]
fn the_digits_perceptron_is_as_good_as_in_float() {
    let graph = onnx::read(MLP, "digits_mlp", &Default::default()).unwrap().graph;
    let (images, labels) = (samples(IMAGES), read_npy("labels.npy", LABELS).unwrap());
    let labels: Vec<usize> = labels.as_i64().unwrap().iter().map(|&label| label as usize).collect();
    let right = |found: &dyn Fn(&Tensor) -> usize| {
        images.iter().zip(&labels).filter(|(image, label)| found(image) == **label).count() as f64
            / labels.len() as f64
    };
    let float =
        right(&|image| largest(evaluate(&graph, std::slice::from_ref(image)).unwrap()[0].as_f32().unwrap()));
    for (name, fabric) in fabrics() {
        let executable = compile(&fabric, &graph, &samples(CALIBRATION));
        checked(&executable, &[words(&executable, &images[0])]);
        let fixed = right(&|image| largest(&run(&executable, image).0));
        let cycles: u64 = executable.cycles().iter().sum();
        eprintln!("digits perceptron, {name}: {fixed:.4}, float {float:.4}, {cycles} cycles a digit");
        assert!(fixed >= float - 0.01, "{name}: {fixed} {float}");
    }
}

/// Two inputs have no weights whose fraction lengths could be adapted.
#[test]
fn a_product_of_two_inputs_needs_no_extension() {
    let info = ValueInfo { shape: vec![32], element: ElementType::F32 };
    let mut graph = Graph::default();
    let inputs = vec![graph.add_input("a", info.clone()), graph.add_input("b", info)];
    graph.outputs = graph.add_node("mul", Binary { kind: BinaryKind::Mul }.into(), inputs, &["y"]).unwrap();
    let values =
        |step: f32| Tensor::from_f32(vec![32], (0..32).map(|x| x as f32 * step - 0.9).collect()).unwrap();
    let samples = [values(0.05), values(0.03)];
    let mut seen = Distributions::new(&graph);
    seen.observe(&graph, &samples).unwrap();
    for bits in [0, 11] {
        let mut fabric = preset("3x1").unwrap();
        let parts = fabric.cells.iter_mut().flat_map(|cell| &mut cell.resources);
        parts.for_each(|part| part.fraction_bits = bits);
        let quantization = quantize(&graph, &seen, &scheme(&fabric), Method::MinMax, &Default::default());
        let executable =
            Executable::new(&fabric, lower(&fabric, &graph, Some(&quantization)).unwrap()).unwrap();
        let fraction = |number: usize| executable.plan.values[number].fraction;
        let words = |(number, sample): (&usize, &Tensor)| -> Vec<i16> {
            sample.as_f32().unwrap().iter().map(|&x| integer(x.into(), fraction(*number))).collect()
        };
        let given: Vec<Vec<i16>> = executable.plan.inputs.iter().zip(&samples).map(words).collect();
        let ran = checked(&executable, &given);
        let output = executable.plan.outputs[0];
        let scale = 2f32.powi(-fraction(output));
        let expected = evaluate(&graph, &samples).unwrap();
        for (word, expected) in ran.values[output].iter().zip(expected[0].as_f32().unwrap()) {
            assert!((f32::from(*word) * scale - expected).abs() < 0.02, "{bits}: {word} {expected}");
        }
    }
}

/// LeNet-5 with random weights, as in the zoo.
pub fn lenet() -> Graph {
    let mut seed = 1_u32;
    let mut weights = |graph: &mut Graph, shape: &[usize], scale: f32| {
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as f32 / (1 << 24) as f32 * 2.0 - 1.0
        };
        let values = (0..shape.iter().product()).map(|_| next() * scale).collect();
        let name = format!("w{}", graph.values.len());
        graph.add_constant(name, Tensor::from_f32(shape.to_vec(), values).unwrap())
    };
    let mut graph = Graph::default();
    let mut x = graph.add_input("x", ValueInfo { shape: vec![1, 32, 32, 1], element: ElementType::F32 });
    let node = |graph: &mut Graph, op: Op, inputs: Vec<ValueId>| {
        let name = format!("y{}", graph.nodes.len());
        graph.add_node(name.clone(), op, inputs, &[&name]).unwrap()[0]
    };
    for (from, to) in [(1, 6), (6, 16)] {
        let scale = (3.0 / (25 * from) as f32).sqrt();
        let (w, b) = (weights(&mut graph, &[5, 5, from, to], scale), weights(&mut graph, &[to], 0.1));
        let conv = Conv { strides: [1, 1], dilations: [1, 1], pads: [0; 4], group: 1 };
        x = node(&mut graph, conv.into(), vec![x, w, b]);
        x = node(&mut graph, Relu.into(), vec![x]);
        x = node(&mut graph, MaxPool { window: Window::plain([2, 2], [2, 2]) }.into(), vec![x]);
    }
    x = node(&mut graph, Reshape { shape: vec![1, 400] }.into(), vec![x]);
    for (from, to) in [(400, 120), (120, 84), (84, 10)] {
        let scale = (3.0 / from as f32).sqrt();
        let (w, b) = (weights(&mut graph, &[from, to], scale), weights(&mut graph, &[to], 0.1));
        x = node(&mut graph, Gemm::PLAIN.into(), vec![x, w, b]);
        if to != 10 {
            x = node(&mut graph, Relu.into(), vec![x]);
        }
    }
    graph.outputs = vec![x];
    graph
}

#[test]
fn lenet_5_runs_end_to_end() {
    let graph = lenet();
    let image = |shift: usize| {
        let values = (0..1024).map(|index: usize| ((index + shift) * 37 % 101) as f32 / 101.0).collect();
        Tensor::from_f32(vec![1, 32, 32, 1], values).unwrap()
    };
    let calibration: Vec<Tensor> = (0..4).map(|index| image(1000 * index)).collect();
    let (_, wide) = fabrics().into_iter().next().unwrap();
    let narrow = Fabric { options: wide.options, ..preset("3x1").unwrap() };
    let expected = evaluate(&graph, &[image(7)]).unwrap();
    let expected = expected[0].as_f32().unwrap();
    let [(found, four), (same, one)] =
        [wide, narrow].map(|fabric| run(&reloaded(&compile(&fabric, &graph, &calibration)), &image(7)));
    eprintln!("LeNet-5: {four} cycles on 3x4, {one} on 3x1; {found:?}, float {expected:?}");
    assert_eq!(found, same);
    let scale = expected.iter().fold(0_f32, |most, x| most.max(x.abs()));
    let error = found.iter().zip(expected).fold(0_f32, |most, (a, b)| most.max((a - b).abs()));
    assert!(error < 0.005 * scale, "{error} of {scale}");
    assert!(one > 3 * four, "{one} {four}");
}

/// ResNet-20 with its softmax: convolutions, normalizations that are not folded into a convolution,
/// sums of branches, pooling.
#[needs(NPUKIT_SHARED)]
#[test]
fn the_published_resnet_is_taken() {
    let model = shared_bytes("models/resnet20v2_cifar_softmax.onnx");
    let graph = onnx::read(&model, "resnet20", &Default::default()).unwrap().graph;
    let graph = prepare(&graph).unwrap();
    let [(_, wide), (_, plain), _] = fabrics();
    assert_eq!(lower(&wide, &graph, None).map(|plan| plan.outputs.len()), Ok(1));
    let refused = lower(&plain, &graph, None).map(|_| ()).unwrap_err();
    let refused: Vec<&str> = refused.iter().map(|problem| problem.op.as_str()).collect();
    assert_eq!(refused, ["Softmax"], "which needs the extension");
}
