//! Defaults of the command line: `NPU_TARGET` and `npu.toml`.

use std::process::Output;

use serde_json::Value;

use crate::npu::{DIGITS, Npu, command, text};

/// Runs the command below `folder` of `npu`, with `NPU_TARGET`.
fn run(npu: &Npu, folder: &str, target: Option<&str>, arguments: &[&str]) -> Output {
    let mut command = command(&npu.path(folder));
    command.envs(target.map(|target| ("NPU_TARGET", target))).args(arguments).output().unwrap()
}

/// Returns the report of a command that must succeed.
fn report(npu: &Npu, folder: &str, target: Option<&str>, arguments: &[&str]) -> Value {
    let output = run(npu, folder, target, &[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the message of a command that must fail with a usage error.
fn refusal(npu: &Npu, target: Option<&str>, arguments: &[&str]) -> String {
    let output = run(npu, "", target, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stdout));
    text(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_option_counts_more_than_the_environment_and_that_more_than_a_file() {
    let npu = Npu::new();
    npu.write("npu.toml", "target = \"tcu:ultra96v2\"\n");
    std::fs::create_dir_all(npu.path("a/b")).unwrap();
    let time = ["time", DIGITS];
    let target = |folder, variable, options: &[&str]| {
        report(&npu, folder, variable, &[&time, options].concat())["target"].as_str().unwrap().to_owned()
    };
    assert_eq!(target("", None, &[]), "tcu:ultra96v2");
    assert_eq!(target("a/b", None, &[]), "tcu:ultra96v2", "found above");
    assert_eq!(target("a/b", Some(""), &[]), "tcu:ultra96v2", "an empty variable is ignored");
    assert_eq!(target("a/b", Some("opu"), &[]), "opu:reference");
    assert_eq!(target("a/b", Some("opu"), &["--target", "tcu:zcu104"]), "tcu:zcu104");
    npu.write("a/npu.toml", "target = \"tcu:zcu104\"\n");
    assert_eq!(target("a/b", None, &[]), "tcu:zcu104", "the nearest");
}

/// An instance file in the settings is relative to them; one in the variable is relative to the
/// working directory.
#[test]
fn files_of_targets_are_relative_to_the_settings() {
    let npu = Npu::new();
    std::fs::create_dir_all(npu.path("below")).unwrap();
    let config =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../targets/opu/configs/reference.toml"));
    npu.write("mine.toml", config.unwrap());
    npu.write("npu.toml", "target = \"opu:mine.toml\"\n");
    assert_eq!(report(&npu, "below", None, &["time", DIGITS])["target"], "opu:mine");
    assert_eq!(report(&npu, "", None, &["time", DIGITS])["target"], "opu:mine");
    assert_eq!(report(&npu, "below", Some("opu:../mine.toml"), &["time", DIGITS])["target"], "opu:mine");
    assert_eq!(run(&npu, "below", Some("opu:mine.toml"), &["time", DIGITS]).status.code(), Some(1));
}

#[test]
fn an_artifact_keeps_its_target() {
    let npu = Npu::new();
    npu.json(0, &["compile", DIGITS, "--target", "tcu:pynqz1", "-o", "out"]);
    npu.write("npu.toml", "target = \"opu\"\n[options]\nstrategy = \"local-vars\"\nclock = \"estimator\"\n[time]\nrescale = \"never\"\n");
    for variable in [None, Some("opu")] {
        let timed = report(&npu, "", variable, &["time", "out/digits_onnx_pynqz1.tmodel"]);
        assert_eq!((&timed["target"], &timed["clock"]), (&"tcu:pynqz1".into(), &"estimator".into()));
        report(&npu, "", variable, &["lint", "out/digits_onnx_pynqz1.tmodel"]);
    }
}

#[test]
fn options_have_defaults_by_verb() {
    let npu = Npu::new();
    npu.write(
        "npu.toml",
        "target = \"tcu\"\n[options]\nclock = \"estimator\"\nprofile = \"ideal\"\n[time]\nclock-mhz = 25\n[compile]\nminimize = \"estimator\"\n",
    );
    let time = |options: &[&str]| report(&npu, "", None, &[&["time", DIGITS], options].concat());
    let timed = time(&[]);
    assert_eq!((&timed["clock"], &timed["clock_mhz"]), (&"estimator".into(), &25.0.into()));
    assert_eq!(time(&["--clock", "hw", "--clock-mhz", "50"])["clock_mhz"], 50.0);
    assert_eq!(time(&["--option", "clock=model"])["clock"], "hw", "as --clock");
    // Options of other targets are not an error.
    assert_eq!(time(&["--target", "opu"])["clock"], "ideal");
    assert_eq!(time(&["--target", "drra:3x1+ext"])["clock_mhz"], 25.0);
}

#[test]
fn wrong_settings_are_told_with_their_place() {
    let npu = Npu::new();
    let none = refusal(&npu, None, &["check", DIGITS]);
    for way in
        ["`--target tcu:pynqz1`", "`NPU_TARGET=tcu:pynqz1`", "`target = \"tcu:pynqz1\"` in a file npu.toml"]
    {
        assert!(none.contains(way), "{none}");
    }
    let unknown = refusal(&npu, Some("tpu"), &["check", DIGITS]);
    assert!(unknown.contains("the target of NPU_TARGET cannot be used"), "{unknown}");
    assert!(unknown.contains("did you mean `tcu`?"), "{unknown}");
    npu.write("npu.toml", "\ntarget = \"tcu:pynqz3\"\n");
    let unknown = refusal(&npu, None, &["check", DIGITS]);
    assert!(unknown.contains("of `npu.toml`, line 2 cannot be used"), "{unknown}");
    assert!(unknown.contains("did you mean `pynqz1`?"), "{unknown}");
    for (file, message) in [
        (
            "[compille]\n",
            "line 1: there is no setting `compille` (did you mean `compile`?); settings are target,",
        ),
        ("[compile]\nstratgy = \"x\"", "line 2: there is no option `stratgy` (did you mean `strategy`?)"),
        ("[compile]\noutput = \"x\"", "line 2: there is no option `output`"),
        ("[options]\nstrategy = \"fast\"", "line 2: `strategy` must be local-isolated,"),
        (
            "[run]\nrescale = \"sometimes\"",
            "line 2: `rescale` is not legal: legal values are auto, always, never",
        ),
        ("[run]\nbatch = 0", "line 2: `batch` is not legal: 0 is not in 1.."),
        ("[run]\nquantize = \"best\"", "line 2: `quantize` is not legal: must be `least-squares`,"),
    ] {
        npu.write("npu.toml", file);
        let error = refusal(&npu, Some("tcu"), &["run", DIGITS]);
        assert!(error.contains(message), "{file}: {error}");
    }
}

/// The target must be requested: without one, the language model is computed in float.
#[test]
fn the_generator_runs_in_float_unless_told() {
    let generated = report(&Npu::new(), "", Some("pccx"), &["generate", "1+2="]);
    assert_eq!(generated["target"], "float");
}
