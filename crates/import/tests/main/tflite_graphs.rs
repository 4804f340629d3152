//! TensorFlow Lite files with several graphs, with variables and with sparse weights: results of
//! the interpreter, and damage of every byte.

use npukit_graph::{Graph, evaluate};
use npukit_import::tflite::read;
use npukit_import::{Imported, Options, Remark};
use npukit_numeric::Tensor;

const WHILE_KNOWN: &[u8] = include_bytes!("../tflite/while_known.tflite");
const WHILE_OPEN: &[u8] = include_bytes!("../tflite/while_open.tflite");
const COND: &[u8] = include_bytes!("../tflite/cond.tflite");
const STREAM: &[u8] = include_bytes!("../tflite/stream.tflite");
const SPARSE: &[u8] = include_bytes!("../tflite/sparse.tflite");

fn imported(bytes: &[u8]) -> Imported {
    let imported = read(bytes, "m", &Options::default()).unwrap();
    imported.graph.validate().unwrap();
    imported
}

fn run(graph: &Graph, inputs: &[(&[usize], &[f32])]) -> Vec<Vec<f32>> {
    let tensor = |(shape, values): &(&[usize], &[f32])| Tensor::from_f32(shape.to_vec(), values.to_vec());
    let inputs: Vec<Tensor> = inputs.iter().map(tensor).collect::<Result<_, _>>().unwrap();
    evaluate(graph, &inputs).unwrap().iter().map(|output| output.as_f32().unwrap().to_vec()).collect()
}

#[test]
fn a_loop_of_known_rounds_is_its_rounds() {
    let graph = imported(WHILE_KNOWN).graph;
    assert!(graph.nodes.iter().all(|node| node.op.to_string() != "Loop"), "{graph}");
    assert_eq!(run(&graph, &[(&[1, 3], &[1.0, -2.0, 3.0])]), [[12.0, -12.0, 28.0]]);
}

#[test]
fn a_loop_that_values_end_stays_a_loop() {
    let graph = imported(WHILE_OPEN).graph;
    assert_eq!(run(&graph, &[(&[1, 3], &[1.0, -2.0, 3.0])]), [[32.0, -64.0, 96.0]]);
    assert_eq!(run(&graph, &[(&[1, 3], &[100.0, 0.0, 0.0])]), [[100.0, 0.0, 0.0]]);
}

#[test]
fn a_condition_of_values_chooses_between_both_branches() {
    let graph = imported(COND).graph;
    assert_eq!(run(&graph, &[(&[1, 3], &[1.0, -2.0, 3.0])]), [[2.0, -4.0, 6.0]]);
    assert_eq!(run(&graph, &[(&[1, 3], &[1.0, -2.0, -3.0])]), [[0.0, -3.0, -4.0]]);
}

#[test]
fn a_variable_is_an_input_that_begins_as_the_file_says_and_an_output() {
    let Imported { graph, remarks, states, .. } = imported(STREAM);
    let [state] = &states[..] else { panic!("{states:?}") };
    assert_eq!(state.initial.as_f32().unwrap(), [1.0; 4]);
    assert_eq!(graph.value(graph.inputs[1]).name, state.input);
    assert_eq!(Some(&graph.value(graph.outputs[1]).name), state.output.as_ref());
    assert_eq!(remarks, [Remark::States { inputs: vec![state.input.clone()] }]);
    assert!(remarks[0].is_note());
    let x: (&[usize], &[f32]) = (&[1, 1, 2], &[3.0, 4.0]);
    let first = run(&graph, &[x, (&[1, 2, 2], &[1.0; 4])]);
    assert_eq!(first, [vec![4.0, 5.0], vec![1.0, 1.0, 3.0, 4.0]]);
    assert_eq!(run(&graph, &[x, (&[1, 2, 2], &first[1])])[0], [6.0, 8.0]);
}

#[test]
fn outputs_asked_for_by_name_are_those_alone() {
    let options = Options { outputs: vec!["StatefulPartitionedCall:0".to_owned()], ..Options::default() };
    let Imported { graph, states, .. } = read(STREAM, "m", &options).unwrap();
    assert_eq!((graph.outputs.len(), states[0].output.as_ref()), (1, None));
}

#[test]
fn sparse_weights_are_dense_ones() {
    let x: Vec<f32> = (0..16).map(|i| i as f32).collect();
    let expected = [-5.0, -58.0, 45.0, 85.0, 9.0, -13.0, -14.0, 48.0];
    assert_eq!(run(&imported(SPARSE).graph, &[(&[1, 16], &x)]), [expected]);
}

#[test]
fn every_byte_may_be_damaged() {
    for file in [WHILE_KNOWN, WHILE_OPEN, COND, STREAM, SPARSE] {
        for place in 0..file.len() {
            for value in [0, 0x7f, file[place] ^ 4] {
                let mut damaged = file.to_vec();
                damaged[place] = value;
                if let Ok(imported) = read(&damaged, "m", &Options::default()) {
                    let result = imported.graph.validate();
                    result.unwrap_or_else(|error| panic!("byte {place} as {value}: {error}"));
                }
            }
        }
    }
}
