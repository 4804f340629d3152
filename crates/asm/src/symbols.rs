//! [`Symbols`]: names of numbers.

use std::collections::BTreeMap;

/// Names and their values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    values: BTreeMap<String, Symbol>,
}

/// Value of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    /// Number that cannot be redefined; `None` for a label of an instruction without a label field.
    Fixed(Option<i128>),
    /// Number that applies until the next `.set`.
    Variable(Option<i128>),
}

impl Symbols {
    /// Whether `text` is a valid name.
    pub fn is_name(text: &str) -> bool {
        text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
    }

    /// Defines a name; returns false if it is already defined. A variable may be redefined as a
    /// variable.
    pub fn define(&mut self, name: &str, symbol: Symbol) -> bool {
        let before = self.values.get(name);
        let free = match before {
            None => true,
            Some(before) => matches!((before, symbol), (Symbol::Variable(_), Symbol::Variable(_))),
        };
        if free {
            self.values.insert(name.to_owned(), symbol);
        }
        free
    }

    /// Returns the names that have a number.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str).filter(|name| self.value(name).is_some())
    }

    /// Whether a name is defined, with or without a number.
    pub fn is_defined(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Returns the names and their numbers, sorted by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, Option<i128>)> {
        self.values.keys().map(|name| (name.as_str(), self.value(name)))
    }

    /// Returns the number of `name`.
    pub fn value(&self, name: &str) -> Option<i128> {
        match self.values.get(name)? {
            Symbol::Fixed(value) | Symbol::Variable(value) => *value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_variables_change() {
        let mut symbols = Symbols::default();
        assert!(symbols.define("act", Symbol::Fixed(Some(0x100))));
        assert!(symbols.define("loop", Symbol::Fixed(None)));
        assert!(symbols.define("i", Symbol::Variable(Some(1))));
        assert!(symbols.define("i", Symbol::Variable(Some(-2))));
        for (name, symbol) in
            [("act", Symbol::Fixed(None)), ("act", Symbol::Variable(None)), ("i", Symbol::Fixed(None))]
        {
            assert!(!symbols.define(name, symbol), "{name}");
        }
        assert_eq!((symbols.value("act"), symbols.value("i")), (Some(0x100), Some(-2)));
        assert_eq!((symbols.value("loop"), symbols.value("other")), (None, None));
        assert_eq!(symbols.names().collect::<Vec<_>>(), ["act", "i"]);
    }
}
