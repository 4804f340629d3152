//! Decodes words to field values.

use npukit_base::{BitRange, Word};
use thiserror::Error;

use crate::encode::FieldError;
use crate::spec::{InstructionSpec, IsaSpec};

/// Treatment of reserved bits and of values out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Reserved bits and values out of range are errors.
    Strict,
    /// Reported next to the result.
    Lenient,
}

/// Decoded word with its problems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Index of the instruction in [`IsaSpec::instructions`].
    pub instruction: usize,
    /// Values of the instruction's fields, in table order, as written in text.
    pub values: Vec<u64>,
    /// Size of the word, in bytes.
    pub size_bytes: usize,
    /// Problems for which [`Mode::Strict`] rejects the word.
    pub problems: Vec<Problem>,
}

/// Problem of a word that can still be decoded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// Reserved bits are not 0.
    #[error("reserved bits {} are not 0", list(.bits))]
    Reserved {
        /// Reserved bits that are set, lowest first.
        bits: Vec<BitRange>,
    },
    /// A field has an illegal value.
    #[error(transparent)]
    Field(#[from] FieldError),
}

/// Reason why bytes are not an instruction. Offsets are relative to the start of the program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The program ends within a word.
    #[error("byte {offset:#x}: only {have} of the {need} bytes of an instruction are left")]
    Truncated {
        /// Offset of the word's first byte.
        offset: usize,
        /// Number of bytes left.
        have: usize,
        /// Number of bytes of the word.
        need: usize,
    },
    /// The word matches no row of the table.
    #[error("byte {offset:#x}: {} is not an instruction{}", hex(.bytes), in_context(.context.as_deref()))]
    Unknown {
        /// Offset of the word's first byte.
        offset: usize,
        /// Bytes of the word, in file order.
        bytes: Vec<u8>,
        /// Context in which the word was decoded.
        context: Option<String>,
    },
    /// The word matches a row, but has reserved bits set or illegal field values.
    #[error("byte {offset:#x}: {instruction}: {}", joined(.problems))]
    Invalid {
        /// Offset of the word's first byte.
        offset: usize,
        /// Name of the instruction.
        instruction: String,
        /// All problems of the word.
        problems: Vec<Problem>,
    },
}

impl InstructionSpec {
    /// Whether the word matches the patterns of this instruction.
    pub fn matches(&self, word: Word) -> bool {
        self.patterns.iter().all(|pattern| word.get(pattern.bits) == pattern.value)
    }

    /// Returns the values of the fields, as written in text.
    pub fn values(&self, word: Word) -> Vec<u64> {
        self.fields.iter().map(|field| field.value(word.get(field.bits))).collect()
    }

    /// Returns the problems of a word of this instruction.
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
    /// Returns the size of the shortest instruction in bytes, at least 1.
    pub fn shortest_bytes(&self) -> usize {
        self.instructions.iter().map(|row| row.size_bytes).min().unwrap_or(1).max(1)
    }

    /// Decodes the instruction that starts at byte `offset` of `program`.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`] if the program ends within the word; [`DecodeError::Unknown`] if
    /// no row matches in `context`; in [`Mode::Strict`] also [`DecodeError::Invalid`] for reserved
    /// bits and illegal values.
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
