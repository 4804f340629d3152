//! `.include "FILE"`: the [`path`] in the line, its location ([`beside`]) and its [`text`].

use npukit_base::{Span, is_utf16};

use super::argument::{example, parts, unquoted};
use crate::error::{AsmError, source_span};

/// Function that returns the bytes of the file at a path, or the reason why it cannot be read.
pub type Files<'a> = dyn Fn(&str) -> Result<Vec<u8>, String> + 'a;

/// Returns the path in a line.
pub(super) fn path(word: Span, start: usize, rest: &str) -> Result<(String, Span), AsmError> {
    let found = parts(rest, start);
    if let [part] = found[..]
        && let Some(path) = unquoted(part.text).filter(|path| !path.is_empty())
    {
        return Ok((path.to_owned(), part.span));
    }
    let span = found.iter().map(|part| part.span).reduce(Span::to).unwrap_or(word);
    let found =
        if found.is_empty() { "the end of the line".to_owned() } else { format!("`{}`", rest.trim()) };
    let (expected, help) = ("a file's name in quotation marks", example("include"));
    Err(AsmError::Argument { directive: "include", expected, found, span: source_span(span), help })
}

/// Returns the path of `location` relative to the folder of the file `name`, without redundant
/// parts.
pub(crate) fn beside(name: &str, location: &str) -> String {
    let folder = name.rfind(['/', '\\']).map_or("", |end| &name[..=end]);
    let is_absolute = location.starts_with(['/', '\\']);
    let whole = if is_absolute { location.to_owned() } else { format!("{folder}{location}") };
    let mut steps: Vec<&str> = Vec::new();
    for (index, step) in whole.split('/').enumerate() {
        match (step, steps.last()) {
            (".", _) => {}
            ("", _) if index > 0 => {}
            ("..", Some(last)) if !matches!(*last, ".." | "") => drop(steps.pop()),
            _ => steps.push(step),
        }
    }
    steps.join("/")
}

/// Returns the text of a file.
pub(super) fn text(files: &Files<'_>, path: &str) -> Result<String, String> {
    let bytes = files(path)?;
    if is_utf16(&bytes) {
        return Err("it is UTF-16 text; save it as UTF-8".to_owned());
    }
    String::from_utf8(bytes)
        .map_err(|error| format!("byte {} of it is not UTF-8 text", error.utf8_error().valid_up_to()))
}

#[cfg(test)]
mod tests {
    use super::beside;

    #[test]
    fn files_lie_beside_the_one_that_names_them() {
        for (name, location, expected) in [
            ("p.s", "q.s", "q.s"),
            ("a/p.s", "q.s", "a/q.s"),
            ("a/p.s", "./b/../q.s", "a/q.s"),
            ("a/p.s", "../q.s", "q.s"),
            ("p.s", "../q.s", "../q.s"),
            ("../p.s", "../q.s", "../../q.s"),
            ("/a/p.s", "/b//q.s", "/b/q.s"),
        ] {
            assert_eq!(beside(name, location), expected, "{name} {location}");
        }
    }
}
