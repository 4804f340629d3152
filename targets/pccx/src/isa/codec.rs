//! [`Codec`]: encodes and decodes [`Op`]s as 64-bit words; [`encode_program`] and
//! [`decode_program`] for whole programs. The rows are in [`crate::isa::op`]. Source: specification
//! 2.1 to 2.3.

use npukit_base::Word;
use npukit_isa::program::{ProgramErrors, collect};
use npukit_isa::{FieldError, NoInstruction};
use thiserror::Error;

use crate::config::Config;
use crate::isa::op::{Cvo, CvoFunc, Device, INSTRUCTION_BYTES, LAST_OPCODE, Memcpy, Op};

/// Word with which the host marks the end of a batch; it has no effect.
pub const KICK_MARKER: u64 = 0x8000_0000_0000_0000;

/// Encodes and decodes the instructions of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codec {
    /// Whether CVO has its extensions.
    pub extensions: bool,
    /// Whether [`Codec::read`] refuses words that the circuits drop, and set reserved bits.
    pub strict: bool,
}

/// Reason why an instruction cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// A field cannot hold its value.
    #[error(transparent)]
    Field(#[from] Box<FieldError>),
    /// The function exists only in instances with extensions.
    #[error(
        "CVO {function} is an extension: choose an instance with `extensions = true`, such as pccx:extended"
    )]
    Extension {
        /// Name of the function.
        function: &'static str,
    },
}

/// Reason why a word is not an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// No instruction has this opcode.
    #[error(
        "opcode {opcode:#x} has no meaning: legal are 0 to {LAST_OPCODE}, and the kick marker {KICK_MARKER:#x}"
    )]
    ReservedOpcode {
        /// Bits 63:60 of the word.
        opcode: u64,
    },
    /// MEMSET of a bank that does not exist.
    #[error("`dest_cache` of MEMSET is {code}: legal are 0 (fmap) and 1 (weight)")]
    ReservedDestCache {
        /// Value of the `dest_cache` field.
        code: u64,
    },
    /// CVO with a function that does not exist.
    #[error("`cvo_func` of CVO is {code}: legal are 0 to {max}")]
    ReservedCvoFunc {
        /// Value of the `cvo_func` field.
        code: u64,
        /// Largest legal function code.
        max: u8,
    },
    /// Reserved bits are not 0.
    #[error("reserved bits {} of {instruction} are not 0", list(*.bits))]
    ReservedBits {
        /// Name of the instruction.
        instruction: &'static str,
        /// Reserved bits that are set.
        bits: Word,
    },
    /// The program ends within an instruction.
    #[error(
        "only {have} of the {INSTRUCTION_BYTES} bytes of an instruction are left: the program is truncated"
    )]
    Truncated {
        /// Number of bytes left at the end of the program.
        have: usize,
    },
}

impl DecodeError {
    /// Returns the name of the error in specification 2.3.
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
    /// Returns the codec of `config`.
    pub const fn new(config: &Config) -> Self {
        Self { extensions: config.extensions, strict: config.strict }
    }

    /// Encodes an instruction as a 64-bit word.
    ///
    /// # Errors
    ///
    /// An operation or a field that this instance cannot encode.
    pub fn encode(&self, op: &Op) -> Result<u64, EncodeError> {
        match op {
            Op::Cvo(cvo) if self.lacks(cvo.cvo_func) => {
                Err(EncodeError::Extension { function: cvo.cvo_func.name() })
            }
            _ => Ok(op.to_word(self.extensions)?.low_u64()),
        }
    }

    /// Decodes a word. Addresses, shapes and transfers from host to host are checked by the
    /// machine.
    ///
    /// # Errors
    /// The word has no meaning, or reserved bits are not 0.
    pub fn decode(&self, word: u64) -> Result<Op, DecodeError> {
        let bits = Op::reserved_bits(word.into(), self.extensions);
        // An instruction is built at its final place: inspecting it in between would move it.
        if bits.is_zero() {
            return self.assigned(word);
        }
        Err(DecodeError::ReservedBits { instruction: self.assigned(word)?.mnemonic(), bits })
    }

    /// Decodes a word like the circuits: words without meaning are dropped, reserved bits are
    /// ignored, and any MEMCPY that is not from host to L2 moves from L2 to the host.
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

    /// Decodes a word with [`Codec::decode`] if the instance is strict, otherwise with
    /// [`Codec::decode_lenient`].
    ///
    /// # Errors
    /// The errors of [`Codec::decode`], if the instance is strict.
    pub fn read(&self, word: u64) -> Result<Op, DecodeError> {
        if self.strict { self.decode(word) } else { Ok(self.decode_lenient(word)) }
    }

    /// Decodes a word and ignores its reserved bits.
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

    /// Converts the error of a word without meaning.
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

/// Errors of instructions that cannot be encoded.
pub type EncodeErrors = ProgramErrors<EncodeError>;
/// Errors of bytes that are not instructions.
pub type DecodeErrors = ProgramErrors<DecodeError>;

/// Encodes a program; words are little-endian.
///
/// # Errors
/// All instructions that [`Codec::encode`] refuses.
pub fn encode_program(codec: &Codec, ops: &[Op]) -> Result<Vec<u8>, EncodeErrors> {
    let words = collect(INSTRUCTION_BYTES, ops.iter().map(|op| codec.encode(op)))?;
    Ok(words.into_iter().flat_map(u64::to_le_bytes).collect())
}

/// Decodes a program.
///
/// # Errors
/// All words that [`Codec::read`] refuses, and an incomplete instruction at the end.
pub fn decode_program(codec: &Codec, bytes: &[u8]) -> Result<Vec<Op>, DecodeErrors> {
    let one = |chunk: &[u8]| match <[u8; INSTRUCTION_BYTES]>::try_from(chunk) {
        Ok(word) => codec.read(u64::from_le_bytes(word)),
        Err(_) => Err(DecodeError::Truncated { have: chunk.len() }),
    };
    collect(INSTRUCTION_BYTES, bytes.chunks(INSTRUCTION_BYTES).map(one))
}
