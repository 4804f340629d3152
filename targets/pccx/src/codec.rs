//! [`Codec`]: [`Op`](crate::Op)s to words of 64 bits and back; [`encode_program`] and
//! [`decode_program`] for whole programs. Source: specification 2.1 to 2.3.
//!
//! The table people read is in [`crate::isa()`]; a property test keeps the two in agreement.

mod decode;
mod encode;
pub(crate) mod fields;
mod program;

pub use decode::DecodeError;
pub use encode::EncodeError;
pub use program::{DecodeErrors, EncodeErrors, decode_program, encode_program};

use crate::config::Config;

/// Bytes of an instruction.
pub const INSTRUCTION_BYTES: usize = 8;
/// The word by which the host marks the end of a batch: no operation.
pub const KICK_MARKER: u64 = 0x8000_0000_0000_0000;

/// Opcodes, in bits 63:60.
pub(crate) mod opcode {
    pub const GEMV: u64 = 0x0;
    pub const GEMM: u64 = 0x1;
    pub const MEMCPY: u64 = 0x2;
    pub const MEMSET: u64 = 0x3;
    pub const CVO: u64 = 0x4;
}

/// Encodes and decodes the instructions of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codec {
    /// Whether CVO has its extensions.
    pub extensions: bool,
    /// Whether [`Codec::read`] refuses what the circuits ignore.
    pub strict: bool,
}

impl Codec {
    /// The codec of `config`.
    pub const fn new(config: &Config) -> Self {
        Self { extensions: config.extensions, strict: config.strict }
    }
}
