//! [`Codec`]: [`Op`]s to words of 64 bits and back; [`encode_program`] and [`decode_program`] for whole programs.
//! The rows stand in [`crate::isa::op`]. Source: specification 2.1 to 2.3.

use npukit_base::Word;
use npukit_isa::program::{ProgramErrors, collect};
use npukit_isa::{FieldError, NoInstruction};
use thiserror::Error;

use crate::config::Config;
use crate::isa::op::{Cvo, CvoFunc, Device, INSTRUCTION_BYTES, LAST_OPCODE, Memcpy, Op};

/// The word by which the host marks the end of a batch: no operation.
pub const KICK_MARKER: u64 = 0x8000_0000_0000_0000;

/// Encodes and decodes the instructions of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codec {
    /// Whether CVO has its extensions.
    pub extensions: bool,
    /// Whether [`Codec::read`] refuses what the circuits ignore.
    pub strict: bool,
}

/// Why an instruction has no encoding.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// A value its field cannot hold.
    #[error(transparent)]
    Field(#[from] Box<FieldError>),
    /// A function that only instances with extensions have.
    #[error("CVO {function} is an extension: choose an instance with `extensions = true`, as pccx:extended")]
    Extension {
        /// Its name.
        function: &'static str,
    },
}

/// Why a word is not an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// No instruction has this opcode.
    #[error(
        "opcode {opcode:#x} has no meaning: legal are 0 to {LAST_OPCODE}, and the kick marker {KICK_MARKER:#x}"
    )]
    ReservedOpcode {
        /// Bits 63:60.
        opcode: u64,
    },
    /// MEMSET into a bank that is not there.
    #[error("`dest_cache` of MEMSET is {code}: legal are 0 (fmap) and 1 (weight)")]
    ReservedDestCache {
        /// The field.
        code: u64,
    },
    /// A function that is not there.
    #[error("`cvo_func` of CVO is {code}: legal are 0 to {max}")]
    ReservedCvoFunc {
        /// The field.
        code: u64,
        /// The largest legal one.
        max: u8,
    },
    /// Bits that must be 0 are not.
    #[error("reserved bits {} of {instruction} are not 0", list(*.bits))]
    ReservedBits {
        /// The instruction.
        instruction: &'static str,
        /// The set ones.
        bits: Word,
    },
    /// The program ends inside an instruction.
    #[error("{have} bytes are left of an instruction of {INSTRUCTION_BYTES}: the program is cut short")]
    Truncated {
        /// Bytes present.
        have: usize,
    },
}

impl DecodeError {
    /// The document's name of the error (specification 2.3).
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::ReservedOpcode { .. } => "reserved_opcode",
            Self::ReservedDestCache { .. } => "reserved_dest_cache",
            Self::ReservedCvoFunc { .. } => "reserved_cvo_func",
            Self::ReservedBits { .. } => "reserved_bits",
            Self::Truncated { .. } => "truncated",
        }
    }
}

fn list(bits: Word) -> String {
    bits.ranges().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl Codec {
    /// The codec of `config`.
    pub const fn new(config: &Config) -> Self {
        Self { extensions: config.extensions, strict: config.strict }
    }

    /// The word of an instruction.
    ///
    /// # Errors
    ///
    /// Values beyond their fields, functions the instance does not have.
    pub fn encode(&self, op: &Op) -> Result<u64, EncodeError> {
        match op {
            Op::Cvo(cvo) if self.lacks(cvo.cvo_func) => {
                Err(EncodeError::Extension { function: cvo.cvo_func.name() })
            }
            _ => Ok(op.to_word(self.extensions)?.low_u64()),
        }
    }

    /// The instruction of `word`. Addresses and shapes are the machine's to check, and the direction from the host to
    /// the host.
    ///
    /// # Errors
    ///
    /// No meaning, or reserved bits that are not 0.
    pub fn decode(&self, word: u64) -> Result<Op, DecodeError> {
        let bits = Op::reserved_bits(word.into(), self.extensions);
        // An instruction is built where the caller wants it: looking at it on the way would move it.
        if bits.is_zero() {
            return self.assigned(word);
        }
        Err(DecodeError::ReservedBits { instruction: self.assigned(word)?.mnemonic(), bits })
    }

    /// What the circuits make of `word`: they drop what has no meaning, ignore reserved bits, and move
    /// from L2 to the host whenever a MEMCPY is not from the host to L2.
    pub fn decode_lenient(&self, word: u64) -> Op {
        match self.assigned(word) {
            Err(_) => Op::Dropped(word),
            Ok(Op::Memcpy(memcpy))
                if (memcpy.from_device, memcpy.to_device) != (Device::Host, Device::Npu) =>
            {
                Op::Memcpy(Memcpy { from_device: Device::Npu, to_device: Device::Host, ..memcpy })
            }
            Ok(op) => op,
        }
    }

    /// As [`Codec::decode`] or [`Codec::decode_lenient`], whichever the instance asks for.
    ///
    /// # Errors
    ///
    /// Those of [`Codec::decode`], where it is asked for.
    pub fn read(&self, word: u64) -> Result<Op, DecodeError> {
        if self.strict { self.decode(word) } else { Ok(self.decode_lenient(word)) }
    }

    /// The instruction of `word`, whatever its reserved bits.
    pub(crate) fn assigned(&self, word: u64) -> Result<Op, DecodeError> {
        let op = Op::from_word_or(word.into(), self.extensions, |error| self.refusal(error));
        match op {
            Ok(Op::Cvo(Cvo { cvo_func, .. })) if self.lacks(cvo_func) => {
                Err(self.no_function(cvo_func.code().into()))
            }
            _ => op,
        }
    }

    fn lacks(&self, function: CvoFunc) -> bool {
        function.is_extension() && !self.extensions
    }

    fn no_function(&self, code: u64) -> DecodeError {
        DecodeError::ReservedCvoFunc { code, max: CvoFunc::last(self.extensions).code() }
    }

    /// The document's name of a word without meaning.
    #[cold]
    fn refusal(&self, error: NoInstruction) -> DecodeError {
        match error {
            NoInstruction::Opcode { opcode } => DecodeError::ReservedOpcode { opcode },
            NoInstruction::Operand(error) if error.field == "dest_cache" => {
                DecodeError::ReservedDestCache { code: error.value }
            }
            NoInstruction::Operand(error) => self.no_function(error.value),
        }
    }
}

/// Instructions without encoding.
pub type EncodeErrors = ProgramErrors<EncodeError>;
/// Bytes that are not instructions.
pub type DecodeErrors = ProgramErrors<DecodeError>;

/// The bytes of a program, the least significant of each word first.
///
/// # Errors
///
/// Every instruction without an encoding, as [`Codec::encode`] names it.
pub fn encode_program(codec: &Codec, ops: &[Op]) -> Result<Vec<u8>, EncodeErrors> {
    let words = collect(INSTRUCTION_BYTES, ops.iter().map(|op| codec.encode(op)))?;
    Ok(words.into_iter().flat_map(u64::to_le_bytes).collect())
}

/// The instructions of a program.
///
/// # Errors
///
/// What [`Codec::read`] refuses, and a partial instruction at the end.
pub fn decode_program(codec: &Codec, bytes: &[u8]) -> Result<Vec<Op>, DecodeErrors> {
    let one = |chunk: &[u8]| match <[u8; INSTRUCTION_BYTES]>::try_from(chunk) {
        Ok(word) => codec.read(u64::from_le_bytes(word)),
        Err(_) => Err(DecodeError::Truncated { have: chunk.len() }),
    };
    collect(INSTRUCTION_BYTES, bytes.chunks(INSTRUCTION_BYTES).map(one))
}
