//! `npu bug-report`: what it writes, and what it keeps to itself.

use std::fs;

use crate::npu::{Npu, text};

/// Writes a network with names into `private/secret.onnx`, and returns its bytes.
fn secret(npu: &Npu) -> Vec<u8> {
    fs::create_dir(npu.path("private")).unwrap();
    npu.text(0, &["zoo", "mlp", "-o", "private/secret.onnx"]);
    fs::read(npu.path("private/secret.onnx")).unwrap()
}

/// Runs the verb and returns the text of all its files, and its standard output.
fn written(npu: &Npu, arguments: &[&str]) -> (String, String) {
    let line = [&["bug-report", "private/secret.onnx", "--target", "tcu"], arguments].concat();
    let (out, _) = npu.text(0, &line);
    let read = |name: &str| text(&fs::read(npu.path("bug-report").join(name)).unwrap());
    (read("report.json") + &read("graph.txt"), out)
}

#[test]
fn neither_weights_nor_names_are_written() {
    let npu = Npu::new();
    let model = secret(&npu);
    let (all, out) = written(&npu, &[]);
    assert_eq!(npu.names("bug-report"), ["graph.txt", "report.json"]);
    assert!(out.contains("not written: samples, names (--with-names), the model"), "{out}");
    for private in ["secret", "private/", "gemm_", "relu_"] {
        assert!(!all.contains(private), "{private}: {all}");
    }
    assert!(all.contains("array_size") && all.contains("Gemm") && all.contains("f32[256,784]"), "{all}");
    // Constants have a shape and no elements.
    let mut constants = all.lines().filter(|line| line.starts_with("  const"));
    assert!(constants.all(|line| line.ends_with(']') && !line.contains('.')), "{all}");
    assert!(all.len() < model.len() / 50, "{} bytes", all.len());
}

#[test]
fn names_and_the_model_are_written_on_request() {
    let npu = Npu::new();
    let model = secret(&npu);
    let (all, out) = written(&npu, &["--with-names"]);
    assert!(all.contains("graph secret") && all.contains("gemm_"), "{all}");
    assert!(out.contains("not written: samples, the model"), "{out}");
    written(&npu, &["--with-model"]);
    assert_eq!(fs::read(npu.path("bug-report/secret.onnx")).unwrap(), model);
}

#[test]
fn a_model_that_cannot_be_read_is_reported_without_its_path() {
    let npu = Npu::new();
    npu.text(0, &["bug-report", "private/secret.onnx", "--target", "tcu"]);
    assert_eq!(npu.names("bug-report"), ["report.json"]);
    let report = fs::read_to_string(npu.path("bug-report/report.json")).unwrap();
    assert!(report.contains("no-such-file") && !report.contains("secret"), "{report}");
}
