//! Reports as text: what several verbs print.

pub(super) mod accuracy;
pub(super) mod comparison;
pub(super) mod layers;
pub(super) mod outputs;

use crate::printable::line;
use crate::verbosity::is_quiet;

/// What a user should know of, a line each, unless it is to be quiet: at the end of a report.
pub fn remarks(notes: &[String], warnings: &[String]) -> String {
    if is_quiet() {
        return String::new();
    }
    let lines = |kind: &'static str, texts: &[String]| {
        texts.iter().map(|text| line(&format!("{kind}: {text}"))).collect::<String>()
    };
    lines("note", notes) + &lines("warning", warnings)
}
