//! Values of the protocol: arguments that are read, references and sources that are given.

use serde_json::{Value, json};

/// A text of the arguments.
pub(crate) fn text(arguments: &Value, name: &str) -> Result<String, String> {
    let found = arguments.get(name).and_then(Value::as_str);
    found.map(str::to_owned).ok_or_else(|| format!("`{name}` is missing"))
}

/// A number of the arguments.
pub(crate) fn number(arguments: &Value, name: &str) -> Result<usize, String> {
    let found = arguments.get(name).and_then(Value::as_u64);
    found.map(|number| number as usize).ok_or_else(|| format!("`{name}` is missing"))
}

/// How instructions are referred to.
pub(crate) fn reference(instruction: usize) -> String {
    format!("{instruction:#x}")
}

/// A text as the protocol names it.
pub(crate) fn source(file: &str) -> Value {
    // Default: a path without folders is its own name.
    let name = file.rsplit('/').next().unwrap_or(file);
    json!({ "name": name, "path": file })
}

/// An instruction by its reference.
pub(crate) fn instruction(arguments: &Value, name: &str) -> Result<usize, String> {
    let reference = text(arguments, name)?;
    let digits = reference.strip_prefix("0x").ok_or_else(|| format!("`{reference}` is no instruction"))?;
    usize::from_str_radix(digits, 16).map_err(|_| format!("`{reference}` is no instruction"))
}
