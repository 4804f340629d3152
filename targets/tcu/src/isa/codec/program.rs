//! Whole programs: consecutive instructions without header or alignment.

use npukit_base::Word;
use npukit_isa::program::{ProgramErrors, collect};

use super::{Codec, DecodeError, EncodeError};
use crate::config::Config;
use crate::isa::op::Op;

/// Instructions without an encoding.
pub type EncodeErrors = ProgramErrors<EncodeError>;
/// Bytes that are not instructions.
pub type DecodeErrors = ProgramErrors<DecodeError>;

/// Returns the bytes of a `.tprog`, with every instruction on thread 0.
///
/// # Errors
///
/// Every instruction without an encoding, with the error of [`Codec::encode`].
pub fn encode_program(config: &Config, ops: &[Op]) -> Result<Vec<u8>, EncodeErrors> {
    let codec = Codec::new(config);
    let size = codec.instruction_bytes();
    let words = collect(size, ops.iter().map(|op| codec.encode(op)))?;
    let mut bytes = Vec::with_capacity(words.len() * size);
    for word in words {
        bytes.extend_from_slice(&word.to_le_bytes()[..size]);
    }
    Ok(bytes)
}

/// Returns the instructions of a `.tprog`.
///
/// # Errors
///
/// Every word without meaning or with reserved bits, and a partial instruction at the end. In
/// two-thread mode also instructions of the other thread, which an [`Op`] cannot represent.
pub fn decode_program(config: &Config, bytes: &[u8]) -> Result<Vec<Op>, DecodeErrors> {
    decode(config, bytes, |codec, word| match codec.decode(word)? {
        decoded if decoded.thread == 0 => Ok(decoded.op),
        decoded => Err(DecodeError::Thread { thread: decoded.thread }),
    })
}

/// Returns what hardware would execute for a `.tprog`: words without meaning become
/// [`Op::Unassigned`]; reserved bits and threads are ignored.
///
/// # Errors
///
/// A partial instruction at the end.
pub fn decode_program_lenient(config: &Config, bytes: &[u8]) -> Result<Vec<Op>, DecodeErrors> {
    decode(config, bytes, |codec, word| Ok(codec.decode_lenient(word).op))
}

fn decode(
    config: &Config,
    bytes: &[u8],
    one: impl Fn(&Codec, Word) -> Result<Op, DecodeError>,
) -> Result<Vec<Op>, DecodeErrors> {
    let codec = Codec::new(config);
    let size = codec.instruction_bytes();
    let instruction = |chunk: &[u8]| match chunk.len() {
        have if have < size => Err(DecodeError::Truncated { have, need: size }),
        _ => one(&codec, Word::from_le_bytes(chunk)),
    };
    collect(size, bytes.chunks(size).map(instruction))
}
