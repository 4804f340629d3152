//! [`signatures`]: syntax of the instruction at a place, and its next field.

use lsp_types::{
    Documentation, ParameterInformation, ParameterLabel, Position, SignatureHelp, SignatureInformation,
};
use npukit_asm::analysis::{Analysis, Signature};

use crate::lsp::document::Document;
use crate::lsp::lines::number;

/// Returns the forms of the instruction at a place.
pub fn signatures(document: &Document, known: &Analysis, position: Position) -> Option<SignatureHelp> {
    let found = document.language()?.signatures(document.plain(), document.offset(position), known)?;
    let active = found.all.get(found.active).and_then(|signature| signature.active);
    Some(SignatureHelp {
        signatures: found.all.into_iter().map(information).collect(),
        active_signature: Some(number(found.active)),
        active_parameter: active.map(number),
    })
}

fn information(signature: Signature) -> SignatureInformation {
    let Signature { label, meaning, parameters, active } = signature;
    let units = |at: usize| number(label.get(..at).unwrap_or(&label).chars().map(char::len_utf16).sum());
    let parameters = parameters.into_iter().map(|parameter| ParameterInformation {
        label: ParameterLabel::LabelOffsets([units(parameter.span.start), units(parameter.span.end)]),
        documentation: Some(Documentation::String(parameter.meaning)),
    });
    SignatureInformation {
        parameters: Some(parameters.collect()),
        documentation: Some(Documentation::String(meaning)),
        active_parameter: active.map(number),
        label,
    }
}
