//! Word to [`Op`].

use npukit_base::{BitRange, Word};
use thiserror::Error;

use super::fields::{self, OPCODE, RESERVED};
use super::{Codec, INSTRUCTION_BYTES, KICK_MARKER, opcode};
use crate::op::{Cache, Cvo, CvoFlags, CvoFunc, Device, Mac, MacFlags, Memcpy, Memset, Op, Shape};

/// Why a word is no instruction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// No instruction has this opcode.
    #[error("opcode {opcode:#x} has no meaning: legal are 0 to 4, and the kick marker {KICK_MARKER:#x}")]
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
        bits: u64,
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

fn list(bits: u64) -> String {
    let ranges = Word::from_le_bytes(&bits.to_le_bytes()).ranges();
    ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl Codec {
    /// The instruction of `word`. Addresses and shapes are the machine's to check, and the direction
    /// from the host to the host.
    ///
    /// Errors: no meaning, or reserved bits that are not 0.
    pub fn decode(&self, word: u64) -> Result<Op, DecodeError> {
        let op = self.assigned(word)?;
        match word & reserved(&op) {
            0 => Ok(op),
            bits => Err(DecodeError::ReservedBits { instruction: op.name(), bits }),
        }
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
    pub fn read(&self, word: u64) -> Result<Op, DecodeError> {
        if self.strict { self.decode(word) } else { Ok(self.decode_lenient(word)) }
    }

    /// The instruction of `value`, whatever its reserved bits.
    pub(crate) fn assigned(&self, value: u64) -> Result<Op, DecodeError> {
        if value == KICK_MARKER {
            return Ok(Op::Kick);
        }
        let word = Word::from_le_bytes(&value.to_le_bytes());
        Ok(match word.get(OPCODE) {
            opcode::GEMV => Op::Gemv(mac(word)),
            opcode::GEMM => Op::Gemm(mac(word)),
            opcode::MEMCPY => Op::Memcpy(memcpy(word)),
            opcode::MEMSET => Op::Memset(memset(word)?),
            opcode::CVO => Op::Cvo(self.cvo(word)?),
            opcode => return Err(DecodeError::ReservedOpcode { opcode }),
        })
    }

    fn cvo(&self, word: Word) -> Result<Cvo, DecodeError> {
        use fields::cvo::*;
        let max = if self.extensions { CvoFunc::Tanh } else { CvoFunc::Recip }.code();
        let code = word.get(CVO_FUNC);
        let cvo_func = CvoFunc::from_code(code as u8)
            .filter(|function| function.code() <= max)
            .ok_or(DecodeError::ReservedCvoFunc { code, max })?;
        let [sub_emax, recip_scale, accm] = flags(word, FLAGS);
        Ok(Cvo {
            cvo_func,
            src_addr: word.get(SRC_ADDR) as u32,
            dst_addr: word.get(DST_ADDR) as u32,
            length: word.get(LENGTH) as u16,
            flags: CvoFlags { sub_emax, recip_scale, accm },
            is_async: word.get(ASYNC) == 1,
        })
    }
}

/// The bits of an instruction that must be 0.
fn reserved(op: &Op) -> u64 {
    let [gemv, gemm, memcpy, memset, cvo] = RESERVED;
    match op {
        Op::Gemv(_) => gemv,
        Op::Gemm(_) => gemm,
        Op::Memcpy(_) => memcpy,
        Op::Memset(_) => memset,
        Op::Cvo(_) => cvo,
        Op::Kick | Op::Dropped(_) => 0,
    }
}

/// Three flags, the highest bit first.
fn flags(word: Word, range: BitRange) -> [bool; 3] {
    let bits = word.get(range);
    [bits >> 2 & 1 == 1, bits >> 1 & 1 == 1, bits & 1 == 1]
}

fn mac(word: Word) -> Mac {
    use fields::mac::*;
    let [findemax, accm, w_scale] = flags(word, FLAGS);
    Mac {
        dest_reg: word.get(DEST_REG) as u32,
        src_addr: word.get(SRC_ADDR) as u32,
        flags: MacFlags { findemax, accm, w_scale },
        size_ptr_addr: word.get(SIZE_PTR_ADDR) as u8,
        shape_ptr_addr: word.get(SHAPE_PTR_ADDR) as u8,
        parallel_lane: word.get(PARALLEL_LANE) as u8,
    }
}

fn memcpy(word: Word) -> Memcpy {
    use fields::memcpy::*;
    let device = |range| if word.get(range) == 1 { Device::Host } else { Device::Npu };
    Memcpy {
        from_device: device(FROM_DEVICE),
        to_device: device(TO_DEVICE),
        dest_addr: word.get(DEST_ADDR) as u32,
        src_addr: word.get(SRC_ADDR) as u32,
        aux_addr: word.get(AUX_ADDR) as u32,
        shape_ptr_addr: word.get(SHAPE_PTR_ADDR) as u8,
        is_async: word.get(ASYNC) == 1,
    }
}

fn memset(word: Word) -> Result<Memset, DecodeError> {
    use fields::memset::*;
    let dest_cache = match word.get(DEST_CACHE) {
        0 => Cache::FmapShape,
        1 => Cache::WeightShape,
        code => return Err(DecodeError::ReservedDestCache { code }),
    };
    let value = |range| word.get(range) as u16;
    let shape = Shape::new(value(A_VALUE), value(B_VALUE), value(C_VALUE));
    Ok(Memset { dest_cache, dest_addr: word.get(DEST_ADDR) as u8, shape })
}
