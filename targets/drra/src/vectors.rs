//! Golden vectors in the formats documented beside them, as cases for `npu conform`.
//!
//! [`vectors`] recognises a file by its keys; a module for each format.

mod addresses;
mod encoding;
mod program;
mod released;

use npukit_target::{Case, Outcome};
use serde_json::Value;

/// A key that only files of a format have, and its vectors.
type Format = (&'static str, fn(Value) -> Result<Vec<Case>, serde_json::Error>);

const FORMATS: [Format; 4] = [
    ("encodings", encoding::cases),
    ("cases", addresses::cases),
    ("arch", program::cases),
    ("kernels", released::cases),
];

/// The vectors in a file; none when its format is not one of ours.
///
/// A file of a known format whose content is wrong gives one case, which fails.
pub(crate) fn vectors(bytes: &[u8]) -> Option<Vec<Case>> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let (_, cases) = FORMATS.iter().find(|(key, _)| value.get(key).is_some())?;
    Some(cases(value).unwrap_or_else(|error| {
        vec![Case::done("the file", Outcome::error("vectors in the documented format", error))]
    }))
}
