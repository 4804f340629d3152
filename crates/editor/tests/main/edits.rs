//! Random changes: the text follows the changes, and no request makes the server fail.

use lsp_types::{Position, Range, TextDocumentContentChangeEvent, Uri};
use npukit_editor::lsp::{Document, Lines};
use proptest::prelude::*;
use serde_json::json;

use super::editor::{Editor, question, uri};
use super::world::examples;

/// Pieces of programs, and input that editors send while typing.
const PIECES: [&str; 28] = [
    "",
    " ",
    "\n",
    "\r\n",
    "\r",
    "é",
    "😀",
    "\u{feff}",
    "\"",
    ";",
    "#",
    "//",
    ".",
    ".macro m a\n",
    ".endm\n",
    ".rept 3\n",
    ".endr\n",
    ".if 1\n",
    ".endif\n",
    "\\a",
    "m 1, 2\n",
    "[",
    "(",
    "{",
    "}",
    "=",
    "9999999999999999999",
    ".include \"x\"\n",
];

fn change() -> impl Strategy<Value = (u32, u32, u32, u32, usize)> {
    (0..40_u32, 0..60_u32, 0..3_u32, 0..60_u32, 0..PIECES.len())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// A change of a document equals a change of the text in UTF-16 units.
    #[test]
    fn changes_are_those_of_the_protocol(text in "[aé😀\r\n]{0,40}", all in prop::collection::vec(change(), 1..8)) {
        let uri: Uri = "file:///w/a.s".parse().unwrap();
        let mut document = Document::new(uri, 1, text.clone());
        let mut expected = text;
        for (line, unit, more, end, piece) in all {
            let (start, end) = (Position::new(line % 6, unit % 9), Position::new(line % 6 + more, end % 9));
            let (from, to) = (literal(&expected, start), literal(&expected, end));
            expected.replace_range(from..to.max(from), PIECES[piece]);
            let range = Some(Range::new(start, end));
            document.change(&TextDocumentContentChangeEvent { range, range_length: None, text: PIECES[piece].to_owned() });
            prop_assert_eq!(&document.text, &expected);
            prop_assert_eq!(&document.lines, &Lines::of(&expected));
        }
    }
}

/// Returns the byte of a position, counted unit by unit.
fn literal(text: &str, place: Position) -> usize {
    let (mut line, mut unit) = (0, 0);
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        if line == place.line
            && (unit + letter.len_utf16() as u32 > place.character || matches!(letter, '\n' | '\r'))
        {
            return at;
        }
        unit += letter.len_utf16() as u32;
        let is_end = letter == '\n' || letter == '\r' && letters.peek().is_none_or(|(_, next)| *next != '\n');
        if is_end {
            (line, unit) = (line + 1, 0);
        }
    }
    text.len()
}

const QUESTIONS: [&str; 7] = [
    "textDocument/hover",
    "textDocument/completion",
    "textDocument/signatureHelp",
    "textDocument/definition",
    "textDocument/references",
    "textDocument/documentHighlight",
    "textDocument/prepareRename",
];
const OF_TEXTS: [&str; 5] = [
    "textDocument/inlayHint",
    "textDocument/semanticTokens/full",
    "textDocument/documentSymbol",
    "textDocument/foldingRange",
    "textDocument/formatting",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// After any change of an example, each request has a response that is not a panic.
    #[test]
    fn nothing_fails(which in 0..1000_usize, all in prop::collection::vec(change(), 1..6)) {
        let examples = examples();
        let (name, text) = &examples[which % examples.len()];
        let mut editor = Editor::with(name, text);
        for (version, (line, unit, more, end, piece)) in all.into_iter().enumerate() {
            let range = json!({
                "start": { "line": line, "character": unit }, "end": { "line": line + more, "character": end },
            });
            editor.change(name, version as i64 + 2, range, PIECES[piece]);
            let position = json!({ "line": line, "character": unit });
            for method in QUESTIONS {
                let params = question(method, name, &position);
                no_defect(method, editor.try_ask(method, params))?;
            }
            for method in OF_TEXTS {
                let params = json!({
                    "textDocument": { "uri": uri(name) }, "options": { "tabSize": 4, "insertSpaces": true },
                    "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 999, "character": 0 } },
                });
                no_defect(method, editor.try_ask(method, params))?;
            }
        }
    }
}

/// Errors with a message are accepted, for example for names that cannot change; a panic is not.
fn no_defect(method: &str, answer: Result<serde_json::Value, String>) -> Result<(), TestCaseError> {
    match answer {
        Err(error) if method != "textDocument/prepareRename" => {
            Err(TestCaseError::fail(format!("{method}: {error}")))
        }
        Err(error) if error.ends_with("failed") => Err(TestCaseError::fail(format!("{method}: {error}"))),
        _ => Ok(()),
    }
}
