//! The models that filetests read, `tests/filetests/models/*.onnx`: written here, so that everybody can tell what is in
//! them. `NPUKIT_BLESS=1` writes them.

use std::path::Path;

use npukit_import::onnx::proto::{ValueInfoProto, data_type};

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

/// Two functions that few machines have, each before more of the network.
fn refused() -> Model {
    let mut model = Model::new(13).input("x", &[1, 4, 4, 4]);
    let steps =
        [("Sin", "x", "a"), ("Relu", "a", "b"), ("Sin", "b", "c"), ("Neg", "c", "d"), ("Cos", "d", "y")];
    for (op, from, to) in steps {
        model = model.node(node(op, &[from], &[to]));
    }
    model.output("y")
}

/// A model in which the name of an operator is damaged.
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
        ("nothing.onnx", Model::new(13).input("x", &[1, 4]).node(node("Relu", &["x"], &["y"])).bytes()),
    ];
    for (name, bytes) in models {
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
