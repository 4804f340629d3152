//! [`without_bom`]: what of a file is text. [`is_utf16`] knows files that are text of another kind.

/// The text without the byte order mark that some editors put before UTF-8.
///
/// Places in it are those that people count: the mark is in no column.
pub fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Whether bytes begin with the byte order mark of UTF-16, in either order.
pub fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff])
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
}
