//! [`Op`] to word.

use npukit_base::{BitRange, Word};
use thiserror::Error;

use super::fields::{self, OPCODE};
use super::{Codec, KICK_MARKER, opcode};
use crate::op::{Cvo, Mac, Memcpy, Memset, Op};

/// Why an instruction has no encoding.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// A value its field cannot hold.
    #[error("`{field}` of {instruction} is {value}: legal are 0 to {max}")]
    Range {
        /// The instruction.
        instruction: &'static str,
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
        /// The largest legal one.
        max: u64,
    },
    /// A function that only instances with extensions have.
    #[error("CVO {function} is an extension: choose an instance with `extensions = true`, as pccx:extended")]
    Extension {
        /// Its name.
        function: &'static str,
    },
}

impl Codec {
    /// The word of an instruction.
    ///
    /// Errors: values beyond their fields, functions the instance does not have.
    pub fn encode(&self, op: &Op) -> Result<u64, EncodeError> {
        match op {
            Op::Gemv(mac) => encode_mac(opcode::GEMV, "GEMV", mac),
            Op::Gemm(mac) => encode_mac(opcode::GEMM, "GEMM", mac),
            Op::Memcpy(memcpy) => encode_memcpy(memcpy),
            Op::Memset(memset) => encode_memset(memset),
            Op::Cvo(cvo) if cvo.cvo_func.is_extension() && !self.extensions => {
                Err(EncodeError::Extension { function: cvo.cvo_func.name() })
            }
            Op::Cvo(cvo) => encode_cvo(cvo),
            Op::Kick => Ok(KICK_MARKER),
            Op::Dropped(word) => Ok(*word),
        }
    }
}

/// A word being filled.
struct Filling {
    instruction: &'static str,
    word: Word,
}

impl Filling {
    fn new(instruction: &'static str, opcode: u64) -> Self {
        Self { instruction, word: Word::ZERO.with(OPCODE, opcode) }
    }

    fn set(
        mut self,
        field: &'static str,
        range: BitRange,
        value: impl Into<u64>,
    ) -> Result<Self, EncodeError> {
        let (instruction, value, max) = (self.instruction, value.into(), range.max());
        if value > max {
            return Err(EncodeError::Range { instruction, field, value, max });
        }
        self.word.set(range, value);
        Ok(self)
    }

    /// The lowest 64 bits.
    fn word(self) -> u64 {
        self.word.get(BitRange::new(0, u64::BITS))
    }
}

/// Flags as a number, the first the highest bit.
fn flags(high_to_low: [bool; 3]) -> u64 {
    high_to_low.into_iter().fold(0, |bits, flag| bits << 1 | u64::from(flag))
}

fn encode_mac(opcode: u64, name: &'static str, mac: &Mac) -> Result<u64, EncodeError> {
    use fields::mac::*;
    let Mac { dest_reg, src_addr, flags: set, size_ptr_addr, shape_ptr_addr, parallel_lane } = *mac;
    let word = Filling::new(name, opcode)
        .set("dest_reg", DEST_REG, dest_reg)?
        .set("src_addr", SRC_ADDR, src_addr)?
        .set("flags", FLAGS, flags([set.findemax, set.accm, set.w_scale]))?
        .set("size_ptr_addr", SIZE_PTR_ADDR, size_ptr_addr)?
        .set("shape_ptr_addr", SHAPE_PTR_ADDR, shape_ptr_addr)?
        .set("parallel_lane", PARALLEL_LANE, parallel_lane)?;
    Ok(word.word())
}

fn encode_memcpy(memcpy: &Memcpy) -> Result<u64, EncodeError> {
    use fields::memcpy::*;
    let word = Filling::new("MEMCPY", opcode::MEMCPY)
        .set("from_device", FROM_DEVICE, memcpy.from_device as u8)?
        .set("to_device", TO_DEVICE, memcpy.to_device as u8)?
        .set("dest_addr", DEST_ADDR, memcpy.dest_addr)?
        .set("src_addr", SRC_ADDR, memcpy.src_addr)?
        .set("aux_addr", AUX_ADDR, memcpy.aux_addr)?
        .set("shape_ptr_addr", SHAPE_PTR_ADDR, memcpy.shape_ptr_addr)?
        .set("async", ASYNC, memcpy.is_async)?;
    Ok(word.word())
}

fn encode_memset(memset: &Memset) -> Result<u64, EncodeError> {
    use fields::memset::*;
    let word = Filling::new("MEMSET", opcode::MEMSET)
        .set("dest_cache", DEST_CACHE, memset.dest_cache as u8)?
        .set("dest_addr", DEST_ADDR, memset.dest_addr)?
        .set("a_value", A_VALUE, memset.shape.x)?
        .set("b_value", B_VALUE, memset.shape.y)?
        .set("c_value", C_VALUE, memset.shape.z)?;
    Ok(word.word())
}

fn encode_cvo(cvo: &Cvo) -> Result<u64, EncodeError> {
    use fields::cvo::*;
    let Cvo { cvo_func, src_addr, dst_addr, length, flags: set, is_async } = *cvo;
    let word = Filling::new("CVO", opcode::CVO)
        .set("cvo_func", CVO_FUNC, cvo_func.code())?
        .set("src_addr", SRC_ADDR, src_addr)?
        .set("dst_addr", DST_ADDR, dst_addr)?
        .set("length", LENGTH, length)?
        .set("flags", FLAGS, flags([set.sub_emax, set.recip_scale, set.accm]))?
        .set("async", ASYNC, is_async)?;
    Ok(word.word())
}
