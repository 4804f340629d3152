//! Programs from files: runs, timing, traces, and invalid manifests.

use npukit_drra::DRRA;
use npukit_numeric::Tensor;
use npukit_target::{Compiled, ReadError, TargetError, TimeForm, TimeOptions};
use serde_json::{Value, json};

/// Copies two rows of the input to the output.
const COPY: &str = "cell (row=0, col=0)
    dsu(slot=1, port=input_buffer, init_addr=4) rep(slot=1, port=input_buffer, iter=2)
    dsu(slot=1, port=sram_write) rep(slot=1, port=sram_write, iter=2) act(ports=5, param=1)
    dsu(slot=1, port=sram_read) rep(slot=1, port=sram_read, iter=2)
    dsu(slot=1, port=output_buffer, init_addr=7) rep(slot=1, port=output_buffer, iter=2) act(ports=10, param=1)
    wait(cycle=1) halt()";

fn manifest() -> Value {
    json!({ "name": "copy", "architecture": "1x1", "program": "copy.asm",
            "inputs": [{ "name": "x", "row": 4, "rows": 2 }], "outputs": [{ "name": "y", "row": 7, "rows": 2 }] })
}

fn load(manifest: &Value) -> Result<Box<dyn Compiled>, TargetError> {
    let manifest = manifest.to_string();
    let files = move |path: &str| match path {
        "d/copy.drra" => Ok(manifest.clone().into_bytes()),
        "d/copy.asm" => Ok(COPY.as_bytes().to_vec()),
        "d/zeros.bin" => Ok(b"cell 0 0\n00000000000000000000000000000000\n".to_vec()),
        _ => Err(ReadError::Absent { path: path.to_owned() }),
    };
    DRRA.load("d/copy.drra", &files)
}

fn message(change: impl FnOnce(&mut Value)) -> String {
    let mut manifest = manifest();
    change(&mut manifest);
    load(&manifest).err().unwrap().to_string()
}

#[test]
fn tensors_go_in_and_come_out() {
    let program = load(&manifest()).unwrap();
    let values: Vec<f32> = (0..32).map(|i| i as f32 * 2000.0 - 1000.0).collect();
    let x = Tensor::from_f32(vec![2, 16], values.clone()).unwrap();
    let result = program.run(&[("x".to_owned(), x)]).unwrap();
    let expected: Vec<i32> = values.iter().map(|value| (*value as i32).min(32767)).collect();
    assert_eq!(result.outputs[0].raw, expected);
    assert_eq!(result.saturations.inputs, 15);
    assert_eq!(program.inputs()[0].shape, [2, 16]);
    let few = Tensor::from_f32(vec![1, 16], vec![0.0; 16]).unwrap();
    let error = program.run(&[("x".to_owned(), few)]).unwrap_err().to_string();
    assert!(error.contains("has shape [1, 16]: a sample is [2, 16]"), "{error}");
    assert!(program.run(&[]).unwrap_err().to_string().contains("missing input `x` of shape [2, 16]"));
}

#[test]
fn time_says_what_ports_and_instructions_took() {
    let program = load(&manifest()).unwrap();
    let time = program.time(&TimeOptions::default()).unwrap();
    assert_eq!(time.cycles["machine"], 13);
    assert_eq!(time.kinds.iter().map(|kind| kind.cycles).sum::<u64>(), 13);
    let units: Vec<(&str, u64)> = time.units.iter().map(|unit| (unit.unit.as_str(), unit.busy)).collect();
    assert_eq!(units.len(), 4);
    assert!(units.contains(&("(0, 0) iosram_both 1 output_buffer", 2)), "{units:?}");
    let options =
        TimeOptions { options: [("clock-mhz".to_owned(), "13".to_owned())].into(), ..TimeOptions::default() };
    assert_eq!(program.time(&options).unwrap().milliseconds, Some(0.001));
}

#[test]
fn every_cycle_can_be_read() {
    let program = load(&manifest()).unwrap();
    let mut text = Vec::new();
    program.write_time(TimeForm::Cycles, &TimeOptions::default(), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let line = text.lines().find(|line| line.trim_start().starts_with("5 ")).unwrap();
    let words = "5  (0, 0)    dsu(slot=1, port=sram_read)";
    assert!(line.trim_start().starts_with(words), "{text}");
    assert!(line.ends_with("iosram_both 1 input_buffer 4, iosram_both 1 sram_write 0"), "{text}");
    // One header line, a line per instruction, and one for the second cycle of the wait.
    assert_eq!(text.lines().count(), 1 + 12 + 1, "{text}");
}

#[test]
fn a_trace_has_a_track_for_each_port() {
    let program = load(&manifest()).unwrap();
    let mut bytes = Vec::new();
    npukit_target::chrome_trace(&*program, &TimeOptions::default(), &mut bytes).unwrap();
    let trace: Value = serde_json::from_slice(&bytes).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let tracks = events.iter().filter(|event| event["name"] == "thread_name").count();
    // Tracks: the sequencer, 2 of the swb, 6 of the memory, 4 of each of three files, 2 of the dpu,
    // and the whole program.
    assert_eq!(tracks, 1 + 2 + 6 + 3 * 4 + 2 + 1);
    let slice =
        events.iter().find(|event| event["args"]["port"] == "(0, 0) iosram_both 1 output_buffer").unwrap();
    assert_eq!(
        (&slice["name"], &slice["ts"], &slice["dur"]),
        (&json!("7 to 8"), &json!(0.010), &json!(0.002))
    );
}

#[test]
fn faults_of_manifests_are_named() {
    for (expected, found) in [
        ("copy.bin", message(|m| m["program"] = json!("copy.bin"))),
        ("unknown fabric", message(|m| m["architecture"] = json!("9x9"))),
        (
            "takes rows 1023 to 1024; the input buffer has rows 0 to 1023",
            message(|m| m["inputs"][0]["row"] = json!(1023)),
        ),
        (
            "tensors `x` and `z` of the input buffer share rows",
            message(|m| {
                m["inputs"] =
                    json!([{ "name": "x", "row": 0, "rows": 2 }, { "name": "z", "row": 1, "rows": 1 }]);
            }),
        ),
        (
            "share a name",
            message(|m| {
                m["outputs"] =
                    json!([{ "name": "y", "row": 0, "rows": 1 }, { "name": "y", "row": 1, "rows": 1 }]);
            }),
        ),
        ("unknown field `color`", message(|m| m["color"] = json!(1))),
        ("is not a plain file name", message(|m| m["program"] = json!("../copy.asm"))),
    ] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

#[test]
fn words_are_read_as_well() {
    let mut manifest = manifest();
    manifest["program"] = json!("zeros.bin");
    assert_eq!(load(&manifest).unwrap().time(&TimeOptions::default()).unwrap().cycles["machine"], 1);
}
