//! [`Texts`]: interned texts of a recording. [`printable`]: their form in viewers.

use indexmap::IndexMap;

/// Maximum number of characters of a text in a waveform.
const LONGEST: usize = 1000;

/// Texts by number.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// Texts with the number of characters of their printable form.
    all: IndexMap<String, usize>,
}

impl Texts {
    /// Returns the number of a text, and the number of characters of its printable form.
    pub fn number(&mut self, text: &str) -> (u64, usize) {
        if let Some((index, _, &long)) = self.all.get_full(text) {
            return (index as u64, long);
        }
        let long = printable(text).len();
        let (index, _) = self.all.insert_full(text.to_owned(), long);
        (index as u64, long)
    }

    /// Returns the printable form of a text.
    pub fn printable(&self, number: u64) -> String {
        let found = usize::try_from(number).ok().and_then(|index| self.all.get_index(index));
        found.map(|(text, _)| printable(text)).unwrap_or_default() // Default: only numbers of known texts are used.
    }
}

/// Returns a text in the form of viewers, which treat bytes as ASCII characters. Other characters
/// are escaped as in Rust, and long texts are truncated with dots.
pub(super) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' '..='~' => shown.push(c),
            _ => shown.extend(c.escape_default()),
        }
    }
    if shown.len() > LONGEST {
        shown.truncate(LONGEST - 3);
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_number_and_characters_of_ascii() {
        let mut texts = Texts::default();
        assert_eq!(texts.number("conv"), (0, 4));
        assert_eq!(texts.number("caf\u{e9}\n"), (1, 11));
        assert_eq!(texts.number("conv"), (0, 4));
        assert_eq!(texts.printable(1), "caf\\u{e9}\\n");
        let long = printable(&"\u{1f600}".repeat(1000));
        assert!(long.len() == LONGEST && long.ends_with("..."));
    }
}
