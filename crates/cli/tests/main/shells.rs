//! Support for shells and `man`.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;

use crate::npu::{Npu, command, text};

/// Prompt of the shell.
#[cfg(target_os = "linux")]
const PROMPT: &str = "listening>";

/// Returns the completions that a shell gets at the end of a command.
fn offered(words: &[&str]) -> Vec<String> {
    offered_in(&Npu::new().path(""), words)
}

/// Returns the completions in a folder.
fn offered_in(folder: &Path, words: &[&str]) -> Vec<String> {
    let index = (words.len() - 1).to_string();
    let variables = [("NPU_COMPLETE", "bash"), ("_CLAP_IFS", "\n"), ("_CLAP_COMPLETE_INDEX", &index)];
    let output = command(folder).envs(variables).arg("--").args(words).output().unwrap();
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
fn a_shell_is_offered_choices_stages_instructions_and_paths() {
    assert_eq!(offered(&["npu", "time", "m.onnx", "--clock", "h"]), ["hw"]);
    assert_eq!(offered(&["npu", "compile", "m.onnx", "--emit", "gra"]), ["graph"]);
    assert_eq!(offered(&["npu", "isa", "tcu", "MatM"]), ["MatMul"]);
    assert!(offered(&["npu", "ti"]).contains(&"time".to_owned()));
    for words in [&["npu", "check", "src/mai"][..], &["npu", "run", "m.onnx", "--input", "src/mai"]] {
        assert_eq!(offered_in(Path::new(env!("CARGO_MANIFEST_DIR")), words), ["src/main.rs"], "{words:?}");
    }
}

/// Returns the line that a bash with the settings in `rc` shows after text is typed; `None` without
/// a terminal.
#[cfg(target_os = "linux")]
fn in_bash(npu: &Npu, typed: &str) -> Option<String> {
    let mut command = std::process::Command::new("script");
    command.args(["-qec", "bash --noprofile --rcfile rc -i", "/dev/null"]).current_dir(npu.path(""));
    let mut child = command.env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let (mut keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (mut shown, mut some) = (Vec::new(), [0; 4096]);
    // Text that is typed before bash reads goes to the terminal.
    while !text(&shown).contains(PROMPT) {
        match screen.read(&mut some).unwrap() {
            0 => return None,
            count => shown.extend(&some[..count]),
        }
    }
    keys.write_all(typed.as_bytes()).unwrap();
    screen.read_to_end(&mut shown).unwrap();
    child.wait().unwrap();
    // The bell means that there are several completions.
    Some(text(&shown).replace('\u{7}', ""))
}

/// Runs an interactive bash on a terminal made by `script`, if both exist: checks the completed
/// lines.
#[cfg(target_os = "linux")]
#[test]
fn bash_completes_lines() {
    let npu = Npu::new();
    std::fs::create_dir(npu.path("in")).unwrap();
    for file in ["some model.onnx", "other.onnx", "in/a.npy"] {
        npu.write(file, "");
    }
    let folder = Path::new(env!("CARGO_BIN_EXE_npu")).parent().unwrap().to_owned();
    let (script, _) = npu.text(0, &["completions", "bash"]);
    npu.write("rc", format!("PATH={}:$PATH; PS1='{PROMPT}'\n{script}", folder.display()));
    let lines = [
        ("npu check ot", "npu check other.onnx "),
        ("npu check so", "npu check some\\ model.onnx "),
        ("npu run m --input i", "npu run m --input in/"),
        ("npu time m --target tcu:zcu104_", "npu time m --target tcu:zcu104_uram"),
        ("npu time m --target=tcu:ult", "npu time m --target=tcu:ultra96v2"),
        ("npu time m --clock=h", "npu time m --clock=hw "),
        ("npu ti", "npu time "),
    ];
    let typed: String = lines.iter().map(|(line, _)| format!("{line}\t#\x15")).collect();
    let Some(shown) = in_bash(&npu, &(typed + "exit\n")) else { return };
    for (line, completed) in lines {
        assert!(shown.contains(&format!("{completed}#")), "{line}: {shown:?}");
    }
}

#[test]
fn each_shell_has_a_script() {
    for shell in ["bash", "zsh", "fish"] {
        let (script, _) = Npu::new().text(0, &["completions", shell]);
        assert!(script.contains("NPU_COMPLETE"), "{script}");
    }
}

/// A page for each verb, including the options of targets.
#[test]
fn every_verb_has_a_page() {
    let npu = Npu::new();
    let report = npu.json(0, &["man", "-o", "pages"]);
    let pages = report["artifacts"].as_array().unwrap();
    assert_eq!(pages[0], "pages/npu.1");
    let verbs = npu.text(0, &["help", "--all"]).0;
    for page in &pages[1..] {
        let path = page.as_str().unwrap();
        let verb = path.trim_start_matches("pages/npu-").trim_end_matches(".1");
        assert!(verbs.contains(&format!("\n  {verb} ")), "{verb}");
        assert!(
            std::fs::read_to_string(npu.path(path)).unwrap().contains(".SH \"GLOBAL OPTIONS\""),
            "{path}"
        );
    }
    let page = |verb: &str| std::fs::read_to_string(npu.path(&format!("pages/npu-{verb}.1"))).unwrap();
    assert!(
        page("zoo")
            .ends_with(".TP\n\\fBnpu zoo mlp \\-o m.onnx \\-\\-seed 7\\fR\nWrite it with other weights\n")
    );
    let time = page("time");
    assert!(time.contains("OPTIONS OF ") && !time.contains("fR\n\n"), "an option has no description: {time}");
    assert!(time.contains("strategy") && time.contains("MODEL_OR_ARTIFACT"), "{time}");
}

/// Every answer and every error names its schema.
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
