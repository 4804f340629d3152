//! [`printable`]: text that is safe to show in a terminal. Names in models and files may contain
//! any character.

use std::borrow::Cow;

/// Whether a terminal shows the character without side effects. Not printable are control
/// characters, direction marks (which reorder others), line separators, variation selectors (which
/// change widths), and noncharacters, which XML cannot contain.
pub fn is_printable(c: char) -> bool {
    let is_mark =
        matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    let is_line_end = matches!(c, '\u{2028}' | '\u{2029}');
    let is_selector = matches!(c, '\u{FE00}'..='\u{FE0F}');
    let is_no_character = matches!(c, '\u{FDD0}'..='\u{FDEF}') || u32::from(c) & 0xFFFE == 0xFFFE;
    !(c.is_control() || is_mark || is_line_end || is_selector || is_no_character)
}

/// Escapes characters that are not printable, such as `\u{1b}`, except line ends (`\n` or `\r\n`)
/// and tabs.
///
/// ```
/// # use npukit_base::printable;
/// assert_eq!(printable("a\u{1b}[2J\n\tb"), "a\\u{1b}[2J\n\tb");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_kept = |c| matches!(c, '\n' | '\t');
    if !text.contains("\r\n") {
        return escaped(text, is_kept);
    }
    let lines: Vec<Cow<'_, str>> = text.split("\r\n").map(|line| escaped(line, is_kept)).collect();
    Cow::Owned(lines.join("\r\n"))
}

/// Like [`printable`], but also escapes line ends and tabs, for text that must stay on one line.
///
/// ```
/// # use npukit_base::on_a_line;
/// assert_eq!(on_a_line("node\nsupported"), "node\\nsupported");
/// ```
pub fn on_a_line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_bad = |c: char| !is_printable(c) && !is_kept(c);
    if !text.contains(is_bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    for c in text.chars() {
        if is_bad(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_is_left() {
        assert_eq!(printable("a\u{1b}[2J\u{9b}\r\u{202e}b\n\tc"), "a\\u{1b}[2J\\u{9b}\\r\\u{202e}b\n\tc");
        assert_eq!(printable("a\r\n\u{1b}\rb\r\n"), "a\r\n\\u{1b}\\rb\r\n");
        assert_eq!(on_a_line("a\nb\u{2066}\u{fe0f}"), "a\\nb\\u{2066}\\u{fe0f}");
        assert_eq!(
            on_a_line("a\u{2028}\u{61c}\u{fdd0}\u{1fffe}\u{ffff}"),
            "a\\u{2028}\\u{61c}\\u{fdd0}\\u{1fffe}\\u{ffff}"
        );
        assert!(matches!(printable("plain, \u{e9}\n"), Cow::Borrowed(_)));
    }
}
