//! ONNX Runtime's operators of language models, with expected values worked out manually: attention
//! over a past, weights of a few bits, inputs with defaults, and sizes left open as -1.

use npukit_graph::evaluate;
use npukit_import::onnx::proto::{GraphProto, NodeProto, TensorProto, attribute_type, data_type};
use npukit_import::onnx::{Options, Reason};
use npukit_numeric::{ElementType, Tensor};
use prost::Message;

use crate::model::{Model, With, attribute, floats, int_tensor, node, shape_and_numbers, value_info};

/// Makes a node of ONNX Runtime.
fn runtime(op: &str, inputs: &[&str]) -> NodeProto {
    NodeProto { domain: "com.microsoft".to_owned(), ..node(op, inputs, &["y"]) }
}

fn integers(name: &str, dims: &[i64], data_type: i32, values: &[i32]) -> TensorProto {
    let (dims, name, int32_data) = (dims.to_vec(), name.to_owned(), values.to_vec());
    TensorProto { dims, data_type, name, int32_data, ..TensorProto::default() }
}

/// Attention results of two query heads that share one key head and weigh all keys equally. The
/// past is 1, 3 and 5; the new token is 7. `last` is the position of the last token, `more` the
/// node's operands after its past.
fn seen(last: i32, more: &[&str], with: impl FnOnce(NodeProto) -> NodeProto) -> Vec<f32> {
    let operands = [&["q", "k", "v", "pk", "pv", "last", "total"], more].concat();
    let attention = runtime("GroupQueryAttention", &operands).int("num_heads", 2).int("kv_num_heads", 1);
    let mut model =
        Model::new(17).input("q", &[1, 1, 2]).floats("k", &[1, 1, 1], &[9.0]).floats("v", &[1, 1, 1], &[7.0]);
    model =
        model.floats("pk", &[1, 1, 3, 1], &[4.0, -4.0, 2.0]).floats("pv", &[1, 1, 3, 1], &[1.0, 3.0, 5.0]);
    model = model.floats("sink", &[2], &[4f32.ln(), 0.0]).node(with(attention)).output("y");
    model.graph().initializer.push(integers("last", &[1], data_type::INT32, &[last]));
    model.graph().initializer.push(integers("total", &[], data_type::INT32, &[last + 1]));
    model.run(&[floats(&[1, 1, 2], &[0.0, 0.0])]).1
}

fn assert_close(found: &[f32], expected: &[f32]) {
    let close =
        found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5);
    assert!(close, "{found:?} is not {expected:?}");
}

#[test]
fn a_window_counts_back_from_the_token_over_the_past() {
    let of = |last, size| seen(last, &[], |node| node.int("local_window_size", size));
    assert_close(&of(3, -1), &[4.0, 4.0]);
    assert_close(&of(3, 1), &[7.0, 7.0]);
    assert_close(&of(3, 2), &[6.0, 6.0]);
    assert_close(&of(3, 100), &[4.0, 4.0]);
    // The past has room after its second token: the new token is the third.
    assert_close(&of(2, 2), &[5.0, 5.0]);
    assert_close(&of(2, 3), &[11.0 / 3.0, 11.0 / 3.0]);
}

#[test]
fn a_sink_takes_a_share_that_is_of_no_value() {
    let smooth = |node: NodeProto| node.int("smooth_softmax", 1);
    assert_close(&seen(3, &[], smooth), &[3.2, 3.2]);
    let sinks = ["", "", "", "", "sink"];
    assert_close(&seen(3, &sinks, |node| node), &[2.0, 3.2]);
    assert_close(&seen(3, &sinks, |node| smooth(node).int("local_window_size", 1)), &[7.0 / 5.0, 3.5]);
}

/// Rows that select each weight, times four 4-bit weights in two blocks.
fn weights(order: &[i32]) -> Model {
    let product = runtime("MatMulNBits", &["x", "w", "s", "", "o"]);
    let product = product.int("K", 4).int("N", 1).int("bits", 4).int("block_size", 2);
    let mut model =
        Model::new(17).input("x", &[4, 4]).floats("s", &[2], &[1.0, 10.0]).node(product).output("y");
    // 10, 9, 7 and 12, with 8 as zero point.
    model.graph().initializer.push(integers("w", &[1, 2, 1], data_type::UINT8, &[0x9a, 0xc7]));
    model.graph().initializer.push(integers("o", &[order.len() as i64], data_type::INT32, order));
    model
}

#[test]
fn weights_have_the_scale_of_the_block_that_they_name() {
    let each = floats(&[4, 4], &std::array::from_fn::<f32, 16, _>(|at| f32::from(u8::from(at % 5 == 0))));
    let of = |order: &[i32]| weights(order).run(std::slice::from_ref(&each)).1;
    assert_eq!(of(&[0, 0, 1, 1]), [2.0, 1.0, -10.0, 40.0]);
    assert_eq!(of(&[1, 0, 0, 1]), [20.0, 1.0, -1.0, 40.0]);
    for wrong in [&[0, 0, 1, 2][..], &[-1, 0, 1, 1], &[0, 0, 1]] {
        let reason = weights(wrong).reason().to_string();
        assert!(reason.ends_with("legal: 4 numbers of blocks, each 0 to 1"), "{reason}");
    }
}

/// Gathers the second and the first row of a table, in blocks of two.
fn rows(table: TensorProto, zeros: Option<TensorProto>, bits: i64) -> Vec<f32> {
    let operands: &[&str] = if zeros.is_some() { &["t", "i", "s", "z"] } else { &["t", "i", "s"] };
    let gather = runtime("GatherBlockQuantized", operands).int("block_size", 2).int("bits", bits);
    let mut model = Model::new(21).floats("s", &[2, 2], &[1.0, 10.0, 2.0, 0.5]).node(gather).output("y");
    model.graph().initializer.push(int_tensor("i", &[2], &[1, -2]));
    model.graph().initializer.extend([table].into_iter().chain(zeros));
    model.run(&[]).1
}

#[test]
fn rows_of_narrow_numbers_are_dequantized_by_block() {
    let bytes = integers("t", &[2, 2], data_type::UINT8, &[0x98, 0xa7, 0x08, 0xf9]);
    assert_eq!(rows(bytes.clone(), None, 4), [0.0, -16.0, 0.5, 3.5, 0.0, 1.0, -10.0, 20.0]);
    let zeros = integers("z", &[2, 1], data_type::UINT8, &[0x70, 0x98]);
    assert_eq!(rows(bytes, Some(zeros), 4), [0.0, -16.0, 0.0, 3.0, 8.0, 9.0, 0.0, 30.0]);
    let signed = integers("t", &[2, 4], data_type::INT8, &[1, -2, 3, 4, 5, 6, 7, -8]);
    assert_eq!(rows(signed, None, 8), [10.0, 12.0, 3.5, -4.0, 1.0, -2.0, 30.0, 40.0]);
    let two = integers("t", &[2, 1], data_type::UINT8, &[0b11_10_01_00, 0b00_01_10_11]);
    assert_eq!(rows(two, None, 2), [2.0, 0.0, -0.5, -1.0, -2.0, -1.0, 0.0, 10.0]);
}

#[test]
fn products_of_bytes_end_in_real_numbers() {
    let x = floats(&[1, 2], &[0.0, 2.55]);
    let product = runtime("DynamicQuantizeMatMul", &["x", "w", "s", "z", "b"]);
    let mut model = Model::new(17).input("x", &[1, 2]).floats("s", &[], &[0.5]).floats("b", &[1], &[3.0]);
    model.graph().initializer.push(integers("w", &[2, 1], data_type::UINT8, &[9, 11]));
    model.graph().initializer.push(integers("z", &[], data_type::UINT8, &[7]));
    assert_close(&model.node(product).output("y").run(&[x]).1, &[2.55 * 2.0 + 3.0]);
    let product = runtime("MatMulIntegerToFloat", &["a", "w", "t", "s", "o"]);
    let mut model = Model::new(17).floats("s", &[2], &[0.5, 2.0]).floats("t", &[], &[0.25]);
    model.graph().initializer.push(integers("a", &[1, 2], data_type::UINT8, &[130, 124]));
    model.graph().initializer.push(integers("o", &[], data_type::UINT8, &[128]));
    model.graph().initializer.push(integers("w", &[2, 2], data_type::INT8, &[4, 1, -2, 3]));
    assert_close(&model.node(product).output("y").run(&[]).1, &[2.0, -5.0]);
}

#[test]
fn an_input_with_a_default_is_an_input_where_it_is_given() {
    let mut model = Model::new(13).input("x", &[2]).input("w", &[2]).floats("w", &[2], &[1.0, 2.0]);
    model = model.node(node("Add", &["x", "w"], &["y"])).output("y");
    let of = |given: &[&str]| {
        let given = given.iter().map(|&name| name.to_owned()).collect();
        model.read(&Options { given, ..Options::default() }).unwrap()
    };
    let without = of(&["x", "other"]);
    assert_eq!((without.graph.inputs.len(), without.defaults), (1, vec!["w".to_owned()]));
    let with = of(&["w"]);
    assert_eq!((with.graph.inputs.len(), with.defaults.len()), (2, 0));
    let inputs: [Tensor; 2] = std::array::from_fn(|_| floats(&[2], &[5.0, 6.0]));
    assert_eq!(shape_and_numbers(&evaluate(&with.graph, &inputs).unwrap()[0]).1, [10.0, 12.0]);
}

#[test]
fn a_size_of_minus_one_is_left_open() {
    let mut model = Model::new(13).node(node("Relu", &["x"], &["y"])).output("y");
    let mut input = value_info("x", data_type::FLOAT, &[7, 3]);
    let shape = &mut input.r#type.as_mut().unwrap().tensor_type.as_mut().unwrap().shape;
    shape.as_mut().unwrap().dim[0].dim_value = Some(-1);
    model.graph().input.push(input);
    let graph = model.import().unwrap();
    assert_eq!(graph.shape(graph.inputs[0]), [1, 3]);
    let options = Options { batch: Some(5), ..Options::default() };
    let graph = model.read(&options).unwrap().graph;
    assert_eq!(
        (graph.shape(graph.inputs[0]), graph.value(graph.inputs[0]).info.element),
        (&[5, 3][..], ElementType::F32)
    );
}

/// A selection by input `rate` between `x` and a node whose operands do not fit.
fn choice() -> Model {
    let branch = |name: &str, op: &str| GraphProto {
        name: name.to_owned(),
        node: vec![node(op, &["x", "x"], &["r"])],
        output: vec![value_info("r", data_type::FLOAT, &[])],
        ..GraphProto::default()
    };
    let graph = |name: &str, graph: &GraphProto| {
        attribute(name, attribute_type::GRAPH, |attribute| attribute.g = Some(graph.encode_to_vec()))
    };
    let choice = node("If", &["is16"], &["y"]).with(graph("then_branch", &branch("yes", "Add")));
    let choice = choice.with(graph("else_branch", &branch("no", "Conv")));
    let mut model = Model::new(13).input("x", &[2, 2]).ints("r16", &[16]);
    model.graph().input.push(value_info("rate", data_type::INT64, &[1]));
    model.node(node("Equal", &["rate", "r16"], &["is16"])).node(choice).output("y")
}

#[test]
fn a_branch_that_does_not_fit_says_what_takes_the_other() {
    let problem = choice().problems().remove(0);
    let Reason::InBranch { branch, ref inputs, .. } = problem.reason else { panic!("{}", problem.reason) };
    assert_eq!((branch, &inputs[..]), ("else_branch", &["rate".to_owned()][..]));
    let message = problem.reason.to_string();
    assert!(
        message.ends_with("(in the else_branch of If \"y\", whose condition depends on \"rate\")"),
        "{message}"
    );
    assert!(problem.hint.contains("--const rate=NUMBER"), "{}", problem.hint);
    let values = [("rate".to_owned(), "16".to_owned())].into();
    let read = choice().read(&Options { values, ..Options::default() }).unwrap();
    assert_eq!(read.graph.nodes.len(), 1);
}
