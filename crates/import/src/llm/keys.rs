//! [`Keys`]: values of a configuration, as a `config.json` has them.

use serde_json::{Map, Value};

use super::LlmError;

/// Values of a configuration by the names of a `config.json`.
pub(super) struct Keys<'a> {
    path: &'a str,
    values: &'a Map<String, Value>,
    /// Returns the name of a key in the file.
    name: &'a dyn Fn(&str) -> String,
}

/// Largest size in a configuration; sums and products of a few fit a machine word.
const MAX_SIZE: u64 = 1 << 31;

impl<'a> Keys<'a> {
    /// Creates the keys of the file at `path`. `name` returns the name of a key in this file.
    pub(super) fn new(
        path: &'a str,
        values: &'a Map<String, Value>,
        name: &'a dyn Fn(&str) -> String,
    ) -> Self {
        Self { path, values, name }
    }

    /// Returns the same keys for the object `values` within the configuration.
    pub(super) fn within<'b>(&'b self, values: &'b Map<String, Value>) -> Keys<'b> {
        Keys { path: self.path, values, name: self.name }
    }

    /// Returns the first of the keys that has a value other than `null`.
    fn find(&self, names: &[&'a str]) -> Option<(&'a str, &'a Value)> {
        let found = |&name: &&'a str| Some((name, self.values.get(name)?));
        names.iter().filter_map(found).find(|(_, value)| !value.is_null())
    }

    /// Returns the error for a value.
    pub(super) fn wrong(&self, key: &str, found: impl Into<String>, legal: &str) -> LlmError {
        let (path, key) = (self.path.to_owned(), (self.name)(key));
        LlmError::Key { path, key, found: found.into(), legal: legal.to_owned() }
    }

    fn typed<T>(
        &self,
        names: &[&'a str],
        legal: &str,
        convert: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, LlmError> {
        let Some((name, value)) = self.find(names) else { return Ok(None) };
        convert(value).map(Some).ok_or_else(|| self.wrong(name, value.to_string(), legal))
    }

    /// Returns a size under one of its names.
    pub(super) fn size(&self, names: &[&'a str]) -> Result<Option<usize>, LlmError> {
        self.typed(names, "an integer from 0 to 2147483648", size)
    }

    /// Returns a size under one of its names: a number, or a list of equal numbers.
    pub(super) fn equal_size(&self, names: &[&'a str]) -> Result<Option<usize>, LlmError> {
        let Some((name, Value::Array(list))) = self.find(names) else { return self.size(names) };
        let wrong = || self.wrong(name, Value::Array(list.clone()).to_string(), "a list of equal sizes");
        let first = list.first().filter(|first| list.iter().all(|size| size == *first));
        first.and_then(size).map(Some).ok_or_else(wrong)
    }

    /// Returns a size that must exist.
    pub(super) fn needed_size(&self, names: &[&'a str]) -> Result<usize, LlmError> {
        self.size(names)?.ok_or_else(|| self.wrong(names[0], "missing", "an integer"))
    }

    /// Returns a number under one of its names.
    pub(super) fn number(&self, names: &[&'a str]) -> Result<Option<f64>, LlmError> {
        self.typed(names, "a number", Value::as_f64)
    }

    /// Returns a number that must exist.
    pub(super) fn needed_number(&self, name: &'a str) -> Result<f64, LlmError> {
        self.number(&[name])?.ok_or_else(|| self.wrong(name, "missing", "a number"))
    }

    /// Returns a list of numbers.
    pub(super) fn numbers(&self, name: &'a str) -> Result<Option<Vec<f64>>, LlmError> {
        let list = |value: &Value| value.as_array()?.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>();
        self.typed(&[name], "a list of numbers", list)
    }

    /// Returns a list of numbers that must exist.
    pub(super) fn needed_numbers(&self, name: &'a str) -> Result<Vec<f64>, LlmError> {
        self.numbers(name)?.ok_or_else(|| self.wrong(name, "missing", "a list of numbers"))
    }

    /// Returns a truth value; `None` if absent.
    pub(super) fn truth(&self, name: &'a str) -> Result<Option<bool>, LlmError> {
        self.typed(&[name], "true or false", Value::as_bool)
    }

    /// Returns a text under one of its names.
    pub(super) fn text(&self, names: &[&'a str]) -> Result<Option<&'a str>, LlmError> {
        self.typed(names, "a text", Value::as_str)
    }

    /// Returns an object.
    pub(super) fn object(&self, name: &'a str) -> Result<Option<&'a Map<String, Value>>, LlmError> {
        self.typed(&[name], "an object", Value::as_object)
    }

    /// Returns a list of texts.
    pub(super) fn texts(&self, name: &'a str) -> Result<Option<Vec<&'a str>>, LlmError> {
        let list = |value: &'a Value| value.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<_>>>();
        self.typed(&[name], "a list of texts", list)
    }
}

/// Returns a size; `None` if it is not an integer in range.
fn size(value: &Value) -> Option<usize> {
    value.as_u64().filter(|&size| size <= MAX_SIZE).and_then(|size| usize::try_from(size).ok())
}
