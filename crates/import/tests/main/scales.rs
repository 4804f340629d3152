//! QuantizeLinear, DequantizeLinear and the operators on integers: scales per tensor, axis and
//! block, zero points, and defaults. Expected values are worked out manually: `integer = round(x /
//! scale) + zero point`.

use npukit_graph::{Graph, evaluate};
use npukit_import::Reason;
use npukit_import::onnx::proto::{NodeProto, TensorProto, data_type};
use npukit_numeric::{ElementType, Tensor};

use crate::model::{Model, With, float_tensor, floats, node, shape_and_numbers};

fn integers(name: &str, dims: &[i64], data_type: i32, values: &[i32]) -> TensorProto {
    let (dims, name, int32_data) = (dims.to_vec(), name.to_owned(), values.to_vec());
    TensorProto { dims, data_type, name, int32_data, ..TensorProto::default() }
}

/// A model of one node over constants.
fn of(opset: i64, node: NodeProto, constants: Vec<TensorProto>) -> Model {
    let mut model = Model::new(opset).node(node).output("y");
    model.graph().initializer = constants;
    model
}

fn result(model: &Model) -> Tensor {
    evaluate(&model.import().unwrap(), &[]).unwrap().remove(0)
}

fn values(model: &Model) -> Vec<f32> {
    shape_and_numbers(&result(model)).1
}

#[test]
fn integers_and_real_numbers_stand_for_each_other() {
    let (uint8, int8) = (data_type::UINT8, data_type::INT8);
    let x = || float_tensor("x", &[2, 3], &[-1.0, 0.5, 2.0, 3.0, 300.0, 0.25]);
    let quantize = |inputs: &[&str]| node("QuantizeLinear", inputs, &["y"]);
    let scale = |values: &[f32]| float_tensor("s", &[values.len() as i64], values);
    // One scale, bytes without a zero point: halves are rounded to even, and values out of range
    // saturate.
    let plain = of(13, quantize(&["x", "s"]), vec![x(), float_tensor("s", &[], &[0.5])]);
    assert_eq!(values(&plain), [0.0, 1.0, 4.0, 6.0, 255.0, 0.0]);
    assert_eq!(result(&plain).element(), ElementType::U8);
    let signed = vec![x(), float_tensor("s", &[], &[0.5]), integers("z", &[], int8, &[10])];
    let signed = of(13, quantize(&["x", "s", "z"]), signed);
    assert_eq!(values(&signed), [8.0, 11.0, 14.0, 16.0, 127.0, 10.0]);
    assert_eq!(result(&signed).element(), ElementType::I8);
    // One scale per column (axis 1, the default), or per row.
    let by_column = vec![x(), scale(&[1.0, 0.5, 0.25]), integers("z", &[3], uint8, &[1, 2, 3])];
    assert_eq!(values(&of(13, quantize(&["x", "s", "z"]), by_column)), [0.0, 3.0, 11.0, 4.0, 255.0, 4.0]);
    let by_row = vec![x(), scale(&[1.0, 0.5]), integers("z", &[2], uint8, &[1, 2])];
    let by_row = |axis: i64| of(13, quantize(&["x", "s", "z"]).int("axis", axis), by_row.clone());
    for axis in [0, -2] {
        assert_eq!(values(&by_row(axis)), [0.0, 1.0, 3.0, 8.0, 255.0, 2.0]);
    }
    let message = by_row(2).reason().to_string();
    assert_eq!(message, "attribute \"axis\" is 2; legal: -2 to 1");

    let q = || integers("x", &[2, 3], int8, &[-1, 2, 3, 4, 5, -6]);
    let dequantize = |inputs: &[&str]| node("DequantizeLinear", inputs, &["y"]);
    let plain = of(13, dequantize(&["x", "s"]), vec![q(), float_tensor("s", &[], &[0.5])]);
    assert_eq!(values(&plain), [-0.5, 1.0, 1.5, 2.0, 2.5, -3.0]);
    let by_column = vec![q(), scale(&[1.0, 0.5, 0.25]), integers("z", &[3], int8, &[1, 2, 3])];
    assert_eq!(values(&of(13, dequantize(&["x", "s", "z"]), by_column)), [-2.0, 0.0, 0.0, 3.0, 1.5, -2.25]);
    let by_row = vec![q(), scale(&[1.0, 0.5]), integers("z", &[2], int8, &[1, 2])];
    let by_row = of(13, dequantize(&["x", "s", "z"]).int("axis", 0), by_row);
    assert_eq!(values(&by_row), [-2.0, 1.0, 2.0, 1.0, 1.5, -4.0]);
}

/// Two neighbors along the axis share a scale.
#[test]
fn scales_may_be_by_block() {
    let int8 = data_type::INT8;
    let q = integers("x", &[1, 4], int8, &[1, 2, 3, 4]);
    let scales = float_tensor("s", &[1, 2], &[0.5, 10.0]);
    let blocks =
        |inputs: &[&str], block: i64| node("DequantizeLinear", inputs, &["y"]).int("block_size", block);
    let model = of(21, blocks(&["x", "s"], 2), vec![q.clone(), scales.clone()]);
    assert_eq!(values(&model), [0.5, 1.0, 30.0, 40.0]);
    let zeros = integers("z", &[1, 2], int8, &[1, 2]);
    let model = of(21, blocks(&["x", "s", "z"], 2), vec![q.clone(), scales.clone(), zeros]);
    assert_eq!(values(&model), [0.0, 0.5, 10.0, 20.0]);
    let x = float_tensor("x", &[1, 4], &[1.0, 2.0, 30.0, 40.0]);
    let quantize = node("QuantizeLinear", &["x", "s"], &["y"]).int("block_size", 2);
    let quantize = quantize.int("output_dtype", int8.into());
    let model = of(21, quantize, vec![x, scales.clone()]);
    assert_eq!((values(&model), result(&model).element()), (vec![2.0, 4.0, 3.0, 4.0], ElementType::I8));
    let message = of(21, blocks(&["x", "s"], -1), vec![q, scales]).reason().to_string();
    assert_eq!(message, "attribute \"block_size\" is -1; legal: 0 or more");
}

#[test]
fn types_of_integers_are_stated_once() {
    let (uint8, int8) = (data_type::UINT8, data_type::INT8);
    let constants = || {
        let scale = float_tensor("s", &[], &[1.0]);
        vec![float_tensor("x", &[1], &[3.0]), scale, integers("z", &[], int8, &[0])]
    };
    let stated = |code: i32, inputs: &[&str]| {
        of(21, node("QuantizeLinear", inputs, &["y"]).int("output_dtype", code.into()), constants())
    };
    assert_eq!(result(&stated(int8, &["x", "s"])).element(), ElementType::I8);
    assert_eq!(result(&stated(int8, &["x", "s", "z"])).element(), ElementType::I8);
    assert_eq!(result(&stated(0, &["x", "s", "z"])).element(), ElementType::I8, "0 states nothing");
    let message = stated(uint8, &["x", "s", "z"]).reason().to_string();
    assert!(
        message.starts_with("attribute \"output_dtype\" is ") && message.ends_with(", as y_zero_point"),
        "{message}"
    );
    let precision = node("QuantizeLinear", &["x", "s"], &["y"]).int("precision", int8.into());
    let message = of(23, precision, constants()).reason().to_string();
    assert!(
        message.starts_with("attribute \"precision\" is ") && message.ends_with("a float type"),
        "{message}"
    );
    let half = node("DequantizeLinear", &["z", "s"], &["y"]).int("output_dtype", data_type::FLOAT16.into());
    assert_eq!(result(&of(23, half, constants())).element(), ElementType::F16);
}

/// Float inputs that become bytes with scale 1 and zero point 3, as `a` and, without a zero point,
/// as `b`.
fn bytes(dims: [&[i64]; 2]) -> Model {
    let model = Model::new(13).input("a", dims[0]).input("b", dims[1]).floats("one", &[], &[1.0]);
    let mut model = model.node(node("QuantizeLinear", &["a", "one", "three"], &["a_q"]));
    model.graph().initializer.push(integers("three", &[], data_type::UINT8, &[3]));
    model.graph().initializer.push(integers("zero", &[], data_type::UINT8, &[0]));
    model.node(node("QuantizeLinear", &["b", "one", "zero"], &["b_q"]))
}

fn run(model: Model, a: (&[usize], &[f32]), b: (&[usize], &[f32])) -> Vec<f32> {
    let graph: Graph = model.output("y").import().unwrap();
    let found = evaluate(&graph, &[floats(a.0, a.1), floats(b.0, b.1)]).unwrap().remove(0);
    assert_eq!(found.element(), ElementType::I32);
    shape_and_numbers(&found).1
}

/// Without a zero point, integers are used directly; with one, their distance from it is.
#[test]
fn sums_of_integers_count_from_the_zero_point() {
    // The bytes of a are 4 and 5; the bytes of b are 1, 2, 3 and 4.
    let matmul = |inputs: &[&str]| {
        let model = bytes([&[1, 2], &[2, 2]]).node(node("MatMulInteger", inputs, &["y"]));
        run(model, (&[1, 2], &[1.0, 2.0]), (&[2, 2], &[1.0, 2.0, 3.0, 4.0]))
    };
    assert_eq!(matmul(&["a_q", "b_q"]), [19.0, 28.0]);
    assert_eq!(matmul(&["a_q", "b_q", "three"]), [7.0, 10.0]);
    assert_eq!(matmul(&["a_q", "b_q", "three", "three"]), [-2.0, 1.0]);
    assert_eq!(matmul(&["a_q", "b_q", "", "three"]), [-8.0, 1.0]);
    let conv = |inputs: &[&str]| {
        let model = bytes([&[1, 1, 1, 2], &[1, 1, 1, 2]]).node(node("ConvInteger", inputs, &["y"]));
        run(model, (&[1, 1, 1, 2], &[1.0, 2.0]), (&[1, 1, 1, 2], &[1.0, 3.0]))
    };
    assert_eq!(conv(&["a_q", "b_q"]), [19.0]);
    assert_eq!(conv(&["a_q", "b_q", "three"]), [7.0]);
    assert_eq!(conv(&["a_q", "b_q", "three", "three"]), [-2.0]);
}

/// Integers around one operator of ONNX Runtime or of the standard, all with scale 1/2 and zero
/// point 4.
fn halves(domain: &str, operator: NodeProto, constants: Vec<TensorProto>) -> Vec<f32> {
    let uint8 = data_type::UINT8;
    let mut model = Model::new(13).node(NodeProto { domain: domain.to_owned(), ..operator });
    model.graph().initializer = constants;
    let a = integers("a", &[2, 2], uint8, &[6, 4, 2, 8]);
    let (half, four) = (float_tensor("half", &[], &[0.5]), integers("four", &[], uint8, &[4]));
    model.graph().initializer.extend([a, half, four]);
    let model = model.node(node("DequantizeLinear", &["q", "half", "four"], &["y"])).output("y");
    model.run(&[]).1
}

/// The matrix [[1, 0], [-1, 2]], and weights with one scale per result.
#[test]
fn products_of_integers_have_scales_by_column_or_row() {
    const RUNTIME: &str = "com.microsoft";
    let uint8 = data_type::UINT8;
    let weights = |scales: &[f32]| {
        let count = scales.len() as i64;
        let zeros = integers("w_z", &[count], uint8, &vec![1; scales.len()]);
        // [[1, 2], [3, 4]] above the zero point.
        vec![integers("w", &[2, 2], uint8, &[2, 3, 4, 5]), float_tensor("w_s", &[count], scales), zeros]
    };
    let tail = ["half", "four"];
    let operands =
        |c: &'static [&'static str]| [&["a", "half", "four", "w", "w_s", "w_z"], c, &tail].concat();
    // Columns by 1/2 and 2: [[0.5, 4], [1.5, 8]].
    let product = node("QLinearMatMul", &operands(&[]), &["q"]);
    assert_eq!(halves("", product, weights(&[0.5, 2.0])), [0.5, 4.0, 2.5, 12.0]);
    let gemm = || node("QGemm", &operands(&[""]), &["q"]);
    assert_eq!(halves(RUNTIME, gemm(), weights(&[0.5, 2.0])), [0.5, 4.0, 2.5, 12.0]);
    // Rows by 1/2 and 2, which are columns when transposed: [[0.5, 6], [1, 8]].
    assert_eq!(halves(RUNTIME, gemm().int("transB", 1), weights(&[0.5, 2.0])), [0.5, 6.0, 1.5, 10.0]);
    let transposed = halves(RUNTIME, gemm().int("transA", 1), weights(&[0.5, 2.0]));
    assert_eq!(transposed, [-1.0, -2.0, 3.0, 16.0]);
    // Without a scale, the result is a real number.
    let real = node("QGemm", &["a", "half", "four", "w", "w_s", "w_z"], &["y"]);
    let mut model = Model::new(13).node(NodeProto { domain: RUNTIME.to_owned(), ..real }).output("y");
    model.graph().initializer = weights(&[0.5, 2.0]);
    let a = integers("a", &[2, 2], uint8, &[6, 4, 2, 8]);
    let (half, four) = (float_tensor("half", &[], &[0.5]), integers("four", &[], uint8, &[4]));
    model.graph().initializer.extend([a, half, four]);
    assert_eq!(model.run(&[]).1, [0.5, 4.0, 2.5, 12.0]);
}

#[test]
fn functions_of_integers_have_the_defaults_of_their_floats() {
    const RUNTIME: &str = "com.microsoft";
    // 0.01 times -1 is 0 in halves; 0.6 times -1 is not.
    let leaky = || node("QLinearLeakyRelu", &["a", "half", "four", "half", "four"], &["q"]);
    assert_eq!(halves(RUNTIME, leaky(), vec![]), [1.0, 0.0, 0.0, 2.0]);
    assert_eq!(halves(RUNTIME, leaky().float("alpha", 0.6), vec![]), [1.0, 0.0, -0.5, 2.0]);
    let concat = node("QLinearConcat", &["half", "four", "a", "half", "four"], &["q"]);
    let mut model = Model::new(13).node(NodeProto { domain: RUNTIME.to_owned(), ..concat }).output("q");
    let a = integers("a", &[2, 2], data_type::UINT8, &[6, 4, 2, 8]);
    let four = integers("four", &[], data_type::UINT8, &[4]);
    model.graph().initializer = vec![a, four, float_tensor("half", &[], &[0.5])];
    assert_eq!(model.reason(), Reason::AttributeMissing { name: "axis" });
}

/// Zeros have no range; their quantized value represents 0.
#[test]
fn nothing_but_zeros_is_quantized_to_zeros() {
    let x = float_tensor("x", &[3], &[0.0; 3]);
    let quantize = node("DynamicQuantizeLinear", &["x"], &["q", "s", "z"]);
    let mut model = Model::new(13).node(quantize).node(node("DequantizeLinear", &["q", "s", "z"], &["y"]));
    model.graph().initializer = vec![x];
    assert_eq!(model.output("y").run(&[]).1, [0.0; 3]);
}

/// Half floats have no odd numbers beyond 2048.
#[test]
fn quotients_are_rounded_to_the_precision() {
    for (precision, expected) in
        [(None, 2049.0), (Some(data_type::FLOAT), 2049.0), (Some(data_type::FLOAT16), 2048.0)]
    {
        let quantize = node("QuantizeLinear", &["x", "s", "z"], &["y"]);
        let quantize = match precision {
            Some(code) => quantize.int("precision", code.into()),
            None => quantize,
        };
        let zero = integers("z", &[], data_type::INT16, &[0]);
        let constants = vec![float_tensor("x", &[1], &[2049.0]), float_tensor("s", &[], &[1.0]), zero];
        assert_eq!(values(&of(23, quantize, constants)), [expected], "{precision:?}");
    }
}
