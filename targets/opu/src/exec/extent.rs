//! The bytes an instruction touches: [`extent`].

use crate::config::Types;
use crate::layout::SLOT;
use crate::op::{Op, Shape};
use crate::state::Registers;

use super::byte_address;

/// Bytes `first .. end`; not all between need be touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first byte.
    pub first: u64,
    /// One past the last byte.
    pub end: u64,
}

/// The bytes of memory that `op` reads (a load) or writes (`store`, `pad`) with these registers; none for other
/// instructions, and when a register it needs is undefined.
pub fn extent(op: &Op, registers: &Registers, types: &Types) -> Option<Extent> {
    let size = types.itype.size_bytes();
    match *op {
        Op::LoadIfm { addr } => {
            let (shape, memory) = (registers.ifm?, registers.ifm_mem?);
            let base = byte_address(memory.addr, addr);
            Some(slots(base, [shape.h, shape.w, memory.w], shape.c * size, size))
        }
        Op::LoadKer { addr } => {
            let (n, ofm, ifm) = (registers.ker_n?, registers.ofm?, registers.ifm?);
            let elements = u64::from(n) * u64::from(ofm.c) * u64::from(ifm.c);
            Some(dense(byte_address(registers.ker_addr?, addr), elements, types.ktype.size_bytes()))
        }
        Op::LoadBias { addr } => {
            let base = byte_address(registers.bias_addr?, addr);
            Some(dense(base, registers.ofm?.c.into(), types.btype.size_bytes()))
        }
        Op::Store { addr } => {
            let (ofm, memory) = (registers.ofm?, registers.ofm_mem?);
            let shape = registers.pool?.result(ofm);
            let base = byte_address(memory.addr, addr);
            Some(slots(base, [shape.h, shape.w, memory.w], shape.c * size, size))
        }
        Op::Pad { addr, p } if p > 0 => {
            let memory = registers.ofm_mem?;
            let base = byte_address(memory.addr, addr);
            Some(slots(base, [memory.h, memory.w, memory.w], SLOT * size, size))
        }
        _ => None,
    }
}

/// The runs of bytes that `op` reads (a load) or writes (`store`, `pad`) with these registers: the first byte and
/// how many. Runs of a `store` come in the order of writing, and may overlap.
pub fn runs(op: &Op, registers: &Registers, types: &Types) -> Vec<(u64, u64)> {
    let size = types.itype.size_bytes();
    let tile = |bank, addr, shape: Shape, pitch| {
        let sizes = [shape.h, shape.w, pitch];
        slot_runs(byte_address(bank, addr), sizes, shape.c * size, size).collect::<Vec<_>>()
    };
    let found = match *op {
        Op::LoadIfm { addr } => {
            registers.ifm.zip(registers.ifm_mem).map(|(shape, at)| tile(at.addr, addr, shape, at.w))
        }
        Op::Store { addr } => registers
            .ofm
            .zip(registers.pool)
            .zip(registers.ofm_mem)
            .map(|((shape, pool), at)| tile(at.addr, addr, pool.result(shape), at.w)),
        Op::Pad { addr, p } => registers
            .ofm_mem
            .map(|at| border_runs(byte_address(at.addr, addr), [at.h, at.w, p], size).collect()),
        _ => extent(op, registers, types).map(|Extent { first, end }| vec![(first, end - first)]),
    };
    // Default: with a register undefined the instruction faults before it touches memory.
    found.unwrap_or_default()
}

/// `h` rows of `w` slots, `pitch` slots apart, of which `used` bytes each count: by row where that is all of them.
pub(super) fn slot_runs(
    base: u64,
    [h, w, pitch]: [u32; 3],
    used: u32,
    size: u32,
) -> impl Iterator<Item = (u64, u64)> {
    let slot = u64::from(SLOT * size);
    let (columns, used) = if used == SLOT * size { (1, u64::from(w) * slot) } else { (w, used.into()) };
    let start = move |y: u32, x: u32| base + (u64::from(y) * u64::from(pitch) + u64::from(x)) * slot;
    (0..h).flat_map(move |y| (0..columns).map(move |x| (start(y, x), used)))
}

/// The slots of a plane of `h` rows of `w` slots that are less than `p` from an edge; `p` is at most a side.
pub(super) fn border_runs(base: u64, [h, w, p]: [u32; 3], size: u32) -> impl Iterator<Item = (u64, u64)> {
    let slot = u64::from(SLOT * size);
    (0..h).flat_map(move |y| {
        let whole = y < p || y >= h - p || 2 * p >= w;
        let parts = if whole { [(0, w), (0, 0)] } else { [(0, p), (w - p, p)] };
        let row = base + u64::from(y) * u64::from(w) * slot;
        parts
            .into_iter()
            .filter(|&(_, slots)| slots > 0)
            .map(move |(x, slots)| (row + u64::from(x) * slot, u64::from(slots) * slot))
    })
}

const fn dense(base: u64, elements: u64, size: u32) -> Extent {
    Extent { first: base, end: base + elements * size as u64 }
}

/// `h` rows of `w` slots, `pitch` slots apart, of which `used` bytes each count. `h` and `w` are at least 1.
pub(super) fn slots(base: u64, [h, w, pitch]: [u32; 3], used: u32, size: u32) -> Extent {
    let row = |y: u32, x: u32| u64::from(y) * u64::from(pitch) + u64::from(x);
    // Rows begin at least a slot apart, so that the last one ends last, even when they overlap.
    let last = row(h - 1, w - 1);
    Extent { first: base, end: base + last * u64::from(SLOT * size) + u64::from(used) }
}
