//! [`substitute`]: replaces the `\` names of a line by their values; [`Layer`] maps each part to
//! its origin.

use std::sync::Arc;

use npukit_base::Span;

/// Values of the names after `\`.
pub(crate) struct Substitutions<'a> {
    /// Returns the value of a name, `@` or `+`; `None` keeps the text.
    pub value_of: &'a dyn Fn(&str) -> Option<String>,
    /// Whether `\()` is replaced by nothing.
    pub separates: bool,
}

/// Mapping of a line to the line before a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    pieces: Vec<Piece>,
    /// Mapping of earlier replacements.
    below: Option<Arc<Layer>>,
}

/// Part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// First byte in the new line.
    at: usize,
    /// Location in the old line.
    from: Span,
    replaced: bool,
}

impl Layer {
    /// Returns the location of bytes in the source's line.
    pub fn before(&self, span: Span) -> Span {
        let (first, last) = (self.piece(span.start), self.piece(span.end.saturating_sub(1).max(span.start)));
        let at = |piece: Piece, offset: usize| (piece.from.start + (offset - piece.at)).min(piece.from.end);
        let start = if first.replaced { first.from.start } else { at(first, span.start) };
        let end = if last.replaced { last.from.end } else { at(last, span.end.max(last.at)) };
        let span = Span::new(start, end);
        self.below.as_ref().map_or(span, |below| below.before(span))
    }

    /// Returns the piece that contains a byte.
    fn piece(&self, offset: usize) -> Piece {
        let after = self.pieces.partition_point(|piece| piece.at <= offset);
        let found = self.pieces.get(after.saturating_sub(1)).copied();
        // Default: an empty line has no pieces.
        found.unwrap_or(Piece { at: offset, from: Span::default(), replaced: false })
    }
}

/// The line became longer than `limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Substitutes the names in `text`; returns the new text, and its layer above `below` if there were
/// any.
///
/// # Errors
///
/// [`TooLong`] for a line of more than `limit` bytes.
pub(crate) fn substitute(
    text: &str,
    below: Option<&Arc<Layer>>,
    with: &Substitutions<'_>,
    limit: usize,
) -> Result<(String, Option<Arc<Layer>>), TooLong> {
    let (mut line, mut pieces, mut at) = (String::new(), Vec::new(), 0);
    let mut push = |line: &mut String, text: &str, from, replaced| {
        pieces.push(Piece { at: line.len(), from, replaced });
        line.push_str(text);
        if line.len() > limit { Err(TooLong) } else { Ok(()) }
    };
    while let Some((start, name)) = next_name(text, at) {
        let end = start + 1 + name.len();
        let value = if name == "()" { with.separates.then(String::new) } else { (with.value_of)(name) };
        if let Some(value) = value {
            push(&mut line, text.get(at..start).unwrap_or_default(), Span::new(at, start), false)?;
            push(&mut line, &value, Span::new(start, end), true)?;
        } else {
            push(&mut line, text.get(at..end).unwrap_or_default(), Span::new(at, end), false)?;
        }
        at = end;
    }
    if at == 0 {
        return Ok((text.to_owned(), below.cloned()));
    }
    push(&mut line, text.get(at..).unwrap_or_default(), Span::new(at, text.len()), false)?;
    Ok((line, Some(Arc::new(Layer { pieces, below: below.cloned() }))))
}

/// Replaces the text at the spans, which are in ascending order, by values; returns the new text,
/// and its layer above `below`.
pub(crate) fn replaced(
    text: &str,
    below: Option<&Arc<Layer>>,
    values: &[(Span, String)],
) -> (String, Option<Arc<Layer>>) {
    if values.is_empty() {
        return (text.to_owned(), below.cloned());
    }
    let (mut line, mut pieces, mut at) = (String::new(), Vec::new(), 0);
    for (span, value) in values {
        pieces.push(Piece { at: line.len(), from: Span::new(at, span.start), replaced: false });
        line += text.get(at..span.start).unwrap_or_default();
        pieces.push(Piece { at: line.len(), from: *span, replaced: true });
        line += value;
        at = span.end;
    }
    pieces.push(Piece { at: line.len(), from: Span::new(at, text.len()), replaced: false });
    line += text.get(at..).unwrap_or_default();
    (line, Some(Arc::new(Layer { pieces, below: below.cloned() })))
}

/// Returns the next `\` starting at byte `at`, and the text after it: a name, `@`, `+`, `()` or
/// nothing.
fn next_name(text: &str, at: usize) -> Option<(usize, &str)> {
    let start = at + text.get(at..)?.find('\\')?;
    let rest = text.get(start + 1..)?;
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let size = match rest.bytes().next() {
        Some(b'@' | b'+') => 1,
        Some(b'(') if rest.starts_with("()") => 2,
        Some(first) if first.is_ascii_digit() => 0,
        _ => rest.find(|c| !word(c)).unwrap_or(rest.len()),
    };
    Some((start, rest.get(..size)?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn with_a(text: &str, a: &str) -> (String, Option<Arc<Layer>>) {
        let value_of = |name: &str| (name == "a").then(|| a.to_owned());
        let with = Substitutions { value_of: &value_of, separates: true };
        substitute(text, None, &with, 30).unwrap()
    }

    #[test]
    fn names_stand_for_values() {
        for (text, expected) in [
            (r"go \a, \b", r"go 17, \b"),
            (r"\a\()_\a", "17_17"),
            (r"\ab \a", r"\ab 17"),
            ("plain", "plain"),
            ("end\\", "end\\"),
            (r"\@", r"\@"),
        ] {
            assert_eq!(with_a(text, "17").0, expected, "{text}");
        }
    }

    #[test]
    fn places_are_those_before() {
        let (line, layer) = with_a(r"go \a, [\a]", "17+2");
        let at = |what: &str| {
            let start = line.find(what).unwrap();
            layer.as_ref().unwrap().before(Span::new(start, start + what.len()))
        };
        assert_eq!(line, "go 17+2, [17+2]");
        assert_eq!(at("17"), Span::new(3, 5));
        assert_eq!(at("+2"), Span::new(3, 5));
        assert_eq!(at("go"), Span::new(0, 2));
        assert_eq!(at("[17"), Span::new(7, 10));
        assert_eq!(at("]"), Span::new(10, 11));
    }

    #[test]
    fn a_line_has_an_end() {
        let value_of = |_: &str| Some("x".repeat(20));
        let with = Substitutions { value_of: &value_of, separates: true };
        assert_eq!(substitute(r"\a\a", None, &with, 30), Err(TooLong));
        assert!(substitute(r"\a", None, &with, 30).is_ok());
    }
}
