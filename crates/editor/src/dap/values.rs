//! Values of the protocol: reads arguments, and writes references and sources.

use serde_json::{Value, json};

/// Reads a string argument.
pub(crate) fn text(arguments: &Value, name: &str) -> Result<String, String> {
    let found = arguments.get(name).and_then(Value::as_str);
    found.map(str::to_owned).ok_or_else(|| format!("`{name}` is missing"))
}

/// Reads an unsigned integer argument.
pub(crate) fn number(arguments: &Value, name: &str) -> Result<usize, String> {
    let found = arguments.get(name).and_then(Value::as_u64);
    found.map(|number| number as usize).ok_or_else(|| format!("`{name}` is missing"))
}

/// Returns the reference to an instruction.
pub(crate) fn reference(instruction: usize) -> String {
    format!("{instruction:#x}")
}

/// Returns the `Source` object of a text.
pub(crate) fn source(file: &str) -> Value {
    // Default: a path without folders is its own name.
    let name = file.rsplit('/').next().unwrap_or(file);
    json!({ "name": name, "path": file })
}

/// Reads an argument that refers to an instruction.
pub(crate) fn instruction(arguments: &Value, name: &str) -> Result<usize, String> {
    let reference = text(arguments, name)?;
    let digits = reference
        .strip_prefix("0x")
        .ok_or_else(|| format!("`{reference}` is not an instruction reference"))?;
    usize::from_str_radix(digits, 16).map_err(|_| format!("`{reference}` is not an instruction reference"))
}
