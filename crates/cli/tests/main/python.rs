//! The quick ones of the scripts in `tests/python`, which judge the command from outside.
//!
//! They need an interpreter that has the packages of `requirements-onnx.txt` there; NPUKIT_PYTHON
//! names it. Without one the tests are skipped, or fail when NPUKIT_REQUIRE_PYTHON is 1.

use std::process::Command;

use crate::npu::text;

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/python");

/// Runs a script on the command; it must find nothing amiss.
fn judge(script: &str) {
    let Some(python) = std::env::var_os("NPUKIT_PYTHON") else {
        let required = std::env::var_os("NPUKIT_REQUIRE_PYTHON").is_some_and(|value| value == "1");
        assert!(!required, "NPUKIT_PYTHON is not set and NPUKIT_REQUIRE_PYTHON is 1");
        return eprintln!("skipped: {script} needs a Python with onnx (set NPUKIT_PYTHON)");
    };
    let arguments = [&format!("{SCRIPTS}/{script}"), "--npu", env!("CARGO_BIN_EXE_npu")];
    let output = Command::new(python).args(arguments).output().unwrap();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{script}: {}\n{out}{error}", output.status);
}

#[test]
fn the_cases_of_the_standard_pass() {
    judge("node_cases.py");
}

#[test]
fn exported_networks_evaluate_and_compile() {
    judge("exported.py");
}

#[test]
fn decoders_evaluate_with_and_without_a_cache() {
    judge("decoders.py");
}
