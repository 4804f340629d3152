//! Names: definitions, references and renaming.

use lsp_types::{
    DocumentHighlight, DocumentHighlightKind, Location, Position, Range, TextEdit, WorkspaceEdit,
};
use npukit_asm::analysis::{Analysis, Mark, MarkKind, Name, Space};

use crate::lsp::changes::workspace_edit;
use crate::lsp::document::Document;
use crate::lsp::files::uri_of;

/// Returns the definition of the name at a place, or the file that is included there.
pub fn definition(document: &Document, known: &Analysis, position: Position) -> Vec<Location> {
    let offset = document.offset(position);
    let marks = known.marks_at(0, offset);
    let file = marks.iter().find_map(|mark| match &mark.kind {
        MarkKind::Include(path) => uri_of(path),
        _ => None,
    });
    if let Some(uri) = file {
        return vec![Location::new(uri, Range::default())];
    }
    let Some((_, name)) = known.name_at(0, offset) else { return Vec::new() };
    known.definitions(name).filter_map(|mark| location(document, known, mark)).collect()
}

/// Returns the references to the name at a place, and with `with_definition` also its definition.
pub fn references(
    document: &Document,
    known: &Analysis,
    position: Position,
    with_definition: bool,
) -> Vec<Location> {
    let Some((_, name)) = known.name_at(0, document.offset(position)) else { return Vec::new() };
    let is_asked = |mark: &&Mark| with_definition || matches!(mark.kind, MarkKind::Reference(_));
    known.uses(name).filter(is_asked).filter_map(|mark| location(document, known, mark)).collect()
}

/// Returns the places in the text at which the same name occurs.
pub fn highlights(document: &Document, known: &Analysis, position: Position) -> Vec<DocumentHighlight> {
    let Some((_, name)) = known.name_at(0, document.offset(position)) else { return Vec::new() };
    let own = known.uses(name).filter(|mark| mark.source == 0);
    let highlight = |mark: &Mark| {
        let is_definition = matches!(mark.kind, MarkKind::Definition { .. });
        let kind = if is_definition { DocumentHighlightKind::WRITE } else { DocumentHighlightKind::READ };
        DocumentHighlight { range: document.range(mark.span), kind: Some(kind) }
    };
    own.map(highlight).collect()
}

fn location(document: &Document, known: &Analysis, mark: &Mark) -> Option<Location> {
    let (uri, range) = document.in_source(known, mark.source, mark.span)?;
    Some(Location::new(uri, range))
}

/// Returns the range and text of the name at a place, if it can be renamed.
///
/// # Errors
/// The reason why it cannot be renamed: for example, a macro composes it.
pub fn renamed(document: &Document, known: &Analysis, position: Position) -> Result<(Range, String), String> {
    let (mark, name) = named(document, known, position)?;
    let shown = document.plain().get(mark.span.start..mark.span.end).unwrap_or(&name.text);
    Ok((document.range(mark.span), shown.to_owned()))
}

fn named<'a>(
    document: &Document,
    known: &'a Analysis,
    position: Position,
) -> Result<(&'a Mark, &'a Name), String> {
    let found = known.name_at(0, document.offset(position));
    let (mark, name) = found.ok_or_else(|| "the name at this place is not defined".to_owned())?;
    if known.definitions(name).next().is_none() {
        return Err(format!("`{}` is not defined in these files", name.text));
    }
    let texts: Vec<&str> = known.sources.texts().map(|(_, text)| text).collect();
    let is_whole = |mark: &Mark| {
        let text = texts.get(mark.source).and_then(|text| text.get(mark.span.start..mark.span.end));
        text.is_some_and(|text| {
            if name.space == Space::Macros {
                text.eq_ignore_ascii_case(&name.text)
            } else {
                text == name.text
            }
        })
    };
    match known.uses(name).all(is_whole) {
        true => Ok((mark, name)),
        false => Err(format!("`{}` is composed by a macro: rename it there", name.text)),
    }
}

/// Returns the change that renames the name at a place.
///
/// # Errors
/// The new name is invalid or already used.
pub fn rename(
    document: &Document,
    known: &Analysis,
    position: Position,
    new: &str,
) -> Result<WorkspaceEdit, String> {
    let (_, name) = named(document, known, position)?;
    let is_word = new.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_word || !new.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return Err(format!(
            "`{new}` is not a valid name: use letters, digits and `_`, and do not begin with a digit"
        ));
    }
    let other = Name { text: new.to_owned(), space: name.space };
    let other = if name.space == Space::Macros { Name::of_macro(new) } else { other };
    if other != *name && known.uses(&other).next().is_some() {
        return Err(format!("`{new}` is already used"));
    }
    let edits = known.uses(name).filter_map(|mark| {
        let (uri, range) = document.in_source(known, mark.source, mark.span)?;
        Some((uri, TextEdit { range, new_text: new.to_owned() }))
    });
    Ok(workspace_edit(edits))
}
