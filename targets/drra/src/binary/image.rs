//! [`Image`]: rows of a memory by number.

use std::collections::BTreeMap;

use super::{BinaryError, Digits, short};
use crate::fabric::{ROW_WORDS, Row};

/// Rows by number; others are zero, or were not written.
pub type Image = BTreeMap<u32, Row>;

/// Rows a buffer can have: its addresses are 16 bits.
const MAX_ROWS: u32 = 1 << 16;

/// An image in binary digits.
pub fn write_image(image: &Image) -> String {
    write(image, |word| format!("{word:016b}"))
}

/// An image in hexadecimal digits.
pub fn write_image_hex(image: &Image) -> String {
    write(image, |word| format!("{word:04x}"))
}

/// An image for people: numbers, element 0 first. (Upstream writes element 15 first.)
pub fn write_image_text(image: &Image) -> String {
    image.iter().map(|(address, row)| format!("{address} {row:?}\n")).collect()
}

fn write(image: &Image, digits: impl Fn(u16) -> String) -> String {
    let line = |(address, row): (&u32, &Row)| {
        let words: String = row.iter().rev().map(|&word| digits(word as u16)).collect();
        format!("{address} {words}\n")
    };
    image.iter().map(line).collect()
}

/// Reads an image in binary or hexadecimal digits.
///
/// # Errors
///
/// The first line that is not a row's number and its digits, a number beyond 65535, a row listed twice.
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

    #[test]
    fn images_survive() {
        assert_eq!(read_image(&write_image(&image())).unwrap(), image());
        assert_eq!(read_image(&write_image_hex(&image())).unwrap(), image());
    }

    #[test]
    fn element_0_is_the_last() {
        let mut row = Row::default();
        row[0] = 1;
        let text = write_image(&[(3, row)].into());
        assert!(text.starts_with("3 0000") && text.ends_with("0001\n"), "{text}");
        assert_eq!(
            write_image_text(&[(3, row)].into()),
            "3 [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n"
        );
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
