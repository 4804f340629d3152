//! Escaping of names and texts in the files of a circuit: one function per format, so that no name
//! can inject commands into a tool.
//!
//! Names come from files and options and may contain any character. [`comment`] is for text after
//! `//` or `#`, in SystemVerilog, file lists, and scripts for Yosys and Vivado. [`yaml`] is for
//! FuseSoC, and [`tcl`] for a TCL word. File and module names are an
//! [`identifier`](crate::rtl::identifier).

use std::borrow::Cow;

use npukit_base::on_a_line;

/// Escapes a text in a comment: it stays on its line and does not continue on the next.
pub(crate) fn comment(text: &str) -> Cow<'_, str> {
    let line = on_a_line(text);
    // A backslash at the end of a line would join the next line to it.
    if line.ends_with('\\') { Cow::Owned(format!("{line} ")) } else { line }
}

/// Escapes a text for a quoted YAML string.
pub(crate) fn yaml(text: &str) -> String {
    quoted(text, &['\\', '"'])
}

/// Escapes a text for a quoted TCL word without variable or command substitution.
pub(crate) fn tcl(text: &str) -> String {
    quoted(text, &['\\', '"', '$', '[', ']', '{', '}'])
}

/// Puts the text on one line between quotes, with a backslash before each of `special`.
fn quoted(text: &str, special: &[char]) -> String {
    let mut out = String::from("\"");
    for c in on_a_line(text).chars() {
        if special.contains(&c) {
            out.push('\\');
        }
        out.push(c);
    }
    out + "\""
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Names that tools would interpret if they were written unescaped.
    pub(crate) const NAMES: [&str; 12] = [
        "a\nexec -- touch x\n#",
        "a\r\nexec -- touch x\r\n#",
        "a\u{85}exec x\u{2028}exec x\u{2029}exec x",
        "\"; exec touch x; \"",
        "'; exec touch x; '",
        "$(exec touch x) `exec touch x` ${x} $x",
        "[exec touch x]",
        "}; exec touch x; set y {",
        "a; exec touch x",
        "]]> */ endmodule --> \"\"\" # : - &x *x !x",
        "a\\",
        "\\\"; exec touch x; \\\"\u{0}\u{1b}\u{202e}\u{ffff}",
    ];

    #[test]
    fn texts_stay_within_a_comment() {
        for name in NAMES {
            let text = comment(name);
            assert!(!text.contains(|c: char| !npukit_base::is_printable(c)), "{text:?}");
            assert!(!text.ends_with('\\'), "{text:?}");
        }
        assert_eq!(comment("unit:small,depth=8"), "unit:small,depth=8");
    }

    #[test]
    fn words_end_where_they_were_to_end() {
        for name in NAMES {
            for (text, special) in [(yaml(name), "\""), (tcl(name), "\"$[]{}")] {
                let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap();
                let mut chars = inner.chars();
                while let Some(c) = chars.next() {
                    assert!(npukit_base::is_printable(c) && !special.contains(c), "{text}");
                    assert!(c != '\\' || chars.next().is_some(), "{text}");
                }
            }
        }
        assert_eq!(tcl("a[b] $c"), "\"a\\[b\\] \\$c\"");
        assert_eq!(yaml("a\nb \"c\""), "\"a\\\\nb \\\"c\\\"\"");
    }
}
