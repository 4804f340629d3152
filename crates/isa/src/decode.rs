//! Words to field values.

use npukit_base::{BitRange, Word};
use thiserror::Error;

use crate::encode::FieldError;
use crate::spec::{InstructionSpec, IsaSpec};

/// What to do about reserved bits and values out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are errors.
    Strict,
    /// They are reported beside the result.
    Lenient,
}

/// A word read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Index of the instruction in [`IsaSpec::instructions`].
    pub instruction: usize,
    /// Its fields' values, in their order, as written.
    pub values: Vec<u64>,
    /// Size of the word.
    pub size_bytes: usize,
    /// What a strict reader would refuse.
    pub problems: Vec<Problem>,
}

/// What is wrong with a word that has a meaning.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// Bits that must be 0 are not.
    #[error("reserved bits {} are not 0", list(.bits))]
    Reserved {
        /// The set ones, lowest first.
        bits: Vec<BitRange>,
    },
    /// A field holds what it may not.
    #[error(transparent)]
    Field(#[from] FieldError),
}

/// Why bytes are not an instruction; offsets count from the start of the program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The program ends inside a word.
    #[error("byte {offset:#x}: {have} bytes are left of an instruction of {need}")]
    Truncated {
        /// First byte of the word.
        offset: usize,
        /// Bytes present.
        have: usize,
        /// Bytes of the word.
        need: usize,
    },
    /// No row of the table fits.
    #[error("byte {offset:#x}: {} is not an instruction{}", hex(.bytes), in_context(.context.as_deref()))]
    Unknown {
        /// First byte of the word.
        offset: usize,
        /// The word's bytes in file order.
        bytes: Vec<u8>,
        /// The context it was read in.
        context: Option<String>,
    },
    /// A row fits, but reserved bits or field values do not.
    #[error("byte {offset:#x}: {instruction}: {}", joined(.problems))]
    Invalid {
        /// First byte of the word.
        offset: usize,
        /// The instruction.
        instruction: String,
        /// Everything wrong with it.
        problems: Vec<Problem>,
    },
}

impl InstructionSpec {
    /// Whether the word has this instruction's pattern.
    pub fn matches(&self, word: Word) -> bool {
        self.patterns.iter().all(|pattern| word.get(pattern.bits) == pattern.value)
    }

    /// The fields' values, as written.
    pub fn values(&self, word: Word) -> Vec<u64> {
        self.fields.iter().map(|field| field.value(word.get(field.bits))).collect()
    }

    /// What is wrong with a word of this instruction.
    pub fn problems(&self, word: Word) -> Vec<Problem> {
        let mut problems = Vec::new();
        let reserved = word & self.reserved();
        if !reserved.is_zero() {
            problems.push(Problem::Reserved { bits: reserved.ranges() });
        }
        let values = self.values(word);
        let checks = self.fields.iter().zip(&values);
        let errors = checks.filter_map(|(field, &value)| field.check(&self.name, value).err());
        problems.extend(errors.chain(self.beyond_limits(&values)).map(Into::into));
        problems
    }
}

impl IsaSpec {
    /// Size of the shortest instruction; at least 1.
    pub fn shortest_bytes(&self) -> usize {
        self.instructions.iter().map(|row| row.size_bytes).min().unwrap_or(1).max(1)
    }

    /// Reads the instruction that starts at byte `offset` of `program`.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Truncated`] when the program ends too early, [`DecodeError::Unknown`] when no row fits
    /// in `context`, and in [`Mode::Strict`] [`DecodeError::Invalid`] for reserved bits and values out of
    /// range.
    pub fn decode(
        &self,
        program: &[u8],
        offset: usize,
        context: Option<&str>,
        mode: Mode,
    ) -> Result<Decoded, DecodeError> {
        let left = program.get(offset..).unwrap_or_default();
        let mut need = usize::MAX;
        for (index, row) in self.instructions.iter().enumerate().filter(|(_, row)| row.holds_in(context)) {
            let Some(bytes) = left.get(..row.size_bytes) else {
                need = need.min(row.size_bytes);
                continue;
            };
            let word = self.word(bytes);
            if row.matches(word) {
                return row.decoded(index, word, offset, mode);
            }
        }
        match left.get(..self.shortest_bytes()) {
            Some(bytes) => {
                let context = context.map(str::to_owned);
                Err(DecodeError::Unknown { offset, bytes: bytes.to_vec(), context })
            }
            None => Err(DecodeError::Truncated { offset, have: left.len(), need: self.shortest_bytes() }),
        }
    }
}

impl InstructionSpec {
    fn decoded(
        &self,
        instruction: usize,
        word: Word,
        offset: usize,
        mode: Mode,
    ) -> Result<Decoded, DecodeError> {
        let problems = self.problems(word);
        if mode == Mode::Strict && !problems.is_empty() {
            return Err(DecodeError::Invalid { offset, instruction: self.name.clone(), problems });
        }
        Ok(Decoded { instruction, values: self.values(word), size_bytes: self.size_bytes, problems })
    }
}

fn list(bits: &[BitRange]) -> String {
    bits.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn joined(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn in_context(context: Option<&str>) -> String {
    context.map(|context| format!(" of {context}")).unwrap_or_default()
}
