//! Exact limits, and the cost of folding: the last accepted size and the first refused one.

use npukit_graph::{Graph, Op};
use npukit_import::onnx::proto::{NodeProto, StringStringEntryProto, TensorProto, data_type};
use npukit_import::onnx::{Options, Part, Reason, read_with_files};

use crate::graph_def;
use crate::model::{Model, With, float_tensor, floats, int_tensor, node, unary, value_info};

/// Elements that folding may make in addition to the size of the file (`FOLDING_ROOM`).
const ROOM: usize = 1 << 22;

/// Maximum supported rank.
const RANK: usize = 32;

fn imported(model: &Model) -> Graph {
    model.import().unwrap()
}

/// A node that exhausts the budget of its file, plus `more` elements. The last
/// operand is their number.
fn at_the_limit(op: &str, operands: &[&str], more: usize) -> Graph {
    let of = |count: usize| {
        let model = Model::new(13).ints("s", &[count as i64]).floats("c", &[1], &[1.0]);
        model.node(node(op, operands, &["y"])).output("y")
    };
    // The number has the same number of digits as the slightly larger one.
    let room = ROOM + of(ROOM).bytes().len();
    imported(&of(room + more))
}

#[test]
fn constants_are_made_until_the_room_is_full() {
    for (op, operands) in [("Tile", &["c", "s"][..]), ("ConstantOfShape", &["s"])] {
        assert_eq!(at_the_limit(op, operands, 0).nodes.len(), 0, "{op}");
        assert_eq!(at_the_limit(op, operands, 1).nodes.len(), 1, "{op}");
    }
}

#[test]
fn a_tensor_that_is_filled_needs_room_for_itself() {
    let of = |count: usize| {
        let graph = graph_def::Graph::default().floats("v", &[], &[1.0]).integers("s", &[1], &[count as i32]);
        graph.node(graph_def::node("Fill", "y", &["s", "v"]))
    };
    let room = ROOM + of(ROOM).bytes().len();
    let graph = of(room).import().unwrap();
    assert_eq!(graph.shape(graph.outputs[0]), [room]);
    assert_eq!(of(room + 1).reason(), Reason::TooLarge { shape: vec![room + 1], limit: room });
}

/// Folded elements are deducted from the budget once: a chain of small constants is cheap.
#[test]
fn a_chain_of_small_constants_is_folded() {
    let mut model = Model::new(13).ints("s", &[1 << 10]).node(node("ConstantOfShape", &["s"], &["c0"]));
    for index in 0..100 {
        let (from, to) = (format!("c{index}"), format!("c{}", index + 1));
        model = model.node(node("Relu", &[&from], &[&to]));
    }
    assert_eq!(imported(&model.output("c100")).nodes.len(), 0);
}

/// `count` results of a node on a constant of 2^16 elements, with one element each.
fn looked_at(count: usize, op: &str, operands: &[&str]) -> Graph {
    let mut model = Model::new(13).ints("one", &[1]);
    let bytes = vec![0; 1 << 16];
    let (dims, name) = (vec![1 << 16], "c".to_owned());
    let constant = TensorProto {
        name,
        dims,
        data_type: data_type::INT32,
        int32_data: Vec::new(),
        ..TensorProto::default()
    };
    model.graph().initializer.push(TensorProto { raw_data: Some(bytes.repeat(4)), ..constant });
    for index in 0..count {
        let name = format!("y{index}");
        model = model.node(node(op, operands, &[&name])).output(&name);
    }
    imported(&model)
}

/// A sum costs the size of its operand, however small its result; a selected element costs only
/// itself.
#[test]
fn folding_costs_what_it_looks_at() {
    // The file has 2^18 bytes, so the budget is 68 times the constant.
    assert_eq!(looked_at(60, "ReduceSum", &["c"]).nodes.len(), 0);
    assert_eq!(looked_at(100, "ReduceSum", &["c"]).nodes.len(), 100 - 68);
    assert_eq!(looked_at(100, "ArgMax", &["c"]).nodes.len(), 100 - 68);
    assert_eq!(looked_at(100, "Gather", &["c", "one"]).nodes.len(), 0);
}

type Is = fn(&Op) -> bool;

/// Arithmetic of layers is not folded, even with constant operands; passes handle it.
#[test]
fn layers_of_constants_are_left_to_passes() {
    let window = |op: &str| node(op, &["x"], &["y"]).ints("kernel_shape", &[1, 1]);
    let layers: [(NodeProto, Is); 9] = [
        (node("Conv", &["x", "w"], &["y"]), |op| matches!(op, Op::Conv(_))),
        (node("ConvTranspose", &["x", "w"], &["y"]), |op| matches!(op, Op::ConvTranspose(_))),
        (node("Gemm", &["m", "m"], &["y"]), |op| matches!(op, Op::Gemm(_))),
        (node("MatMul", &["m", "m"], &["y"]), |op| matches!(op, Op::MatMul(_))),
        (window("MaxPool"), |op| matches!(op, Op::MaxPool(_))),
        (window("AveragePool"), |op| matches!(op, Op::AveragePool(_))),
        (node("Softmax", &["x"], &["y"]), |op| matches!(op, Op::Softmax(_))),
        (node("LogSoftmax", &["x"], &["y"]), |op| matches!(op, Op::LogSoftmax(_))),
        (node("LRN", &["x"], &["y"]).int("size", 1), |op| matches!(op, Op::Lrn(_))),
    ];
    for (node, is) in layers {
        let name = node.op_type.clone();
        let model = Model::new(13).floats("x", &[1, 1, 2, 2], &[1.0; 4]).floats("m", &[2, 2], &[1.0; 4]);
        let graph = imported(&model.floats("w", &[1, 1, 1, 1], &[1.0]).node(node).output("y"));
        assert!(graph.nodes.iter().any(|node| is(&node.op)), "{name}: {graph}");
    }
}

/// A small file with external elements may move all of its elements.
#[test]
fn elements_beside_the_model_make_room_for_themselves() {
    const COUNT: usize = ROOM + (ROOM >> 2);
    let entry =
        |key: &str, value: &str| StringStringEntryProto { key: key.to_owned(), value: value.to_owned() };
    let weights = TensorProto {
        name: "w".to_owned(),
        dims: vec![COUNT as i64],
        data_type: data_type::INT8,
        external_data: vec![entry("location", "w.bin")],
        data_location: 1,
        ..TensorProto::default()
    };
    let mut model = Model::new(13).ints("s", &[1, -1]).node(node("Reshape", &["w", "s"], &["y"])).output("y");
    model.graph().initializer.push(weights);
    let files =
        |_: &str, _: std::ops::Range<u64>| Ok(Part { bytes: vec![0; COUNT], file_bytes: COUNT as u64 });
    let graph = read_with_files(&model.bytes(), "m", &Options::default(), &files).unwrap().graph;
    assert_eq!((graph.nodes.len(), graph.shape(graph.outputs[0])), (0, &[1, COUNT][..]));
}

/// Only constant indices are examined.
#[test]
fn computed_indices_cost_nothing() {
    let mut model = Model::new(13).input("x", &[2]);
    model.graph().input.push(value_info("i", data_type::INT64, &[3 << 20]));
    for name in ["y", "z"] {
        model = model.node(node("Gather", &["x", "i"], &[name])).output(name);
    }
    assert_eq!(imported(&model).nodes.len(), 2);
}

#[test]
fn tensors_of_32_axes_are_the_largest() {
    let ones = |rank: usize| vec![1i64; rank];
    let too_many = Reason::Rank { rank: RANK + 1, limit: RANK };
    let constant = |rank| {
        unary(13, &[1], node("Add", &["x", "c"], &["y"]), vec![float_tensor("c", &ones(rank), &[1.0])])
    };
    let graph = imported(&constant(RANK));
    assert_eq!(graph.shape(graph.outputs[0]), [1; RANK]);
    assert_eq!(constant(RANK + 1).reason(), too_many);
    let input = |rank| unary(13, &ones(rank), node("Relu", &["x"], &["y"]), vec![]);
    assert_eq!(input(RANK).run(&[floats(&[1; RANK], &[-1.0])]).0.len(), RANK);
    assert_eq!(input(RANK + 1).reason(), too_many);
    let made = |rank| {
        let node = node("Unsqueeze", &["x", "a"], &["y"]);
        unary(13, &ones(rank - 1), node, vec![int_tensor("a", &[1], &[0])])
    };
    assert_eq!(made(RANK).run(&[floats(&[1; RANK - 1], &[2.0])]).0.len(), RANK);
    assert_eq!(made(RANK + 1).reason(), too_many);
}

/// Longest integer operands: two integers for each possible axis.
#[test]
fn lists_of_64_integers_are_the_longest() {
    let pads = |count: usize| {
        let mut pads = vec![0; count];
        (pads[0], pads[RANK]) = (1, 2);
        pads
    };
    let operand = |dims: &[i64], values: &[i64]| {
        let pad = node("Pad", &["x", "p"], &["y"]);
        unary(13, &[1; RANK], pad, vec![int_tensor("p", dims, values)])
    };
    let attribute =
        |count| unary(10, &[1; RANK], node("Pad", &["x"], &["y"]).ints("pads", &pads(count)), vec![]);
    for model in [operand(&[64], &pads(64)), attribute(64)] {
        let (shape, values) = model.run(&[floats(&[1; RANK], &[5.0])]);
        assert_eq!((shape[0], values), (4, vec![0.0, 5.0, 0.0, 0.0]));
    }
    let message = operand(&[65], &pads(65)).reason().to_string();
    assert_eq!(message, r#"operand "pads" is I64 [65]; legal: at most 64 integers in one axis"#);
    let message = operand(&[1, 64], &pads(64)).reason().to_string();
    assert_eq!(message, r#"operand "pads" is I64 [1, 64]; legal: at most 64 integers in one axis"#);
    let message = attribute(65).reason().to_string();
    assert_eq!(message, r#"attribute "pads" is 65 integers; legal: at most 64"#);
    let scales = float_tensor("s", &[65], &[1.0; 65]);
    let message = unary(13, &[1, 1, 1, 1], node("Resize", &["x", "", "s"], &["y"]), vec![scales]).reason();
    assert_eq!(message.to_string(), r#"operand "scales" is F32 [65]; legal: at most 64 floats"#);
}

#[test]
fn tensorflow_pads_32_axes_at_most() {
    let pad = |rank: usize, wide: bool| {
        let pairs: Vec<i32> = (0..2 * rank).map(|place| i32::from(place == 1)).collect();
        let graph = graph_def::Graph::default().input("x", &[1; RANK]);
        let graph = graph.node(graph_def::node("Pad", "y", &["x", "p"]));
        match wide {
            true => graph.wide_integers(
                "p",
                &[rank as i64, 2],
                &pairs.iter().map(|&pad| pad.into()).collect::<Vec<_>>(),
            ),
            false => graph.integers("p", &[rank as i64, 2], &pairs),
        }
    };
    for wide in [false, true] {
        let (shape, values) = pad(RANK, wide).run(&[floats(&[1; RANK], &[5.0])]);
        assert_eq!((shape[0], values), (2, vec![5.0, 0.0]));
        let message = pad(RANK + 1, wide).reason().to_string();
        assert!(
            message.ends_with("[33, 2]; legal: at most 32 pairs of numbers from 0 to 268435456"),
            "{message}"
        );
    }
}

/// Elements stored in the file are free; only elements that it omits use the budget.
#[test]
fn elements_that_are_spelt_out_cost_nothing() {
    const COUNT: usize = 1 << 18;
    let constant = npukit_import::tensorflow::proto::TensorProto {
        dtype: 10,
        tensor_shape: Some(graph_def::shape(&[COUNT as i64])),
        bool_val: vec![true; COUNT],
        ..Default::default()
    };
    let graph = graph_def::Graph::default()
        .constant("truth", constant)
        .integers("dims", &[1], &[(ROOM + COUNT) as i32])
        .floats("value", &[], &[1.0])
        .node(graph_def::node("Fill", "z", &["dims", "value"]));
    assert_eq!(graph.outputs(&["truth", "z"]).import().unwrap().outputs.len(), 2);
}
