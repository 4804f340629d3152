//! Texts of reports that several verbs print.

pub(super) mod accuracy;
pub(super) mod comparison;
pub(super) mod costs;
pub(super) mod layers;
pub(super) mod outputs;

use std::path::Path;

use crate::printable::line;
use crate::verbosity::is_quiet;

/// Formats the files that were written, one per line.
pub fn written<'a>(files: impl IntoIterator<Item = &'a Path>) -> String {
    files.into_iter().map(|path| line(&format!("wrote {}", path.display()))).collect()
}

/// Formats notes and warnings for the end of a report, one per line; empty with `--quiet`.
pub fn remarks(notes: &[String], warnings: &[String]) -> String {
    if is_quiet() {
        return String::new();
    }
    let lines = |kind: &'static str, texts: &[String]| {
        texts.iter().map(|text| line(&format!("{kind}: {text}"))).collect::<String>()
    };
    lines("note", notes) + &lines("warning", warnings)
}
