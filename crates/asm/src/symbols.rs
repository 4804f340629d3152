//! [`Symbols`]: names that stand for numbers.

use std::collections::BTreeMap;

use npukit_isa::token::{Token, number};

/// Names and what they stand for; a label of an instruction that gives none stands for nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    values: BTreeMap<String, Option<u64>>,
}

impl Symbols {
    /// Whether `text` may be a name.
    pub fn is_name(text: &str) -> bool {
        text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
    }

    /// Defines a name; false when it is taken.
    pub fn define(&mut self, name: &str, value: Option<u64>) -> bool {
        self.values.insert(name.to_owned(), value).is_none()
    }

    /// The names with a number.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| name.as_str())
    }

    /// Reads `NAME`, `NAME+N`, `NAME-N`, ...: the value, `None` beyond 64 bits, and the tokens used.
    /// `None` when the first token is not a name with a number.
    pub fn read(&self, tokens: &[Token<'_>]) -> Option<(Option<u64>, usize)> {
        let (mut sum, mut used) = (Some(self.value(tokens.first()?.text)?), 1);
        while let [sign, amount, ..] = tokens.get(used..).unwrap_or_default() {
            let Some(amount) = number(amount.text).or_else(|| self.value(amount.text)) else { break };
            sum = match sign.text {
                "+" => sum.and_then(|sum| sum.checked_add(amount)),
                "-" => sum.and_then(|sum| sum.checked_sub(amount)),
                _ => break,
            };
            used += 2;
        }
        Some((sum, used))
    }

    fn value(&self, name: &str) -> Option<u64> {
        self.values.get(name).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::Symbols;
    use npukit_isa::token::tokens;

    #[test]
    fn sums_are_read_up_to_their_end() {
        let mut symbols = Symbols::default();
        assert!(symbols.define("act", Some(0x100)) && symbols.define("size", Some(8)));
        assert!(symbols.define("loop", None) && !symbols.define("act", Some(1)));
        symbols.define("act", Some(0x100));
        let read = |text: &str| symbols.read(&tokens(text, 0));
        assert_eq!(read("act"), Some((Some(0x100), 1)));
        assert_eq!(read("act + 2 - size, 4"), Some((Some(0xFA), 5)));
        assert_eq!(read("size - 9"), Some((None, 3)));
        assert_eq!(read("act + other"), Some((Some(0x100), 1)));
        assert_eq!(read("loop"), None);
        assert_eq!(read("12"), None);
        assert_eq!(symbols.names().collect::<Vec<_>>(), ["act", "size"]);
    }
}
