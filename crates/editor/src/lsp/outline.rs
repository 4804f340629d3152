//! [`outline`] and [`folds`]: the structure of a text.

use lsp_types::{DocumentSymbol, FoldingRange, FoldingRangeKind, SymbolKind};
use npukit_asm::analysis::{Analysis, Definition, MarkKind, Space};
use npukit_base::Span;

use crate::lsp::document::Document;
use crate::lsp::lines::number;

/// Returns labels, symbols, macros and named blocks; contents of a block are nested in it.
pub fn outline(document: &Document, known: &Analysis) -> Vec<DocumentSymbol> {
    let mut all: Vec<(Span, Span, String, &'static str, SymbolKind)> = Vec::new();
    for mark in known.marks_of(0) {
        let MarkKind::Definition { name, of, .. } = &mark.kind else { continue };
        let kind = match of {
            Definition::Label => SymbolKind::KEY,
            Definition::Constant => SymbolKind::CONSTANT,
            Definition::Variable if name.space == Space::Symbols => SymbolKind::VARIABLE,
            // Names of other kinds are within blocks.
            _ => continue,
        };
        all.push((mark.span, mark.span, name.text.clone(), of.word(), kind));
    }
    for block in &known.blocks {
        if let Some(name) = &block.name {
            let kind = if block.what == "macro" { SymbolKind::FUNCTION } else { SymbolKind::NAMESPACE };
            all.push((block.span, block.name_span, name.clone(), block.what, kind));
        }
    }
    // Enclosing blocks come before their contents.
    all.sort_by_key(|(span, ..)| (span.start, usize::MAX - span.end));
    let mut open: Vec<(Span, DocumentSymbol)> = Vec::new();
    let mut top = Vec::new();
    for (span, name_span, name, what, kind) in all {
        while open.last().is_some_and(|(outer, _)| outer.end < span.end) {
            close(&mut open, &mut top);
        }
        #[allow(deprecated, reason = "a required field of the type")]
        let symbol = DocumentSymbol {
            name,
            detail: Some(what.to_owned()),
            kind,
            tags: None,
            deprecated: None,
            range: document.range(span.to(name_span)),
            selection_range: document.range(name_span),
            children: None,
        };
        open.push((span, symbol));
    }
    while !open.is_empty() {
        close(&mut open, &mut top);
    }
    top
}

fn close(open: &mut Vec<(Span, DocumentSymbol)>, top: &mut Vec<DocumentSymbol>) {
    let Some((_, symbol)) = open.pop() else { return };
    match open.last_mut() {
        Some((_, outer)) => outer.children.get_or_insert_default().push(symbol),
        None => top.push(symbol),
    }
}

/// Returns foldable ranges: blocks, and consecutive comment lines.
pub fn folds(document: &Document, known: &Analysis) -> Vec<FoldingRange> {
    let fold = |first: usize, last: usize, kind| FoldingRange {
        start_line: number(first),
        end_line: number(last),
        kind: Some(kind),
        ..FoldingRange::default()
    };
    let lines = |span: Span| {
        let range = document.range(span);
        (range.start.line as usize, range.end.line as usize)
    };
    let blocks = known.blocks.iter().map(|block| lines(block.span)).filter(|(first, last)| last > first);
    let mut all: Vec<FoldingRange> =
        blocks.map(|(first, last)| fold(first, last, FoldingRangeKind::Region)).collect();
    let Some(language) = document.language() else { return all };
    let mut begun = None;
    let count = document.plain().lines().count();
    for (index, line) in document.plain().lines().chain([""]).enumerate() {
        let (code, comment) = language.comments().split(line);
        let is_comment = code.trim().is_empty() && !comment.is_empty() && index < count;
        match (begun, is_comment) {
            (None, true) => begun = Some(index),
            (Some(first), false) => {
                if index > first + 1 {
                    all.push(fold(first, index - 1, FoldingRangeKind::Comment));
                }
                begun = None;
            }
            _ => {}
        }
    }
    all
}
