//! [`excerpt`]: a line of a text with a mark below, for warnings.

use crate::Span;

/// Formats a message as `line 2: MESSAGE`, followed by the line of the span and marks below the
/// span.
pub fn excerpt(text: &str, span: Span, message: &str) -> String {
    let before = text.get(..span.start).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let number = before.matches('\n').count() + 1;
    let line = text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
    let covered = line.get(span.start - start..).unwrap_or_default();
    let end = span.size_bytes().min(covered.len());
    let marks = covered.get(..end).unwrap_or(covered).chars().count().max(1);
    // Tabs before the mark are kept, so that it is aligned.
    let gap = line.get(..span.start - start).unwrap_or_default();
    let gap: String = gap.chars().map(|c| if c == '\t' { c } else { ' ' }).collect();
    format!("line {number}: {message}\n    {line}\n    {gap}{}", "^".repeat(marks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_below_its_text() {
        let text = "one\n\tré two(\nx)\n";
        let at = |what: &str| text.find(what).map(|start| Span::new(start, start + what.len()));
        let shown = |what| at(what).map(|span| excerpt(text, span, "m")).unwrap_or_default();
        assert_eq!(shown("two"), "line 2: m\n    \tré two(\n    \t   ^^^");
        assert_eq!(shown("two(\nx)"), "line 2: m\n    \tré two(\n    \t   ^^^^");
        assert_eq!(excerpt(text, Span::new(99, 102), "m"), "line 4: m\n    \n    ^");
    }
}
