//! The contract of every command: keys of `--json`, exit status, files.

use std::process::Stdio;

use serde_json::Value;

use crate::npu::{DIGITS, GOLDEN, IMAGES, Npu, command};

fn has_keys(report: &Value, keys: &[&str]) {
    for key in keys {
        let found = key.split('.').try_fold(report, |value, part| value.get(part));
        assert!(found.is_some_and(|value| !value.is_null()), "`{key}` in {report:#}");
    }
}

/// An instance that is far too small for the network.
const TINY: &str = r#"{"data_type":"FP16BP8","array_size":8,"dram0_depth":1024,"dram1_depth":1024,
"local_depth":4,"accumulator_depth":4,"simd_registers_depth":1,"stride0_depth":8,"stride1_depth":8}"#;

#[test]
fn demo_classifies_as_float_does() {
    let npu = Npu::new();
    let report = npu.json(0, &["demo"]);
    has_keys(&report, &["accuracy_float", "accuracy", "cycles.estimator", "cycles.estimator_undrained"]);
    has_keys(&report, &["max_abs_error", "saturations", "milliseconds", "layers"]);
    let accuracy = |key: &str| report[key].as_f64().unwrap();
    assert!(
        accuracy("accuracy_float") > 0.97 && (accuracy("accuracy_float") - accuracy("accuracy")).abs() < 0.01
    );
    let layers = report["layers"].as_array().unwrap();
    let sum: u64 = layers.iter().map(|layer| layer["cycles"].as_u64().unwrap()).sum();
    assert_eq!(sum, report["cycles"]["hw"].as_u64().unwrap(), "layers cover the program");
    let (table, error) = npu.text(0, &["demo", "--target", "tcu:ultra96v2"]);
    assert!(table.contains("accuracy, fixed point") && table.contains("tcu:ultra96v2"), "{table}");
    assert_eq!(error, "", "no progress bar in a pipe");
}

#[test]
fn a_compiled_model_runs_and_times_as_the_model_does() {
    let npu = Npu::new();
    let compiled = npu.json(0, &["compile", DIGITS, "--target", "tcu:pynqz1", "-o", "out"]);
    has_keys(&compiled, &["artifacts", "instructions", "cycles.estimator", "cycles.estimator_undrained"]);
    has_keys(&compiled, &["macs", "memory.local.maximum", "host_steps", "seconds"]);
    let name = "digits_onnx_pynqz1";
    let files = ["npukit.json", "tdata", "tmodel", "tprog"].map(|extension| format!("{name}.{extension}"));
    assert_eq!(npu.names("out"), files);
    let program = std::fs::metadata(npu.path("out").join(&files[3])).unwrap().len();
    assert_eq!(program, compiled["instructions"].as_u64().unwrap() * 8);

    let artifact = format!("out/{name}.tmodel");
    let timed = npu.json(0, &["time", &artifact]);
    has_keys(&timed, &["cycles.estimator", "milliseconds", "utilization", "layers"]);
    assert_eq!(timed["cycles"], compiled["cycles"]);

    let model_run =
        ["run", DIGITS, "--target", "tcu:pynqz1", "--input", IMAGES, "--output", "model.npz", "--raw"];
    let from_model = npu.json(0, &model_run);
    has_keys(
        &from_model,
        &["outputs", "max_abs_error", "rms_error", "argmax_agree", "saturations", "seconds"],
    );
    let image = format!("image={IMAGES}");
    let from_artifact =
        npu.json(0, &["run", &artifact, "--input", &image, "--output", "artifact.npz", "--raw"]);
    assert_eq!(from_artifact["outputs"], from_model["outputs"]);
    assert!(from_artifact.get("max_abs_error").is_none(), "an artifact has no model to compare with");
    let bytes = |file: &str| std::fs::read(npu.path(file)).unwrap();
    assert_eq!(bytes("model.npz"), bytes("artifact.npz"));
    assert_eq!(from_model["outputs"][0]["argmax"].as_array().unwrap().len(), 360);
    assert_eq!(from_model["outputs"][0]["shape"], serde_json::json!([360, 10]));
}

#[test]
fn layers_are_compared_and_written() {
    let npu = Npu::new();
    let run = ["run", DIGITS, "--target", "tcu:pynqz1", "--input", IMAGES, "--compare", "--dump", "all.npz"];
    let report = npu.json(0, &run);
    has_keys(&report, &["layer_compare.layers", "layer_compare.suggestions", "layer_compare.programs"]);
    let keys =
        ["name", "operators", "own_max_abs_error", "own_rms_error", "chain_max_abs_error", "saturations"];
    has_keys(&report["layer_compare"]["layers"][0], &keys);
    assert!(report["layer_compare"]["parts_at"].is_null() && npu.path("all.npz").exists());
    let (text, _) = npu.text(0, &run);
    assert!(text.contains("rounding explains") && text.contains("all differences are explained"), "{text}");
    let calibrated = ["compile", DIGITS, "--target", "tcu:pynqz1", "--calibrate", IMAGES, "-o", "out"];
    let report = npu.json(0, &calibrated);
    assert_eq!(report["rescaling"]["applied"], false);
    assert_eq!(report["rescaling"]["reason"], "nothing saturates");
}

#[test]
fn time_tells_where_cycles_go_and_writes_it_down() {
    let npu = Npu::new();
    npu.json(0, &["compile", DIGITS, "--target", "tcu:pynqz1", "-o", "out"]);
    let artifact = "out/digits_onnx_pynqz1.tmodel";
    let files = ["--trace", "t.json", "--samples", "s.bin", "--by-instruction", "i.csv"];
    let report = npu.json(0, &[&["time", artifact, "--sample-interval", "10"], &files[..]].concat());
    has_keys(&report, &["clock", "cycles.hw", "cycles.estimator", "layers", "kinds", "units", "flags"]);
    has_keys(&report, &["roofline.compute", "roofline.memory", "roofline.bound", "roofline.distance"]);
    assert_eq!(report["clock"], "hw");
    let total = report["cycles"]["hw"].as_u64().unwrap();
    let sum = |list: &Value| list.as_array().unwrap().iter().map(|row| row["cycles"].as_u64().unwrap()).sum();
    assert_eq!([sum(&report["layers"]), sum(&report["kinds"]), total], [total; 3]);

    let trace: Value = serde_json::from_slice(&std::fs::read(npu.path("t.json")).unwrap()).unwrap();
    assert!(trace["traceEvents"].as_array().unwrap().len() as u64 > report["instructions"].as_u64().unwrap());
    let lines = std::fs::read_to_string(npu.path("i.csv")).unwrap();
    assert!(lines.starts_with("instruction,layer,kind,cycles\n0,/conv1"), "{lines:.80}");
    assert_eq!(lines.lines().count() as u64, report["instructions"].as_u64().unwrap() + 1);

    let from = ["time", artifact, "--from-samples", "s.bin", "--sample-interval", "10"];
    let sampled = npu.json(0, &from);
    assert_eq!(sampled["clock"], "samples");
    assert!(sampled["cycles"]["samples"].as_u64().unwrap().abs_diff(total) <= 20, "{sampled:#}");
    assert_eq!(sampled["layers"].as_array().unwrap().len(), report["layers"].as_array().unwrap().len());

    let words = std::fs::read(npu.path("s.bin")).unwrap();
    npu.write("cut.bin", &words[..words.len() - 3]);
    let (_, error) = npu.text(1, &["time", artifact, "--from-samples", "cut.bin"]);
    assert!(error.contains("cut.bin: byte") && error.contains("truncated"), "{error}");
    let (_, error) = npu.text(2, &["time", artifact, "--axi-bits", "100", "--trace", "none.json"]);
    assert!(error.contains("axi-bits=100"), "{error}");
    assert!(!npu.path("none.json").exists(), "nothing half done is left");
    let (table, _) = npu.text(0, &["time", artifact, "--clock", "estimator"]);
    assert!(table.contains("(estimator)") && table.contains("vs roofline"), "{table}");
}

#[test]
fn eval_is_the_float_model() {
    let npu = Npu::new();
    let report = npu.json(0, &["eval", DIGITS, "--input", IMAGES, "--output", "float.npz"]);
    has_keys(&report, &["outputs", "seconds"]);
    assert_eq!(report["outputs"][0]["name"], "logits");
    assert!(npu.path("float.npz").exists());
}

#[test]
fn check_says_what_stands_in_the_way() {
    let npu = Npu::new();
    npu.write("tiny.tarch", TINY);
    assert_eq!(npu.json(0, &["check", DIGITS, "--target", "tcu"])["supported"], true);
    let report = npu.json(1, &["check", DIGITS, "--target", "tcu:tiny.tarch"]);
    assert_eq!(report["supported"], false);
    for key in ["node", "op", "reason", "hint"] {
        assert!(report["problems"][0][key].is_string(), "{report:#}");
    }
}

#[test]
fn every_stage_of_the_compiler_prints() {
    let npu = Npu::new();
    for stage in ["graph", "layers", "hir", "plan", "lir", "asm"] {
        let (text, _) = npu.text(0, &["compile", DIGITS, "--target", "tcu", "--emit", stage]);
        assert!(text.lines().count() >= 3, "{stage}: {text}");
    }
    assert_eq!(npu.names("."), [""; 0]);
}

#[test]
fn what_the_compiler_emits_assembles_to_its_program() {
    let npu = Npu::new();
    npu.json(0, &["compile", DIGITS, "--target", "tcu", "-o", "."]);
    let (text, _) = npu.text(0, &["compile", DIGITS, "--target", "tcu", "--emit", "asm"]);
    npu.write("p.s", text);
    npu.json(0, &["asm", "p.s", "--target", "tcu", "-o", "p.tprog"]);
    let bytes = |file: &str| std::fs::read(npu.path(file)).unwrap();
    assert_eq!(bytes("p.tprog"), bytes("digits_onnx_pynqz1.tprog"));
    let (upstream, _) = npu.text(0, &["disasm", "p.tprog", "--target", "tcu", "--format", "upstream"]);
    assert!(upstream.starts_with("[0] 0 ") && upstream.ends_with("\r\n"), "{upstream}");
}

#[test]
fn a_wrong_source_gives_all_errors_and_no_file() {
    let npu = Npu::new();
    npu.write("p.s", "noop\nmatmul local[0], acc[99999], 3\nfoo\n");
    let (_, error) = npu.text(1, &["asm", "p.s", "--target", "tcu", "-o", "p.tprog"]);
    assert!(error.contains("99999") && error.contains("foo") && error.contains("p.s:2"), "{error}");
    assert_eq!(npu.names("."), ["p.s"]);
}

#[test]
fn isa_prints_in_three_forms() {
    let npu = Npu::new();
    let page = npu.json(0, &["isa", "tcu:zcu104"]);
    assert!(page["instructions"].as_array().unwrap().len() > 5, "{page:#}");
    let (markdown, _) = npu.text(0, &["isa", "tcu", "MatMul", "--format", "markdown"]);
    assert!(markdown.contains("## MatMul") && !markdown.contains("## LoadWeights"), "{markdown}");
    npu.text(0, &["isa", "tcu"]);
    npu.text(2, &["isa", "tcu", "Matmool"]);
}

#[test]
fn conform_counts_and_names() {
    let npu = Npu::new();
    let report = npu.json(0, &["conform", "tcu", GOLDEN]);
    has_keys(&report, &["passed", "failed", "skipped", "failures"]);
    assert!(report["passed"].as_u64().unwrap() >= 171 + 900 + 60, "{report:#}");
    assert_eq!(report["failed"], 0);

    let text = std::fs::read_to_string(format!("{GOLDEN}/encoding.json")).unwrap();
    npu.write("encoding.json", text.replacen("0500070000000010", "0500070000000011", 1));
    npu.write("other.json", "{}");
    let (text, _) = npu.text(1, &["conform", "tcu", "."]);
    assert!(text.ends_with("\n170 passed, 1 failed, 0 skipped\n"), "{text}");
    assert!(text.contains("other.json") && text.contains("FAILED"), "{text}");
    npu.text(1, &["conform", "tcu", "nowhere"]);
}

#[test]
fn the_command_line_at_fault_is_status_2() {
    let npu = Npu::new();
    for arguments in [
        &["fly"][..],
        &["compile", DIGITS, "-o", "out"],
        &["compile", "--target", "tcu"],
        &["compile", DIGITS, "--target", "gpu", "-o", "out"],
        &["compile", DIGITS, "--target", "tcu:nowhere", "-o", "out"],
        &["compile", DIGITS, "--target", "tcu", "--strategy", "fast", "-o", "out"],
        &["compile", DIGITS, "--target", "tcu", "--order", "up", "-o", "out"],
        &["compile", DIGITS, "--target", "tcu", "--emit", "soul"],
        &["run", DIGITS, "--input", IMAGES, "--strict"],
        &["run", DIGITS],
        &["run", DIGITS, "--target", "tcu"],
        &["run", "x.tmodel", "--target", "tcu", "--input", IMAGES],
        &["run", "x.tmodel", "--strategy", "local-vars", "--input", IMAGES],
        &["conform", "gpu", GOLDEN],
    ] {
        let (out, error) = npu.text(2, arguments);
        assert!(out.is_empty() && !error.is_empty(), "{arguments:?}");
    }
    assert_eq!(npu.names("."), [""; 0]);
    npu.text(0, &["--help"]);
    npu.text(0, &["--version"]);
    npu.text(0, &["targets"]);
}

#[test]
fn a_failure_leaves_nothing_behind() {
    let npu = Npu::new();
    npu.write("tiny.tarch", TINY);
    npu.write("taken", "a file");
    npu.text(1, &["compile", DIGITS, "--target", "tcu:tiny.tarch", "-o", "out"]);
    npu.text(1, &["compile", DIGITS, "--target", "tcu", "-o", "taken"]);
    npu.text(1, &["run", DIGITS, "--target", "tcu", "--input", "none.npy", "--output", "y.npz"]);
    npu.text(1, &["eval", DIGITS, "--input", IMAGES, "--output", "taken/y.npz"]);
    assert_eq!(npu.names("."), ["taken", "tiny.tarch"]);
    assert_eq!(std::fs::read_to_string(npu.path("taken")).unwrap(), "a file");
}

#[test]
fn an_error_is_an_answer_with_json() {
    let npu = Npu::new();
    let answer = npu.json(1, &["time", "none.tmodel"]);
    assert!(answer["error"].as_str().unwrap().contains("none.tmodel"), "{answer:#}");
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let npu = Npu::new();
    let mut child = command(&npu.path("."))
        .args(["compile", DIGITS, "--target", "tcu", "--emit", "asm"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", crate::npu::text(&output.stderr));
}
