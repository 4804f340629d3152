//! The examples of `docs/assembly.md` assemble.

use std::collections::BTreeMap;

use npukit::verbs::run::{Request, run_asm};
use npukit::{Context, Source, resolve};

const PAGE: &str = include_str!("../../../../docs/assembly.md");

/// Returns the info string of each example's fence, and its text.
fn examples() -> Vec<(&'static str, &'static str)> {
    let blocks = PAGE.split("\n```asm ").skip(1).filter_map(|rest| rest.split_once("\n```"));
    blocks.filter_map(|(block, _)| block.split_once('\n')).collect()
}

/// Runs a program and checks its expectations.
fn holds(target: &str, text: &str) {
    let files = BTreeMap::from([("p.s".to_owned(), text.as_bytes().to_vec())]);
    let request = Request { source: Source::model("p.s", target), ..Request::default() };
    let (report, _) = run_asm(&request, Context::new(&files)).unwrap();
    assert!(report.expectations.passed > 0, "{target}: {text}");
    assert_eq!(report.expectations.failed, [], "{target}: {text}");
}

#[test]
fn every_example_assembles() {
    let mut files = BTreeMap::new();
    for (info, text) in examples() {
        let Some((_, name)) = info.split_once(" file=") else { continue };
        files.insert(name.to_owned(), text.as_bytes().to_vec());
    }
    let mut seen = Vec::new();
    for (target, text) in examples().into_iter().filter(|(info, _)| !info.contains("file=")) {
        let instance = resolve(target, &files).unwrap();
        let assembled = instance.assemble("p.s", text, &files);
        let assembled = assembled.unwrap_or_else(|error| panic!("{target}: {text}\n{error:?}"));
        assert!(assembled.instructions > 0, "{target}: {text}");
        if text.contains(".expect") {
            holds(target, text);
        }
        seen.push(target);
    }
    for directive in [
        "equ", "set", "word", "include", "macro", "rept", "if", "elseif", "else", "ifndef", "data", "input",
        "output", "expect", "wait",
    ] {
        assert!(examples().iter().any(|(_, text)| text.contains(&format!(".{directive}"))), "{directive}");
    }
    assert!(["tcu", "opu", "pccx", "drra"].iter().all(|target| seen.contains(target)), "{seen:?}");
}
