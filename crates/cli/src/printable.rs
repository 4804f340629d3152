//! [`printable`]: text that a terminal shows as it is. Names in models and files may hold any character.

use std::borrow::Cow;

/// The text with control characters escaped, but for line ends (`\n` or `\r\n`) and tabs, as `\u{1b}`; so are characters
/// that change the order in which others are shown.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_kept = |c| matches!(c, '\n' | '\t');
    if !text.contains("\r\n") {
        return escaped(text, is_kept);
    }
    let lines: Vec<Cow<'_, str>> = text.split("\r\n").map(|line| escaped(line, is_kept)).collect();
    Cow::Owned(lines.join("\r\n"))
}

/// The same for a text that is to stay on its line.
pub fn on_a_line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_bad = |c: char| (c.is_control() || is_format(c)) && !is_kept(c);
    if !text.contains(is_bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    for c in text.chars() {
        if is_bad(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Marks of direction, which have no width.
const fn is_format(c: char) -> bool {
    matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_is_left() {
        assert_eq!(printable("a\u{1b}[2J\u{9b}\r\u{202e}b\n\tc"), "a\\u{1b}[2J\\u{9b}\\r\\u{202e}b\n\tc");
        assert_eq!(printable("a\r\n\u{1b}\rb\r\n"), "a\r\n\\u{1b}\\rb\r\n");
        assert_eq!(on_a_line("a\nb"), "a\\nb");
        assert!(matches!(printable("plain, \u{e9}\n"), Cow::Borrowed(_)));
    }
}
