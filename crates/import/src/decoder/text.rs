//! Mapping between characters and tokens: [`Text`].

use super::DecoderFileError;

/// Text of the tokens: one character per token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    alphabet: Vec<char>,
    stop: Option<usize>,
    number_width: usize,
}

/// Maximum of `number_width`, in characters.
const MAX_WIDTH: usize = 64;

impl Text {
    /// Creates the mapping. Tokens 0, 1, .. are the characters of `alphabet`. Generation ends with
    /// `stop`. Numbers of a prompt are padded with spaces to `number_width` characters.
    ///
    /// # Errors
    ///
    /// [`DecoderFileError::Key`] if the alphabet is empty or repeats a character, `number_width` is
    /// too large or needs a space that the alphabet does not have, or `stop` is not in the
    /// alphabet.
    pub fn new(alphabet: &str, stop: Option<char>, number_width: usize) -> Result<Self, DecoderFileError> {
        let key =
            |key, found: String, legal: &str| DecoderFileError::Key { key, found, legal: legal.to_owned() };
        let characters: Vec<char> = alphabet.chars().collect();
        let mut sorted = characters.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.is_empty() || sorted.len() != characters.len() {
            return Err(key("alphabet", format!("{alphabet:?}"), "characters that differ, at least one"));
        }
        if number_width > MAX_WIDTH || number_width > 0 && !characters.contains(&' ') {
            let legal = format!("at most {MAX_WIDTH}, or 0 if the alphabet has no space");
            return Err(key("number_width", number_width.to_string(), &legal));
        }
        let mut text = Self { alphabet: characters, stop: None, number_width };
        let stop = stop.map(|stop| {
            text.token(stop).ok_or_else(|| key("stop", format!("{stop:?}"), "a character of the alphabet"))
        });
        text.stop = stop.transpose()?;
        Ok(text)
    }

    /// Number of tokens.
    pub fn vocabulary(&self) -> usize {
        self.alphabet.len()
    }

    /// Token that ends generation, or `None`.
    pub fn stop(&self) -> Option<usize> {
        self.stop
    }

    /// Returns the character of a token, or `None` if the token does not exist.
    pub fn character(&self, token: usize) -> Option<char> {
        self.alphabet.get(token).copied()
    }

    /// Returns the text of tokens. Unknown tokens are skipped.
    pub fn decode(&self, tokens: &[usize]) -> String {
        tokens.iter().filter_map(|&token| self.character(token)).collect()
    }

    /// Converts a prompt to tokens, after padding its numbers.
    ///
    /// # Errors
    ///
    /// [`DecoderFileError::Character`] for the first character that is not in the alphabet.
    pub fn encode(&self, prompt: &str) -> Result<Vec<usize>, DecoderFileError> {
        let unknown =
            |character| DecoderFileError::Character { character, alphabet: self.alphabet.iter().collect() };
        self.padded(prompt)
            .chars()
            .map(|character| self.token(character).ok_or_else(|| unknown(character)))
            .collect()
    }

    fn token(&self, character: char) -> Option<usize> {
        self.alphabet.iter().position(|&own| own == character)
    }

    /// Returns the prompt with numbers padded by spaces, which replace the existing spaces before
    /// them.
    fn padded(&self, prompt: &str) -> String {
        if self.number_width == 0 {
            return prompt.to_owned();
        }
        let mut padded = String::new();
        let mut rest = prompt;
        while let Some(first) = rest.chars().next() {
            let number = rest.trim_start_matches(' ');
            let digits = number.len() - number.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (own, after) =
                if digits > 0 { number.split_at(digits) } else { rest.split_at(first.len_utf8()) };
            match digits {
                0 => padded.push_str(own),
                _ => padded.push_str(&format!("{own:>width$}", width = self.number_width)),
            }
            rest = after;
        }
        padded
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn characters_become_tokens_and_back() {
        let text = Text::new("\n +=0123456789", Some('\n'), 3).unwrap();
        assert_eq!((text.vocabulary(), text.stop()), (14, Some(0)));
        for (prompt, expected) in [
            ("123+456=", "123+456="),
            ("7+85=", "  7+ 85="),
            (" 7 + 85=", "  7 + 85="),
            ("1234=", "1234="),
            (" +  ", " +  "),
            ("", ""),
        ] {
            assert_eq!(text.decode(&text.encode(prompt).unwrap()), expected, "{prompt:?}");
        }
        let refused = text.encode("1*2=").unwrap_err();
        assert!(matches!(refused, DecoderFileError::Character { character: '*', .. }));
        assert_eq!(Text::new("aé", None, 0).unwrap().encode("éa"), Ok(vec![1, 0]));
    }

    #[test]
    fn what_is_no_alphabet_is_refused() {
        let key = |alphabet: &str, stop, width| match Text::new(alphabet, stop, width) {
            Err(DecoderFileError::Key { key, .. }) => key,
            other => panic!("{other:?}"),
        };
        assert_eq!(key("", None, 0), "alphabet");
        assert_eq!(key("aba", None, 0), "alphabet");
        assert_eq!(key("ab", Some('c'), 0), "stop");
        assert_eq!(key("01", None, 3), "number_width");
        assert_eq!(key("01 ", None, 65), "number_width");
    }
}
