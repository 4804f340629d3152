//! Quantized models: operators on integers, and networks that state their scales.

use std::collections::{BTreeMap, BTreeSet};

use npukit_graph::quantize::{
    Distributions, Method, Quantization, Scheme, is_settled, lift, quantize, restated, simulate,
    stated_fractions,
};
use npukit_graph::{Graph, NodeId, Op};
use npukit_import::onnx::Reason;
use npukit_import::onnx::proto::{NodeProto, TensorProto, data_type};
use npukit_numeric::Tensor;

use crate::model::{Model, With, floats, node};

/// Integers in typed form.
fn integers(name: &str, dims: &[i64], data_type: i32, values: &[i32]) -> TensorProto {
    let (dims, name, int32_data) = (dims.to_vec(), name.to_owned(), values.to_vec());
    TensorProto { dims, data_type, name, int32_data, ..TensorProto::default() }
}

/// Makes a node of ONNX Runtime.
fn runtime(op: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    NodeProto { domain: "com.microsoft".to_owned(), ..node(op, inputs, outputs) }
}

trait Quantized: Sized {
    fn integers(self, name: &str, dims: &[i64], data_type: i32, values: &[i32]) -> Self;

    /// Adds a scale `NAME_s` and a zero point `NAME_z`.
    fn scale(self, name: &str, scale: f32, data_type: i32, zero: i32) -> Self;

    /// Adds `NAME_q`, the integers of the value `NAME`.
    fn quantize(self, name: &str) -> Self;

    /// Adds `NAME_r`, the real numbers of the integers `NAME_q`.
    fn dequantize(self, name: &str) -> Self;
}

/// Returns a name with suffixes.
fn named<const N: usize>(name: &str, suffixes: [&str; N]) -> [String; N] {
    suffixes.map(|suffix| format!("{name}{suffix}"))
}

impl Quantized for Model {
    fn integers(mut self, name: &str, dims: &[i64], data_type: i32, values: &[i32]) -> Self {
        self.graph().initializer.push(integers(name, dims, data_type, values));
        self
    }

    fn scale(self, name: &str, scale: f32, data_type: i32, zero: i32) -> Self {
        let [s, z] = named(name, ["_s", "_z"]);
        self.floats(&s, &[], &[scale]).integers(&z, &[], data_type, &[zero])
    }

    fn quantize(self, name: &str) -> Self {
        let [s, z, q] = named(name, ["_s", "_z", "_q"]);
        self.node(node("QuantizeLinear", &[name, &s, &z], &[&q]))
    }

    fn dequantize(self, name: &str) -> Self {
        let [s, z, q, r] = named(name, ["_s", "_z", "_q", "_r"]);
        self.node(node("DequantizeLinear", &[&q, &s, &z], &[&r]))
    }
}

/// `x` and `y` around a convolution of one channel by 3 times the scale of the weights.
fn convolution(of_x: f32, of_weights: f32, (of_y, y_type, y_zero): (f32, i32, i32)) -> Model {
    let int8 = data_type::INT8;
    Model::new(13)
        .input("x", &[1, 1, 2, 2])
        .scale("x", of_x, int8, 0)
        .scale("w", of_weights, int8, 0)
        .integers("w_q", &[1, 1, 1, 1], int8, &[3])
        .scale("y", of_y, y_type, y_zero)
        .quantize("x")
        .dequantize("x")
        .dequantize("w")
        .node(node("Conv", &["x_r", "w_r"], &["y"]))
        .quantize("y")
        .dequantize("y")
        .output("y_r")
}

/// The graph on real numbers, its fraction lengths, and the notes about them.
fn lifted(model: &Model) -> (Graph, Quantization, Vec<String>) {
    let mut graph = model.import().unwrap();
    lift(&mut graph).unwrap();
    graph.validate().unwrap();
    let (scheme, seen) = (Scheme::default(), Distributions::new(&graph));
    let stated = stated_fractions(&graph, &scheme);
    let quantization = quantize(&graph, &seen, &scheme, Method::LeastSquares, &stated);
    let warnings = restated(&graph, &quantization).iter().map(ToString::to_string).collect();
    (graph, quantization, warnings)
}

fn find(graph: &Graph, is: fn(&Op) -> bool) -> Option<NodeId> {
    graph.node_ids().find(|&id| is(&graph.node(id).op))
}

/// Fraction lengths of the input, the weights and the output.
fn fractions(graph: &Graph, quantization: &Quantization) -> [i32; 3] {
    let conv = graph.node(find(graph, |op| matches!(op, Op::Conv(_))).unwrap());
    [graph.inputs[0], conv.inputs[1], graph.outputs[0]].map(|id| quantization.fraction(id).unwrap())
}

#[test]
fn powers_of_two_are_kept() {
    let model = convolution(0.25, 0.5, (0.5, data_type::INT8, 0));
    let x = floats(&[1, 1, 2, 2], &[0.3, -1.0, 2.0, 40.0]);
    // In quarters 1, -4, 8 and, saturated, 127, times 3/2.
    let expected = [0.5, -1.5, 3.0, 47.5];
    assert_eq!(model.run(std::slice::from_ref(&x)).1, expected);
    let (graph, quantization, warnings) = lifted(&model);
    assert_eq!(find(&graph, |op| matches!(op, Op::QuantizeLinear(_) | Op::DequantizeLinear(_))), None);
    assert_eq!(fractions(&graph, &quantization), [2, 1, 1]);
    assert_eq!(warnings, Vec::<String>::new());
    assert!(is_settled(&graph, &stated_fractions(&graph, &quantization.scheme), &BTreeSet::new()));
    assert!(!is_settled(&graph, &BTreeMap::new(), &BTreeSet::new()));
    assert_eq!(graph.value(graph.outputs[0]).name, "y_r");
    let found: Vec<Tensor> = simulate(&graph, &quantization, &[x]).unwrap();
    assert_eq!(found[0].as_f32().unwrap(), expected);
}

#[test]
fn other_scales_are_told_with_what_takes_their_place() {
    let (graph, quantization, warnings) = lifted(&convolution(0.3, 0.01, (0.7, data_type::INT8, 0)));
    // The largest integers are 0.3 * 127 = 38.1, 3 * 0.01 and 88.9.
    assert_eq!(fractions(&graph, &quantization), [1, 12, 0]);
    let message = |text: &str| assert!(warnings.iter().any(|warning| warning.contains(text)), "{warnings:?}");
    message("`x_q`: the model's scale 0.3 (int8, zero point 0) becomes 2^-1 = 0.5");
    message("`w_q`: the model's scale 0.01 (int8, zero point 0) becomes 2^-12");
    message("`y_q`: the model's scale 0.7 (int8, zero point 0) becomes 2^0 = 1");
    assert_eq!(warnings.len(), 3, "{warnings:?}");
}

#[test]
fn a_relu_that_the_integers_stood_for_comes_back() {
    let relu = |op: &Op| matches!(op, Op::Relu(_));
    for (y_type, zero, expected) in [
        (data_type::UINT8, 0, true),
        (data_type::INT8, -128, true),
        (data_type::UINT8, 1, false),
        (data_type::INT8, 0, false),
    ] {
        let model = convolution(0.25, 0.5, (0.5, y_type, zero));
        let (graph, quantization, _) = lifted(&model);
        assert_eq!(find(&graph, relu).is_some(), expected, "zero point {zero}");
        // With signed integers, only this value may be negative.
        let least = if expected { -20.0 } else { 0.0 };
        let x = floats(&[1, 1, 2, 2], &[0.25, 10.0, 4.0, least]);
        let (meant, found) =
            (model.run(std::slice::from_ref(&x)).1, simulate(&graph, &quantization, &[x]).unwrap());
        for (meant, found) in meant.iter().zip(found[0].as_f32().unwrap()) {
            assert!((meant - found).abs() <= 1.0, "{meant} is {found} with zero point {zero}");
        }
    }
    // Our signed format uses half of its range for negative numbers.
    let (graph, quantization, warnings) = lifted(&convolution(0.25, 0.5, (0.5, data_type::UINT8, 0)));
    assert_eq!(fractions(&graph, &quantization)[2], 0);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

#[test]
fn an_input_gets_no_relu_and_a_relu_no_other() {
    let uint8 = data_type::UINT8;
    let model = Model::new(13)
        .input("x", &[1, 4])
        .scale("x", 0.25, uint8, 0)
        .quantize("x")
        .dequantize("x")
        .node(node("Relu", &["x_r"], &["y"]))
        .scale("y", 0.25, uint8, 0)
        .quantize("y")
        .dequantize("y")
        .output("y_r");
    let (graph, ..) = lifted(&model);
    assert_eq!(graph.nodes.iter().filter(|node| matches!(node.op, Op::Relu(_))).count(), 1);
}

/// Integers between the pair are moved and compared; a pair of different scales changes values.
#[test]
fn integers_may_move_between_the_pair() {
    let pool = node("MaxPool", &["x_q"], &["p"]).ints("kernel_shape", &[2, 2]);
    let int8 = data_type::INT8;
    for (scale, lifts) in [(0.5, true), (0.25, false)] {
        let model = Model::new(13)
            .input("x", &[1, 1, 2, 2])
            .scale("x", 0.5, int8, 0)
            .quantize("x")
            .node(pool.clone())
            .ints("shape", &[1, 1])
            .node(node("Reshape", &["p", "shape"], &["y_q"]))
            .scale("y", scale, int8, 0)
            .dequantize("y")
            .output("y_r");
        let (graph, quantization, _) = lifted(&model);
        let stays = find(&graph, |op| matches!(op, Op::DequantizeLinear(_)));
        assert_eq!(stays.is_none(), lifts, "{graph}");
        let x = floats(&[1, 1, 2, 2], &[0.3, -1.0, 2.0, 1.0]);
        assert_eq!(model.run(std::slice::from_ref(&x)).1, [4.0 * scale]);
        if lifts {
            assert_eq!(quantization.fraction(graph.inputs[0]), Some(1));
            assert_eq!(simulate(&graph, &quantization, &[x]).unwrap()[0].as_f32(), Some(&[2.0][..]));
        }
    }
}

/// Two channels with one scale each: `x + 1` and `-3/4 x - 1`.
fn qlinear_conv() -> Model {
    let (int8, uint8) = (data_type::INT8, data_type::UINT8);
    Model::new(13)
        .input("x", &[1, 1, 1, 2])
        .scale("x", 0.5, uint8, 128)
        .quantize("x")
        .integers("w", &[2, 1, 1, 1], int8, &[2, -3])
        .floats("w_s", &[2], &[0.5, 0.25])
        .integers("w_z", &[2], int8, &[0, 0])
        .integers("b", &[2], data_type::INT32, &[4, -8])
        .scale("y", 0.25, uint8, 10)
        .node(node("QLinearConv", &["x_q", "x_s", "x_z", "w", "w_s", "w_z", "y_s", "y_z", "b"], &["y_q"]))
        .dequantize("y")
        .output("y_r")
}

#[test]
fn qlinear_conv_is_conv() {
    let x = floats(&[1, 1, 1, 2], &[1.0, -2.0]);
    assert_eq!(qlinear_conv().run(&[x]), (vec![1, 2, 1, 2], vec![2.0, -1.0, -1.75, 0.5]));
    let (graph, quantization, warnings) = lifted(&qlinear_conv());
    assert_eq!(find(&graph, |op| matches!(op, Op::QuantizeLinear(_) | Op::DequantizeLinear(_))), None);
    // 255 - 10 quarters need slightly more bits than available; the weights hold 1 and 3/4.
    assert_eq!(fractions(&graph, &quantization), [1, 6, 1]);
    let channels = "`w`: the model's scales 0.25 to 0.5 per channel (int8, zero point 0) becomes 2^-6";
    assert!(warnings.iter().any(|warning| warning.contains(channels)), "{warnings:?}");
}

/// Result `y` with scale 1/4 of two uint8 operands `a` and `b` with scale 1/2 and zero point 4.
fn two_operands(dims: [&[i64]; 2], node: NodeProto, constant: &[i32]) -> Model {
    let uint8 = data_type::UINT8;
    Model::new(13)
        .input("a", dims[0])
        .scale("a", 0.5, uint8, 4)
        .quantize("a")
        .scale("b", 0.5, uint8, 4)
        .integers("b_q", dims[1], uint8, constant)
        .scale("y", 0.25, uint8, 100)
        .node(node)
        .dequantize("y")
        .output("y_r")
}

const OPERANDS: [&str; 8] = ["a_q", "a_s", "a_z", "b_q", "b_s", "b_z", "y_s", "y_z"];

#[test]
fn arithmetic_of_integers_is_that_of_real_numbers() {
    let a = floats(&[1, 2], &[1.0, -1.5]);
    // b is [2, -1], or the columns [2, 0] and [-1, 3].
    for (node, b, constant, expected) in [
        (runtime("QLinearAdd", &OPERANDS, &["y_q"]), &[1, 2][..], &[8, 2][..], [3.0, -2.5]),
        (runtime("QLinearMul", &OPERANDS, &["y_q"]), &[1, 2], &[8, 2], [2.0, 1.5]),
        (node("QLinearMatMul", &OPERANDS, &["y_q"]), &[2, 2], &[8, 2, 4, 10], [2.0, -5.5]),
    ] {
        let op = node.op_type.clone();
        let model = two_operands([&[1, 2], b], node, constant);
        assert_eq!(model.run(std::slice::from_ref(&a)).1, expected, "{op}");
    }
}

#[test]
fn qgemm_adds_products_and_integers_of_their_scale() {
    let inputs = ["a_q", "a_s", "a_z", "b_q", "b_s", "b_z", "c", "y_s", "y_z"];
    let gemm = runtime("QGemm", &inputs, &["y_q"]).int("transB", 1).float("alpha", 2.0);
    // Quarters times alpha: 1.5 and -1.
    let model = two_operands([&[1, 2], &[2, 2]], gemm, &[8, 4, 2, 10]).integers(
        "c",
        &[2],
        data_type::INT32,
        &[3, -2],
    );
    let a = floats(&[1, 2], &[1.0, -1.5]);
    assert_eq!(model.run(&[a]).1, [2.0 * 2.0 + 1.5, -2.0 * 5.5 - 1.0]);
}

#[test]
fn pools_and_functions_of_integers() {
    let inputs = ["a_q", "a_s", "a_z", "y_s", "y_z"];
    let a = floats(&[1, 1, 2, 2], &[1.0, -1.0, 2.0, 4.0]);
    let window = runtime("QLinearAveragePool", &inputs, &["y_q"]).ints("kernel_shape", &[1, 2]);
    let leaky = runtime("QLinearLeakyRelu", &inputs, &["y_q"]).float("alpha", 0.5);
    for (node, expected) in [
        (runtime("QLinearGlobalAveragePool", &inputs, &["y_q"]), &[1.5][..]),
        (window, &[0.0, 3.0]),
        (leaky, &[1.0, -0.5, 2.0, 4.0]),
        (runtime("QLinearSigmoid", &inputs, &["y_q"]), &[0.75, 0.25, 1.0, 1.0]),
    ] {
        let op = node.op_type.clone();
        let model = two_operands([&[1, 1, 2, 2], &[1]], node, &[0]);
        assert_eq!(model.run(std::slice::from_ref(&a)).1, expected, "{op}");
    }
    let last = runtime("QLinearGlobalAveragePool", &inputs, &["y_q"]).int("channels_last", 1);
    let refused = two_operands([&[1, 1, 2, 2], &[1]], last, &[0]).reason();
    assert!(matches!(refused, Reason::AttributeValue { name: "channels_last", .. }), "{refused}");
}

#[test]
fn concatenation_brings_operands_to_one_scale() {
    let inputs = ["y_s", "y_z", "a_q", "a_s", "a_z", "b_q", "b_s", "b_z"];
    let concat = runtime("QLinearConcat", &inputs, &["y_q"]).int("axis", 1);
    let model = two_operands([&[1, 2], &[1, 1]], concat, &[8]);
    assert_eq!(model.run(&[floats(&[1, 2], &[1.0, -1.5])]).1, [1.0, -1.5, 2.0]);
}

#[test]
fn integers_stand_for_themselves() {
    let (uint8, int8) = (data_type::UINT8, data_type::INT8);
    let base = |dims: &[i64]| Model::new(13).input("x", dims).scale("x", 1.0, uint8, 3).quantize("x");
    let conv = base(&[1, 1, 1, 2])
        .integers("w", &[1, 1, 1, 2], int8, &[2, -1])
        .node(node("ConvInteger", &["x_q", "w", "x_z"], &["y"]))
        .output("y");
    assert_eq!(conv.run(&[floats(&[1, 1, 1, 2], &[5.0, 7.0])]).1, [3.0]);
    let matmul = base(&[1, 2])
        .integers("w", &[2, 2], int8, &[2, 1, -1, 0])
        .integers("w_z", &[2], int8, &[1, 0])
        .node(node("MatMulInteger", &["x_q", "w", "x_z", "w_z"], &["y"]))
        .output("y");
    assert_eq!(matmul.run(&[floats(&[1, 2], &[5.0, 7.0])]).1, [5.0 - 14.0, 5.0]);
}

/// The example in the standard.
#[test]
fn dynamic_scales_are_by_the_extremes() {
    let x = floats(&[6], &[0.0, 2.0, -3.0, -2.5, 1.34, 0.5]);
    let outputs = ["y", "scale", "zero"];
    for (output, shape, expected) in [
        ("y", vec![6], &[153.0, 255.0, 0.0, 26.0, 221.0, 179.0][..]),
        ("scale", vec![], &[5.0 / 255.0]),
        ("zero", vec![], &[153.0]),
    ] {
        let model = Model::new(13).input("x", &[6]).node(node("DynamicQuantizeLinear", &["x"], &outputs));
        let found = model.output(output).run(std::slice::from_ref(&x));
        assert_eq!(found, (shape, expected.to_vec()), "{output}");
    }
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    let softmax = runtime("QLinearReduceMean", &["a_q", "a_s", "a_z", "y_s", "y_z"], &["y_q"]);
    let refused = two_operands([&[1, 2], &[1]], softmax, &[0]).reason();
    assert_eq!(refused, Reason::Operator { operator: "com.microsoft::QLinearReduceMean".to_owned() });
}
