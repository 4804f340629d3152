//! A host step's operator in `.npukit.json`: its ONNX name in `op`, and its attributes as further
//! keys.

use npukit_lower::{Attributes, HostOp};

use crate::config::json_fields::{JsonFields, KeyError};

impl Attributes for JsonFields<'_> {
    type Error = KeyError;

    fn text(&self, key: &str) -> Result<&str, KeyError> {
        self.string(key)
    }

    fn index(&self, key: &str) -> Result<usize, KeyError> {
        let number = self.number(key)?;
        usize::try_from(number)
            .map_err(|_| self.error(key, format!("is {number}, but tensors do not have that axis")))
    }

    fn float(&self, key: &str) -> Result<f32, KeyError> {
        self.float(key)
    }

    fn error(&self, key: &str, reason: String) -> KeyError {
        self.error(key, reason)
    }
}

/// Returns the operator of an entry, for an output of `rank` axes.
///
/// # Errors
///
/// Another operator, missing attributes, or axes that the output does not have.
pub(super) fn from_keys(entry: &JsonFields<'_>, rank: usize) -> Result<HostOp, KeyError> {
    let op = HostOp::read(entry)?;
    match op.axes() {
        Some((axis, axis_end)) if axis >= axis_end || axis_end > rank => {
            let reason = format!("is {axis_end} with axis {axis}, but the output has {rank} axes");
            Err(entry.error("axis_end", reason))
        }
        _ => Ok(op),
    }
}
