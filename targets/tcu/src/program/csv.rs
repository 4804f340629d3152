//! Tensil's CSV of vectors: one vector per line, with `array_size` real values each (specification
//! 6.5). [`read`] and [`write()`].

use std::fmt::Write as _;

use npukit_numeric::Tensor;

/// A fault of a CSV file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CsvError {
    /// The bytes are not text.
    #[error("{file}: byte {offset} is not UTF-8 text")]
    Text {
        /// Name of the file.
        file: String,
        /// Offset of the first invalid byte.
        offset: usize,
    },
    /// A line does not hold a vector.
    #[error(
        "{file}:{line}: {actual} values, but a vector of this instance has {expected}; this is the format of the target's own tools, one vector per line: give samples as .npy"
    )]
    Width {
        /// Name of the file.
        file: String,
        /// Line, starting at 1.
        line: usize,
        /// Number of values on the line.
        actual: usize,
        /// Scalars per vector.
        expected: usize,
    },
    /// A value is not a number.
    #[error("{file}:{line}: value {column} is `{found}`, must be a decimal number")]
    Number {
        /// Name of the file.
        file: String,
        /// Line, starting at 1.
        line: usize,
        /// Index of the value on the line, starting at 1.
        column: usize,
        /// Text that was found instead.
        found: String,
    },
    /// The file is empty.
    #[error("{file}: no vectors")]
    Empty {
        /// Name of the file.
        file: String,
    },
}

/// Reads the vectors of a file as a tensor `[vectors, lanes]`. `file` is for errors.
///
/// # Errors
///
/// [`CsvError`] with file and line: bytes that are not UTF-8, a field that is not a number, rows of
/// a length other than `lanes`, no rows.
pub fn read(file: &str, bytes: &[u8], lanes: usize) -> Result<Tensor, CsvError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| CsvError::Text { file: file.to_owned(), offset: error.valid_up_to() })?;
    let mut values = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        read_line(file, number + 1, line, lanes, &mut values)?;
    }
    if values.is_empty() {
        return Err(CsvError::Empty { file: file.to_owned() });
    }
    Tensor::from_f32(vec![values.len() / lanes, lanes], values)
        .map_err(|_| CsvError::Empty { file: file.to_owned() })
}

/// Formats vectors of `lanes` values with the shortest text that parses to the same value; lines
/// end in CR LF.
pub fn write(values: impl IntoIterator<Item = f32>, lanes: usize) -> String {
    let mut text = String::new();
    for (place, value) in values.into_iter().enumerate() {
        let end = if (place + 1).is_multiple_of(lanes) { "\r\n" } else { "," };
        // The result is ignored because writing to a string cannot fail.
        let _ = write!(text, "{value:?}{end}");
    }
    text
}

fn read_line(
    file: &str,
    line: usize,
    text: &str,
    lanes: usize,
    values: &mut Vec<f32>,
) -> Result<(), CsvError> {
    let actual = text.split(',').count();
    if actual != lanes {
        return Err(CsvError::Width { file: file.to_owned(), line, actual, expected: lanes });
    }
    for (column, field) in text.split(',').enumerate() {
        let value = field.trim().parse().map_err(|_| CsvError::Number {
            file: file.to_owned(),
            line,
            column: column + 1,
            found: field.trim().chars().take(40).collect(),
        })?;
        values.push(value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_line_is_a_vector() {
        let tensor = read("x.csv", b"0.0,-19.496094\r\n\r\n1.5, 0.1\r\n", 2).unwrap();
        assert_eq!(tensor.shape(), [2, 2]);
        assert_eq!(tensor.as_f32().unwrap(), [0.0, -19.496094, 1.5, 0.1]);
    }

    #[test]
    fn what_is_written_reads_back() {
        let values = [0.0, -19.496094, 1.0 / 3.0, 1e-7, -0.0, f32::MAX];
        let text = write(values, 3);
        assert!(text.starts_with("0.0,-19.496094,0.33333334\r\n"), "{text}");
        let read = read("x.csv", text.as_bytes(), 3).unwrap();
        assert_eq!(
            read.as_f32().unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            values.map(f32::to_bits)
        );
    }

    #[test]
    fn errors_name_line_and_value() {
        let message = |text: &str| read("x.csv", text.as_bytes(), 2).unwrap_err().to_string();
        assert_eq!(
            message("1,2\n3\n"),
            "x.csv:2: 1 values, but a vector of this instance has 2; this is the format of the target's own tools, one vector per line: give samples as .npy"
        );
        assert_eq!(message("1,zwei\n"), "x.csv:1: value 2 is `zwei`, must be a decimal number");
        assert_eq!(message("\n"), "x.csv: no vectors");
        assert!(read("x.csv", &[b'1', 0xff], 1).unwrap_err().to_string().contains("byte 1"));
    }
}
