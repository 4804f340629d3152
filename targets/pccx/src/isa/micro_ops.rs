//! Micro-operations of the published decoder and scheduler: [`MicroOps`]. They serve only for
//! traces and to cross-check the decoder. Source: specification 2.5.

use npukit_base::BitRange;

use crate::isa::op::fields::{self, OPCODE};

/// Registers of the scheduler. They keep their value until the next instruction that writes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MicroOps {
    /// Control of the matrix core, 17 bits: flags 6, size pointer 6, lanes 5.
    pub gemm: u64,
    /// Control of the vector core, with the same fields as `gemm`.
    pub gemv: u64,
    /// Transfer from memory to an engine, 49 bits: route 8, destination 17, source 17, shape
    /// pointer 6, async 1.
    pub load: u64,
    /// Transfer of an engine's result to memory, with the same fields as `load`.
    pub store: u64,
    /// Write to a constant bank, 56 bits.
    pub memset: u64,
    /// Control of special functions, 60 bits: the body of the word.
    pub cvo: u64,
    /// Whether this instruction starts a read by an engine.
    pub rd_start: bool,
}

/// Output of the decoder that is raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the instructions'")]
pub enum Valid {
    Gemv,
    Gemm,
    Memcpy,
    Memset,
    Cvo,
}

/// Source and destination of a transfer: source nibble, destination nibble.
pub mod route {
    #![allow(missing_docs, reason = "the names are descriptive")]
    pub const HOST_TO_L2: u64 = 0x01;
    pub const L2_TO_HOST: u64 = 0x10;
    pub const L2_TO_GEMM: u64 = 0x12;
    pub const L2_TO_GEMV: u64 = 0x13;
    pub const L2_TO_CVO: u64 = 0x14;
    pub const GEMM_TO_L2: u64 = 0x21;
    pub const GEMV_TO_L2: u64 = 0x31;
    pub const CVO_TO_L2: u64 = 0x41;
}

/// Returns a memory control micro-operation.
const fn memory(route: u64, dest: u64, src: u64, shape_ptr: u64, is_async: u64) -> u64 {
    (((route << 17 | dest) << 17 | src) << 6 | shape_ptr) << 1 | is_async
}

fn get(word: u64, range: BitRange) -> u64 {
    word >> range.lo & range.max()
}

impl MicroOps {
    /// Decodes a word like the published decoder: reserved bits pass through, unknown opcodes do
    /// nothing.
    pub fn step(&mut self, word: u64) -> Option<Valid> {
        self.rd_start = false;
        match get(word, OPCODE) {
            0 => {
                self.gemv = self.mac(word, route::L2_TO_GEMV, route::GEMV_TO_L2);
                Some(Valid::Gemv)
            }
            1 => {
                self.gemm = self.mac(word, route::L2_TO_GEMM, route::GEMM_TO_L2);
                Some(Valid::Gemm)
            }
            2 => {
                self.memcpy(word);
                Some(Valid::Memcpy)
            }
            3 => {
                self.memset = word >> 4 & BitRange::new(0, 56).max();
                Some(Valid::Memset)
            }
            4 => {
                self.cvo(word);
                Some(Valid::Cvo)
            }
            _ => None,
        }
    }

    /// Sets both transfers of an engine; returns its control micro-operation.
    fn mac(&mut self, word: u64, load: u64, store: u64) -> u64 {
        use fields::mac::*;
        let shape = get(word, SHAPE_PTR_ADDR);
        self.load = memory(load, 0, get(word, SRC_ADDR), shape, 0);
        self.store = memory(store, get(word, DEST_REG), 0, shape, 0);
        self.rd_start = true;
        let flags = get(word, BitRange::new(20, 6));
        (flags << 6 | get(word, SIZE_PTR_ADDR)) << 5 | get(word, PARALLEL_LANE)
    }

    fn memcpy(&mut self, word: u64) {
        use fields::memcpy::*;
        let from_host = (get(word, FROM_DEVICE), get(word, TO_DEVICE)) == (1, 0);
        let route = if from_host { route::HOST_TO_L2 } else { route::L2_TO_HOST };
        let (dest, src) = (get(word, DEST_ADDR), get(word, SRC_ADDR));
        self.load = memory(route, dest, src, get(word, SHAPE_PTR_ADDR), get(word, ASYNC));
    }

    fn cvo(&mut self, word: u64) {
        use fields::cvo::*;
        self.load = memory(route::L2_TO_CVO, 0, get(word, SRC_ADDR), 0, get(word, ASYNC));
        self.store = memory(route::CVO_TO_L2, get(word, DST_ADDR), 0, 0, get(word, ASYNC));
        self.cvo = word & BitRange::new(0, 60).max();
    }
}
