//! Word to [`Op`].

use npukit_base::{BitRange, Word};
use thiserror::Error;

use super::{Codec, opcode};
use crate::op::{DataMoveKind, Op, SimdOp, SimdSub, Strided};

/// Why a word is no instruction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// An opcode, DataMove kind or SIMD operation without meaning.
    #[error("{what} {code:#x} has no meaning")]
    Unassigned {
        /// Which field.
        what: &'static str,
        /// Its value.
        code: u64,
    },
    /// Bits that must be 0 are not.
    #[error("reserved bits {} are not 0", list(.bits))]
    Reserved {
        /// The set bits, lowest first.
        bits: Vec<BitRange>,
    },
    /// The instruction is of another thread than the one a program is read for.
    #[error("the instruction is thread {thread}'s: read such programs one word at a time")]
    Thread {
        /// Thread id.
        thread: u64,
    },
    /// The program ends inside an instruction.
    #[error(
        "{have} bytes are left of an instruction of {need}: the program is cut short or made for another architecture"
    )]
    Truncated {
        /// Bytes present.
        have: usize,
        /// Bytes of an instruction.
        need: usize,
    },
}

/// What a word says, whether or not it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The instruction, [`Op::Unassigned`] when there is none.
    pub op: Op,
    /// Its thread; 0 with one thread.
    pub thread: u64,
    /// Reserved bits that are set; hardware ignores them.
    pub reserved: Word,
}

impl Codec {
    /// The instruction of `word` and its thread. Addresses and sizes beyond the instance's memories
    /// decode: the machine faults on them.
    ///
    /// Errors: no meaning, or reserved bits that are not 0.
    pub fn decode(&self, word: Word) -> Result<Decoded, DecodeError> {
        let decoded = self.decode_lenient(word);
        if let Op::Unassigned { header, .. } = decoded.op {
            return Err(self.unassigned_error(header, word));
        }
        if !decoded.reserved.is_zero() {
            return Err(DecodeError::Reserved { bits: decoded.reserved.ranges() });
        }
        Ok(decoded)
    }

    /// As [`Codec::decode`], for words of unknown origin: what hardware would make of them.
    pub fn decode_lenient(&self, word: Word) -> Decoded {
        let header = (word.get(self.fields.opcode) as u8) << 4 | word.get(self.fields.flags) as u8;
        let thread = word.get(self.fields.tid);
        match self.assigned(header, word) {
            Some(op) => {
                let used = self.used[usize::from(header >> 4)];
                Decoded { op, thread, reserved: word & !used }
            }
            None => {
                let operands = word & self.fields.operands;
                Decoded { op: Op::Unassigned { header, operands }, thread, reserved: Word::ZERO }
            }
        }
    }

    fn assigned(&self, header: u8, word: Word) -> Option<Op> {
        let flag = |bit: u8| header >> bit & 1 == 1;
        Some(match header >> 4 {
            opcode::NO_OP if self.has_threads() => Op::Wait { thread: word.get(self.fields.wait) },
            opcode::NO_OP => Op::NoOp,
            opcode::MAT_MUL => Op::MatMul {
                accumulate: flag(0),
                zeroes: flag(1),
                local: self.local(word),
                accumulator: self.other(word),
                size: size(word, self.fields.size2),
            },
            opcode::DATA_MOVE => Op::DataMove {
                kind: DataMoveKind::from_code(header & 0xF)?,
                local: self.local(word),
                other: self.other(word),
                size: size(word, self.fields.size2),
            },
            opcode::LOAD_WEIGHTS => {
                let (local, size) = (self.local(word), size(word, self.fields.size1));
                Op::LoadWeights { zeroes: flag(0), local, size }
            }
            opcode::SIMD => Op::Simd {
                read: flag(0),
                write: flag(1),
                accumulate: flag(2),
                write_address: word.get(self.fields.write_address),
                read_address: word.get(self.fields.read_address),
                sub: self.sub(word)?,
            },
            opcode::LOAD_LUT if self.config.has_lookup() => Op::LoadLut {
                local: self.local(word),
                table: word.get(self.fields.table),
                size: size(word, self.fields.size2),
            },
            // The 3 bits of an opcode that are left with two threads hold none as large.
            opcode::CONFIGURE => Op::Configure {
                register: word.get(self.fields.register) as u8,
                value: word.get(self.fields.value) as u32,
            },
            _ => return None,
        })
    }

    fn local(&self, word: Word) -> Strided {
        strided(word, self.fields.address0, self.fields.stride0)
    }

    fn other(&self, word: Word) -> Strided {
        strided(word, self.fields.address1, self.fields.stride1)
    }

    fn sub(&self, word: Word) -> Option<SimdSub> {
        Some(SimdSub {
            op: SimdOp::from_code(word.get(self.fields.simd_op) as u8)?,
            left: word.get(self.fields.left) as u8,
            right: word.get(self.fields.right) as u8,
            destination: word.get(self.fields.destination) as u8,
        })
    }

    fn unassigned_error(&self, header: u8, word: Word) -> DecodeError {
        let (what, code) = match header >> 4 {
            opcode::DATA_MOVE => ("DataMove kind", u64::from(header & 0xF)),
            opcode::SIMD => ("SIMD operation", word.get(self.fields.simd_op)),
            opcode => ("opcode", u64::from(opcode)),
        };
        DecodeError::Unassigned { what, code }
    }
}

fn strided(word: Word, address: BitRange, stride: BitRange) -> Strided {
    Strided { address: word.get(address), stride_log2: word.get(stride) as u32 }
}

/// A size field holds one less than the vectors meant; fields have at most 62 bits.
fn size(word: Word, range: BitRange) -> u64 {
    word.get(range).saturating_add(1)
}

fn list(bits: &[BitRange]) -> String {
    bits.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
