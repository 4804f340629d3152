//! [`hints`]: shows the word of each instruction after it, and its cycles if known.

use lsp_types::{InlayHint, InlayHintKind, InlayHintLabel, InlayHintTooltip, Range};
use npukit_asm::analysis::Analysis;
use serde_json::Value;

use crate::lsp::document::Document;

/// Selection of the hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Whether to show the word, in hexadecimal and in file order.
    pub word: bool,
    /// Whether to show the cycles, if a clock gives them.
    pub cycle: bool,
}

impl Shown {
    /// Reads the initialization options, such as `{"inlayHints": {"word": true, "cycle": false}}`.
    pub fn of(options: Option<&Value>) -> Self {
        let asked = |key: &str| {
            // Default: everything is shown.
            options.and_then(|options| options.get("inlayHints")?.get(key)?.as_bool()).unwrap_or(true)
        };
        Self { word: asked("word"), cycle: asked("cycle") }
    }
}

/// Returns the hints of the lines of a range.
pub fn hints(document: &Document, known: &Analysis, range: Range, shown: Shown) -> Vec<InlayHint> {
    let (first, last) = (document.offset(range.start), document.offset(range.end));
    let checked = document.checked.as_ref().filter(|checked| checked.version == document.version);
    let mut all: Vec<InlayHint> = Vec::new();
    for (index, word) in known.words.iter().enumerate() {
        let span = word.place.span;
        // A line of a macro may produce several words of the program.
        let is_plain = word.place.source() == 0 && word.place.call().is_none();
        if !is_plain || span.end < first || span.start > last {
            continue;
        }
        let hex = || word.bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let cycles = checked.and_then(|checked| checked.cycles.get(index)).filter(|_| shown.cycle);
        let parts = [shown.word.then(hex), cycles.map(|cycles| format!("{cycles} cy"))];
        let label = parts.into_iter().flatten().collect::<Vec<_>>().join("  ");
        if label.is_empty() {
            continue;
        }
        all.push(InlayHint {
            position: document.range(span).end,
            label: InlayHintLabel::String(label),
            kind: Some(InlayHintKind::TYPE),
            text_edits: None,
            tooltip: Some(InlayHintTooltip::String(format!("instruction {index} at {}", word.address))),
            padding_left: Some(true),
            padding_right: None,
            data: None,
        });
    }
    all
}
