//! Assembly and binary programs: the programs of `examples/`, and messages of `npu run` for others.

use std::fs;
use std::path::{Path, PathBuf};

use npukit::targets;

use super::npu::{Npu, array};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
/// Minimum number of example programs per target.
const LEAST: usize = 5;

/// Returns every program of `examples/TARGET`.
fn examples(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(EXAMPLES).join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    let is_program =
        |path: &PathBuf| path.extension().is_some_and(|ending| ending == "s" || ending == "pasm");
    files.retain(is_program);
    files.sort();
    files
}

/// Returns the options in the first line of a program: `; npu run NAME.s --target T ...`.
fn options(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let first = text.lines().next().unwrap().trim_start_matches([';', '#', '/', ' ']);
    let words: Vec<String> = first.split_whitespace().map(str::to_owned).collect();
    let name = path.file_name().unwrap().to_str().unwrap();
    assert_eq!(
        words.get(..3).map(|words| words.join(" ")),
        Some(format!("npu run {name}")),
        "{}",
        path.display()
    );
    words[3..].to_vec()
}

/// Runs each program as its first line specifies; all of its expectations hold, there is at least
/// one, and there are no warnings.
#[test]
fn every_example_does_what_it_says() {
    let npu = Npu::new();
    let mut failures = Vec::new();
    for target in targets() {
        let programs = examples(target.name);
        assert!(programs.len() >= LEAST, "{} has {} examples", target.name, programs.len());
        for path in programs {
            let text = path.to_str().unwrap();
            let options = options(&path);
            let mut arguments = vec!["run", text];
            arguments.extend(options.iter().map(String::as_str));
            let output = npu.run(&[&arguments[..], &["--json"]].concat());
            let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let expected = &report["expectations"];
            let is_good = output.status.success()
                && expected["passed"].as_u64() > Some(0)
                && expected["failed"].as_array().is_some_and(Vec::is_empty)
                && report["warnings"].as_array().is_some_and(Vec::is_empty);
            if !is_good {
                failures.push(format!("{text}: {report:#}{}", String::from_utf8_lossy(&output.stderr)));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Each program is formatted by `npu format`, and its words assemble from their listing.
#[test]
fn examples_are_laid_out() {
    let npu = Npu::new();
    for target in targets() {
        for path in examples(target.name) {
            let text = path.to_str().unwrap();
            if text.ends_with(".pasm") {
                continue;
            }
            npu.text(0, &["format", text, "--check", "--target", target.name]);
        }
    }
}

/// Warnings about an instance are printed by every verb that accepts it, also for assembly
/// programs.
#[test]
fn every_verb_tells_what_an_instance_warns_of() {
    let npu = Npu::new();
    let text = fs::read_to_string(Path::new(EXAMPLES).join("../targets/tcu/configs/pynqz1.tarch")).unwrap();
    npu.write("old.tarch", text.replace("FP16BP8", "FP32B16").as_bytes());
    npu.write("p.s", b"noop\n");
    npu.write("p.tprog", [0; 8]);
    npu.write("x.npy", array(&[1, 784], &[0.5; 784]));
    npu.text(0, &["zoo", "mlp", "-o", "m.onnx"]);
    for verb in [
        &["run", "p.s"][..],
        &["time", "p.s"],
        &["asm", "p.s", "-o", "q.tprog"],
        &["disasm", "p.tprog"],
        &["format", "p.s"],
        &["lint", "p.s"],
        &["isa"],
        &["check", "m.onnx"],
        &["compile", "m.onnx", "-o", "out"],
        &["run", "m.onnx", "--input", "x.npy"],
        &["time", "m.onnx"],
        &["demo"],
    ] {
        let target = if verb[0] == "isa" { vec!["tcu:old.tarch"] } else { vec!["--target", "tcu:old.tarch"] };
        let output = npu.run(&[verb, &target[..]].concat());
        let message = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(message.contains("interpreted as FP32BP16"), "{verb:?}: {message}");
    }
}

/// The animations of the tutorials show their programs. `NPUKIT_BLESS=1` writes them.
#[test]
fn animations_of_tutorials_are_current() {
    let docs = Path::new(EXAMPLES).join("../docs");
    let npu = Npu::new();
    for (page, program, target, image) in
        [("tcu", "relu.s", "tcu:cmoda7", "matmul.svg"), ("drra", "dot.s", "drra:3x1", "dot.svg")]
    {
        let text = fs::read_to_string(docs.join(format!("tutorials/{page}.md"))).unwrap();
        let (_, program_on) = text.split_once(&format!("```asm title=\"{program}\"\n")).unwrap();
        let (asm, _) = program_on.split_once("```").unwrap();
        npu.write(program, asm.as_bytes());
        npu.text(0, &["run", program, "--target", target, "--motion", image]);
        let (drawn, path) = (fs::read(npu.path(image)).unwrap(), docs.join("images").join(image));
        if std::env::var_os("NPUKIT_BLESS").is_some() {
            fs::write(&path, &drawn).unwrap();
        }
        assert!(fs::read(&path).unwrap_or_default() == drawn, "{} differs", path.display());
    }
}
