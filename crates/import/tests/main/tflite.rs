//! TensorFlow Lite files: results of the interpreter, refused files, and damage of every byte.

use npukit_graph::{Operator, evaluate, integer_forms};
use npukit_import::tflite::{operators, read};
use npukit_import::{Format, ImportError, Options};
use npukit_numeric::{ElementType, Tensor, TensorData};

const FLOATS: &[u8] = include_bytes!("../tflite/conv_f32.tflite");
const BYTES: &[u8] = include_bytes!("../tflite/conv_i8.tflite");

/// Numbers from -50 to 50 in an irregular order.
fn input() -> Vec<i32> {
    (0..72).map(|i| i * 37 % 101 - 50).collect()
}

#[test]
fn floats_are_those_of_the_interpreter() {
    let graph = read(FLOATS, "m", &Options::default()).unwrap().graph;
    graph.validate().unwrap();
    let (x, y) = (graph.value(graph.inputs[0]), graph.value(graph.outputs[0]));
    assert_eq!((x.name.as_str(), &x.info.shape[..]), ("serving_default_input_1:0", &[1, 6, 6, 2][..]));
    assert_eq!((y.name.as_str(), &y.info.shape[..]), ("StatefulPartitionedCall:0", &[1, 2][..]));
    let values = input().into_iter().map(|value| value as f32 / 32.0).collect();
    let x = Tensor::from_f32(vec![1, 6, 6, 2], values).unwrap();
    let found = evaluate(&graph, &[x]).unwrap().remove(0);
    for (found, expected) in found.as_f32().unwrap().iter().zip([-0.539_837_9, -0.011_424_303]) {
        assert!((found - expected).abs() < 1e-6, "{found} for {expected}");
    }
}

#[test]
fn integers_are_those_of_the_interpreter() {
    let mut graph = read(BYTES, "m", &Options::default()).unwrap().graph;
    let x = Tensor::new(vec![1, 6, 6, 2], TensorData::I32(input())).unwrap().with_element(ElementType::I8);
    let x = [x.unwrap()];
    // Three products, with integers before and after each.
    integer_forms(&mut graph);
    graph.validate().unwrap();
    let products = graph.nodes.iter().filter(|node| node.op.name() == "QLinear");
    assert_eq!(products.count(), 3, "{graph}");
    let found = evaluate(&graph, &x).unwrap().remove(0);
    assert_eq!((found.element(), found.reals()), (ElementType::I8, vec![-17.0, -77.0]));
}

#[test]
fn a_file_is_known_by_its_content() {
    for path in ["m.tflite", "m.onnx", "m"] {
        assert_eq!(Format::of(path, FLOATS), Some(Format::TensorFlowLite));
    }
    assert!(operators().any(|name| name == "CONV_2D"));
    let names: Vec<_> = operators().collect();
    assert!(names.is_sorted_by(|left, right| left < right), "each once");
}

#[test]
fn outputs_may_be_any_tensors_and_shapes_those_of_inputs() {
    let options = Options { outputs: vec!["serving_default_input_1:0".to_owned()], ..Options::default() };
    let graph = read(FLOATS, "m", &options).unwrap().graph;
    assert_eq!(graph.shape(graph.outputs[0]), [1, 6, 6, 2]);
    for (options, kind) in [
        (Options { outputs: vec!["y".to_owned()], ..Options::default() }, "value"),
        (Options { shapes: [("y".to_owned(), vec![1])].into(), ..Options::default() }, "input"),
        (Options { sizes: [("n".to_owned(), 1)].into(), ..Options::default() }, "dimension"),
    ] {
        match read(FLOATS, "m", &options).unwrap_err() {
            ImportError::UnknownName { kind: found, .. } => assert_eq!(found, kind),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn what_is_no_file_of_the_format_is_refused() {
    let refused = |bytes: &[u8]| read(bytes, "m", &Options::default()).unwrap_err().to_string();
    assert!(refused(b"").contains("TFL3"));
    assert!(refused(b"\x08\0\0\0TFL2").contains("TFL3"));
    assert!(refused(b"\xff\xff\xff\x7fTFL3").contains("beyond the end"));
    for length in 0..FLOATS.len() {
        // A truncated file may still hold everything that its graph needs, except for the data at
        // the end.
        drop(read(&FLOATS[..length], "m", &Options::default()));
    }
}

#[test]
fn every_byte_may_be_damaged() {
    for file in [FLOATS, BYTES] {
        for place in 0..file.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff, file[place] ^ 4] {
                let mut damaged = file.to_vec();
                damaged[place] = value;
                if let Ok(imported) = read(&damaged, "m", &Options::default()) {
                    let mut graph = imported.graph;
                    graph.validate().unwrap_or_else(|error| panic!("byte {place} as {value}: {error}"));
                    integer_forms(&mut graph);
                    graph.validate().unwrap_or_else(|error| panic!("byte {place} as {value}: {error}"));
                }
            }
        }
    }
}
