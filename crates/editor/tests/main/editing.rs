//! Help while typing: completion, signatures, formatting.

use npukit_target::bytes_of;
use serde_json::{Value, json};

use super::editor::{Editor, edited, place, uri};
use super::world::{World, examples};

/// Returns the suggestions at `|`, which is not part of the text.
fn offered(name: &str, text: &str) -> Vec<String> {
    let (line, unit) = place(text, "|");
    let text = text.replacen('|', "", 1);
    let mut editor = Editor::with(name, &text);
    let list = editor.at("textDocument/completion", name, (line, unit));
    list["items"].as_array().unwrap().iter().map(|item| item["label"].as_str().unwrap().to_owned()).collect()
}

fn offers(name: &str, text: &str, words: &[&str], not: &[&str]) {
    let found = offered(name, text);
    for word in words {
        assert!(found.iter().any(|found| found == word), "{word} is not among {found:?} of {text}");
    }
    for word in not {
        assert!(!found.iter().any(|found| found == word), "{word} is among {found:?} of {text}");
    }
}

#[test]
fn what_may_stand_is_offered_for_every_target() {
    offers("a.s", "; npu: target tcu\n.equ rows, 4\n    mat|", &["matmul"], &["rows", "local"]);
    offers("a.s", "; npu: target tcu\n.equ rows, 4\n    matmul |", &["local"], &["matmul"]);
    offers("a.s", "; npu: target tcu\n.equ rows, 4\n    matmul local[|", &["rows"], &["local"]);
    offers("a.s", "; npu: target tcu\n.macro ld n\n.endm\n    |", &["ld", "matmul"], &[]);
    offers("a.s", "; npu: target tcu\n.|", &[".equ", ".include", ".macro"], &["matmul"]);
    offers("a.s", "; npu: target tcu\n.equ rows, 4\n.data local[r|], 1", &["rows"], &[".equ"]);
    offers("a.s", "; npu: target opu\n    ld.|", &["ld.ifm", "ld.ker"], &["end"]);
    offers("a.s", "; npu: target opu\n    @|", &["@shape.ifm", "@post"], &["end"]);
    offers("a.s", "; npu: target pccx\n    memset cache=|", &["fmap", "weight"], &["memset"]);
    offers(
        "a.s",
        "; npu: target pccx\nx: memset cache=fmap, idx=0, a=1, b=1, c=1\n    gemm dst=0, |",
        &["src", "size"],
        &["dst"],
    );
    offers("a.s", "# npu: target drra\ncell (row=0, col=0)\nd|", &["dsu", "dpu", "cell"], &[]);
    offers("a.s", "# npu: target drra\ncell (row=0, |", &["col="], &["row=", "slot="]);
    offers("a.s", "# npu: target drra\ncell (row=0, col=0)\nrep(slot=1, |", &["iter=", "port="], &["slot="]);
    offers("a.s", "# npu: target drra\ncell (row=0, col=0)\ndpu(slot=1, mode=|", &["mac"], &["slot="]);
    offers("a.pasm", "# npu: target drra\n|", &["epoch", "for"], &["rop"]);
    offers("a.pasm", "# npu: target drra\nepoch {\n  r|", &["rop", "cstr"], &["epoch"]);
    offers("a.pasm", "# npu: target drra\nepoch {\n  rop<a> (|", &["row=", "slot="], &["iter="]);
    offers("a.pasm", "# npu: target drra\nepoch {\n  rop<a> (row=0) {\n    |", &["rep", "dsu"], &["rop"]);
    offers(
        "a.pasm",
        "# npu: target drra\nepoch {\n  rop<a> (row=0, col=0, slot=1, port=0) {\n    rep (|",
        &["iter="],
        &["row="],
    );
    offers(
        "a.pasm",
        "# npu: target drra\nepoch {\n  rop<first> (row=0, col=0, slot=1, port=0) { dsu }\n  cstr(\"f|\")\n}",
        &["first"],
        &["rep"],
    );
}

#[test]
fn comments_that_programs_read_are_completed() {
    offers("a.s", "; npu: |", &["target", "allow"], &[]);
    offers("a.s", "; npu: target |", &["tcu", "opu", "pccx", "drra"], &[]);
    let lint = npukit_tcu::TCU.lints[0].code;
    offers("a.s", "; npu: target tcu\n    noop ; npu: allow |", &[lint], &["tcu"]);
    assert_eq!(offered("a.s", "; npu: target tcu\n    noop ; mat|"), [""; 0]);
}

#[test]
fn what_is_taken_replaces_the_word() {
    let text = "; npu: target opu é\n    ld.if\n";
    let mut editor = Editor::with("a.s", text);
    let list = editor.at("textDocument/completion", "a.s", (1, 9));
    let item = list["items"].as_array().unwrap().iter().find(|item| item["label"] == "ld.ifm").unwrap();
    assert_eq!(edited(text, &json!([item["textEdit"]])), "; npu: target opu é\n    ld.ifm\n");
}

#[test]
fn the_field_that_comes_next_is_told() {
    for (name, text, field) in [
        ("a.s", "; npu: target tcu\n    matmul local[|", "local"),
        ("a.s", "; npu: target tcu\n    matmul local[0], acc[0], |", "size"),
        ("a.s", "; npu: target pccx\n    memset cache=fmap, idx=0, a=|", "a"),
        ("a.s", "# npu: target drra\ncell (row=0, col=0)\nrep(slot=1, iter=|", "iter"),
        ("a.pasm", "# npu: target drra\nepoch { rop<a> (row=0) { rep (iter=|", "iter"),
    ] {
        let (line, unit) = place(text, "|");
        let mut editor = Editor::with(name, &text.replacen('|', "", 1));
        let help = editor.at("textDocument/signatureHelp", name, (line, unit));
        let active = help["activeSignature"].as_u64().unwrap() as usize;
        let signature = &help["signatures"][active];
        let index = help["activeParameter"].as_u64().unwrap_or_else(|| panic!("{text}: {help}")) as usize;
        let span = &signature["parameters"][index]["label"];
        let label = signature["label"].as_str().unwrap();
        let (start, end) = (span[0].as_u64().unwrap() as usize, span[1].as_u64().unwrap() as usize);
        let published = label[start..end].trim_matches(['<', '>', '=']);
        assert!(
            published.starts_with(field) || field.starts_with(published),
            "{text}: {published} of {label}"
        );
    }
}

/// A formatted text is the same program, and formatting it again changes nothing.
#[test]
fn layouts_are_of_the_same_program() {
    for (name, text) in examples() {
        // Comments, empty lines and white space in an untidy order.
        let untidy: String = text
            .lines()
            .enumerate()
            .map(|(index, line)| match index % 3 {
                0 => format!("  {line}  \n"),
                1 => format!("{}\n\n", line.replace(", ", " ,")),
                _ => format!("{line}\n"),
            })
            .collect();
        let mut editor = Editor::with(&name, &untidy);
        let edits = editor.about("textDocument/formatting", &name);
        let tidy = edited(&untidy, &edits);
        let spec = npukit_target::text_target(&text).unwrap().1.to_owned();
        let instance = npukit_editor::lsp::Workshop::instance(&World::default(), &spec).unwrap();
        let files = World::default().files;
        let bytes = |text: &str| instance.assemble(&name, text, &files).map(|made| made.bytes).unwrap();
        assert_eq!(bytes(&tidy), bytes(&untidy), "{name}");
        editor.change(&name, 2, Value::Null, &tidy);
        let again = editor.about("textDocument/formatting", &name);
        assert_eq!(again, json!([]), "{name}");
        let comments = |text: &str| text.matches(['#', ';']).count();
        assert_eq!(comments(&tidy), comments(&untidy), "{name}");
        assert!(bytes_of(&files)("x").is_err());
    }
}

#[test]
fn half_a_text_is_left_as_it_is() {
    let text = "# npu: target drra\nepoch {\n rop<a>(\n";
    let mut editor = Editor::with("a.pasm", text);
    assert_eq!(editor.about("textDocument/formatting", "a.pasm"), json!([]));
    let params = json!({ "textDocument": { "uri": uri("none.s") }, "options": { "tabSize": 4, "insertSpaces": true } });
    assert_eq!(editor.ask("textDocument/formatting", params), Value::Null);
}

#[test]
fn questions_that_nobody_asks_are_refused() {
    let mut editor = Editor::with("a.s", "");
    assert!(editor.try_ask("textDocument/nothing", json!({})).unwrap_err().contains("there is no"));
    assert!(editor.try_ask("textDocument/hover", json!({ "x": 1 })).is_err());
    editor.say("textDocument/didChange", json!({ "x": 1 }));
    assert_eq!(editor.at("textDocument/hover", "a.s", (0, 0)), Value::Null);
}
