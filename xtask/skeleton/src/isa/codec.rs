//! Conversion between words of a file and instructions: [`decode_program`], [`encode_program`].

use npukit_base::{BitRange, Word};
use npukit_isa::NoInstruction;
use npukit_isa::program::{ProgramErrors, collect};
use thiserror::Error;

use crate::isa::op::Op;

/// Size of a word in bytes.
pub const WORD_BYTES: usize = 8;
/// All bits of a word.
const ALL: BitRange = BitRange::new(0, 64);

/// Reason why a word cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The word is not an instruction.
    #[error(transparent)]
    Instruction(#[from] NoInstruction),
    /// The word sets reserved bits.
    #[error("{instruction} has reserved bits {bits:#x}")]
    Reserved {
        /// Name of the instruction.
        instruction: &'static str,
        /// Reserved bits that are set.
        bits: u64,
    },
    /// The file ends within the word.
    #[error("the file ends after {have} of {WORD_BYTES} bytes")]
    Truncated {
        /// Bytes of the word in the file.
        have: usize,
    },
}

/// Decodes the instructions of a program file.
///
/// # Errors
///
/// All words that cannot be executed.
pub fn decode_program(bytes: &[u8]) -> Result<Vec<Op>, ProgramErrors<DecodeError>> {
    collect(WORD_BYTES, bytes.chunks(WORD_BYTES).map(decode))
}

fn decode(bytes: &[u8]) -> Result<Op, DecodeError> {
    if bytes.len() < WORD_BYTES {
        return Err(DecodeError::Truncated { have: bytes.len() });
    }
    let word = Word::from_le_bytes(bytes);
    let op = Op::from_word(word)?;
    match Op::reserved_bits(word) {
        Word::ZERO => Ok(op),
        bits => Err(DecodeError::Reserved { instruction: op.mnemonic(), bits: bits.get(ALL) }),
    }
}

/// Encodes a program file.
///
/// # Errors
///
/// The first operand that does not fit its field.
pub fn encode_program(ops: &[Op]) -> Result<Vec<u8>, Box<npukit_isa::FieldError>> {
    let mut bytes = Vec::with_capacity(ops.len() * WORD_BYTES);
    for op in ops {
        bytes.extend(op.to_word()?.to_le_bytes().iter().take(WORD_BYTES));
    }
    Ok(bytes)
}
