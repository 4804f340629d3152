//! Golden vectors in documented formats (see their READMEs), as cases for `npu conform`.
//!
//! [`vectors`] recognizes a file by its keys. Each format has a module; `execute` runs programs. A
//! new format needs a file and a line in `FORMATS`.

mod cycles;
mod encoding;
mod execute;
mod measured;
mod numerics;
mod programs;
mod sequences;
mod timing;
mod trace;

use npukit_target::{Case, Outcome, Reader};
use serde_json::Value;

use crate::config::json_fields::{JsonFields, KeyError};

/// A file of golden vectors, parsed.
struct Golden<'a> {
    /// Path of the file.
    path: &'a str,
    /// Content of the file.
    keys: JsonFields<'a>,
    /// Reader of the files next to it.
    files: &'a dyn Reader,
}

/// A format of golden vectors.
struct Format {
    /// Returns whether a file with these keys has this format.
    knows: fn(&JsonFields<'_>) -> bool,
    /// Returns the vectors of a file.
    cases: fn(&Golden<'_>) -> Result<Vec<Case>, KeyError>,
}

/// All supported formats.
const FORMATS: [Format; 8] = [
    Format { knows: |keys| has(keys, &["architectures", "vectors"]), cases: encoding::cases },
    Format { knows: |keys| has(keys, &["types", "from_float", "matmul_row"]), cases: numerics::cases },
    Format { knows: |keys| format_is(keys, "tcu-rtl-sequences/1"), cases: sequences::cases },
    Format { knows: |keys| format_is(keys, "tcu-cycles/1"), cases: measured::cases },
    Format { knows: |keys| format_is(keys, "tcu-rtl-trace/1"), cases: trace::cases },
    Format { knows: |keys| has(keys, &["steady_state_cycles", "hangs"]), cases: timing::cases },
    Format { knows: |keys| has(keys, &["n8_b1", "n32_b4"]), cases: timing::occupancy_cases },
    Format { knows: |keys| has(keys, &["model", "program_sha256", "runs"]), cases: programs::cases },
];

fn has(keys: &JsonFields<'_>, names: &[&str]) -> bool {
    names.iter().all(|name| keys.has(name))
}

fn format_is(keys: &JsonFields<'_>, format: &str) -> bool {
    keys.string("format").is_ok_and(|found| found == format)
}

/// Returns the vectors in the file at `path`; `None` if its format is not supported.
///
/// A file of a known format with invalid content yields one failing case.
pub fn vectors(path: &str, bytes: &[u8], files: &dyn Reader) -> Option<Vec<Case>> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let keys = JsonFields::root(path, &value).ok()?;
    let format = FORMATS.iter().find(|format| (format.knows)(&keys))?;
    let cases = (format.cases)(&Golden { path, keys, files });
    Some(cases.unwrap_or_else(|error| {
        vec![Case::done("the file", Outcome::error("vectors in the documented format", error))]
    }))
}

/// Formats bytes in lowercase hexadecimal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the bytes of the hexadecimal digits at `key`.
fn from_hex(keys: &JsonFields<'_>, key: &str) -> Result<Vec<u8>, KeyError> {
    let text = keys.string(key)?;
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => Ok(digits.chunks(2).map(|d| d[0] << 4 | d[1]).collect()),
        _ => Err(keys.error(key, "is not an even number of hexadecimal digits")),
    }
}
