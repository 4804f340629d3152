//! Diagnostics of texts.

use npukit_target::{InstanceSpec, TargetError, bytes_of};
use serde_json::{Value, json};

use super::editor::{Editor, edited, place, uri};
use super::world::{TARGETS, World, examples};

#[test]
fn a_text_says_what_it_is_for() {
    let mut editor = Editor::with("a.s", "    matmull\n");
    assert_eq!(editor.codes("a.s"), ["no-target"]);
    editor.change("a.s", 2, Value::Null, "; é npu: target tcu\n; npu: target nothing\n    matmull\n");
    assert_eq!(editor.codes("a.s"), ["unknown-target"]);
    let text = "; npu: target tcu:pynqz1\n    matmull local[0], acc[0], 4\n";
    editor.change("a.s", 3, Value::Null, text);
    let published = editor.all_diagnostics("a.s");
    assert_eq!((published.len(), &published[0]["code"]), (1, &json!("asm::mnemonic")));
    let (line, unit) = place(text, "matmull");
    assert_eq!(published[0]["range"]["start"], json!({ "line": line, "character": unit }));
}

#[test]
fn a_folder_or_the_option_says_it_too() {
    let mut world = World::default();
    world.folders.insert("/w/of".to_owned(), "opu".to_owned());
    world.fallback = Some("tcu".to_owned());
    let mut editor = Editor::new(world);
    editor.open("of/a.s", "    end\n");
    assert_eq!(editor.codes("of/a.s"), [""; 0]);
    editor.open("b.s", "    end\n");
    assert_eq!(editor.codes("b.s"), ["asm::mnemonic"]);
}

#[test]
fn examples_are_told_as_the_assembler_and_the_linter_tell_them() {
    for (name, text) in examples() {
        let mut editor = Editor::with(&name, &text);
        let codes = editor.codes(&name);
        let spec = npukit_target::text_target(&text).unwrap().1.to_owned();
        let instance = npukit_editor::lsp::Workshop::instance(&World::default(), &spec).unwrap();
        let files = World::default().files;
        let linted = instance.lint_text(&name, &text, &files).unwrap();
        let mut expected: Vec<&str> = linted.findings.iter().map(|finding| finding.code).collect();
        expected.sort_unstable();
        let mut found: Vec<&str> =
            codes.iter().map(String::as_str).filter(|code| *code != "remark").collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{name}");
    }
}

/// Damages each example, and compares its diagnostics with the errors of the assembler.
#[test]
fn faults_are_those_of_the_assembler() {
    let mut with_faults = 0;
    for (name, text) in examples() {
        for (index, line) in
            text.lines().enumerate().filter(|(_, line)| !line.starts_with([';', '#'])).step_by(3)
        {
            let Some(word) = line.split_whitespace().find(|word| word.len() > 2) else { continue };
            let damaged = line.replacen(word, &format!("{word}q9"), 1);
            let mut lines: Vec<&str> = text.lines().collect();
            lines[index] = &damaged;
            let text = lines.join("\n");
            let spec = npukit_target::text_target(&text).unwrap().1.to_owned();
            let instance = npukit_editor::lsp::Workshop::instance(&World::default(), &spec).unwrap();
            let files = World::default().files;
            let Err(TargetError::Text(faults)) = instance.assemble(&name, &text, &files) else { continue };
            let expected: Vec<String> = faults
                .related()
                .into_iter()
                .flatten()
                .map(|fault| format!("{} {}", fault.code().unwrap(), fault))
                .collect();
            // Errors of a schedule arrive after the slow checks.
            let found = instance.language(&name).unwrap().analyze(&name, &text, &bytes_of(&files));
            let found: Vec<String> =
                found.faults.iter().map(|fault| format!("{} {}", fault.code, fault.message)).collect();
            if found.is_empty() && name.ends_with(".pasm") {
                continue;
            }
            assert_eq!(found, expected, "{name}: {damaged}");
            with_faults += 1;
        }
    }
    assert!(with_faults > 100, "{with_faults}");
}

#[test]
fn what_a_schedule_refuses_is_told_after_the_checks() {
    let (name, text) = examples().into_iter().find(|(name, _)| name.ends_with("butterfly.pasm")).unwrap();
    let text = text.replace("cstr(\"parts == factors\")", "cstr(\"parts == factors + nothing.e9[1]\")");
    let mut editor = Editor::with(&name, &text);
    // At first, only syntax errors are known.
    assert_eq!(editor.next_diagnostics(&name), [Value::Null; 0]);
    let published = editor.next_diagnostics(&name);
    assert_eq!(published[0]["code"], "pasm::name", "{published:?}");
    assert_eq!(published[0]["range"]["start"]["line"], json!(place(&text, "parts == factors +").0));
}

#[test]
fn faults_of_macros_and_files_have_their_places() {
    let mut world = World::default();
    world.files.insert("/w/inc.s".to_owned(), b"    matmull\n".to_vec());
    let mut editor = Editor::new(world);
    let text = "; npu: target tcu\n.macro twice n\n    matmul local[\\n], acc[0], 4\n.endm\n    twice 1\n    twice 99999999\n.include \"inc.s\"\n";
    editor.open("a.s", text);
    let published = editor.all_diagnostics("a.s");
    assert_eq!(published.len(), 2, "{published:?}");
    // In the macro, with its caller as a related place.
    assert_eq!(published[0]["code"], "asm::range");
    assert_eq!(published[0]["range"]["start"]["line"], 2);
    let related = &published[0]["relatedInformation"][0];
    assert_eq!(related["location"]["range"]["start"]["line"], 5);
    // In the included file, reported at the include.
    assert_eq!(published[1]["range"]["start"]["line"], 6);
    assert_eq!(published[1]["relatedInformation"][0]["location"]["uri"], uri("inc.s"));
}

#[test]
fn what_is_obvious_is_mended() {
    let text =
        "; npu: target tcu\n    matmull local[0], acc[0], 4 ; é\n    matmul local[999999999], acc[0], 4\n";
    let mut editor = Editor::with("a.s", text);
    let published = editor.all_diagnostics("a.s");
    assert_eq!(published.len(), 2);
    let mut mended = text.to_owned();
    for diagnostic in published.iter().rev() {
        let params = json!({
            "textDocument": { "uri": uri("a.s") }, "range": diagnostic["range"],
            "context": { "diagnostics": [diagnostic] },
        });
        let actions = editor.ask("textDocument/codeAction", params);
        mended = edited(&mended, &actions[0]["edit"]["changes"][uri("a.s")]);
    }
    editor.change("a.s", 2, Value::Null, &mended);
    let codes = editor.codes("a.s");
    assert!(!codes.iter().any(|code| code.starts_with("asm::")), "{codes:?}: {mended}");
}

#[test]
fn a_finding_is_allowed_and_the_comment_taken_away() {
    // The operands of the product are never written.
    let text = "; npu: target tcu\n    matmul local[0], acc[0], 4\n    noop ; é\n";
    let mut editor = Editor::with("a.s", text);
    let published = editor.all_diagnostics("a.s");
    assert!(!published.is_empty());
    let code = published[0]["code"].as_str().unwrap().to_owned();
    let params = |diagnostic: &Value| {
        json!({
            "textDocument": { "uri": uri("a.s") }, "range": diagnostic["range"],
            "context": { "diagnostics": [diagnostic] },
        })
    };
    let actions = editor.ask("textDocument/codeAction", params(&published[0]));
    let allowed = edited(text, &actions[0]["edit"]["changes"][uri("a.s")]);
    assert!(allowed.contains(&format!("; npu: allow {code}\n")), "{allowed}");
    editor.change("a.s", 2, Value::Null, &allowed);
    let left = editor.next_diagnostics("a.s");
    assert!(left.len() < published.len(), "{left:?}");
    // Without findings, the comment is unused.
    let vain = "; npu: target tcu\n    noop ; npu: allow unread-result\n";
    editor.change("a.s", 3, Value::Null, vain);
    let published = editor.next_diagnostics("a.s");
    let vain_one =
        published.iter().find(|one| one["code"] == "unused-allow" || one["code"] == "unknown-lint").unwrap();
    let actions = editor.ask("textDocument/codeAction", params(vain_one));
    let without = edited(vain, &actions[0]["edit"]["changes"][uri("a.s")]);
    assert_eq!(without, "; npu: target tcu\n    noop\n");
}

#[test]
fn without_a_target_one_is_offered() {
    let mut editor = Editor::with("a.s", "    end\n");
    let published = editor.all_diagnostics("a.s");
    let params = json!({
        "textDocument": { "uri": uri("a.s") }, "range": published[0]["range"], "context": { "diagnostics": published },
    });
    let actions = editor.ask("textDocument/codeAction", params);
    assert_eq!(actions.as_array().unwrap().len(), TARGETS.len());
    let opu = actions
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["title"].as_str().unwrap().contains("opu"))
        .unwrap();
    let text = edited("    end\n", &opu["edit"]["changes"][uri("a.s")]);
    editor.change("a.s", 2, Value::Null, &text);
    assert_eq!(editor.codes("a.s"), [""; 0]);
}

#[test]
fn the_default_instance_of_every_target_has_a_language() {
    for target in TARGETS {
        let instance = target.instance(InstanceSpec::Default).unwrap();
        assert!(instance.language("a.s").is_some(), "{}", target.name);
    }
}
