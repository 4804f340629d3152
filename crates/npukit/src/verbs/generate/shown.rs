//! [`Shown`]: text of tokens as it becomes complete, up to a text that ends the answer.

use super::language::Language;

/// Number of last tokens that decide how further ones are decoded.
const WINDOW: usize = 8;

/// Text of a growing list of tokens.
///
/// The first bytes of a character are kept until it is complete. The first characters of a text
/// that ends the answer are kept until it is complete or something else follows.
pub(super) struct Shown {
    /// Last tokens.
    tokens: Vec<usize>,
    /// Length of their text that is known, in bytes.
    length: usize,
    /// Known text that may be the begin of a text that ends the answer.
    kept: String,
    stops: Vec<String>,
    stop: Option<String>,
}

impl Shown {
    /// Begins after the text of `prompt`. None of `stops` is empty.
    pub(super) fn new(language: &Language, prompt: &[usize], stops: &[String]) -> Self {
        let tokens = prompt[prompt.len().saturating_sub(WINDOW)..].to_vec();
        let length = complete(&language.decode(&tokens)).len();
        Self { tokens, length, kept: String::new(), stops: stops.to_vec(), stop: None }
    }

    /// Text of `stops` that ended the answer.
    pub(super) fn stop(&self) -> Option<&str> {
        self.stop.as_deref()
    }

    /// Returns the text to show after a further token.
    pub(super) fn next(&mut self, language: &Language, token: usize) -> String {
        self.tokens.push(token);
        let text = language.decode(&self.tokens);
        let known = complete(&text);
        // Default: nothing, if the token has changed the text before it.
        let added = known.get(self.length..).unwrap_or_default().to_owned();
        self.length = self.length.max(known.len());
        if known.len() == text.len() && self.tokens.len() > 2 * WINDOW {
            self.tokens.drain(..self.tokens.len() - WINDOW);
            self.length = language.decode(&self.tokens).len();
        }
        self.filtered(&added)
    }

    /// Returns the rest of the text, after the last token.
    pub(super) fn rest(&mut self, language: &Language) -> String {
        let text = language.decode(&self.tokens);
        // Default: nothing is left of a complete text.
        let added = text.get(self.length..).unwrap_or_default().to_owned();
        let shown = self.filtered(&added);
        if self.stop.is_some() { shown } else { shown + &std::mem::take(&mut self.kept) }
    }

    /// Returns the text to show after `added`, and keeps the rest.
    fn filtered(&mut self, added: &str) -> String {
        self.kept += added;
        let found = self.stops.iter().filter_map(|stop| Some((self.kept.find(stop.as_str())?, stop)));
        if let Some((place, stop)) = found.min_by_key(|(place, _)| *place) {
            self.stop = Some(stop.clone());
            self.kept.truncate(place);
            return std::mem::take(&mut self.kept);
        }
        let may_begin = |place: &usize| self.stops.iter().any(|stop| stop.starts_with(&self.kept[*place..]));
        let places = self.kept.char_indices().map(|(place, _)| place);
        // Default: all of it, if no text that ends the answer begins in it.
        let place = places.into_iter().find(may_begin).unwrap_or(self.kept.len());
        let rest = self.kept.split_off(place);
        std::mem::replace(&mut self.kept, rest)
    }
}

/// Returns the text without the begin of an incomplete character.
fn complete(text: &str) -> &str {
    text.trim_end_matches(char::REPLACEMENT_CHARACTER)
}
