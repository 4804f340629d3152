//! [`Codec`]: encodes and decodes [`Op`]s for one instance; [`encode_program`] and
//! [`decode_program`] do so for whole programs. The rows are in [`crate::isa::op`].

mod program;

use npukit_base::{BitRange, WORD_BYTES, Word};
use npukit_isa::{FieldError, NoInstruction};
use thiserror::Error;

use crate::config::Config;
use crate::isa::op::{Format, Op, SimdOp, SimdSub};

pub use program::{DecodeErrors, EncodeErrors, decode_program, decode_program_lenient, encode_program};

/// Why an instruction has no encoding. Source: specification 3.7, the checks of Tensil's compiler.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// A field's value is outside its legal range.
    #[error(transparent)]
    Field(#[from] Box<FieldError>),
    /// The instruction needs `number_of_threads` of 2.
    #[error("{instruction} requires `number_of_threads` 2")]
    NeedsThreads {
        /// Name of the instruction.
        instruction: &'static str,
    },
    /// The instruction has no encoding in two-thread mode.
    #[error("{instruction} has no encoding with `number_of_threads` 2: {hint}")]
    NotWithThreads {
        /// Name of the instruction.
        instruction: &'static str,
        /// Alternative to the instruction.
        hint: &'static str,
    },
    /// The instruction needs `lookup_tables`.
    #[error("{instruction} needs an architecture with `lookup_tables`")]
    NeedsLookup {
        /// Name of the instruction.
        instruction: &'static str,
    },
    /// An `Unassigned` with a word that is a valid instruction.
    #[error("header {header:#04x} with these operands is a valid instruction, not an unassigned one")]
    Assigned {
        /// Opcode and flags.
        header: u8,
    },
}

/// Why a word is not an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// An opcode, DataMove kind or SIMD operation without meaning.
    #[error("{what} {code:#x} has no meaning")]
    Unassigned {
        /// Name of the field.
        what: &'static str,
        /// Value of the field.
        code: u64,
    },
    /// Reserved bits that are not 0.
    #[error("reserved bits {} are not 0", list(.bits))]
    Reserved {
        /// The set bits, lowest first.
        bits: Vec<BitRange>,
    },
    /// The instruction belongs to a thread other than 0.
    #[error("the instruction belongs to thread {thread}: decode such programs one word at a time")]
    Thread {
        /// Thread id of the instruction.
        thread: u64,
    },
    /// The program ends inside an instruction.
    #[error(
        "only {have} of the {need} bytes of an instruction are left: the program is truncated or made for another architecture"
    )]
    Truncated {
        /// Number of remaining bytes.
        have: usize,
        /// Bytes of an instruction.
        need: usize,
    },
}

/// Content of a word, legal or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The instruction; [`Op::Unassigned`] if the word is not one.
    pub op: Op,
    /// Thread of the instruction; 0 with one thread.
    pub thread: u64,
    /// Reserved bits that are set; hardware ignores them.
    pub reserved: Word,
}

/// Encoder and decoder for the instructions of one instance.
#[derive(Clone, Debug)]
pub struct Codec {
    format: Format,
    /// Bits that must be 0, by opcode.
    reserved: [Word; 16],
}

impl Codec {
    /// Prepares the format of `config`, which must pass [`Config::check`].
    pub fn new(config: &Config) -> Self {
        let format = Format::new(config);
        let mut reserved = [Word::ZERO; 16];
        for row in Op::rows(&format) {
            let opcode = row.pattern().1.get(format.opcode) as usize;
            reserved[opcode] = row.reserved() & !Word::mask(format.tid);
        }
        Self { format, reserved }
    }

    /// Returns the instance of the codec.
    pub const fn config(&self) -> &Config {
        &self.format.config
    }

    /// Returns the size of every instruction in bytes.
    pub fn instruction_bytes(&self) -> usize {
        self.format.instruction_bytes.min(WORD_BYTES)
    }

    /// Returns the word of `op` on thread 0.
    ///
    /// # Errors
    ///
    /// A stride, address or size that the instance does not support; an instruction that it does
    /// not have.
    pub fn encode(&self, op: &Op) -> Result<Word, EncodeError> {
        self.check(op)?;
        Ok(op.to_word(&self.format)?)
    }

    /// Returns the word of `op` on `thread`.
    ///
    /// # Errors
    ///
    /// The errors of [`Codec::encode`], and a thread that the instance does not have.
    pub fn encode_on(&self, thread: u64, op: &Op) -> Result<Word, EncodeError> {
        let max = (self.format.config.number_of_threads as u64).saturating_sub(1);
        if thread > max {
            let (instruction, field) = (op.mnemonic().to_owned(), "thread".to_owned());
            return Err(Box::new(FieldError::Range { instruction, field, value: thread, min: 0, max }).into());
        }
        Ok(self.encode(op)?.with(self.format.tid, thread))
    }

    /// Checks the conditions that rows cannot express.
    fn check(&self, op: &Op) -> Result<(), EncodeError> {
        let (threads, has_lookup) = (self.format.has_threads(), self.format.config.has_lookup());
        match *op {
            Op::NoOp if threads => Err(EncodeError::NotWithThreads {
                instruction: op.mnemonic(),
                hint: "opcode 0 is Wait; use Wait",
            }),
            Op::Configure { .. } if threads => Err(EncodeError::NotWithThreads {
                instruction: op.mnemonic(),
                hint: "3 opcode bits are left; configure through the driver",
            }),
            Op::Wait { .. } if !threads => Err(EncodeError::NeedsThreads { instruction: op.mnemonic() }),
            Op::LoadLut { .. } if !has_lookup => Err(EncodeError::NeedsLookup { instruction: op.mnemonic() }),
            Op::Simd { sub: SimdSub { op: SimdOp::Lookup, .. }, .. } if !has_lookup => {
                Err(EncodeError::NeedsLookup { instruction: "SIMD Lookup" })
            }
            Op::Unassigned { header, operands } => {
                let word = self.format.unassigned(header, operands);
                let is_it = self.decode_lenient(word).op == Op::Unassigned { header, operands };
                if is_it { Ok(()) } else { Err(EncodeError::Assigned { header }) }
            }
            _ => Ok(()),
        }
    }

    /// Returns the instruction of `word` and its thread. Addresses and sizes beyond the instance's
    /// memories are accepted: the machine faults on them.
    ///
    /// # Errors
    ///
    /// A word without meaning, or with reserved bits that are not 0.
    pub fn decode(&self, word: Word) -> Result<Decoded, DecodeError> {
        let op = Op::from_word(word, &self.format).map_err(|error| self.refusal(&error, word))?;
        let decoded = self.decoded(op, word);
        if !decoded.reserved.is_zero() {
            return Err(DecodeError::Reserved { bits: decoded.reserved.ranges() });
        }
        Ok(decoded)
    }

    /// Like [`Codec::decode`], for words of unknown origin. Returns the operation that hardware
    /// would execute.
    pub fn decode_lenient(&self, word: Word) -> Decoded {
        match Op::from_word(word, &self.format) {
            Ok(op) => self.decoded(op, word),
            Err(_) => {
                let header = (word.get(self.format.opcode) << 4 | word.get(self.format.flags)) as u8;
                let op = Op::Unassigned { header, operands: word & self.format.operands };
                Decoded { op, thread: word.get(self.format.tid), reserved: Word::ZERO }
            }
        }
    }

    fn decoded(&self, op: Op, word: Word) -> Decoded {
        let reserved = word & self.reserved[word.get(self.format.opcode) as usize];
        Decoded { op, thread: word.get(self.format.tid), reserved }
    }

    /// Returns the field of a word that has no meaning.
    #[cold]
    fn refusal(&self, error: &NoInstruction, word: Word) -> DecodeError {
        let (what, code) = match error {
            NoInstruction::Operand(error) => ("SIMD operation", error.value),
            NoInstruction::Opcode { opcode: 2 } => ("DataMove kind", word.get(self.format.flags)),
            NoInstruction::Opcode { opcode } => ("opcode", *opcode),
        };
        DecodeError::Unassigned { what, code }
    }
}

fn list(bits: &[BitRange]) -> String {
    bits.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
