//! Reads numbers from files that fill memories: [`read`].

use npukit_asm::Values;
use npukit_numeric::npy::{read_npy, read_npz};
use npukit_numeric::{Tensor, TensorData};
use npukit_target::Reader;

use crate::error::Error;
use crate::targets::has_extension;

/// Numbers for a memory, with the shape of their array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Numbers {
    pub shape: Vec<usize>,
    pub kind: Kind,
    /// Start addresses, each with the index of the first number stored there; only from `.hex`
    /// files.
    pub starts: Vec<(u64, usize)>,
}

/// Representation of the numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Integers in the memory's format.
    Raw(Vec<i128>),
    /// Bit patterns in the memory's format.
    Patterns(Vec<u64>),
    /// Real values.
    Real(Vec<f64>),
}

impl Numbers {
    fn list(kind: Kind) -> Self {
        Self { shape: vec![kind.len()], kind, starts: Vec::new() }
    }

    /// Returns real values for `count` positions; a single value is repeated. `None` for integers.
    pub fn reals(&self, count: usize) -> Option<Vec<f64>> {
        match &self.kind {
            Kind::Real(all) if all.len() == 1 => Some(vec![all[0]; count]),
            Kind::Real(all) => Some(all.clone()),
            Kind::Raw(_) | Kind::Patterns(_) => None,
        }
    }
}

impl Kind {
    pub fn len(&self) -> usize {
        match self {
            Self::Raw(all) => all.len(),
            Self::Patterns(all) => all.len(),
            Self::Real(all) => all.len(),
        }
    }
}

/// Reads the numbers of a line of an experiment, or of the file that it names. `memory` selects an
/// array of an `.npz` file.
pub(crate) fn of_values(values: &Values, memory: &str, reader: &dyn Reader) -> Result<Numbers, Error> {
    match values {
        Values::Raw { numbers, .. } => Ok(Numbers::list(Kind::Raw(numbers.clone()))),
        Values::Real(all) => Ok(Numbers::list(Kind::Real(all.clone()))),
        Values::File(path) => read(path, memory, reader),
    }
}

/// Reads the numbers of the file at `path`. `memory` selects an array of an `.npz` file.
pub(crate) fn read(path: &str, memory: &str, reader: &dyn Reader) -> Result<Numbers, Error> {
    let unknown = || Error::UnknownInput { path: path.to_owned(), legal: ".npy, .npz, .csv or .hex" };
    if has_extension(path, "npy") {
        return Ok(of_tensor(&read_npy(path, &reader.read(path)?)?));
    }
    if has_extension(path, "npz") {
        let arrays = read_npz(path, &reader.read(path)?)?;
        let found = match &arrays[..] {
            [(_, only)] => Some(only),
            several => several.iter().find(|(name, _)| name == memory).map(|(_, tensor)| tensor),
        };
        let missing = || Error::NoArray {
            path: path.to_owned(),
            name: memory.to_owned(),
            known: arrays.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", "),
        };
        return found.map(of_tensor).ok_or_else(missing);
    }
    let parse = match (has_extension(path, "csv"), has_extension(path, "hex")) {
        (true, _) => table,
        (_, true) => hexadecimal,
        _ => return Err(unknown()),
    };
    let text = String::from_utf8(reader.read(path)?);
    let offset = |error: std::string::FromUtf8Error| Error::NotText {
        path: path.to_owned(),
        offset: error.utf8_error().valid_up_to(),
    };
    parse(&text.map_err(offset)?).map_err(|(line, reason)| Error::Numbers {
        path: path.to_owned(),
        line,
        reason,
    })
}

fn of_tensor(tensor: &Tensor) -> Numbers {
    let kind = match tensor.data() {
        TensorData::F32(all) => Kind::Real(all.iter().map(|&value| value.into()).collect()),
        TensorData::I64(all) => Kind::Raw(all.iter().map(|&value| value.into()).collect()),
        TensorData::I32(all) => Kind::Raw(all.iter().map(|&value| value.into()).collect()),
        TensorData::Bool(all) => Kind::Raw(all.iter().map(|&value| value.into()).collect()),
    };
    Numbers { shape: tensor.shape().to_vec(), kind, starts: Vec::new() }
}

/// Result with an error at a line of a text, numbered from 1.
type AtLine<T> = Result<T, (usize, String)>;

/// Parses numbers separated by commas, one row per line; `#` starts a comment. If any number has a
/// point or an exponent, all are real.
fn table(text: &str) -> AtLine<Numbers> {
    let mut fields: Vec<(usize, &str)> = Vec::new();
    let (mut rows, mut width) = (0, None);
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or(line).trim().trim_end_matches(',');
        if line.is_empty() {
            continue;
        }
        let before = fields.len();
        fields.extend(line.split(',').map(|field| (index + 1, field.trim())));
        let count = fields.len() - before;
        let expected = *width.get_or_insert(count);
        if count != expected {
            return Err((
                index + 1,
                format!("the row has {count} numbers, but the first row has {expected}"),
            ));
        }
        rows += 1;
    }
    let wrong = |(line, field): (usize, &str)| (line, format!("`{field}` is not a number"));
    let integers: Option<Vec<i128>> = fields.iter().map(|(_, field)| field.parse().ok()).collect();
    let kind = match integers {
        Some(all) => Kind::Raw(all),
        None => {
            let real = |&at: &(usize, &str)| at.1.parse().map_err(|_| wrong(at));
            Kind::Real(fields.iter().map(real).collect::<Result<_, _>>()?)
        }
    };
    // Default: width 0 without rows.
    Ok(Numbers { shape: vec![rows, width.unwrap_or(0)], kind, starts: Vec::new() })
}

/// Parses hexadecimal bit patterns separated by white space, as for Verilog's `$readmemh`.
/// `@ADDRESS` (also hexadecimal) sets the next address; `//` starts a comment.
fn hexadecimal(text: &str) -> AtLine<Numbers> {
    let (mut patterns, mut starts) = (Vec::new(), Vec::new());
    for (index, line) in text.lines().enumerate() {
        let code = line.split_once("//").map_or(line, |(code, _)| code);
        for word in code.split_whitespace() {
            let wrong = |_| (index + 1, format!("`{word}` is not a hexadecimal number of at most 16 digits"));
            match word.strip_prefix('@') {
                Some(address) => {
                    starts.push((u64::from_str_radix(address, 16).map_err(wrong)?, patterns.len()));
                }
                None => patterns.push(u64::from_str_radix(&word.replace('_', ""), 16).map_err(wrong)?),
            }
        }
    }
    let kind = Kind::Patterns(patterns);
    Ok(Numbers { starts, ..Numbers::list(kind) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_table_has_rows() {
        let numbers = table("1, 2 # first\n\n-3,4,\n").unwrap();
        assert_eq!((numbers.shape, numbers.kind), (vec![2, 2], Kind::Raw(vec![1, 2, -3, 4])));
        assert_eq!(table("1,2.5").unwrap().kind, Kind::Real(vec![1.0, 2.5]));
        assert_eq!(table("1,2\n3\n"), Err((2, "the row has 1 numbers, but the first row has 2".to_owned())));
        assert_eq!(table("\n1,x"), Err((2, "`x` is not a number".to_owned())));
        assert_eq!(table("").unwrap().shape, [0, 0]);
    }

    #[test]
    fn patterns_go_on_from_addresses() {
        let numbers = hexadecimal("00ff 1_0 // two\n@10 f\n").unwrap();
        assert_eq!(numbers.kind, Kind::Patterns(vec![0xff, 0x10, 0xf]));
        assert_eq!(numbers.starts, [(16, 2)]);
        assert!(hexadecimal("\nxy").unwrap_err().1.contains("`xy`"));
    }
}
