//! A quantized model on integer-only targets: the digits network with scales in the file.

use std::collections::BTreeMap;

use npukit::InputFile;
use npukit::Source;
use npukit::report::QuantizationReport;
use npukit::verbs::check::check_program;
use npukit::verbs::run::{Request, run};
use npukit_graph::evaluate_all;
use npukit_import::onnx::proto::{ModelProto, NodeProto, TensorProto, data_type};
use npukit_import::onnx::{Options, read};
use npukit_numeric::Tensor;
use npukit_numeric::npy::read_npy;
use prost::Message;

use crate::memory::{Memory, digits};

/// Returns the largest magnitude of each value over the three images.
fn magnitudes(files: &Memory) -> BTreeMap<String, f32> {
    let graph = read(&files.0["digits.onnx"], "digits", &Options::default()).unwrap().graph;
    let images = read_npy("x.npy", &files.0["x.npy"]).unwrap();
    let mut found = BTreeMap::new();
    for image in images.as_f32().unwrap().chunks(64) {
        let image = Tensor::from_f32(vec![1, 1, 8, 8], image.to_vec()).unwrap();
        for (value, tensor) in graph.values.iter().zip(evaluate_all(&graph, &[image]).unwrap()) {
            let tensor = tensor.unwrap();
            let most = tensor.as_f32().unwrap_or_default().iter().fold(0f32, |most, x| most.max(x.abs()));
            let known: &mut f32 = found.entry(value.name.clone()).or_default();
            *known = known.max(most);
        }
    }
    found
}

/// Returns the smallest power of two by which `most` must be multiplied or divided to be at most
/// `largest`.
fn scale(most: f32, largest: f32) -> f32 {
    (most / largest).log2().ceil().exp2()
}

/// Returns nodes that convert to integers and back, with their scale and zero point.
fn pair(from: &str, to: &str, scale: f32, element: i32) -> ([TensorProto; 2], [NodeProto; 2]) {
    let [s, z, q] = ["s", "z", "q"].map(|suffix| format!("{to}_{suffix}"));
    let float = TensorProto {
        name: s.clone(),
        data_type: data_type::FLOAT,
        float_data: vec![scale],
        ..TensorProto::default()
    };
    let zero =
        TensorProto { name: z.clone(), data_type: element, int32_data: vec![0], ..TensorProto::default() };
    let node = |op: &str, from: &str, to: &str| NodeProto {
        op_type: op.to_owned(),
        input: vec![from.to_owned(), s.clone(), z.clone()],
        output: vec![to.to_owned()],
        ..NodeProto::default()
    };
    ([float, zero], [node("QuantizeLinear", from, &q), node("DequantizeLinear", &q, to)])
}

/// Adds integer conversions of 8 bits to the digits network: for the input, ReLUs (replaced by the
/// range of the scale), weights and output.
fn with_scales(files: &mut Memory) {
    let most = magnitudes(files);
    let mut model = ModelProto::decode(&files.0["digits.onnx"][..]).unwrap();
    let graph = model.graph.as_mut().unwrap();
    let (input, output) = (graph.input[0].name.clone(), graph.output[0].name.clone());
    let mut nodes = Vec::new();
    let mut add = |(tensors, pair): ([TensorProto; 2], [NodeProto; 2]), tensors_of: &mut Vec<TensorProto>| {
        tensors_of.extend(tensors);
        nodes.extend(pair);
    };
    let initializers = graph.initializer.clone();
    let tensors = &mut graph.initializer;
    for weights in initializers.iter().filter(|tensor| tensor.dims.len() > 1) {
        let name = &weights.name;
        tensors.iter_mut().filter(|tensor| tensor.name == *name).for_each(|tensor| tensor.name += "_f");
        let raw = weights.raw_data.as_deref().unwrap();
        let floats = raw.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
        let most = floats.fold(0f32, |most, x| most.max(x.abs()));
        add(pair(&format!("{name}_f"), name, scale(most, 127.0), data_type::INT8), tensors);
    }
    add(pair(&input, "input_r", scale(most[&input], 127.0), data_type::INT8), tensors);
    add(pair("output_f", &output, scale(most[&output], 127.0), data_type::INT8), tensors);
    for mut node in std::mem::take(&mut graph.node) {
        if node.op_type == "Relu" {
            let (from, to) = (node.input[0].clone(), node.output[0].clone());
            add(pair(&from, &to, scale(most[&to], 255.0), data_type::UINT8), tensors);
            continue;
        }
        node.input.iter_mut().filter(|name| **name == input).for_each(|name| *name = "input_r".to_owned());
        node.output.iter_mut().filter(|name| **name == output).for_each(|name| *name = "output_f".to_owned());
        graph.node.push(node);
    }
    graph.node.extend(nodes);
    files.0.insert("scales.onnx".into(), model.encode_to_vec());
}

fn source(target: &str) -> Source {
    Source { path: "scales.onnx".into(), ..digits(target) }
}

/// Returns the fraction length of the first tensor of a kind.
fn first(report: &QuantizationReport, kind: &str) -> i32 {
    report.tensors.iter().find(|tensor| tensor.kind == kind).unwrap().fraction
}

#[test]
fn scales_of_the_model_are_those_of_the_program() {
    let mut files = Memory::with_digits();
    with_scales(&mut files);
    let of_input = -scale(magnitudes(&files)["image"], 127.0).log2() as i32;
    let checked = check_program(&source("opu"), files.context()).unwrap();
    assert!(checked.supported, "{:?}", checked.problems);
    let inputs = vec![InputFile::parse("x.npy")];
    let (report, _) =
        run(&Request { source: source("opu"), inputs, ..Request::default() }, files.context()).unwrap();
    let found = report.comparison.unwrap();
    assert_eq!(found.argmax_agree, Some(1.0), "{found:?}");
    let quantization = report.quantization.unwrap();
    assert_eq!(first(&quantization, "activation"), of_input);
    assert_eq!(checked.quantization.unwrap().warnings, quantization.warnings);
    // The machine's integers cannot be unsigned bytes; everything else is kept.
    let warnings = &quantization.warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings.iter().all(|text| text.contains("relu") && text.contains("uint8")), "{warnings:?}");
}
