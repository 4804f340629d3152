//! Golden vectors of OPU: [`vectors`] turns a file into test cases.

mod encoding;
mod programs;

use npukit_target::{Case, Outcome, Reader, sibling};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::config::Types;

/// Returns the cases of a file; `None` if its format is not one of OPU's.
///
/// A file of a known format with invalid content yields a failing case. The index itself is not a
/// case, but the files that it lists are.
pub(crate) fn vectors(path: &str, bytes: &[u8], files: &dyn Reader) -> Option<Vec<Case>> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let cases = match value.get("format")?.as_str()? {
        "opu-encoding-1" => read(value).map(encoding::cases),
        "opu-case-1" => read(value).map(programs::case),
        "opu-faults-1" => read(value).map(programs::faults),
        "opu-divergent-1" => read(value).map(programs::divergent),
        "opu-index-1" => index(path, value, files),
        _ => return None,
    };
    Some(cases.unwrap_or_else(|error| {
        vec![Case::done(path, Outcome::error("a file of golden vectors", format!("{path}: {error}")))]
    }))
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

/// List of case files.
#[derive(Deserialize)]
struct Index {
    cases: Vec<IndexEntry>,
}

#[derive(Deserialize)]
struct IndexEntry {
    file: String,
    types: Types,
    instructions: usize,
}

/// Checks that every listed file has the types and the number of instructions that the index
/// declares.
fn index(path: &str, value: Value, files: &dyn Reader) -> Result<Vec<Case>, String> {
    let index: Index = read(value)?;
    let mut wrong = Vec::new();
    for entry in &index.cases {
        match summary(path, &entry.file, files) {
            Ok(found) if found == (entry.types, entry.instructions) => {}
            Ok((_, instructions)) => {
                wrong.push(format!("{}: {instructions} instructions or other types", entry.file));
            }
            Err(error) => wrong.push(format!("{}: {error}", entry.file)),
        }
    }
    let expected = format!("{} files as listed", index.cases.len());
    let got = if wrong.is_empty() { expected.clone() } else { wrong.join("; ") };
    Ok(vec![Case::done("index", Outcome::compare(&expected, &got))])
}

/// Returns the types and the number of instructions of a case file next to the index, or in a
/// folder next to it.
fn summary(path: &str, file: &str, files: &dyn Reader) -> Result<(Types, usize), String> {
    let (folder, name) = file.split_once('/').map_or((None, file), |(folder, name)| (Some(folder), name));
    let beside = match folder {
        Some(folder) => {
            let folder = sibling(path, folder).map_err(|error| error.to_string())?;
            sibling(&format!("{folder}/"), name).map_err(|error| error.to_string())?
        }
        None => sibling(path, name).map_err(|error| error.to_string())?,
    };
    let bytes = files.read(&beside).map_err(|error| error.to_string())?;
    let case: programs::CaseFile = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    Ok((case.types(), case.instructions()))
}
