//! [`check`]: static check of a single instruction.
//!
//! The machine calls it before each execution, so the functions in `exec` may rely on ranges and
//! forms. [`mod@crate::check::validate`] calls it for a whole program.

use crate::config::{Config, Reading};
use crate::isa::fault::FaultKind;
use crate::isa::op::{Memory, Op, Path, Place, SimdOp, SimdSub, Strided};

/// Checks ranges, registers and SIMD forms of `op` on the instance `config`.
///
/// # Errors
///
/// The first [`FaultKind`] found. Faults that depend on the state ([`FaultKind::IndexEmpty`],
/// [`FaultKind::EntryMissing`]) only show when the program runs.
pub fn check(config: &Config, op: &Op) -> Result<(), FaultKind> {
    check_own(config, op)?;
    let flow = op.flow();
    if flow.size == 0 && !matches!(flow.path, Path::Decoder) {
        return Err(FaultKind::SizeZero);
    }
    let fits = |place: Option<Place>| place.is_none_or(|place| is_in_range(config, place, flow.size));
    if fits(flow.source) && fits(flow.target) { Ok(()) } else { Err(out_of_range(config, op)) }
}

/// Checks the rules of individual instructions.
fn check_own(config: &Config, op: &Op) -> Result<(), FaultKind> {
    match *op {
        Op::Simd { read, write, write_address, sub, .. } if sub.op == SimdOp::NoOp => {
            external(config, read, write, write_address)
        }
        Op::Simd { read, sub, .. } => simd_form(config, read, sub),
        Op::LoadLut { table, .. } => load_lut(config, table),
        Op::Unassigned { header, .. } => Err(FaultKind::Unassigned { header }),
        _ => Ok(()),
    }
}

/// Returns the depth of a memory in vectors.
pub(crate) fn depth(config: &Config, memory: Memory) -> u64 {
    match memory {
        Memory::Dram0 => config.dram0_depth,
        Memory::Dram1 => config.dram1_depth,
        Memory::Local => config.local_depth,
        Memory::Accumulators => config.accumulator_depth,
    }
}

fn is_in_range(config: &Config, Place { memory, run }: Place, size: u64) -> bool {
    last(run, size).is_some_and(|last| last < depth(config, memory))
}

/// Returns the fault of the first place that ends beyond its memory.
#[cold]
fn out_of_range(config: &Config, op: &Op) -> FaultKind {
    let flow = op.flow();
    let size = flow.size;
    let mut places = flow.places().into_iter().flatten();
    let place = places.find(|&place| !is_in_range(config, place, size)).expect("one is out of range");
    let Place { memory, run: Strided { address, stride_log2 } } = place;
    FaultKind::OutOfRange { memory, address, stride_log2, size, depth: depth(config, memory) }
}

/// Returns the address of the last of `size >= 1` vectors; `None` if it does not fit in 64 bits.
fn last(run: Strided, size: u64) -> Option<u64> {
    if size == 1 {
        return Some(run.address);
    }
    let step = 1u64.checked_shl(run.stride_log2)?;
    run.address.checked_add((size - 1).checked_mul(step)?)
}

fn load_lut(config: &Config, table: u64) -> Result<(), FaultKind> {
    match config.lookup_tables {
        0 => Err(FaultKind::NoLookup),
        tables if table > tables as u64 => Err(FaultKind::NoTable { table, tables }),
        _ => Ok(()),
    }
}

/// Checks a SIMD NoOp with a flag. It hangs the released hardware. By the specification it moves
/// vectors; with `read`, it moves one to `address` of local memory.
fn external(config: &Config, read: bool, write: bool, address: u64) -> Result<(), FaultKind> {
    let local = Place { memory: Memory::Local, run: Strided { address, stride_log2: 0 } };
    match config.reading {
        Reading::Released if read || write => Err(FaultKind::NoOpMoves),
        Reading::Seed if read && !is_in_range(config, local, 1) => Err(FaultKind::OutOfRange {
            memory: Memory::Local,
            address,
            stride_log2: 0,
            size: 1,
            depth: config.local_depth,
        }),
        Reading::Released | Reading::Seed => Ok(()),
    }
}

/// Checks for forms that hang the released hardware (specification 4.1): its unit reads exactly if
/// a source is the input. By the instruction set specification it reads if the flag is set; without
/// the flag, a source that is the input has no value.
fn simd_form(config: &Config, read: bool, sub: SimdSub) -> Result<(), FaultKind> {
    let SimdSub { op, left, right, destination } = sub;
    if op == SimdOp::Lookup && config.lookup_tables == 0 {
        return Err(FaultKind::NoLookup);
    }
    let results = if op == SimdOp::Lookup { config.lookup_tables as u64 } else { 0 };
    let highest = (u64::from(destination).saturating_add(results)).max(u64::from(left.max(right)));
    if highest > config.simd_registers_depth as u64 {
        return Err(FaultKind::NoRegister { register: highest, depth: config.simd_registers_depth });
    }
    match (read, sub.takes_input(config.reading)) {
        (true, false) if config.reading == Reading::Released => Err(FaultKind::ReadUnused { op }),
        (false, true) => Err(FaultKind::InputMissing { op, left, right }),
        _ => Ok(()),
    }
}
