//! Parameters in the name of an instance: `ultra96v2,array_size=8,local_depth=4096`.
//!
//! A target provides the parameters of an instance as a tree, with the keys of its configuration
//! files, and creates an instance from a changed tree. Legality is therefore checked only where
//! files are read.

use npukit_base::suggestion;
use serde_json::{Map, Value};

/// Separator before each parameter.
const SEPARATOR: char = ',';
/// Separator between the names of nested parameters.
const JOINT: char = '.';

/// Source that is recorded for a value set in the instance name.
pub const SET_BY_NAME: &str = "set in the instance name";

/// Name of a parameter and its new value, as text.
pub type Setting<'a> = (&'a str, &'a str);

/// Splits an instance name into the instance and the parameters that follow it.
///
/// ```
/// # use npukit_target::split_parameters;
/// let set = vec![("array_size", "8"), ("system.clock_mhz", "62.5")];
/// assert_eq!(split_parameters("board@fast,array_size=8,system.clock_mhz=62.5"), ("board@fast", set));
/// assert_eq!(split_parameters("1x1:[swb,rf]"), ("1x1:[swb,rf]", vec![]));
/// ```
pub fn split_parameters(instance: &str) -> (&str, Vec<Setting<'_>>) {
    let mut settings = Vec::new();
    let mut rest = instance;
    while let Some((before, setting)) =
        rest.rsplit_once(SEPARATOR).and_then(|(before, last)| Some((before, setting(last)?)))
    {
        settings.push(setting);
        rest = before;
    }
    settings.reverse();
    (rest, settings)
}

/// Returns the name of the instance with these parameters, the inverse of [`split_parameters`].
///
/// # Errors
///
/// A name or value with characters that parameters cannot have; the message lists the legal ones.
pub fn with_parameters(instance: &str, settings: &[Setting<'_>]) -> Result<String, String> {
    settings.iter().try_fold(instance.to_owned(), |spec, (name, value)| {
        let text = format!("{name}={value}");
        match setting(&text) {
            Some(_) => Ok(format!("{spec}{SEPARATOR}{text}")),
            None => Err(format!(
                "{text:?} is not a parameter: names and values consist of letters, digits and `_`, or are numbers"
            )),
        }
    })
}

/// Parses `NAME=VALUE`; `None` if the text has another form.
fn setting(text: &str) -> Option<Setting<'_>> {
    let (name, value) = text.split_once('=')?;
    let is_word =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_name =
        name.split(JOINT).all(|word| is_word(word) && !word.starts_with(|c: char| c.is_ascii_digit()));
    (is_name && (is_word(value) || value.parse::<f64>().is_ok())).then_some((name, value))
}

/// Returns the parameters of a tree by their full names, in tree order; lists are omitted.
pub fn leaves(tree: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    collect("", tree, &mut found);
    found
}

fn collect<'a>(name: &str, tree: &'a Value, found: &mut Vec<(String, &'a Value)>) {
    match tree {
        Value::Object(keys) => {
            for (key, value) in keys {
                let full = if name.is_empty() { key.clone() } else { format!("{name}{JOINT}{key}") };
                collect(&full, value, found);
            }
        }
        Value::Array(_) => {}
        value => found.push((name.to_owned(), value)),
    }
}

/// Returns the tree with the changes of `settings`; null marks a parameter without a value.
///
/// # Errors
///
/// An unknown or ambiguous name, a parameter that is set twice, or a value of the wrong kind.
pub(crate) fn changed(mut tree: Value, settings: &[Setting<'_>]) -> Result<Value, String> {
    let mut set: Vec<String> = Vec::new();
    for (name, text) in settings {
        let full = full_name(&tree, name)?;
        if set.contains(&full) {
            return Err(format!("`{full}` is set twice"));
        }
        let Some(place) = tree.pointer_mut(&pointer(&full)) else {
            return Err(format!("there is no `{full}`"));
        };
        *place = value(&full, place, text)?;
        set.push(full);
    }
    Ok(tree)
}

/// Returns the tree without null values.
pub fn without_nulls(tree: Value) -> Value {
    let Value::Object(keys) = tree else { return tree };
    let kept = keys.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(kept.map(|(key, value)| (key, without_nulls(value))).collect::<Map<_, _>>())
}

fn pointer(full: &str) -> String {
    format!("/{}", full.replace(JOINT, "/"))
}

/// Returns the full name of the parameter `name`, which may be the last part of it.
fn full_name(tree: &Value, name: &str) -> Result<String, String> {
    let all: Vec<String> = leaves(tree).into_iter().map(|(full, _)| full).collect();
    if all.iter().any(|full| full == name) {
        return Ok(name.to_owned());
    }
    let meant: Vec<&String> =
        all.iter().filter(|full| full.strip_suffix(name).is_some_and(|path| path.ends_with(JOINT))).collect();
    match meant.as_slice() {
        [full] => Ok((*full).clone()),
        [] => {
            let ends = all.iter().map(|full| full.rsplit(JOINT).next().unwrap_or(full));
            Err(format!(
                "unknown parameter `{name}`{}; available are {}",
                suggestion(name, ends),
                all.join(", ")
            ))
        }
        several => {
            let several: Vec<&str> = several.iter().map(|full| full.as_str()).collect();
            Err(format!("`{name}` may be {}", several.join(" or ")))
        }
    }
}

/// Parses the new value of a parameter whose current value is `old`.
fn value(full: &str, old: &Value, text: &str) -> Result<Value, String> {
    // Default: text that is neither a number nor true or false is a word.
    let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    let fits = match old {
        Value::Bool(_) => value.is_boolean(),
        Value::Number(number) if number.is_f64() => value.is_number(),
        Value::Number(_) => value.is_i64() || value.is_u64(),
        Value::String(_) => value.is_string(),
        _ => true,
    };
    let kind = match old {
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "a whole number",
        _ => "a word",
    };
    if fits { Ok(value) } else { Err(format!("`{full}` must be {kind}, not `{text}`")) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use serde_json::json;

    use super::*;

    fn tree() -> Value {
        json!({"size": 8, "kind": "int8", "system": {"clock": null, "bus": 64}, "timing": {"clock": 1.5, "on": true}, "list": [1]})
    }

    fn error(settings: &[Setting<'_>]) -> String {
        changed(tree(), settings).unwrap_err()
    }

    #[test]
    fn parameters_are_set_by_name() {
        let found =
            changed(tree(), &[("size", "16"), ("bus", "128"), ("timing.clock", "2"), ("on", "false")])
                .unwrap();
        assert_eq!(found["size"], 16);
        assert_eq!(found["system"], json!({"clock": null, "bus": 128}));
        assert_eq!(found["timing"], json!({"clock": 2, "on": false}));
        assert_eq!(without_nulls(found)["system"], json!({"bus": 128}));
    }

    #[test]
    fn what_cannot_be_set_is_told() {
        assert_eq!(error(&[("clock", "2")]), "`clock` may be system.clock or timing.clock");
        let message = error(&[("sise", "2")]);
        assert!(
            message.starts_with("unknown parameter `sise` (did you mean `size`?); available are kind, size,"),
            "{message}"
        );
        assert_eq!(error(&[("size", "2"), ("size", "2")]), "`size` is set twice");
        assert_eq!(error(&[("size", "2.5")]), "`size` must be a whole number, not `2.5`");
        assert_eq!(error(&[("size", "big")]), "`size` must be a whole number, not `big`");
        assert_eq!(error(&[("on", "1")]), "`timing.on` must be true or false, not `1`");
        assert_eq!(error(&[("timing.clock", "fast")]), "`timing.clock` must be a number, not `fast`");
        assert_eq!(error(&[("kind", "3")]), "`kind` must be a word, not `3`");
    }

    #[test]
    fn names_are_put_together_and_taken_apart() {
        let settings = [("a", "-1e-3"), ("b.c", "int8")];
        let spec = with_parameters("x.tarch@fast", &settings).unwrap();
        assert_eq!(spec, "x.tarch@fast,a=-1e-3,b.c=int8");
        assert_eq!(split_parameters(&spec), ("x.tarch@fast", settings.to_vec()));
        for whole in ["a,b", "a,=1", "a,b=", "a,1b=2", "a,b=c.tarch", "1x1: top=[swb,rf] mid=[a]"] {
            assert_eq!(split_parameters(whole), (whole, vec![]));
        }
        assert!(with_parameters("x", &[("a b", "1")]).unwrap_err().contains("\"a b=1\" is not a parameter"));
    }
}
