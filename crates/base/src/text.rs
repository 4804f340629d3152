//! Byte order marks: [`without_bom`] removes the mark of UTF-8, [`is_utf16`] detects the mark of
//! UTF-16. [`distinct`] removes repeated texts.

/// Returns the text without the byte order mark that some editors put before UTF-8.
///
/// Without the mark, columns are as users see them.
pub fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Whether bytes begin with the byte order mark of UTF-16, in either byte order.
pub fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff])
}

/// Returns each text once, in the order in which they first appear.
pub fn distinct<'a>(texts: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for text in texts {
        if !found.contains(text) {
            found.push(text.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_no_text() {
        assert_eq!(without_bom("\u{feff}noop"), "noop");
        assert_eq!(without_bom("noop\u{feff}"), "noop\u{feff}");
        assert!(is_utf16(b"\xff\xfen\0") && is_utf16(b"\xfe\xff\0n"));
        assert!(!is_utf16("\u{feff}n".as_bytes()) && !is_utf16(b"\xff"));
    }

    #[test]
    fn repeated_texts_are_kept_once_where_they_appear_first() {
        let texts = ["b", "a", "b", "c", "a"].map(str::to_owned);
        assert_eq!(distinct(texts.iter()), ["b", "a", "c"]);
    }
}
