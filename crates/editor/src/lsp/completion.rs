//! [`completion`]: suggestions at a place.

use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionList, CompletionTextEdit, InsertTextFormat, Position,
    TextEdit,
};
use npukit_asm::analysis::{Analysis, ProposalKind};
use npukit_base::Span;
use npukit_target::LINTS_OF_TEXTS;

use crate::lsp::document::Document;
use crate::lsp::workshop::Workshop;

/// Returns the words that may be inserted at a place.
pub fn completion(
    document: &Document,
    known: &Analysis,
    position: Position,
    workshop: &dyn Workshop,
) -> Option<CompletionList> {
    let at = document.offset(position);
    let items = match of_comment(document, at, workshop) {
        Some(items) => items,
        None => of_language(document, known, at)?,
    };
    Some(CompletionList { is_incomplete: false, items })
}

fn of_language(document: &Document, known: &Analysis, at: usize) -> Option<Vec<CompletionItem>> {
    let found = document.language()?.propose(document.plain(), at, known);
    let range = document.range(found.span);
    let items = found.all.into_iter().enumerate().map(|(index, proposal)| CompletionItem {
        label: proposal.text.clone(),
        kind: Some(kind(proposal.kind)),
        detail: Some(proposal.detail).filter(|detail| !detail.is_empty()),
        sort_text: Some(format!("{index:05}")),
        filter_text: Some(proposal.text.clone()),
        insert_text_format: Some(InsertTextFormat::PLAIN_TEXT),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit { range, new_text: proposal.text })),
        ..CompletionItem::default()
    });
    Some(items.collect())
}

const fn kind(kind: ProposalKind) -> CompletionItemKind {
    match kind {
        ProposalKind::Mnemonic => CompletionItemKind::FUNCTION,
        ProposalKind::Field => CompletionItemKind::FIELD,
        ProposalKind::Value => CompletionItemKind::ENUM_MEMBER,
        ProposalKind::Keyword | ProposalKind::Directive => CompletionItemKind::KEYWORD,
        ProposalKind::Symbol => CompletionItemKind::CONSTANT,
        ProposalKind::Macro => CompletionItemKind::SNIPPET,
    }
}

/// Completes target names and codes of findings in `npu:` comments.
fn of_comment(document: &Document, at: usize, workshop: &dyn Workshop) -> Option<Vec<CompletionItem>> {
    let before = document.plain().get(..at)?;
    let line = before.rsplit('\n').next()?;
    let (_, command) = line.rsplit_once("npu:")?;
    let is_code = |c: char| !c.is_whitespace() && c != ',';
    let word = before.trim_end_matches(is_code).len();
    let all: Vec<(String, String)> = match command.split_whitespace().next() {
        Some("target") if command.trim_start().contains(char::is_whitespace) => workshop.instances(),
        Some("allow") if command.trim_start().contains(char::is_whitespace) => {
            // Default: the findings are unknown without a target.
            let own = document.instance().map(|instance| instance.info().lints).unwrap_or_default();
            let lints = own.iter().chain(LINTS_OF_TEXTS);
            lints.map(|lint| (lint.code.to_owned(), lint.meaning.to_owned())).collect()
        }
        _ => [("target", "target and instance of this text"), ("allow", "findings to hide in this line")]
            .map(|(word, detail)| (word.to_owned(), detail.to_owned()))
            .to_vec(),
    };
    let start = before.len() - line.len() + line.rfind("npu:")? + "npu:".len();
    let range = document.range(Span::new(word.max(start), at));
    let item = |(text, detail): (String, String)| CompletionItem {
        label: text.clone(),
        kind: Some(CompletionItemKind::VALUE),
        detail: Some(detail),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit { range, new_text: text })),
        ..CompletionItem::default()
    };
    Some(all.into_iter().map(item).collect())
}
