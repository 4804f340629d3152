//! Whole programs: words one after the other, the least significant byte first.

use std::fmt;

use thiserror::Error;

use super::{Codec, DecodeError, EncodeError, INSTRUCTION_BYTES};
use crate::op::Op;

/// Errors listed of one program; more are counted only.
const MOST_ERRORS: usize = 50;

/// An error and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<E> {
    /// Instruction, from 0.
    pub index: usize,
    /// What is wrong with it.
    pub error: E,
}

impl<E: fmt::Display> fmt::Display for At<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instruction {} (byte {:#x}): {}", self.index, self.index * INSTRUCTION_BYTES, self.error)
    }
}

/// Instructions without encoding.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", report(.errors, *.more))]
pub struct EncodeErrors {
    /// The first ones; never empty.
    pub errors: Vec<At<EncodeError>>,
    /// How many others there are.
    pub more: usize,
}

/// Bytes that are no instructions.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", report(.errors, *.more))]
pub struct DecodeErrors {
    /// The first ones; never empty.
    pub errors: Vec<At<DecodeError>>,
    /// How many others there are.
    pub more: usize,
}

fn report<E: fmt::Display>(errors: &[At<E>], more: usize) -> String {
    let mut lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines.join("\n")
}

/// What a program gives, or the first errors and the number of the others.
fn collect<T, E>(results: impl Iterator<Item = Result<T, E>>) -> Result<Vec<T>, (Vec<At<E>>, usize)> {
    let (mut made, mut errors, mut more) = (Vec::new(), Vec::new(), 0);
    for (index, result) in results.enumerate() {
        match result {
            Ok(one) => made.push(one),
            Err(error) if errors.len() < MOST_ERRORS => errors.push(At { index, error }),
            Err(_) => more += 1,
        }
    }
    if errors.is_empty() { Ok(made) } else { Err((errors, more)) }
}

/// The bytes of a program.
///
/// Errors: every instruction without an encoding, as [`Codec::encode`] names it.
pub fn encode_program(codec: &Codec, ops: &[Op]) -> Result<Vec<u8>, EncodeErrors> {
    let words = collect(ops.iter().map(|op| codec.encode(op)));
    let words = words.map_err(|(errors, more)| EncodeErrors { errors, more })?;
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
    collect(bytes.chunks(INSTRUCTION_BYTES).map(one)).map_err(|(errors, more)| DecodeErrors { errors, more })
}
