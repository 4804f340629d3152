//! `npu zoo`: the list, and files that the other commands read.

use crate::npu::Npu;

#[test]
fn the_list_counts_every_network() {
    let list = Npu::new().json(0, &["zoo"]);
    let entries = list["networks"].as_array().unwrap();
    let resnet = entries.iter().find(|entry| entry["name"] == "resnet20v2").unwrap();
    assert_eq!(resnet["macs"], 61_475_520);
    assert_eq!(resnet["input"], serde_json::json!([1, 3, 32, 32]));
    let (table, _) = Npu::new().text(0, &["zoo"]);
    assert!(table.contains("61,475,520"), "{table}");
}

#[test]
fn a_written_network_compiles_and_counts_the_same() {
    let npu = Npu::new();
    let written = npu.json(0, &["zoo", "lenet5", "-o", "nets/lenet5.onnx", "--seed", "3"]);
    assert_eq!(written["artifact"], "nets/lenet5.onnx");
    let compiled = npu.json(0, &["compile", "nets/lenet5.onnx", "--target", "tcu:pynqz1", "-o", "out"]);
    assert_eq!(compiled["macs"], written["macs"]);
    assert_eq!(compiled["saturated_constants"], 0);
}

#[test]
fn a_network_that_is_not_there_or_not_named_is_usage() {
    let npu = Npu::new();
    let (_, error) = npu.text(2, &["zoo", "lenet6", "-o", "x.onnx"]);
    assert!(error.contains("unknown network `lenet6`") && error.contains("lenet5"), "{error}");
    assert!(!npu.path("x.onnx").exists());
    npu.text(2, &["zoo", "-o", "x.onnx"]);
}

/// Outputs that are not given are named after the source; files of others are kept.
#[test]
fn outputs_have_names() {
    let npu = Npu::new();
    npu.text(0, &["zoo", "mlp"]);
    npu.text(0, &["zoo", "mlp"]);
    npu.text(0, &["compile", "mlp.onnx", "--target", "tcu:pynqz1"]);
    npu.text(0, &["report", "mlp.onnx", "--target", "tcu:pynqz1"]);
    npu.text(0, &["report", "mlp_tcu_pynqz1/mlp_onnx_pynqz1.tmodel"]);
    std::fs::create_dir(npu.path("a")).unwrap();
    npu.write("a/p.s", "noop\n");
    npu.text(0, &["asm", "a/p.s", "--target", "tcu"]);
    for name in ["mlp_tcu_pynqz1.html", "mlp_onnx_pynqz1.html", "p.tprog", "p.tprog.map"] {
        assert!(npu.path(name).is_file(), "{name}");
    }
    npu.text(0, &["report", "mlp.onnx", "--target", "tcu:pynqz1"]);
    npu.write("mlp.onnx", "my own");
    let (_, error) = npu.text(2, &["zoo", "mlp"]);
    assert!(error.contains("`mlp.onnx` exists") && error.contains("-o"), "{error}");
}
