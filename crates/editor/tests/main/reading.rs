//! Help while reading: hover, hints, syntax highlighting, outline.

use npukit_target::{InstanceSpec, NoFiles};
use serde_json::{Value, json};

use super::editor::{Editor, place};
use super::world::examples;

const TCU: &str = "; npu: target tcu:pynqz1 é😀\n.equ é_x, 1\n.equ rows, 4\nfirst: matmul local[rows + 1], acc[0], rows ; 😀\n    matmul local[0], acc[0], 1\n";

fn text_of(hover: &Value) -> String {
    hover["contents"]["value"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_instruction_has_the_bits_of_its_word() {
    let text = TCU.replace(".equ é_x, 1\n", "");
    let mut editor = Editor::with("a.s", &text);
    let published = text_of(&editor.at("textDocument/hover", "a.s", place(&text, "matmul local[rows")));
    let instance = npukit_tcu::TCU.instance(InstanceSpec::Preset("pynqz1")).unwrap();
    let bytes = instance.assemble("a.s", &text, &NoFiles).unwrap().bytes;
    let size = bytes.len() / 2;
    let hex: String = bytes[..size].iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(published.contains(&hex), "{published}");
    // Each row of the table shows these bits.
    let spec = instance.isa().unwrap();
    let row = spec.instructions.iter().find(|row| row.name == "MatMul").unwrap();
    let word = spec.word(&bytes[..size]);
    for field in &row.fields {
        let width = field.bits.width as usize;
        let cell = format!("| {} | `{:0width$b}` | `{}` |", field.bits, word.get(field.bits), field.name);
        assert!(published.contains(&cell), "{cell}: {published}");
    }
}

#[test]
fn fields_and_names_say_what_they_are() {
    let text = TCU.replace(".equ é_x, 1\n", "");
    let mut editor = Editor::with("a.s", &text);
    let hover = editor.at("textDocument/hover", "a.s", place(&text, "rows + 1"));
    let published = text_of(&hover);
    assert!(
        published.contains("constant `rows` = 4")
            && published.contains("field `")
            && published.contains("legal: 0 to"),
        "{published}"
    );
    let (line, unit) = place(&text, "rows + 1");
    assert_eq!(hover["range"]["start"], json!({ "line": line, "character": unit }));
    assert_eq!(hover["range"]["end"], json!({ "line": line, "character": unit + 4 }));
    let published = text_of(&editor.at("textDocument/hover", "a.s", place(&text, ".equ rows")));
    assert!(published.contains(".equ NAME, VALUE"), "{published}");
    let published = text_of(&editor.at("textDocument/hover", "a.s", place(&text, "first")));
    assert!(published.contains("label `first`"), "{published}");
    let published = text_of(&editor.at("textDocument/hover", "a.s", place(&text, "tcu:pynqz1")));
    assert!(published.contains("target tcu:pynqz1"), "{published}");
}

#[test]
fn an_allowed_finding_is_explained() {
    let lint = npukit_tcu::TCU.lints[0];
    let text = format!("; npu: target tcu\n    noop ; npu: allow {}\n", lint.code);
    let mut editor = Editor::with("a.s", &text);
    let published = text_of(&editor.at("textDocument/hover", "a.s", place(&text, lint.code)));
    assert!(published.contains(lint.explanation), "{published}");
}

/// In each example, the words in hints equal the assembler's words, and the cycles equal the
/// clock's cycles.
#[test]
fn hints_are_the_words_of_the_program() {
    for (name, text) in
        examples().into_iter().filter(|(name, _)| name.ends_with(".s") && !name.starts_with("drra"))
    {
        let mut editor = Editor::with(&name, &text);
        editor.all_diagnostics(&name);
        let hints = editor.about("textDocument/inlayHint", &name);
        let spec = npukit_target::text_target(&text).unwrap().1.to_owned();
        let instance =
            npukit_editor::lsp::Workshop::instance(&super::world::World::default(), &spec).unwrap();
        let bytes = instance.assemble(&name, &text, &NoFiles).unwrap().bytes;
        let all: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let labels: Vec<&str> =
            hints.as_array().unwrap().iter().map(|hint| hint["label"].as_str().unwrap()).collect();
        assert!(!labels.is_empty() || text.contains(".rept") || text.contains(".macro"), "{name}");
        if !text.contains(".macro") && !text.contains(".rept") {
            let words: String = labels.iter().map(|label| label.split_whitespace().next().unwrap()).collect();
            assert_eq!(words, all, "{name}");
        }
        let program = instance.asm_program(&name, text.as_bytes(), &NoFiles).unwrap();
        let time =
            program.compiled().and_then(|program| program.time(&npukit_target::TimeOptions::default()));
        let times = time.map(|time| time.instructions).unwrap_or_default();
        if times.len() == program.text().places.len() && labels.len() == times.len() {
            for (label, time) in labels.iter().zip(times) {
                assert!(label.ends_with(&format!("  {} cy", time.cycles)), "{name}: {label}");
            }
        }
    }
}

/// Hints of drra show the words of its listing.
#[test]
fn hints_of_a_fabric_are_the_words_of_its_listing() {
    for (name, text) in
        examples().into_iter().filter(|(name, _)| name.starts_with("drra") && name.ends_with(".s"))
    {
        let mut editor = Editor::with(&name, &text);
        let hints = editor.about("textDocument/inlayHint", &name);
        let listing =
            npukit_drra::DRRA.instance(InstanceSpec::Default).unwrap().list(&name, &text, &NoFiles).unwrap();
        for hint in hints.as_array().unwrap() {
            let label = hint["label"].as_str().unwrap().split_whitespace().next().unwrap();
            let line = hint["position"]["line"].as_u64().unwrap() + 1;
            let is_line = |row: &&str| row.contains(&format!(" {line} ")) && row.contains(label);
            assert!(listing.lines().any(|row| is_line(&row)), "{name}: {label} in line {line}\n{listing}");
        }
        assert!(!hints.as_array().unwrap().is_empty(), "{name}");
    }
}

/// Returns the texts of tokens, with their kinds.
fn colors(editor: &mut Editor, name: &str, text: &str) -> Vec<(String, u64)> {
    let tokens = editor.about("textDocument/semanticTokens/full", name);
    let data: Vec<u64> = tokens["data"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    let (mut line, mut unit, mut found) = (0, 0, Vec::new());
    for token in data.chunks(5) {
        unit = if token[0] > 0 { token[1] } else { unit + token[1] };
        line += token[0];
        let units: Vec<u16> = text.split('\n').nth(line as usize).unwrap().encode_utf16().collect();
        let word = &units[unit as usize..(unit + token[2]) as usize];
        found.push((String::from_utf16(word).unwrap(), token[3]));
    }
    found
}

#[test]
fn words_have_their_colors() {
    let text = TCU.replace(".equ é_x, 1\n", "");
    let mut editor = Editor::with("a.s", &text);
    let found = colors(&mut editor, "a.s", &text);
    let expected = [
        ("; npu: target tcu:pynqz1 é😀", 0),
        (".equ", 1),
        ("rows", 6),
        ("4", 5),
        ("first", 6),
        ("matmul", 2),
        ("rows", 6),
        ("1", 5),
        ("0", 5),
        ("rows", 6),
        ("; 😀", 0),
        ("matmul", 2),
        ("0", 5),
        ("0", 5),
        ("1", 5),
    ];
    assert_eq!(found, expected.map(|(word, kind)| (word.to_owned(), kind)));
}

/// Tokens do not overlap and stay within the text, in each language.
#[test]
fn all_examples_have_colors() {
    for (name, text) in examples() {
        let mut editor = Editor::with(&name, &text);
        let found = colors(&mut editor, &name, &text);
        let count = |kind| found.iter().filter(|(_, of)| *of == kind).count();
        assert!(count(0) > 0 && count(2) > 0 && count(5) > 0, "{name}");
        assert!(
            found.iter().all(|(word, kind)| *kind != 5 || word.starts_with(|c: char| c.is_ascii_digit()))
        );
    }
}

#[test]
fn parts_of_a_text_are_listed_and_folded() {
    let text = "# npu: target drra\n# a\n# b\n.macro ld n\nhalt()\n.endm\ncell (row=0, col=0)\nhalt()\nwait(cycle=1)\n";
    let mut editor = Editor::with("a.s", text);
    let outline = editor.about("textDocument/documentSymbol", "a.s");
    let names: Vec<&str> =
        outline.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["ld", "cell 0,0"]);
    let folds = editor.about("textDocument/foldingRange", "a.s");
    let mut lines: Vec<(u64, u64)> = folds
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["startLine"].as_u64().unwrap(), one["endLine"].as_u64().unwrap()))
        .collect();
    lines.sort_unstable();
    assert_eq!(lines, [(0, 2), (3, 5), (6, 8)]);
}

#[test]
fn operations_of_pasm_lie_in_their_epochs() {
    let (name, text) = examples().into_iter().find(|(name, _)| name.ends_with("butterfly.pasm")).unwrap();
    let mut editor = Editor::with(&name, &text);
    let outline = editor.about("textDocument/documentSymbol", &name);
    assert_eq!(outline[0]["name"], "butterfly");
    let inner: Vec<&str> =
        outline[0]["children"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(inner, ["links", "sums", "parts", "factors", "restart", "results"]);
}
