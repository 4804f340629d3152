//! [`formatting`]: a text laid out. It is the same program then, or nothing changes.

use lsp_types::TextEdit;
use npukit_asm::analysis::Analysis;
use npukit_target::{Reader, bytes_of};

use crate::lsp::changes::edit_of;
use crate::lsp::document::Document;

/// Why a text is left as it is.
const OTHER: &str = "laid out, it would be another program: nothing was changed";

/// The change that lays a text out; none for one that is, or that its target cannot lay out as it stands.
///
/// # Errors
///
/// The layout would be another program: nothing is changed.
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
    let found = language.analyse(&document.path, &after, &bytes_of(files));
    let is_program = |text: &str| {
        // What has no words by itself has them when it is scheduled.
        instance.assemble(&document.path, text, files).ok().map(|made| made.bytes)
    };
    let is_changed =
        known.words.is_empty() && found.words.is_empty() && is_program(before) != is_program(&after);
    if is_changed || !is_same(known, &found) {
        // What is wrong may be read otherwise in other lines.
        return if known.faults.is_empty() { Err(OTHER.to_owned()) } else { Ok(Vec::new()) };
    }
    let mark = document.text.len() - before.len();
    let whole = document.text.get(..mark).unwrap_or_default().to_owned() + &after;
    Ok(edit_of(&document.text, &whole).into_iter().collect())
}

/// Whether two texts become the same words, and as much is wrong with them.
fn is_same(before: &Analysis, after: &Analysis) -> bool {
    let words = |known: &Analysis| known.words.iter().map(|word| word.bytes.clone()).collect::<Vec<_>>();
    let codes = |known: &Analysis| known.faults.iter().map(|fault| fault.code.clone()).collect::<Vec<_>>();
    words(before) == words(after) && codes(before) == codes(after) && before.more_faults == after.more_faults
}
