//! Models of the filetests, `tests/filetests/models/*.onnx`. They are defined here, so that their
//! content is readable. `NPUKIT_BLESS=1` writes the files.

use std::path::Path;

use npukit_import::onnx::proto::{AttributeProto, GraphProto, ValueInfoProto, attribute_type, data_type};
use prost::Message;

use crate::filetest_networks::networks;
use crate::model::{Model, With, float_tensor, node, value_info};

/// A float input whose open dimensions (-1) have names.
fn open(name: &str, dims: &[i64], names: &[&str]) -> ValueInfoProto {
    let mut info = value_info(name, data_type::FLOAT, dims);
    let shape = info.r#type.as_mut().unwrap().tensor_type.as_mut().unwrap().shape.as_mut().unwrap();
    for (dim, name) in shape.dim.iter_mut().filter(|dim| dim.dim_value.is_none()).zip(names) {
        dim.dim_param = Some((*name).to_owned());
    }
    info
}

/// A convolution over an image whose open dimensions are called `names`.
fn convolution(names: &[&str]) -> Model {
    let weights: Vec<f32> = (0..27).map(|i| (i as f32 - 13.0) / 32.0).collect();
    let conv = node("Conv", &["x", "w"], &["y"]).ints("pads", &[1, 1, 1, 1]);
    let mut model = Model::new(13).node(conv).output("y");
    model.graph().input.push(open("x", &[-1, 3, -1, -1], names));
    model.graph().initializer.push(float_tensor("w", &[1, 3, 3, 3], &weights));
    model
}

/// A Resize of opset 10.
fn resize() -> Model {
    let resize = node("Resize", &["x", "s"], &["y"]).string("mode", "linear");
    let mut model = Model::new(10).input("x", &[1, 4, 2, 2]).node(resize).output("y");
    model.graph().initializer.push(float_tensor("s", &[4], &[1.0, 1.0, 2.0, 2.0]));
    model
}

/// Two functions that few accelerators support, each before more of the network.
fn refused() -> Model {
    let mut model = Model::new(13).input("x", &[1, 4, 4, 4]);
    let steps =
        [("Sin", "x", "a"), ("Relu", "a", "b"), ("Sin", "b", "c"), ("Neg", "c", "d"), ("Cos", "d", "y")];
    for (op, from, to) in steps {
        model = model.node(node(op, &[from], &[to]));
    }
    model.output("y")
}

/// Returns weights between -1/2 and 1/2.
pub fn weights(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7) % 32) as f32 / 32.0 - 0.5).collect()
}

/// A product with an input without a stated shape.
fn any_shape() -> Model {
    let mut model = Model::new(13).node(node("MatMul", &["x", "w"], &["y"])).output("y");
    model = model.floats("w", &[8, 4], &weights(32));
    model.graph().input.push(value_info("x", data_type::FLOAT, &[]));
    model.graph().input[0].r#type.as_mut().unwrap().tensor_type.as_mut().unwrap().shape = None;
    model
}

/// Outputs that are an input, a reshaped input and a constant, next to a computed one.
fn passed() -> Model {
    constant()
        .input("x", &[1, 8])
        .floats("w", &[8, 4], &weights(32))
        .ints("s", &[2, 4])
        .node(node("Identity", &["x"], &["same"]))
        .node(node("Reshape", &["x", "s"], &["folded"]))
        .node(node("MatMul", &["x", "w"], &["computed"]))
        .output("same")
        .output("folded")
        .output("computed")
}

/// A graph with only a constant.
fn constant() -> Model {
    let model = Model::new(13).floats("c", &[2, 3], &[-0.25, -0.125, 0.0, 0.125, 0.25, 0.375]);
    model.node(node("Identity", &["c"], &["constant"])).output("constant")
}

/// Products with weights that are NaN, too large for 16 bits, and too small.
fn bad_weights() -> Model {
    let mut model = Model::new(13).input("x", &[1, 8]);
    for (name, output, bad) in [("nan", "a", f32::NAN), ("huge", "b", 1e6), ("tiny", "c", 0.0)] {
        let mut values = weights(64);
        match name {
            "tiny" => values.iter_mut().for_each(|value| *value *= 1e-5),
            _ => values[3] = bad,
        }
        let mut product = node("MatMul", &["x", name], &[output]);
        product.name = format!("product with {name}");
        model = model.floats(name, &[8, 8], &values).node(product).output(output);
    }
    model
}

/// A sum that is passed to the next call. At a rate of 16 it is input plus state, otherwise state
/// minus input.
fn stateful() -> Model {
    let graph = |op: &str, operands: &[&str]| GraphProto {
        node: vec![node(op, operands, &["r"])],
        output: vec![value_info("r", data_type::FLOAT, &[1, 1])],
        ..GraphProto::default()
    };
    let branch = |name: &str, graph: GraphProto| AttributeProto {
        name: name.to_owned(),
        r#type: attribute_type::GRAPH,
        g: Some(graph.encode_to_vec()),
        ..AttributeProto::default()
    };
    let choice = node("If", &["is_16"], &["stateN"])
        .with(branch("then_branch", graph("Add", &["x", "state"])))
        .with(branch("else_branch", graph("Sub", &["state", "x"])));
    let mut model = Model::new(13).input("x", &[1, 1]).input("state", &[1, 1]).ints("sixteen", &[16]);
    model.graph().input.push(value_info("rate", data_type::INT64, &[1]));
    model
        .node(node("Equal", &["rate", "sixteen"], &["is_16"]))
        .node(choice)
        .node(node("Neg", &["stateN"], &["y"]))
        .output("y")
        .output("stateN")
}

/// A model with a damaged operator name.
fn damaged() -> Vec<u8> {
    let mut named = node("Relu", &["x"], &["y"]);
    named.name = "second".to_owned();
    let mut bytes = Model::new(13).input("x", &[1, 4]).node(named).output("y").bytes();
    let place = bytes.windows(4).position(|window| window == b"Relu").unwrap();
    bytes[place + 1] = 0xFF;
    bytes
}

#[test]
fn the_models_of_the_filetests_are_these() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/filetests/models"));
    let models = [
        ("named.onnx", convolution(&["batch", "height", "width"]).bytes()),
        ("unnamed.onnx", convolution(&["?", "?", "?"]).bytes()),
        ("resize.onnx", resize().bytes()),
        ("refused.onnx", refused().bytes()),
        ("damaged.onnx", damaged()),
        ("anyshape.onnx", any_shape().bytes()),
        ("passed.onnx", passed().bytes()),
        ("constant.onnx", constant().bytes()),
        ("bad_weights.onnx", bad_weights().bytes()),
        ("stateful.onnx", stateful().bytes()),
        ("nothing.onnx", Model::new(13).input("x", &[1, 4]).node(node("Relu", &["x"], &["y"])).bytes()),
    ];
    let networks = networks().into_iter().map(|(name, network)| (name, network.bytes()));
    for (name, bytes) in models.into_iter().chain(networks) {
        let path = folder.join(name);
        if std::env::var_os("NPUKIT_BLESS").is_some() {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(&path, &bytes).unwrap();
        }
        assert!(
            std::fs::read(&path).is_ok_and(|found| found == bytes),
            "{name} is another: NPUKIT_BLESS=1 writes it"
        );
    }
}
