//! Many edits and many texts: the server's work grows with the changes, not with the number of
//! texts.

use serde_json::json;

use super::editor::{Editor, uri};
use super::world::World;

/// After a series of edits, only the last text is analyzed and reported.
#[test]
fn edits_that_follow_each_other_are_told_of_once() {
    const EDITS: i64 = 3000;
    let mut editor = Editor::with("a.s", "; npu: target tcu:pynqz1\n    noop\n");
    let place = json!({ "line": 0, "character": 0 });
    for version in 2..=EDITS {
        editor.change("a.s", version, json!({ "start": place, "end": place }), "; x\n");
    }
    editor.change("a.s", EDITS + 1, json!({ "start": place, "end": place }), "    nooop\n");
    while editor.published.last().is_none_or(|(_, version, _)| *version != Some(EDITS + 1)) {
        editor.next_diagnostics("a.s");
    }
    assert!(editor.published.len() < EDITS as usize / 10, "told {} times", editor.published.len());
    let (_, _, published) = editor.published.last().unwrap();
    assert_eq!(published[0]["range"]["start"]["line"], 0, "{published:?}");
}

/// Diagnostics of including texts are sent again after each change; diagnostics of other texts
/// are not.
#[test]
fn texts_that_include_another_follow_it() {
    const TEXTS: usize = 200;
    let mut world = World::default();
    world.files.insert("/w/inc.s".to_owned(), b".equ rows, 4\n".to_vec());
    let mut editor = Editor::new(world);
    let including = "; npu: target tcu:pynqz1\n.include \"inc.s\"\n    matmul local[rows], acc[0], 1\n";
    for text in 0..TEXTS {
        editor.open(&format!("a{text}.s"), including);
        editor.open(&format!("b{text}.s"), "; npu: target tcu:pynqz1\n    noop\n");
    }
    editor.open("inc.s", ".equ other, 4\n");
    for round in 0..2 {
        let mut left: Vec<String> = (0..TEXTS).map(|text| uri(&format!("a{text}.s"))).collect();
        // First all of them lack the name, then have it again: diagnostics appear, and then
        // disappear.
        let is_wrong = round == 0;
        while !left.is_empty() {
            editor.next_any();
            let (name, _, all) = editor.published.last().unwrap();
            let has_errors = all.iter().any(|one| one["severity"] == 1);
            assert!(!has_errors || !name.contains("/b"), "{name}: {all:?}");
            if has_errors == is_wrong {
                left.retain(|other| other != name);
            }
        }
        editor.change("inc.s", round + 2, json!(null), ".equ rows, 4\n");
    }
}
