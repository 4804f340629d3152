//! [`JsonFields`]: typed lookups in a JSON object, with errors that name the path of the key.

use npukit_numeric::any_float;
use serde_json::{Map, Value};

/// A key of a file that is missing, of the wrong type or out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: key `{key}`: {reason}")]
pub struct KeyError {
    /// Name of the file.
    pub file: String,
    /// Path of the key, for example `outputs[0].size`.
    pub key: String,
    /// Description of the fault and of the legal values.
    pub reason: String,
}

/// An object at a path in a file.
pub(crate) struct JsonFields<'a> {
    file: &'a str,
    path: String,
    map: &'a Map<String, Value>,
}

impl<'a> JsonFields<'a> {
    /// Returns the object of the whole file.
    pub fn root(file: &'a str, value: &'a Value) -> Result<Self, KeyError> {
        Self::object(file, String::new(), value)
    }

    fn object(file: &'a str, path: String, value: &'a Value) -> Result<Self, KeyError> {
        match value {
            Value::Object(map) => Ok(Self { file, path, map }),
            other => Err(wrong(file, &path, "an object", other)),
        }
    }

    /// Returns the path of `key`.
    pub fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Creates an error about `key`.
    pub fn error(&self, key: &str, reason: impl Into<String>) -> KeyError {
        KeyError { file: self.file.to_owned(), key: self.path(key), reason: reason.into() }
    }

    /// Returns whether `key` exists and is not null.
    pub fn has(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(|value| !value.is_null())
    }

    /// Returns the value of `key`.
    pub fn required(&self, key: &str) -> Result<&'a Value, KeyError> {
        self.map.get(key).ok_or_else(|| self.error(key, "is missing"))
    }

    /// Returns all keys and their objects, in key order.
    pub fn objects(&self) -> Result<Vec<(&'a str, Self)>, KeyError> {
        self.map.iter().map(|(key, _)| Ok((key.as_str(), self.keys(key)?))).collect()
    }

    /// Returns the values that are objects with their keys, in key order.
    pub fn objects_only(&self) -> impl Iterator<Item = (&'a str, Self)> {
        self.map.keys().filter_map(|key| Some((key.as_str(), self.keys(key).ok()?)))
    }

    /// Returns the names of all keys.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.map.keys().map(String::as_str)
    }

    /// Reads the object at `key`.
    pub fn keys(&self, key: &str) -> Result<Self, KeyError> {
        Self::object(self.file, self.path(key), self.required(key)?)
    }

    /// Reads the array of objects at `key`.
    pub fn list(&self, key: &str) -> Result<Vec<Self>, KeyError> {
        self.array(key)?
            .iter()
            .enumerate()
            .map(|(i, value)| Self::object(self.file, format!("{}[{i}]", self.path(key)), value))
            .collect()
    }

    fn array(&self, key: &str) -> Result<&'a [Value], KeyError> {
        match self.required(key)? {
            Value::Array(items) => Ok(items),
            other => Err(self.wrong(key, "an array", other)),
        }
    }

    /// Reads the string at `key`.
    pub fn string(&self, key: &str) -> Result<&'a str, KeyError> {
        match self.required(key)? {
            Value::String(text) => Ok(text),
            other => Err(self.wrong(key, "a string", other)),
        }
    }

    /// Reads an array of strings.
    pub fn strings(&self, key: &str) -> Result<Vec<&'a str>, KeyError> {
        let string = |value: &'a Value| value.as_str().ok_or_else(|| self.wrong(key, "strings", value));
        self.array(key)?.iter().map(string).collect()
    }

    /// Reads a natural number.
    pub fn number(&self, key: &str) -> Result<u64, KeyError> {
        let value = self.required(key)?;
        value.as_u64().ok_or_else(|| self.wrong(key, "a whole number, at least 0", value))
    }

    /// Reads a number of cycles, which may be fractional.
    pub fn fraction(&self, key: &str) -> Result<f64, KeyError> {
        let value = self.required(key)?;
        let number = value.as_f64().filter(|number| (0.0..1e15).contains(number));
        number.ok_or_else(|| self.wrong(key, "a number, at least 0", value))
    }

    /// Reads a 32-bit float; infinities and NaN by name.
    pub fn float(&self, key: &str) -> Result<f32, KeyError> {
        let value = self.required(key)?;
        let finite = value.as_f64().map(|number| number as f32).filter(|number| number.is_finite());
        let number = finite.or_else(|| value.as_str().and_then(any_float::named));
        number.ok_or_else(|| self.wrong(key, "a 32-bit float", value))
    }

    /// Reads an array of natural numbers.
    pub fn numbers(&self, key: &str) -> Result<Vec<usize>, KeyError> {
        let number = |value: &Value| {
            let n = value.as_u64().and_then(|n| usize::try_from(n).ok());
            n.ok_or_else(|| self.wrong(key, "whole numbers, at least 0", value))
        };
        self.array(key)?.iter().map(number).collect()
    }

    /// Reads a natural number; `null` is 0.
    pub fn number_or_null(&self, key: &str) -> Result<u64, KeyError> {
        if self.required(key)?.is_null() { Ok(0) } else { self.number(key) }
    }

    /// Reads a 32-bit integer.
    pub fn integer(&self, key: &str) -> Result<i32, KeyError> {
        let value = self.required(key)?;
        as_i32(value).ok_or_else(|| self.wrong(key, "a 32-bit integer", value))
    }

    /// Reads an array of 32-bit integers.
    pub fn integers(&self, key: &str) -> Result<Vec<i32>, KeyError> {
        self.integers_of(key, self.array(key)?)
    }

    /// Reads an array of arrays of 32-bit integers.
    pub fn rows(&self, key: &str) -> Result<Vec<Vec<i32>>, KeyError> {
        let row = |value: &Value| match value {
            Value::Array(items) => self.integers_of(key, items),
            other => Err(self.wrong(key, "an array of arrays", other)),
        };
        self.array(key)?.iter().map(row).collect()
    }

    fn integers_of(&self, key: &str, items: &[Value]) -> Result<Vec<i32>, KeyError> {
        let integer = |v: &Value| as_i32(v).ok_or_else(|| self.wrong(key, "32-bit integers", v));
        items.iter().map(integer).collect()
    }

    /// Reads a truth value; false if missing.
    pub fn flag(&self, key: &str) -> Result<bool, KeyError> {
        match self.map.get(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(self.wrong(key, "true or false", other)),
        }
    }

    fn wrong(&self, key: &str, legal: &str, value: &Value) -> KeyError {
        wrong(self.file, &self.path(key), legal, value)
    }
}

fn as_i32(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|v| i32::try_from(v).ok())
}

fn wrong(file: &str, path: &str, legal: &str, value: &Value) -> KeyError {
    let key = if path.is_empty() { "(the whole file)" } else { path };
    let reason = format!("is {}, must be {legal}", shown(value));
    KeyError { file: file.to_owned(), key: key.to_owned(), reason }
}

/// Formats a value as JSON, truncated if long.
pub(crate) fn shown(value: &Value) -> String {
    const LONGEST: usize = 40;
    let text = value.to_string();
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain("...".chars()).collect()
}
