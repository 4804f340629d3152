//! Whole programs: instructions one after the other, without header or alignment.

use std::fmt;

use npukit_base::Word;
use thiserror::Error;

use super::{Codec, DecodeError, EncodeError};
use crate::config::Config;
use crate::op::Op;

/// Errors listed of one program; more are counted only.
const MOST_ERRORS: usize = 50;

/// An error and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<E> {
    /// Instruction, from 0.
    pub index: usize,
    /// Its first byte.
    pub offset: usize,
    /// What is wrong with it.
    pub error: E,
}

impl<E: fmt::Display> fmt::Display for At<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instruction {} (byte {:#x}): {}", self.index, self.offset, self.error)
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

/// Collects errors up to [`MOST_ERRORS`].
struct Collected<E> {
    errors: Vec<At<E>>,
    more: usize,
}

impl<E> Collected<E> {
    const fn new() -> Self {
        Self { errors: Vec::new(), more: 0 }
    }

    fn add(&mut self, index: usize, offset: usize, error: E) {
        if self.errors.len() < MOST_ERRORS {
            self.errors.push(At { index, offset, error });
        } else {
            self.more += 1;
        }
    }
}

/// The bytes of a `.tprog`, every instruction on thread 0.
///
/// Errors: every instruction without an encoding, as [`Codec::encode`] names it.
pub fn encode_program(config: &Config, ops: &[Op]) -> Result<Vec<u8>, EncodeErrors> {
    let codec = Codec::new(config);
    let size = codec.instruction_bytes();
    let mut bytes = Vec::with_capacity(ops.len() * size);
    let mut collected = Collected::new();
    for (index, op) in ops.iter().enumerate() {
        match codec.encode(op) {
            Ok(word) => bytes.extend_from_slice(&word.to_le_bytes()[..size]),
            Err(error) => collected.add(index, index * size, error),
        }
    }
    let Collected { errors, more } = collected;
    if errors.is_empty() { Ok(bytes) } else { Err(EncodeErrors { errors, more }) }
}

/// The instructions of a `.tprog`.
///
/// Errors: words without meaning, reserved bits, a partial instruction at the end; in two-thread
/// mode also instructions of the other thread, which an [`Op`] cannot say.
pub fn decode_program(config: &Config, bytes: &[u8]) -> Result<Vec<Op>, DecodeErrors> {
    decode(config, bytes, |codec, word| match codec.decode(word)? {
        decoded if decoded.thread == 0 => Ok(decoded.op),
        decoded => Err(DecodeError::Thread { thread: decoded.thread }),
    })
}

/// What hardware would make of a `.tprog`: words without meaning become [`Op::Unassigned`],
/// reserved bits and threads are ignored.
///
/// Errors: a partial instruction at the end.
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
    let mut ops = Vec::with_capacity(bytes.len() / size);
    let mut collected = Collected::new();
    let chunks = bytes.chunks_exact(size);
    let left = chunks.remainder().len();
    for (index, chunk) in chunks.enumerate() {
        match one(&codec, Word::from_le_bytes(chunk)) {
            Ok(op) => ops.push(op),
            Err(error) => collected.add(index, index * size, error),
        }
    }
    if left > 0 {
        let error = DecodeError::Truncated { have: left, need: size };
        collected.add(bytes.len() / size, bytes.len() - left, error);
    }
    let Collected { errors, more } = collected;
    if errors.is_empty() { Ok(ops) } else { Err(DecodeErrors { errors, more }) }
}
