//! Names: definitions, references, renaming.

use serde_json::{Value, json};

use super::editor::{Editor, edited, place, uri};
use super::world::World;

const TEXT: &str = "; npu: target tcu\n.equ rows, 4\n.macro load at, size=1\n    matmul local[\\at], acc[rows], \\size\n.endm\n    load 1, size=rows\n    load rows\n.if rows\n    noop\n.endif\n.data local[rows], 1, rows ; rows\n";

fn lines(locations: &Value) -> Vec<u64> {
    let mut lines: Vec<u64> = locations
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["range"]["start"]["line"].as_u64().unwrap())
        .collect();
    lines.sort_unstable();
    lines
}

#[test]
fn names_are_found_where_they_are_used() {
    let mut editor = Editor::with("a.s", TEXT);
    let found = editor.at("textDocument/definition", "a.s", place(TEXT, "rows], \\size"));
    assert_eq!(lines(&found), [1]);
    let found = editor.at("textDocument/references", "a.s", place(TEXT, "rows, 4"));
    assert_eq!(lines(&found), [1, 3, 5, 6, 7, 10, 10]);
    let found = editor.at("textDocument/definition", "a.s", place(TEXT, "load rows"));
    assert_eq!(lines(&found), [2]);
    let found = editor.at("textDocument/references", "a.s", place(TEXT, "at, size"));
    assert_eq!(lines(&found), [2, 3]);
    let found = editor.at("textDocument/documentHighlight", "a.s", place(TEXT, "load at"));
    assert_eq!(lines(&found), [2, 5, 6]);
}

fn renamed(editor: &mut Editor, text: &str, at: &str, new: &str) -> Result<String, String> {
    let (line, character) = place(text, at);
    let params = json!({
        "textDocument": { "uri": uri("a.s") }, "position": { "line": line, "character": character }, "newName": new,
    });
    let edit = editor.try_ask("textDocument/rename", params)?;
    Ok(edited(text, &edit["changes"][uri("a.s")]))
}

#[test]
fn a_name_is_another_everywhere() {
    let mut editor = Editor::with("a.s", TEXT);
    let text = renamed(&mut editor, TEXT, "rows, 4", "height").unwrap();
    // The comment does not change.
    assert_eq!(text, TEXT.replace("rows", "height").replace("; height", "; rows"));
    let text = renamed(&mut editor, TEXT, "load rows", "fill").unwrap();
    assert_eq!(text, TEXT.replace("load", "fill"));
    for (new, reason) in [("4x", "not a valid name"), ("a b", "not a valid name"), ("", "not a valid name")] {
        let error = renamed(&mut editor, TEXT, "rows, 4", new).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
    assert!(renamed(&mut editor, TEXT, "noop", "x").unwrap_err().contains("is not defined"));
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let text = "; npu: target tcu\n.equ a, 1\n.equ b, 2\n";
    let mut editor = Editor::with("a.s", text);
    assert!(renamed(&mut editor, text, "a, 1", "b").unwrap_err().contains("is already used"));
    assert!(renamed(&mut editor, text, "a, 1", "c").is_ok());
}

#[test]
fn names_of_included_files_are_found_there() {
    let mut world = World::default();
    world.files.insert("/w/inc.s".to_owned(), b".equ rows, 4 ; \xc3\xa9\n".to_vec());
    let mut editor = Editor::new(world);
    let text = "; npu: target tcu\n.include \"inc.s\"\n    matmul local[rows], acc[0], 1\n";
    editor.open("a.s", text);
    let found = editor.at("textDocument/definition", "a.s", place(text, "rows"));
    assert_eq!((found[0]["uri"].as_str(), lines(&found)), (Some(uri("inc.s").as_str()), vec![0]));
    let found = editor.at("textDocument/definition", "a.s", place(text, "inc.s"));
    assert_eq!(found[0]["uri"].as_str(), Some(uri("inc.s").as_str()));
    // The open text takes precedence over the file on disk.
    editor.open("inc.s", ".equ other, 4\n");
    let published = editor.all_diagnostics("a.s");
    assert!(!published.is_empty());
    let found = editor.at("textDocument/definition", "a.s", place(text, "rows"));
    assert!(found.as_array().unwrap().is_empty(), "{found}");
}

#[test]
fn labels_and_operations_have_names_too() {
    let text = "; npu: target pccx\nrows: memset cache=fmap, idx=0, a=3, b=1, c=8\n    gemm dst=16, src=0, size=rows, shape=rows\n";
    let mut editor = Editor::with("a.s", text);
    let found = editor.at("textDocument/references", "a.s", place(text, "rows, shape"));
    assert_eq!(lines(&found), [1, 2, 2], "{found}");
    let text = "# npu: target drra\nepoch<e> {\n  rop<a> (row=0, col=0, slot=1, port=0) {\n    dsu (init_addr=0)\n    rep (iter=2, delay=t)\n  }\n  rop<b> (row=0, col=0, slot=2, port=0) {\n    dsu (init_addr=0)\n  }\n  cstr(\"a.e0[1] + t < b\")\n}\n";
    editor.open("b.pasm", text);
    for (at, expected) in [("a.e0", vec![2, 9]), ("t < b", vec![4, 9]), ("b\")", vec![6, 9])] {
        let found = editor.at("textDocument/references", "b.pasm", place(text, at));
        assert_eq!(lines(&found), expected, "{at}: {found}");
    }
}
