//! [`diagnostics`]: errors and findings of a text, for an editor.

use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Range,
};
use npukit_asm::analysis::{Analysis, TextFault};
use npukit_base::Span;
use npukit_target::{Finding, text_target};
use serde_json::{Value, json};

use crate::lsp::checks::Checked;
use crate::lsp::document::{Document, Target};

/// Source of all diagnostics.
const SOURCE: &str = "npu";
/// Code: the target of a text is unknown.
pub const NO_TARGET: &str = "no-target";
/// Code: a text names a target that does not exist.
const WRONG_TARGET: &str = "unknown-target";
/// Code: further errors are not shown.
const MORE: &str = "more-errors";

/// Returns all diagnostics of a text with the analysis `known`.
pub fn diagnostics(document: &Document, known: &Analysis) -> Vec<Diagnostic> {
    match &document.target {
        Target::Unknown => {
            let message = "no target is named: write `npu: target NAME` in a comment, or `target = \"NAME\"` in npu.toml";
            return vec![plain(
                document,
                Span::default(),
                DiagnosticSeverity::INFORMATION,
                NO_TARGET,
                message,
            )];
        }
        Target::Wrong { reason, .. } => {
            // Default: the beginning, if the target is not from the text.
            let span = text_target(document.plain()).map(|(span, _)| span).unwrap_or_default();
            return vec![plain(document, span, DiagnosticSeverity::ERROR, WRONG_TARGET, reason)];
        }
        Target::Known(_) => {}
    }
    let mut all: Vec<Diagnostic> =
        known.faults.iter().map(|fault| of_fault(document, known, fault)).collect();
    if known.more_faults > 0 {
        let message = format!("{} more errors", known.more_faults);
        all.push(plain(document, Span::default(), DiagnosticSeverity::INFORMATION, MORE, &message));
    }
    let current = document.checked.as_ref().filter(|checked| checked.version == document.version);
    if let Some(Checked { findings, faults, remarks, .. }) = current.filter(|_| all.is_empty()) {
        all.extend(faults.iter().map(|fault| of_fault(document, known, fault)));
        all.extend(findings.iter().map(|(finding, place)| {
            let located = place.map(|place| document.locate(known, place));
            let mut found = of_finding(document, finding, located.as_ref().map(|located| located.span));
            let others = located.map(|located| located.others).unwrap_or_default(); // Default: no place.
            found.related_information = related(others);
            found
        }));
        let warning = DiagnosticSeverity::WARNING;
        all.extend(remarks.iter().map(|text| plain(document, Span::default(), warning, "remark", text)));
    }
    all
}

fn of_fault(document: &Document, known: &Analysis, fault: &TextFault) -> Diagnostic {
    let located = document.locate(known, fault.place);
    let mut message = fault.message.clone();
    if let Some(help) = &fault.help {
        message += &format!("\n{help}");
    }
    let mut others = located.others;
    others.extend(fault.others.iter().filter_map(|(span, what)| {
        let (uri, range) = document.in_source(known, fault.place.source(), *span)?;
        Some((uri, range, what.clone()))
    }));
    let fix = fault.fix.as_ref().filter(|_| fault.place.source() == 0 && fault.place.call().is_none());
    let fix = fix.map(|fix| json!({ "range": document.range(fix.span), "text": fix.text }));
    Diagnostic {
        related_information: related(others),
        data: fix,
        ..plain(document, located.span, DiagnosticSeverity::ERROR, &fault.code, &message)
    }
}

fn of_finding(document: &Document, finding: &Finding, span: Option<Span>) -> Diagnostic {
    let severity = if finding.is_error() { DiagnosticSeverity::ERROR } else { DiagnosticSeverity::WARNING };
    // Default: a finding of the whole program.
    let found = plain(document, span.unwrap_or_default(), severity, finding.code, &finding.message);
    // A comment allows the findings of an instruction.
    let span = span.filter(|_| finding.instruction.is_some());
    Diagnostic { data: span.map(|_| json!({ "allow": finding.code })), ..found }
}

fn related(others: Vec<(lsp_types::Uri, Range, String)>) -> Option<Vec<DiagnosticRelatedInformation>> {
    let related =
        |(uri, range, message)| DiagnosticRelatedInformation { location: Location::new(uri, range), message };
    (!others.is_empty()).then(|| others.into_iter().map(related).collect())
}

fn plain(
    document: &Document,
    span: Span,
    severity: DiagnosticSeverity,
    code: &str,
    message: &str,
) -> Diagnostic {
    Diagnostic {
        range: document.range(span),
        severity: Some(severity),
        code: Some(NumberOrString::String(code.to_owned())),
        source: Some(SOURCE.to_owned()),
        message: message.to_owned(),
        ..Diagnostic::default()
    }
}

/// Returns the data of a diagnostic that [`crate::lsp::actions`] uses.
pub fn data<'a>(diagnostic: &'a Diagnostic, key: &str) -> Option<&'a Value> {
    diagnostic.data.as_ref()?.get(key)
}
