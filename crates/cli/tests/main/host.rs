//! `npu host`: a script of the host's side from the command line.

use super::npu::Npu;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/pccx/add.host");

/// The embedded adder: tokens of `123+456=` as numbered in its alphabet, then the tokens of ` 579`
/// and the end.
#[test]
fn commands_make_the_device_add() {
    let npu = Npu::new();
    npu.json(0, &["host", "pccx", "commands", EXAMPLE, "-o", "add.bin"]);
    let report = npu.json(0, &["host", "pccx", "answers", "add.bin", "-o", "status.bin"]);
    let tokens: Vec<u64> =
        report["answers"].as_array().unwrap().iter().filter_map(|answer| answer["token"].as_u64()).collect();
    assert_eq!(tokens, [1, 9, 11, 13, 0]);
    let words = npu.json(0, &["host", "pccx", "status", "status.bin"]);
    assert_eq!(words["words"][11]["text"], "done, token 9");
    // Words are converted back to the text.
    npu.json(0, &["host", "pccx", "commands", "add.bin", "-o", "again.host"]);
    let text = npu.json(0, &["host", "pccx", "commands", "again.host"]);
    assert_eq!(text["words"], npu.json(0, &["host", "pccx", "commands", "add.bin"])["words"]);
}

#[test]
fn a_wrong_command_is_told_and_fails() {
    let npu = Npu::new();
    npu.write("bad.host", "load_prompt position=1, token=1\n");
    let report = npu.json(1, &["host", "pccx", "answers", "bad.host"]);
    assert!(report["answers"][0]["error"].as_str().unwrap().contains("the next position is 0"), "{report}");
    let error = npu.json(2, &["host", "drra", "map"]);
    assert_eq!(error["diagnostics"][0]["code"], "unsupported-verb", "{error}");
}
