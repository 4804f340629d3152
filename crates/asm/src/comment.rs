//! [`Comments`]: the markers that begin a comment.

/// Markers that begin a comment, up to the end of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comments(pub &'static [&'static str]);

impl Comments {
    /// Comment markers of most instruction sets.
    pub const COMMON: Self = Self(&[";", "#", "//"]);

    /// Splits a line into code and comment. Markers between quotation marks are ignored.
    pub fn split(self, line: &str) -> (&str, &str) {
        let begins = |c: char| c == '"' || self.0.iter().any(|mark| mark.starts_with(c));
        let mut at = 0;
        while let Some((rest, next)) = line.get(at..).and_then(|rest| Some((rest, rest.find(begins)?))) {
            let rest = rest.get(next..).unwrap_or_default();
            if self.0.iter().any(|mark| rest.starts_with(mark)) {
                return line.split_at_checked(at + next).unwrap_or((line, ""));
            }
            // Comment markers and quotation marks begin with one-byte characters.
            at += next + quoted(rest).unwrap_or(1);
        }
        (line, "")
    }
}

/// Returns the size of the quoted text that `text` begins with, including the quotation marks.
pub(crate) fn quoted(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('"')?;
    inner.find('"').map(|end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_ends_a_line() {
        let split = |line| Comments::COMMON.split(line);
        assert_eq!(split("go 1 ; a # b"), ("go 1 ", "; a # b"));
        assert_eq!(split("go é // b"), ("go é ", "// b"));
        assert_eq!(split("go 4 / 2"), ("go 4 / 2", ""));
        assert_eq!(split(".include \"a#b\" # c"), (".include \"a#b\" ", "# c"));
        assert_eq!(split("\"open # c"), ("\"open ", "# c"));
        assert_eq!(Comments(&["#"]).split("a ; b"), ("a ; b", ""));
    }
}
