//! Words to [`Op`] and back: [`decode`] and [`encode`]. Source: specification, 2.1.
//!
//! Reserved bits are written as 0 and ignored when read (R9); [`reserved_bits`] gives those that a word sets.

use npukit_isa::{FieldError, NoInstruction};
use thiserror::Error;

use crate::config::Validity;
use crate::isa::fault::FaultKind;
use crate::isa::op::{Op, WORD_BYTES};

/// Why an instruction cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// A value its field cannot hold.
    #[error(transparent)]
    Field(#[from] Box<FieldError>),
    /// An instruction that would be at fault whatever the machine's state.
    #[error("{mnemonic}: {kind}; {}", .kind.hint())]
    Fault {
        /// The instruction.
        mnemonic: &'static str,
        /// The fault.
        kind: FaultKind,
    },
}

/// The word of an instruction, with the fields of that reading.
///
/// # Errors
///
/// An instruction that is always at fault, or an operand that does not fit its field.
pub fn encode(op: &Op, validity: Validity) -> Result<u32, EncodeError> {
    op.check().map_err(|kind| EncodeError::Fault { mnemonic: op.mnemonic(), kind })?;
    Ok(op.to_word(validity)?.low_u64() as u32)
}

/// The instruction of a word, by the fields of that reading. It passes [`Op::check`].
///
/// # Errors
///
/// The faults of decoding (specification, 2.3).
pub fn decode(word: u32, validity: Validity) -> Result<Op, FaultKind> {
    let op = Op::from_word(word.into(), validity).map_err(fault)?;
    op.check()?;
    Ok(op)
}

/// The bits of a word that no field of its instruction has, and that are set; all of them but the opcode where that
/// has no meaning.
pub fn reserved_bits(word: u32) -> u32 {
    // All readings have fields in the same bits.
    Op::reserved_bits(word.into(), Validity::Corrected).low_u64() as u32
}

/// The fault of the machine that reads a word without meaning.
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

/// Why bytes are not a program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProgramError {
    /// The bytes end inside a word.
    #[error("byte {offset:#x}: {have} bytes are left of a word of 4")]
    Truncated {
        /// First byte of the word.
        offset: usize,
        /// Bytes present.
        have: usize,
    },
    /// A word that cannot be executed.
    #[error("word {index} (byte {:#x}), {word:#010x}: {kind}; {}", .index * WORD_BYTES, .kind.hint())]
    Word {
        /// Index of the word.
        index: usize,
        /// Its value.
        word: u32,
        /// What is wrong with it.
        kind: FaultKind,
    },
    /// An instruction without a word.
    #[error("instruction {index}: {source}")]
    Encode {
        /// Its index.
        index: usize,
        /// Why.
        source: EncodeError,
    },
}

/// The words of a program file: little-endian, without a header.
///
/// # Errors
///
/// [`ProgramError::Truncated`] when the last word is cut short.
pub fn words(bytes: &[u8]) -> Result<Vec<u32>, ProgramError> {
    let (words, rest) = bytes.as_chunks::<WORD_BYTES>();
    if !rest.is_empty() {
        let offset = bytes.len() - rest.len();
        return Err(ProgramError::Truncated { offset, have: rest.len() });
    }
    Ok(words.iter().map(|&word| u32::from_le_bytes(word)).collect())
}

/// The instructions of a program file.
///
/// # Errors
///
/// [`ProgramError::Truncated`] when the last word is cut short; [`ProgramError::Word`] for the first that
/// cannot be executed.
pub fn decode_program(bytes: &[u8], validity: Validity) -> Result<Vec<Op>, ProgramError> {
    let decoded = words(bytes)?
        .into_iter()
        .enumerate()
        .map(|(index, word)| decode(word, validity).map_err(|kind| ProgramError::Word { index, word, kind }));
    decoded.collect()
}

/// The file of a program.
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
