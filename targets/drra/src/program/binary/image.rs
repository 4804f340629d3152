//! [`Image`]: rows of a memory by number.

use super::{BinaryError, Digits, short};
use crate::config::fabric::{Image, ROW_WORDS, Row};

/// Maximum number of rows of a buffer: its addresses have 16 bits.
const MAX_ROWS: u32 = 1 << 16;

/// Reads an image in binary or hexadecimal digits.
///
/// # Errors
///
/// The first line that is not a row number with its digits, a number above 65535, or a row that is
/// listed twice.
pub fn read_image(text: &str) -> Result<Image, BinaryError> {
    let mut image = Image::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let error = |reason: String| BinaryError { line: index + 1, reason };
        let wrong = || {
            error(format!("`{}` is not a row's number and 256 binary or 64 hexadecimal digits", short(line)))
        };
        let (address, digits) = line.trim().split_once(char::is_whitespace).ok_or_else(wrong)?;
        let address: u32 = address.parse().map_err(|_| wrong())?;
        if address >= MAX_ROWS {
            return Err(error(format!("row {address} is beyond the last one, {}", MAX_ROWS - 1)));
        }
        let row = row_of(digits.trim()).ok_or_else(wrong)?;
        if image.insert(address, row).is_some() {
            return Err(error(format!("row {address} is listed twice")));
        }
    }
    Ok(image)
}

fn row_of(digits: &str) -> Option<Row> {
    let words = Digits::of(digits, ROW_WORDS)?.words(digits, ROW_WORDS)?;
    let mut row = Row::default();
    row.iter_mut().zip(words.iter().rev()).for_each(|(element, &word)| *element = word as i16);
    Some(row)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn image() -> Image {
        let row = std::array::from_fn(|i| i as i16 * -7);
        [(0, row), (65_535, [i16::MIN; ROW_WORDS])].into()
    }

    /// Image as in a file: element 0 is the last of a row.
    fn written(digits: impl Fn(u16) -> String) -> String {
        let line = |(address, row): (u32, Row)| {
            let words: String = row.iter().rev().map(|&word| digits(word as u16)).collect();
            format!("{address} {words}\n")
        };
        image().into_iter().map(line).collect()
    }

    #[test]
    fn binary_and_hexadecimal_digits_are_read() {
        assert_eq!(read_image(&written(|word| format!("{word:016b}"))).unwrap(), image());
        assert_eq!(read_image(&written(|word| format!("{word:04x}"))).unwrap(), image());
    }

    #[test]
    fn element_0_is_the_last() {
        let text = format!("3 {}0001", "0".repeat(60));
        assert_eq!(read_image(&text).unwrap()[&3][0], 1);
    }

    #[test]
    fn wrong_lines_are_named() {
        let message = |text: &str| read_image(text).unwrap_err().to_string();
        assert!(message("5").starts_with("line 1: `5` is not a row's number"));
        let zeros = "0".repeat(64);
        assert!(message(&format!("65536 {zeros}")).contains("beyond the last one, 65535"));
        assert!(message(&format!("1 {zeros}\n1 {zeros}")).starts_with("line 2: row 1 is listed twice"));
        assert!(message(&format!("-1 {zeros}")).contains("is not a row's number"));
    }
}
