//! [`actions`]: quick fixes for the diagnostics at a place.

use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, Diagnostic, NumberOrString, Range,
    TextEdit,
};
use npukit_base::Span;
use serde_json::Value;

use crate::lsp::changes::workspace_edit;
use crate::lsp::diagnostics::{NO_TARGET, data};
use crate::lsp::document::Document;
use crate::lsp::workshop::Workshop;

/// Codes of findings about comments that allow nothing.
const UNUSED: [&str; 2] = ["unused-allow", "unknown-lint"];
/// Maximum number of targets that a quick fix offers.
const MAX_TARGETS: usize = 32;

/// Returns quick fixes for the diagnostics that the editor sends.
pub fn actions(
    document: &Document,
    params: &CodeActionParams,
    workshop: &dyn Workshop,
) -> Vec<CodeActionOrCommand> {
    let all = params.context.diagnostics.iter();
    all.flat_map(|diagnostic| of(document, diagnostic, workshop)).collect()
}

fn of(document: &Document, diagnostic: &Diagnostic, workshop: &dyn Workshop) -> Vec<CodeActionOrCommand> {
    let code = match &diagnostic.code {
        Some(NumberOrString::String(code)) => code.as_str(),
        _ => "",
    };
    if code == NO_TARGET {
        let top = document.range(Span::default());
        let insert = |(spec, what): (String, String)| {
            let edit = TextEdit { range: top, new_text: format!("{} npu: target {spec}\n", mark(document)) };
            action(document, diagnostic, format!("Set the target: {spec} ({what})"), edit, false)
        };
        return workshop.instances().into_iter().take(MAX_TARGETS).map(insert).collect();
    }
    let mut all = Vec::new();
    if let Some((range, text)) = fix(diagnostic) {
        let edit = TextEdit { range, new_text: text.clone() };
        all.push(action(document, diagnostic, format!("Change to `{text}`"), edit, true));
    }
    if UNUSED.contains(&code) {
        let edit = without(document, diagnostic.range);
        all.push(action(document, diagnostic, "Remove the comment".to_owned(), edit, true));
    } else if let Some(code) = data(diagnostic, "allow").and_then(Value::as_str) {
        let edit = allow(document, diagnostic.range, code);
        all.push(action(document, diagnostic, format!("Allow `{code}` here"), edit, false));
    }
    all
}

fn action(
    document: &Document,
    diagnostic: &Diagnostic,
    title: String,
    edit: TextEdit,
    is_preferred: bool,
) -> CodeActionOrCommand {
    CodeActionOrCommand::CodeAction(CodeAction {
        title,
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![diagnostic.clone()]),
        edit: Some(workspace_edit([(document.uri.clone(), edit)])),
        is_preferred: Some(is_preferred),
        ..CodeAction::default()
    })
}

/// Returns the fix that a diagnostic carries.
fn fix(diagnostic: &Diagnostic) -> Option<(Range, String)> {
    let range = serde_json::from_value(data(diagnostic, "range")?.clone()).ok()?; // Default: it has no fix.
    Some((range, data(diagnostic, "text")?.as_str()?.to_owned()))
}

/// Returns the comment marker of the document's language.
fn mark(document: &Document) -> &'static str {
    let marks = document.language().map(|language| language.comments().0);
    // Default: the marker of most languages; cannot happen in a supported text.
    marks.and_then(|marks| marks.first()).copied().unwrap_or("#")
}

/// Allows a finding: at the end of its line if possible, otherwise in a line before it.
fn allow(document: &Document, range: Range, code: &str) -> TextEdit {
    let (text, at) = (document.plain(), document.offset(range.start));
    let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
    let rest = text.get(start..).unwrap_or_default();
    let line = rest.split('\n').next().unwrap_or_default().trim_end_matches('\r');
    let comment = document.language().map(|language| language.comments().split(line).1);
    let mark = mark(document);
    if comment.is_some_and(|comment| !comment.is_empty()) {
        let indent = line.get(..line.len() - line.trim_start().len()).unwrap_or_default();
        let range = document.range(Span::new(start, start));
        return TextEdit { range, new_text: format!("{indent}{mark} npu: allow {code}\n") };
    }
    let end = start + line.trim_end().len();
    let range = document.range(Span::new(end, start + line.len()));
    TextEdit { range, new_text: format!(" {mark} npu: allow {code}") }
}

/// Removes a comment, and its line if the line contains nothing more.
fn without(document: &Document, range: Range) -> TextEdit {
    let text = document.plain();
    let (start, end) = (document.offset(range.start), document.offset(range.end));
    let before = text.get(..start).unwrap_or_default();
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    let code = before.get(line..).unwrap_or_default();
    let span = if code.trim().is_empty() {
        let after =
            text.get(end..).and_then(|rest| rest.find('\n')).map_or(text.len(), |size| end + size + 1);
        Span::new(line, after)
    } else {
        Span::new(line + code.trim_end().len(), end)
    };
    TextEdit { range: document.range(span), new_text: String::new() }
}
