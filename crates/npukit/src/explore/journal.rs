//! [`Journal`]: the points of an exploration as lines of a file. A line is either complete or
//! ignored, so an interrupted exploration can be resumed at any time.

use npukit_target::sha256;
use serde_json::{Value, json};

use super::error::JournalError;
use super::point::Point;

/// Contents of the file of an exploration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Journal {
    /// Points in the file.
    pub points: Vec<Point>,
    /// Length in bytes of the complete lines; the rest is cut off before more is written.
    pub bytes: usize,
}

/// Format name in the first line.
const FORM: &str = "npukit.exploration/1";
/// Number of hexadecimal digits of a hash.
const DIGITS: usize = 16;

impl Journal {
    /// Formats the first line: the hash of each of the inputs by name.
    pub fn header(inputs: &[(String, Vec<u8>)]) -> String {
        let hashes: serde_json::Map<String, Value> =
            inputs.iter().map(|(name, bytes)| (name.clone(), Value::from(hash(bytes)))).collect();
        line(&json!({ "exploration": FORM, "version": env!("CARGO_PKG_VERSION"), "inputs": hashes }))
    }

    /// Formats the line of a point.
    pub fn line(point: &Point) -> String {
        line(&serde_json::to_value(point).expect("names, numbers, texts and lists always serialise"))
    }

    /// Reads the points of an exploration of these inputs. The last line may be incomplete; it is
    /// ignored then.
    ///
    /// # Errors
    ///
    /// Fails for a file of another kind or with other inputs, and for damage before the last line.
    pub fn read(bytes: &[u8], inputs: &[(String, Vec<u8>)]) -> Result<Self, JournalError> {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
        if whole == 0 {
            // The first line is incomplete; the text must be a prefix of it.
            let header = Self::header(inputs);
            return if header.as_bytes().starts_with(bytes) {
                Ok(Self::default())
            } else {
                Err(JournalError::Foreign)
            };
        }
        let mut lines = bytes[..whole].split_inclusive(|byte| *byte == b'\n');
        let first = lines.next().and_then(checked).ok_or(JournalError::Foreign)?;
        same(&first, inputs)?;
        let (mut points, mut length) =
            (Vec::new(), bytes.split_inclusive(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len));
        let rest: Vec<&[u8]> = lines.collect();
        for (place, text) in rest.iter().enumerate() {
            match checked(text).and_then(|value| serde_json::from_value::<Point>(value).ok()) {
                Some(point) => points.push(point),
                // This line was being written when the process stopped.
                None if place + 1 == rest.len() => break,
                None => return Err(JournalError::Damaged { line: place + 2 }),
            }
            length += text.len();
        }
        Ok(Self { points, bytes: length })
    }
}

/// Checks that the first line belongs to these inputs.
fn same(first: &Value, inputs: &[(String, Vec<u8>)]) -> Result<(), JournalError> {
    if first["exploration"] != FORM {
        return Err(JournalError::Foreign);
    }
    let other = |what: &str, was: &Value, is: &str| {
        let was = was.as_str().unwrap_or("nothing").to_owned();
        Err(JournalError::Other { what: what.to_owned(), was, is: is.to_owned() })
    };
    if first["version"] != env!("CARGO_PKG_VERSION") {
        return other("the version of npukit", &first["version"], env!("CARGO_PKG_VERSION"));
    }
    for (name, bytes) in inputs {
        let (was, is) = (&first["inputs"][name], hash(bytes));
        if was.as_str() != Some(&is) {
            return other(&format!("`{name}`"), was, &is);
        }
    }
    let mut names = first["inputs"].as_object().into_iter().flatten().map(|(name, _)| name);
    match names.find(|name| !inputs.iter().any(|(known, _)| known == *name)) {
        Some(name) => other(&format!("`{name}`"), &first["inputs"][name], "nothing"),
        None => Ok(()),
    }
}

/// Formats an object as a line that ends with a hash of the object.
fn line(value: &Value) -> String {
    let text = value.to_string();
    // The hash replaces the closing brace of the object.
    let open = text.strip_suffix('}').unwrap_or(&text);
    format!("{open},\"check\":\"{}\"}}\n", hash(text.as_bytes()))
}

/// Parses the object of a line, and returns it if its hash is right.
fn checked(text: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('\n')?;
    let (open, check) = text.rsplit_once(",\"check\":\"")?;
    let object = format!("{open}}}");
    (check.strip_suffix("\"}")? == hash(object.as_bytes())).then(|| serde_json::from_str(&object).ok())?
}

fn hash(bytes: &[u8]) -> String {
    sha256(bytes)[..DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn inputs(model: &str) -> Vec<(String, Vec<u8>)> {
        vec![("m.onnx".to_owned(), model.into()), ("space.toml".to_owned(), b"s".to_vec())]
    }

    fn file(points: u64) -> String {
        let lines = (0..points)
            .map(|index| Journal::line(&Point { index, milliseconds: Some(0.1), ..Point::default() }));
        Journal::header(&inputs("m")) + &lines.collect::<String>()
    }

    #[test]
    fn wherever_a_file_ends_its_whole_lines_count() {
        let text = file(3);
        let ends: Vec<usize> = text.match_indices('\n').map(|(place, _)| place + 1).collect();
        for end in 0..=text.len() {
            let found = Journal::read(&text.as_bytes()[..end], &inputs("m")).unwrap();
            let whole = ends.iter().filter(|place| **place <= end).count();
            assert_eq!(found.points.len(), whole.saturating_sub(1), "{end}");
            assert_eq!(
                found.bytes,
                ends.iter().copied().filter(|place| *place <= end).max().unwrap_or(0),
                "{end}"
            );
        }
        let read = Journal::read(text.as_bytes(), &inputs("m")).unwrap();
        assert_eq!(read.points[2], Point { index: 2, milliseconds: Some(0.1), ..Point::default() });
    }

    #[test]
    fn other_files_and_damage_are_refused() {
        let read = |text: &str, model: &str| Journal::read(text.as_bytes(), &inputs(model)).unwrap_err();
        assert_eq!(read("a,b\n1,2\n", "m"), JournalError::Foreign);
        assert_eq!(read("x", "m"), JournalError::Foreign);
        assert!(matches!(read(&file(1), "n"), JournalError::Other { what, .. } if what == "`m.onnx`"));
        let more = Journal::read(file(1).as_bytes(), &inputs("m")[..1]).unwrap_err();
        assert!(matches!(more, JournalError::Other { what, .. } if what == "`space.toml`"));
        let damaged = file(3).replacen("\"index\":1", "\"index\":7", 1);
        assert_eq!(read(&damaged, "m"), JournalError::Damaged { line: 3 });
        let last = file(3).replacen("\"index\":2", "\"index\":7", 1);
        assert_eq!(Journal::read(last.as_bytes(), &inputs("m")).unwrap().points.len(), 2);
    }
}
