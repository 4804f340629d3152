//! [`Interned`]: texts that a sequence writes once.

use std::collections::HashMap;

use super::proto::Name;

/// Maximum number of interned texts per sequence, as readers keep all of them in memory.
const MOST: usize = 1 << 14;

/// Texts with their numbers, starting at 1.
#[derive(Debug, Default)]
pub(super) struct Interned(HashMap<Box<str>, u64>);

impl Interned {
    /// Returns the number of a text, which is added to `new` if it is new. If there are too many
    /// texts, returns the text itself.
    pub(super) fn number(&mut self, text: &str, new: &mut Vec<Name>) -> (Option<u64>, Option<String>) {
        if let Some(&iid) = self.0.get(text) {
            return (Some(iid), None);
        }
        if self.0.len() >= MOST {
            return (None, Some(text.to_owned()));
        }
        let iid = self.0.len() as u64 + 1;
        self.0.insert(text.into(), iid);
        new.push(Name { iid: Some(iid), name: Some(text.to_owned()) });
        (Some(iid), None)
    }
}

#[cfg(test)]
mod tests {
    use super::{Interned, MOST};

    #[test]
    fn a_text_is_said_once_and_too_many_are_said_as_they_are() {
        let (mut interned, mut new) = (Interned::default(), Vec::new());
        assert_eq!(interned.number("a", &mut new), (Some(1), None));
        assert_eq!(interned.number("a", &mut new), (Some(1), None));
        for index in 1..MOST {
            interned.number(&index.to_string(), &mut new);
        }
        assert_eq!(new.len(), MOST);
        assert_eq!(interned.number("more", &mut new), (None, Some("more".to_owned())));
        assert_eq!(interned.number("a", &mut new), (Some(1), None));
    }
}
