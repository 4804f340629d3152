//! [`edit_of`]: the change from one text to another, restricted to the lines that differ.

use lsp_types::{Range, TextEdit, Uri, WorkspaceEdit};

use crate::lsp::lines::Lines;

/// Returns the change from `before` to `after`, or `None` if they are equal.
pub fn edit_of(before: &str, after: &str) -> Option<TextEdit> {
    if before == after {
        return None;
    }
    let (old, new) = (pieces(before), pieces(after));
    let first = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - first;
    let last = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let size = |pieces: &[&str]| pieces.iter().map(|piece| piece.len()).sum::<usize>();
    let start = size(&old[..first]);
    let end = before.len() - size(&old[old.len() - last..]);
    let lines = Lines::of(before);
    let range = Range::new(lines.position(before, start), lines.position(before, end));
    Some(TextEdit { range, new_text: new[first..new.len() - last].concat() })
}

/// Splits a text into lines with their line ends.
fn pieces(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Combines changes of several texts.
pub fn workspace_edit(edits: impl IntoIterator<Item = (Uri, TextEdit)>) -> WorkspaceEdit {
    #[allow(clippy::mutable_key_type, reason = "the protocol's own type, whose text does not change")]
    let mut changes = std::collections::HashMap::<Uri, Vec<TextEdit>>::new();
    for (uri, edit) in edits {
        changes.entry(uri).or_default().push(edit);
    }
    WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }
}

#[cfg(test)]
mod tests {
    use lsp_types::Position;

    use super::*;

    #[test]
    fn only_lines_that_differ_change() {
        let edit = edit_of("a\nb\nc\nd", "a\nx\ny\nd");
        let range = Range::new(Position::new(1, 0), Position::new(3, 0));
        assert_eq!(edit, Some(TextEdit { range, new_text: "x\ny\n".to_owned() }));
        assert_eq!(edit_of("a", "a"), None);
        let edit = edit_of("a\n", "a\na\n");
        assert_eq!(edit.map(|edit| edit.new_text).as_deref(), Some("a\n"));
    }
}
