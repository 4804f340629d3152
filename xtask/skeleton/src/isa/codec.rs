//! Words of a file to instructions and back: [`decode_program`], [`encode_program`].

use npukit_base::{BitRange, Word};
use npukit_isa::NoInstruction;
use npukit_isa::program::{ProgramErrors, collect};
use thiserror::Error;

use crate::isa::op::Op;

/// Bytes of a word.
pub const WORD_BYTES: usize = 8;
/// All of its bits.
const ALL: BitRange = BitRange::new(0, 64);

/// Why a word cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// No instruction has it.
    #[error(transparent)]
    Instruction(#[from] NoInstruction),
    /// It has bits that no instruction gives a meaning.
    #[error("{instruction} has reserved bits {bits:#x}")]
    Reserved {
        /// The instruction.
        instruction: &'static str,
        /// The bits.
        bits: u64,
    },
    /// The file ends inside it.
    #[error("the file ends after {have} of {WORD_BYTES} bytes")]
    Truncated {
        /// Bytes there are.
        have: usize,
    },
}

/// The instructions of a program file.
///
/// # Errors
///
/// Every word that cannot be executed.
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

/// The file of a program.
///
/// # Errors
///
/// The first operand that its field cannot hold.
pub fn encode_program(ops: &[Op]) -> Result<Vec<u8>, Box<npukit_isa::FieldError>> {
    let mut bytes = Vec::with_capacity(ops.len() * WORD_BYTES);
    for op in ops {
        bytes.extend(op.to_word()?.to_le_bytes().iter().take(WORD_BYTES));
    }
    Ok(bytes)
}
