//! JSON files of a folder: [`object`] and [`parsed`].

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::LlmError;
use crate::sidecar_files::ReadRange;
use crate::unique::Unique;

/// Reads a whole file.
pub(super) fn whole(path: &str, files: &ReadRange<'_>) -> Result<Vec<u8>, LlmError> {
    let failed = |reason| LlmError::File { path: path.to_owned(), reason };
    files(path, 0..u64::MAX).map(|part| part.bytes).map_err(failed)
}

/// Reads a file that is a JSON object.
pub(super) fn object(path: &str, files: &ReadRange<'_>) -> Result<Map<String, Value>, LlmError> {
    let values: Unique<Value> = parsed(path, &whole(path, files)?)?;
    Ok(values.0.into_iter().collect())
}

/// Reads the content of the JSON file at `path`.
pub(super) fn parsed<T: DeserializeOwned>(path: &str, bytes: &[u8]) -> Result<T, LlmError> {
    serde_json::from_slice(bytes).map_err(|error| LlmError::Json {
        path: path.to_owned(),
        line: error.line(),
        column: error.column(),
        message: error.to_string(),
    })
}
