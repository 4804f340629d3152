//! Conversion between words and [`Op`]: [`decode`] and [`encode`]. Source: specification, 2.1.
//!
//! Reserved bits are written as 0 and ignored when read (R9); [`reserved_bits`] returns the
//! reserved bits that a word sets.

use npukit_isa::{FieldError, NoInstruction};
use thiserror::Error;

use crate::config::Validity;
use crate::isa::fault::FaultKind;
use crate::isa::op::{Op, WORD_BYTES};

/// Error of encoding an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// A value does not fit its field.
    #[error(transparent)]
    Field(#[from] Box<FieldError>),
    /// The instruction would fault in any state of the machine.
    #[error("{mnemonic}: {kind}; {}", .kind.hint())]
    Fault {
        /// Mnemonic of the instruction.
        mnemonic: &'static str,
        /// Kind of the fault.
        kind: FaultKind,
    },
}

/// Returns the word of an instruction, with the fields of the given reading.
///
/// # Errors
///
/// The instruction always faults, or an operand does not fit its field.
pub fn encode(op: &Op, validity: Validity) -> Result<u32, EncodeError> {
    op.check().map_err(|kind| EncodeError::Fault { mnemonic: op.mnemonic(), kind })?;
    Ok(op.to_word(validity)?.low_u64() as u32)
}

/// Returns the instruction of a word, with the fields of the given reading. The instruction passes
/// [`Op::check`].
///
/// # Errors
///
/// The faults of decoding (specification, 2.3).
pub fn decode(word: u32, validity: Validity) -> Result<Op, FaultKind> {
    let op = Op::from_word(word.into(), validity).map_err(fault)?;
    op.check()?;
    Ok(op)
}

/// Returns the bits of a word that are set and belong to no field of its instruction. If the opcode
/// has no meaning, these are all bits except the opcode.
pub fn reserved_bits(word: u32) -> u32 {
    // All readings use the same bits for fields.
    Op::reserved_bits(word.into(), Validity::Corrected).low_u64() as u32
}

/// Returns the fault of a machine that decodes a word without meaning.
#[cold]
fn fault(error: NoInstruction) -> FaultKind {
    let error = match error {
        NoInstruction::Opcode { opcode } => return FaultKind::ReservedOpcode { opcode: opcode as u32 },
        NoInstruction::Operand(error) => error,
    };
    let operand = |index: usize| error.values[index] as u32;
    let shape = |buffer, least| {
        let c = error.values[2].into();
        FaultKind::ShapeInvalid { buffer, h: operand(0), w: operand(1), c, least }
    };
    match error.instruction {
        "@post" => FaultKind::PostInvalid { act: operand(0), order: operand(1), res: operand(2) },
        "@shape.ifm" => shape("ifm", 16),
        "@shape.ofm" => shape("ofm", 2),
        instruction => FaultKind::OperandInvalid { instruction, field: error.field, value: error.value },
    }
}

/// Error in the bytes of a program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProgramError {
    /// The bytes end inside a word.
    #[error("byte {offset:#x}: only {have} of 4 bytes of a word are present")]
    Truncated {
        /// Offset of the first byte of the word.
        offset: usize,
        /// Number of bytes present.
        have: usize,
    },
    /// A word cannot be executed.
    #[error("word {index} (byte {:#x}), {word:#010x}: {kind}; {}", .index * WORD_BYTES, .kind.hint())]
    Word {
        /// Index of the word.
        index: usize,
        /// Value of the word.
        word: u32,
        /// Fault of decoding the word.
        kind: FaultKind,
    },
    /// An instruction cannot be encoded.
    #[error("instruction {index}: {source}")]
    Encode {
        /// Index of the instruction.
        index: usize,
        /// Reason.
        source: EncodeError,
    },
}

/// Returns the words of a program file: little-endian, without a header.
///
/// # Errors
///
/// [`ProgramError::Truncated`] if the last word is cut short.
pub fn words(bytes: &[u8]) -> Result<Vec<u32>, ProgramError> {
    let (words, rest) = bytes.as_chunks::<WORD_BYTES>();
    if !rest.is_empty() {
        let offset = bytes.len() - rest.len();
        return Err(ProgramError::Truncated { offset, have: rest.len() });
    }
    Ok(words.iter().map(|&word| u32::from_le_bytes(word)).collect())
}

/// Returns the instructions of a program file.
///
/// # Errors
///
/// [`ProgramError::Truncated`] if the last word is cut short; [`ProgramError::Word`] for the first
/// word that cannot be executed.
pub fn decode_program(bytes: &[u8], validity: Validity) -> Result<Vec<Op>, ProgramError> {
    let decoded = words(bytes)?
        .into_iter()
        .enumerate()
        .map(|(index, word)| decode(word, validity).map_err(|kind| ProgramError::Word { index, word, kind }));
    decoded.collect()
}

/// Returns the bytes of a program file.
///
/// # Errors
///
/// [`ProgramError::Encode`] for the first instruction that does not fit its word.
pub fn encode_program(ops: &[Op], validity: Validity) -> Result<Vec<u8>, ProgramError> {
    let mut bytes = Vec::with_capacity(ops.len() * WORD_BYTES);
    for (index, op) in ops.iter().enumerate() {
        let word = encode(op, validity).map_err(|source| ProgramError::Encode { index, source })?;
        bytes.extend(word.to_le_bytes());
    }
    Ok(bytes)
}
