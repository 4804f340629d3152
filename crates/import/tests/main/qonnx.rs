//! Quant, BipolarQuant and Trunc of QONNX, with expected values worked out manually: divide, add,
//! clip, round, and invert.

use npukit_graph::evaluate;
use npukit_import::onnx::proto::{NodeProto, TensorProto};

use crate::model::{Model, With, float_tensor, node, shape_and_numbers};

const X: [f32; 8] = [-9.0, -1.3, -0.75, -0.25, 0.0, 0.75, 1.25, 9.0];

fn qonnx(op: &str, inputs: &[&str]) -> NodeProto {
    NodeProto { domain: "qonnx.custom_op.general".to_owned(), ..node(op, inputs, &["y"]) }
}

fn of(node: NodeProto, constants: &[(&str, f32)]) -> Model {
    let mut model = Model::new(13).node(node).output("y");
    let scalars = constants.iter().map(|&(name, value)| float_tensor(name, &[], &[value]));
    model.graph().initializer = scalars.chain([float_tensor("x", &[8], &X)]).collect::<Vec<TensorProto>>();
    model
}

fn values(model: &Model) -> Vec<f32> {
    shape_and_numbers(&evaluate(&model.import().unwrap(), &[]).unwrap().remove(0)).1
}

const OPERANDS: [&str; 4] = ["x", "s", "z", "b"];

#[test]
fn floats_are_rounded_to_few_bits() {
    let quant = |attributes: &[(&str, i64)], zero, bits| {
        let node = qonnx("Quant", &OPERANDS);
        let node = attributes.iter().fold(node, |node, &(name, value)| node.int(name, value));
        values(&of(node, &[("s", 0.5), ("z", zero), ("b", bits)]))
    };
    // -18, -2.6, -1.5, -0.5, 0, 1.5, 2.5, 18 in 3 bits, with halves rounded to even.
    assert_eq!(quant(&[], 0.0, 3.0), [-2.0, -1.5, -1.0, 0.0, 0.0, 1.0, 1.0, 1.5]);
    assert_eq!(quant(&[("narrow", 1)], 0.0, 3.0)[0], -1.5);
    assert_eq!(quant(&[("signed", 0)], 0.0, 2.0), [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.5]);
    assert_eq!(quant(&[("signed", 0), ("narrow", 1)], 0.0, 2.0)[7], 1.0);
    // -17, -1.6, -0.5, 0.5, 1, 2.5, 3.5, 19 with a zero point of 1.
    assert_eq!(quant(&[], 1.0, 3.0), [-2.5, -1.5, -0.5, -0.5, 0.0, 0.5, 1.0, 1.0]);
    // One signed bit: 0 maps to the positive value.
    assert_eq!(quant(&[], 0.0, 1.0), [-0.5, -0.5, -0.5, -0.5, 0.5, 0.5, 0.5, 0.5]);
}

#[test]
fn rounding_has_seven_ways() {
    let quant = |mode: &str| {
        let node = qonnx("Quant", &OPERANDS).string("rounding_mode", mode);
        of(node, &[("s", 0.5), ("z", 0.0), ("b", 4.0)])
    };
    assert_eq!(values(&quant("FLOOR")), [-4.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 3.5]);
    assert_eq!(values(&quant("ceil")), [-4.0, -1.0, -0.5, 0.0, 0.0, 1.0, 1.5, 3.5]);
    assert_eq!(values(&quant("UP")), [-4.0, -1.5, -1.0, -0.5, 0.0, 1.0, 1.5, 3.5]);
    assert_eq!(values(&quant("DOWN")), [-4.0, -1.0, -0.5, 0.0, 0.0, 0.5, 1.0, 3.5]);
    assert_eq!(values(&quant("HALF_UP")), [-4.0, -1.5, -1.0, -0.5, 0.0, 1.0, 1.5, 3.5]);
    assert_eq!(values(&quant("HALF_DOWN")), [-4.0, -1.5, -0.5, 0.0, 0.0, 0.5, 1.0, 3.5]);
    let message = quant("ODD").reason().to_string();
    assert!(message.contains("\"ODD\"; legal: ROUND, HALF_EVEN,"), "{message}");
}

#[test]
fn two_values_are_left_of_signs() {
    let found = values(&of(qonnx("BipolarQuant", &["x", "s"]), &[("s", 0.25)]));
    assert_eq!(found, [-0.25, -0.25, -0.25, -0.25, 0.25, 0.25, 0.25, 0.25]);
}

#[test]
fn lower_bits_are_cut_off() {
    // -36, -5, -3, -1, 0, 3, 5, 36; a quarter of each, rounded down.
    let five = ["x", "s", "z", "from", "to"];
    let constants = [("s", 0.25), ("z", 0.0), ("from", 8.0), ("to", 6.0)];
    let found = values(&of(qonnx("Trunc", &five), &constants));
    assert_eq!(found, [-2.25, -0.5, -0.25, -0.25, 0.0, 0.0, 0.25, 2.25]);
    let six = ["x", "s", "z", "from", "ts", "to"];
    let constants = [&constants[..3], &[("ts", 1.0), ("to", 3.0)]].concat();
    let found = values(&of(qonnx("Trunc", &six), &constants));
    assert_eq!(found, [-4.0, -2.0, -1.0, -1.0, 0.0, 0.0, 1.0, 3.0]);
}

#[test]
fn bits_are_a_small_constant() {
    for bits in [0.0, 2.5, 25.0] {
        let model = of(qonnx("Quant", &OPERANDS), &[("s", 0.5), ("z", 0.0), ("b", bits)]);
        assert!(model.reason().to_string().contains("a whole number from 1 to 24"));
    }
}
