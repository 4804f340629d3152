//! The quick scripts of `tests/python`, which check the command from outside.
//!
//! They need an interpreter with the packages of `requirements-onnx.txt` there; NPUKIT_PYTHON names
//! it. Without one the tests are ignored, or fail if NPUKIT_REQUIRE_PYTHON is 1.

use std::process::Command;

use npukit_shared::needs;

use crate::npu::text;

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/python");

/// Runs a script on the command; it must not find errors.
fn judge(script: &str) {
    let python = std::env::var_os("NPUKIT_PYTHON").expect("NPUKIT_PYTHON names a Python with onnx");
    let arguments = [&format!("{SCRIPTS}/{script}"), "--npu", env!("CARGO_BIN_EXE_npu")];
    let output = Command::new(python).args(arguments).output().unwrap();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{script}: {}\n{out}{error}", output.status);
}

#[needs(NPUKIT_PYTHON)]
#[test]
fn the_cases_of_the_standard_pass() {
    judge("node_cases.py");
}

#[needs(NPUKIT_PYTHON)]
#[test]
fn operators_agree_with_onnx_runtime() {
    judge("operators.py");
}

#[needs(NPUKIT_PYTHON)]
#[test]
fn exported_networks_evaluate_and_compile() {
    judge("exported.py");
}

#[needs(NPUKIT_PYTHON)]
#[test]
fn decoders_evaluate_with_and_without_a_cache() {
    judge("decoders.py");
}
