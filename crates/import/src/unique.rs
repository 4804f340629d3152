//! [`Unique`]: a JSON object in which no key is repeated.

use std::fmt::{self, Formatter};
use std::marker::PhantomData;

use indexmap::IndexMap;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// Values of an object by their keys, in the order of the file. Reading fails if a key is repeated,
/// since programs do not agree on which value takes precedence.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unique<V>(pub(crate) IndexMap<String, V>);

impl<V> Default for Unique<V> {
    fn default() -> Self {
        Self(IndexMap::new())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Unique<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Keys(PhantomData))
    }
}

/// Visitor of the keys.
struct Keys<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for Keys<V> {
    type Value = Unique<V>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique<V>, A::Error> {
        let mut values = IndexMap::new();
        while let Some((key, value)) = map.next_entry::<String, V>()? {
            if values.contains_key(&key) {
                return Err(A::Error::custom(format_args!("key `{key}` is repeated")));
            }
            values.insert(key, value);
        }
        Ok(Unique(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_keys_are_refused() {
        let read =
            |text| serde_json::from_str::<Unique<u8>>(text).map(|unique| unique.0.into_iter().collect());
        assert_eq!(read(r#"{"b": 1, "a": 2}"#).ok(), Some(vec![("b".to_owned(), 1), ("a".to_owned(), 2)]));
        let error = read("{\"a\": 1,\n\"a\": 1}").map_err(|error| (error.line(), error.to_string()));
        assert!(matches!(error, Err((2, text)) if text.starts_with("key `a` is repeated")));
        assert!(read("[1]").is_err());
    }
}
