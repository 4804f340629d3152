//! [`Words`] of a command line: separated by spaces, or quoted.

use npukit_base::Span;

/// Word of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word<'a> {
    /// Text without quotes.
    pub text: &'a str,
    /// Byte range in the line, including quotes.
    pub span: Span,
}

/// Iterator over the words of a line, up to a comment.
pub(super) struct Words<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Words<'a> {
    pub fn new(line: &'a str) -> Self {
        Self { line, at: 0 }
    }

    /// Returns the next word.
    pub fn next(&mut self) -> Option<Word<'a>> {
        self.skip();
        let rest =
            self.line.get(self.at..).filter(|rest| !rest.is_empty() && !rest.starts_with(['#', ';']))?;
        let start = self.at;
        for quote in ['"', '`'] {
            let inside = rest.strip_prefix(quote).and_then(|inside| Some((inside, inside.find(quote)?)));
            if let Some((inside, end)) = inside {
                self.at += end + 2;
                return Some(Word { text: &inside[..end], span: Span { start, end: self.at } });
            }
        }
        // Default: the last word ends with the line.
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        self.at += length;
        Some(Word { text: &rest[..length], span: Span { start, end: self.at } })
    }

    /// Returns the rest of the line.
    pub fn rest(&mut self) -> &'a str {
        let rest = self.line.get(self.at..).map_or("", str::trim);
        self.at = self.line.len();
        rest
    }

    /// Returns the place of the next word.
    pub fn end(&self) -> Span {
        let end = self.line.trim_end().len();
        Span { start: end, end }
    }

    fn skip(&mut self) {
        let rest = self.line.get(self.at..).map_or("", |rest| rest);
        self.at += rest.len() - rest.trim_start().len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<(&str, usize)> {
        let mut words = Words::new(line);
        std::iter::from_fn(|| words.next()).map(|word| (word.text, word.span.start)).collect()
    }

    #[test]
    fn words_stand_between_spaces_or_in_quotes() {
        assert_eq!(words("  step 3 # x"), [("step", 2), ("3", 7)]);
        assert_eq!(words("layer \"a b\" `c d`"), [("layer", 0), ("a b", 6), ("c d", 12)]);
        assert_eq!(words("\"a"), [("\"a", 0)]);
        assert_eq!(words(" ; all of it"), []);
    }
}
