//! Golden vectors as cases for `npu conform`. Their formats are documented next to the files.
//!
//! [`vectors`] recognizes the format of a file by its keys; each format has a module.

mod addresses;
mod encoding;
mod program;
mod released;

use npukit_target::{Case, Outcome};
use serde_json::Value;

/// Key that only files of one format have, and the reader of its vectors.
type Format = (&'static str, fn(Value) -> Result<Vec<Case>, serde_json::Error>);

const FORMATS: [Format; 4] = [
    ("encodings", encoding::cases),
    ("cases", addresses::cases),
    ("arch", program::cases),
    ("kernels", released::cases),
];

/// Returns the vectors of a file, or `None` if its format is unknown.
///
/// A file of a known format with invalid content gives one case, which fails.
pub(crate) fn vectors(bytes: &[u8]) -> Option<Vec<Case>> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let (_, cases) = FORMATS.iter().find(|(key, _)| value.get(key).is_some())?;
    Some(cases(value).unwrap_or_else(|error| {
        vec![Case::done("the file", Outcome::error("vectors in the documented format", error))]
    }))
}
