//! Programs and memories in files (specification 6.4): `instr.bin`, its hexadecimal form, memory
//! images.
//!
//! All are text. A program has `cell R C`, followed by a line of 32 binary (or 8 hexadecimal)
//! digits per word. An image has one line per row: its number and 256 binary (or 64 hexadecimal)
//! digits, last element first.

mod image;

use thiserror::Error;

use crate::config::fabric::Place;
use crate::isa::program::Program;

pub use crate::config::fabric::Image;
pub use image::read_image;

/// A malformed line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {reason}")]
pub struct BinaryError {
    /// Line number, starting at 1.
    pub line: usize,
    /// Reason, and the legal values.
    pub reason: String,
}

/// Number base of a file's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Digits {
    Binary,
    Hexadecimal,
}

impl Digits {
    const fn radix(self) -> u32 {
        match self {
            Self::Binary => 2,
            Self::Hexadecimal => 16,
        }
    }

    /// Number of digits of 16 bits.
    const fn of_word(self) -> usize {
        match self {
            Self::Binary => 16,
            Self::Hexadecimal => 4,
        }
    }

    /// Parses `text` as `count` numbers of 16 bits; `None` if it is malformed.
    fn words(self, text: &str, count: usize) -> Option<Vec<u16>> {
        let size = self.of_word();
        if text.len() != size * count || !text.chars().all(|digit| digit.is_digit(self.radix())) {
            return None;
        }
        text.as_bytes()
            .chunks(size)
            .map(|digits| u16::from_str_radix(std::str::from_utf8(digits).ok()?, self.radix()).ok())
            .collect()
    }

    /// Returns the base of a text of `count` words, from its length.
    fn of(text: &str, count: usize) -> Option<Self> {
        [Self::Binary, Self::Hexadecimal].into_iter().find(|digits| text.len() == digits.of_word() * count)
    }
}

/// Formats a program as `instr.bin`.
pub fn write_program(program: &Program) -> String {
    write(program, |word| format!("{word:032b}"))
}

/// Formats a program as `instr.bin` with hexadecimal words.
pub fn write_program_hex(program: &Program) -> String {
    write(program, |word| format!("{word:08x}"))
}

fn write(program: &Program, digits: impl Fn(u32) -> String) -> String {
    let mut text = String::new();
    for (place, words) in &program.cells {
        text += &format!("cell {} {}\n", place.row, place.col);
        words.iter().for_each(|&word| text += &(digits(word) + "\n"));
    }
    text
}

/// Reads `instr.bin`, or its hexadecimal form.
///
/// # Errors
///
/// The first line that is neither a cell nor a word, a word before any cell, or a cell that is
/// listed twice.
pub fn read_program(text: &str) -> Result<Program, BinaryError> {
    let mut program = Program::default();
    let mut current: Option<&mut Vec<u32>> = None;
    for (index, line) in text.lines().enumerate() {
        let error = |reason: String| BinaryError { line: index + 1, reason };
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if let Some(rest) = line.strip_prefix("cell") {
            let place = place_of(rest).ok_or_else(|| error(format!("`{line}` is not `cell ROW COLUMN`")))?;
            if program.cells.contains_key(&place) {
                return Err(error(format!("cell {place} is listed twice")));
            }
            current = Some(program.cells.entry(place).or_default());
            continue;
        }
        let word = word_of(line).ok_or_else(|| {
            error(format!("`{}` is neither 32 binary nor 8 hexadecimal digits", short(line)))
        })?;
        let words =
            current.as_mut().ok_or_else(|| error("a word before the first `cell ROW COLUMN`".into()))?;
        words.push(word);
    }
    Ok(program)
}

fn place_of(text: &str) -> Option<Place> {
    let mut numbers = text.split_whitespace().map(str::parse);
    let place = Place { row: numbers.next()?.ok()?, col: numbers.next()?.ok()? };
    numbers.next().is_none().then_some(place)
}

fn word_of(line: &str) -> Option<u32> {
    let words = Digits::of(line, 2)?.words(line, 2)?;
    Some(words.iter().fold(0, |word, &half| word << 16 | u32::from(half)))
}

/// Returns the beginning of a line that may be long.
fn short(line: &str) -> String {
    const MOST: usize = 40;
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn programs_survive_both_ways() {
        let words = vec![0xe100_0000, 0x2000_5001, 0];
        let program =
            Program { cells: [(Place { row: 2, col: 13 }, words), (Place::default(), vec![])].into() };
        assert_eq!(read_program(&write_program(&program)).unwrap(), program);
        assert_eq!(read_program(&write_program_hex(&program)).unwrap(), program);
    }

    #[test]
    fn wrong_lines_are_named() {
        let message = |text: &str| read_program(text).unwrap_err().to_string();
        assert_eq!(message("\n00000000"), "line 2: a word before the first `cell ROW COLUMN`");
        assert_eq!(message("cell 0 0\ncell 0 0"), "line 2: cell (0, 0) is listed twice");
        assert_eq!(message("cell 0"), "line 1: `cell 0` is not `cell ROW COLUMN`");
        assert!(message("cell 0 0\n012").contains("`012` is neither 32 binary nor 8"));
        assert!(message("cell 0 0\n0000000g").contains("neither"));
        assert!(message("cell 0 0\n+0000000").contains("neither"));
        assert!(message(&"é".repeat(16)).contains("neither"));
    }
}
