//! [`formatting`]: formats a text, only if the program stays the same.

use lsp_types::TextEdit;
use npukit_asm::analysis::Analysis;
use npukit_target::{Reader, bytes_of};

use crate::lsp::changes::edit_of;
use crate::lsp::document::Document;

/// Message if formatting would change the program.
const OTHER: &str = "formatting would change the program: nothing was changed";

/// Returns the change that formats a text. It is empty if the text is already formatted, or if its
/// target cannot format it as it is.
///
/// # Errors
/// The formatted text would be a different program; nothing is changed.
pub fn formatting(
    document: &Document,
    known: &Analysis,
    files: &dyn Reader,
) -> Result<Vec<TextEdit>, String> {
    let (Some(instance), Some(language)) = (document.instance(), document.language()) else {
        return Ok(Vec::new());
    };
    let before = document.plain();
    let Ok(after) = instance.format(&document.path, before) else { return Ok(Vec::new()) };
    let found = language.analyze(&document.path, &after, &bytes_of(files));
    let is_program = |text: &str| {
        // A text without words of its own has words once it is scheduled.
        instance.assemble(&document.path, text, files).ok().map(|made| made.bytes)
    };
    let is_changed =
        known.words.is_empty() && found.words.is_empty() && is_program(before) != is_program(&after);
    if is_changed || !is_same(known, &found) {
        // A faulty text may parse differently after its lines are changed.
        return if known.faults.is_empty() { Err(OTHER.to_owned()) } else { Ok(Vec::new()) };
    }
    let mark = document.text.len() - before.len();
    let whole = document.text.get(..mark).unwrap_or_default().to_owned() + &after;
    Ok(edit_of(&document.text, &whole).into_iter().collect())
}

/// Whether two texts have equal words and equally many faults.
fn is_same(before: &Analysis, after: &Analysis) -> bool {
    let words = |known: &Analysis| known.words.iter().map(|word| word.bytes.clone()).collect::<Vec<_>>();
    let codes = |known: &Analysis| known.faults.iter().map(|fault| fault.code.clone()).collect::<Vec<_>>();
    words(before) == words(after) && codes(before) == codes(after) && before.more_faults == after.more_faults
}
