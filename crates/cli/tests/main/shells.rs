//! What shells and `man` are given.

use crate::npu::{Npu, command};

/// What a shell is offered at the end of a command.
fn offered(words: &[&str]) -> Vec<String> {
    let index = (words.len() - 1).to_string();
    let npu = Npu::new();
    let variables = [("NPU_COMPLETE", "bash"), ("_CLAP_IFS", "\n"), ("_CLAP_COMPLETE_INDEX", &index)];
    let output = command(&npu.path("")).envs(variables).arg("--").args(words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_shell_is_offered_targets_networks_and_verbs() {
    assert_eq!(offered(&["npu", "zoo", "lene"]), ["lenet5"]);
    assert_eq!(offered(&["npu", "conform", "tc"]), ["tcu"]);
    let targets = offered(&["npu", "time", "m.onnx", "--target", "opu"]);
    assert!(targets.contains(&"opu".to_owned()) && targets.contains(&"opu:ideal".to_owned()), "{targets:?}");
    assert_eq!(offered(&["npu", "glossary", "systol"]), ["systolic-array"]);
    assert_eq!(offered(&["npu", "comp"]), ["compile", "completions"]);
}

#[test]
fn each_shell_has_a_script() {
    for shell in ["bash", "zsh", "fish"] {
        let (script, _) = Npu::new().text(0, &["completions", shell]);
        assert!(script.contains("NPU_COMPLETE"), "{script}");
    }
}

/// A page for each verb, with the options of targets among its own.
#[test]
fn every_verb_has_a_page() {
    let npu = Npu::new();
    let report = npu.json(0, &["man", "-o", "pages"]);
    let pages = report["artifacts"].as_array().unwrap();
    assert_eq!(pages[0], "pages/npu.1");
    let verbs = npu.text(0, &["--help"]).0;
    for page in &pages[1..] {
        let path = page.as_str().unwrap();
        let verb = path.trim_start_matches("pages/npu-").trim_end_matches(".1");
        assert!(verbs.contains(&format!("\n  {verb} ")), "{verb}");
        assert!(std::fs::read_to_string(npu.path(path)).unwrap().contains(".SH OPTIONS"), "{path}");
    }
    let page = |verb: &str| std::fs::read_to_string(npu.path(&format!("pages/npu-{verb}.1"))).unwrap();
    assert!(
        page("zoo")
            .ends_with(".TP\n\\fBnpu zoo mlp \\-o m.onnx \\-\\-seed 7\\fR\nWrite it with other weights\n")
    );
    let time = page("time");
    assert!(time.contains("OPTIONS OF ") && !time.contains("fR\n\n"), "an option says nothing: {time}");
    assert!(time.contains("strategy") && time.contains("MODEL_OR_ARTIFACT"), "{time}");
}

/// Every answer and every error says what it is.
#[test]
fn every_answer_has_a_schema() {
    let npu = Npu::new();
    for (verb, words) in
        [("targets", &["targets"][..]), ("zoo", &["zoo"]), ("isa", &["isa", "tcu"]), ("demo", &["demo"])]
    {
        assert_eq!(npu.json(0, words)["schema"], format!("npukit.{verb}/1"));
    }
    assert_eq!(npu.json(2, &["isa", "none"])["schema"], "npukit.error/1");
}
