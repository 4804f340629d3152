//! Whole programs: words one after the other, the least significant byte first.

use npukit_isa::program::{ProgramErrors, collect};

use super::{Codec, DecodeError, EncodeError, INSTRUCTION_BYTES};
use crate::op::Op;

/// Instructions without encoding.
pub type EncodeErrors = ProgramErrors<EncodeError>;
/// Bytes that are no instructions.
pub type DecodeErrors = ProgramErrors<DecodeError>;

/// The bytes of a program.
///
/// Errors: every instruction without an encoding, as [`Codec::encode`] names it.
pub fn encode_program(codec: &Codec, ops: &[Op]) -> Result<Vec<u8>, EncodeErrors> {
    let words = collect(INSTRUCTION_BYTES, ops.iter().map(|op| codec.encode(op)))?;
    Ok(words.into_iter().flat_map(u64::to_le_bytes).collect())
}

/// The instructions of a program.
///
/// Errors: what [`Codec::read`] refuses, and a partial instruction at the end.
pub fn decode_program(codec: &Codec, bytes: &[u8]) -> Result<Vec<Op>, DecodeErrors> {
    let one = |chunk: &[u8]| match <[u8; INSTRUCTION_BYTES]>::try_from(chunk) {
        Ok(word) => codec.read(u64::from_le_bytes(word)),
        Err(_) => Err(DecodeError::Truncated { have: chunk.len() }),
    };
    collect(INSTRUCTION_BYTES, bytes.chunks(INSTRUCTION_BYTES).map(one))
}
