//! Collects the errors of all instructions of a program: [`collect`], [`ProgramErrors`].

use std::error::Error;
use std::fmt;

use npukit_base::{Code, Coded};

/// Maximum number of errors listed per program; further ones are only counted.
const MAX_ERRORS: usize = 50;

/// Error with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<E> {
    /// Index of the instruction, starting at 0.
    pub index: usize,
    /// Offset of the instruction's first byte.
    pub offset: usize,
    /// The error.
    pub error: E,
}

/// Errors in the instructions of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramErrors<E> {
    /// First errors, at least one.
    pub errors: Vec<At<E>>,
    /// Number of further errors.
    pub more: usize,
}

/// Collects the results of instructions, of `instruction_bytes` bytes each.
///
/// # Errors
/// The first 50 errors with their places, and the number of further ones.
pub fn collect<T, E>(
    instruction_bytes: usize,
    results: impl Iterator<Item = Result<T, E>>,
) -> Result<Vec<T>, ProgramErrors<E>> {
    let (mut made, mut errors, mut more) = (Vec::new(), Vec::new(), 0);
    for (index, result) in results.enumerate() {
        match result {
            Ok(one) => made.push(one),
            Err(error) if errors.len() < MAX_ERRORS => {
                errors.push(At { index, offset: index * instruction_bytes, error });
            }
            Err(_) => more += 1,
        }
    }
    if errors.is_empty() { Ok(made) } else { Err(ProgramErrors { errors, more }) }
}

impl<E: fmt::Display> fmt::Display for At<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instruction {} (byte {:#x}): {}", self.index, self.offset, self.error)
    }
}

impl<E: fmt::Display> fmt::Display for ProgramErrors<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<String> = self.errors.iter().map(ToString::to_string).collect();
        if self.more > 0 {
            lines.push(format!("and {} more", self.more));
        }
        f.write_str(&lines.join("\n"))
    }
}

impl<E> Coded for ProgramErrors<E> {
    const CODES: &'static [Code] = &[Code {
        name: "invalid-instructions",
        meaning: "a program contains words that are not instructions, or instructions that cannot be encoded",
    }];

    fn code(&self) -> &'static str {
        "invalid-instructions"
    }
}

impl<E: fmt::Debug + fmt::Display> Error for ProgramErrors<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_errors_are_listed() {
        let odd = |count: u32| collect(9, (0..count).map(|i| if i % 2 == 1 { Err(i) } else { Ok(i) }));
        assert_eq!(odd(1), Ok(vec![0]));
        assert_eq!(
            odd(4).map_err(|errors| errors.to_string()),
            Err("instruction 1 (byte 0x9): 1\ninstruction 3 (byte 0x1b): 3".to_owned())
        );
        let many = odd(110).map_err(|errors| (errors.errors.len(), errors.more, errors.to_string()));
        assert!(matches!(many, Err((50, 5, text)) if text.ends_with("\nand 5 more")));
    }
}
