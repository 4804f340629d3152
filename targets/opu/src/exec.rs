//! What instructions mean: [`step`], one named function for each. Source: specification, 4.
//!
//! All that can be at fault is looked at before anything changes, in the order of section 3.6.

mod conv;
mod extent;
mod fixed;
mod literal;
mod store;

use crate::config::Types;
use crate::datatype::DataType;
use crate::fault::{Buffer, FaultKind};
use crate::layout::SLOT;
use crate::memory::Memory;
use crate::op::{Op, Shape};
use crate::state::{Array, IfmMemory, Registers, State};

pub use extent::{Extent, extent, runs};
pub use store::result as store_result;

/// Which code computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// The fastest there is for the types.
    #[default]
    Fast,
    /// One exact sum for each result: the judge of all other.
    Literal,
    /// None: all that can be at fault but values is looked at, buffers become valid without elements, memory stays.
    Absent,
}

/// Executes one instruction.
///
/// # Errors
///
/// [`FaultKind`]: fields that are not legal ([`Op::check`]), a register or a buffer that is undefined or does
/// not hold what the registers say (specification, sections 2.3 and 4). Nothing has changed then.
pub fn step(
    state: &mut State,
    memory: &mut Memory,
    (types, arithmetic): (&Types, Arithmetic),
    op: &Op,
) -> Result<(), FaultKind> {
    op.check()?;
    let with = (types, arithmetic);
    match *op {
        Op::End => Ok(()),
        Op::LoadIfm { addr } => load_ifm(state, memory, with, addr),
        Op::LoadKer { addr } => load_ker(state, memory, with, addr),
        Op::LoadBias { addr } => load_bias(state, memory, with, addr),
        Op::Conv { addend, h, w, n } => conv::conv(state, with, addend, [h, w, n]),
        Op::Store { addr } => store::store(state, memory, with, addr),
        Op::Pad { addr, p } => pad(&state.registers, memory, with, [addr, p]),
        _ => {
            configure(state, op);
            Ok(())
        }
    }
}

/// Sets registers and invalidates what they describe (specification, 3.3 and R7).
fn configure(state: &mut State, op: &Op) {
    match *op {
        Op::ShapeIfm(_) => {
            state.ifm.invalidate(op.mnemonic());
            state.ker.invalidate(op.mnemonic());
        }
        Op::ShapeOfm(Shape { c, .. }) => {
            state.ofm.invalidate(op.mnemonic());
            state.ker.invalidate(op.mnemonic());
            if state.registers.ofm.is_some_and(|old| old.c != c) {
                state.bias.invalidate(op.mnemonic());
            }
        }
        Op::ShapeKer { .. } => state.ker.invalidate(op.mnemonic()),
        _ => {}
    }
    state.registers.set(op);
}

/// The value of a register.
fn defined<T>(value: Option<T>, register: &'static str, set_by: &'static str) -> Result<T, FaultKind> {
    value.ok_or(FaultKind::UndefinedRegister { register, set_by })
}

impl Registers {
    fn ifm_shape(&self) -> Result<Shape, FaultKind> {
        defined(self.ifm, "ifm_h", "@shape.ifm")
    }

    fn ifm_c(&self) -> Result<u32, FaultKind> {
        Ok(defined(self.ifm, "ifm_c", "@shape.ifm")?.c)
    }

    fn ofm_shape(&self) -> Result<Shape, FaultKind> {
        defined(self.ofm, "ofm_h", "@shape.ofm")
    }

    fn ofm_c(&self) -> Result<u32, FaultKind> {
        Ok(defined(self.ofm, "ofm_c", "@shape.ofm")?.c)
    }

    fn slices(&self) -> Result<u32, FaultKind> {
        defined(self.ker_n, "ker_n", "@shape.ker")
    }
}

/// `ld.ifm`: rows of slots, of which the first ifm_c elements are read.
///
/// Source: specification, section 4.2.
fn load_ifm(
    state: &mut State,
    memory: &Memory,
    (types, arithmetic): (&Types, Arithmetic),
    addr: u32,
) -> Result<(), FaultKind> {
    let registers = &state.registers;
    let shape = registers.ifm_shape()?;
    let IfmMemory { addr: bank, w: pitch } = defined(registers.ifm_mem, "ifm_addr", "@mem.ifm")?;
    let size = types.itype.size_bytes();
    let base = byte_address(bank, addr);
    in_memory(extent::slots(base, [shape.h, shape.w, pitch], shape.c * size, size))?;
    let dims = vec![shape.h as usize, shape.w as usize, shape.c as usize];
    if arithmetic == Arithmetic::Absent {
        state.ifm.fill(Array::without_elements(types.itype, dims));
        return Ok(());
    }
    written(memory, Buffer::Ifm, extent::slot_runs(base, [shape.h, shape.w, pitch], shape.c * size, size))?;
    let (slot, used) = ((SLOT * size) as usize, (shape.c * size) as usize);
    let mut bytes = Vec::with_capacity(shape.elements() * size as usize);
    let mut row = vec![0; (shape.w as usize - 1) * slot + used];
    for y in 0..shape.h {
        memory.read(base + u64::from(y) * u64::from(pitch) * slot as u64, &mut row);
        row.chunks(slot).for_each(|slot| bytes.extend_from_slice(&slot[..used]));
    }
    let address = |element: usize| {
        let (pixel, c) = (element / shape.c as usize, element % shape.c as usize);
        let (y, x) = (pixel / shape.w as usize, pixel % shape.w as usize);
        base + ((y * pitch as usize + x) * slot + c * size as usize) as u64
    };
    state.ifm.fill(array(Buffer::Ifm, types.itype, dims, &bytes, address)?);
    Ok(())
}

/// `ld.ker`: slices, densely packed.
///
/// Source: specification, section 4.2.
fn load_ker(
    state: &mut State,
    memory: &Memory,
    (types, arithmetic): (&Types, Arithmetic),
    addr: u32,
) -> Result<(), FaultKind> {
    let registers = &state.registers;
    let (n, ofm_c, ifm_c) = (registers.slices()?, registers.ofm_c()?, registers.ifm_c()?);
    let bank = defined(registers.ker_addr, "ker_addr", "@mem.ker")?;
    let largest = 36 / (ifm_c * ofm_c / 1024).max(1);
    if n > largest {
        return Err(FaultKind::KerCapacity { n, ofm_c, ifm_c, largest });
    }
    let dims = vec![n as usize, ofm_c as usize, ifm_c as usize];
    let array = dense(memory, (Buffer::Ker, types.ktype, arithmetic), dims, byte_address(bank, addr))?;
    state.ker.fill(array);
    Ok(())
}

/// `ld.bias`.
///
/// Source: specification, section 4.2.
fn load_bias(
    state: &mut State,
    memory: &Memory,
    (types, arithmetic): (&Types, Arithmetic),
    addr: u32,
) -> Result<(), FaultKind> {
    let c = state.registers.ofm_c()?;
    let bank = defined(state.registers.bias_addr, "bias_addr", "@mem.bias")?;
    let base = byte_address(bank, addr);
    let array = dense(memory, (Buffer::Bias, types.btype, arithmetic), vec![c as usize], base)?;
    state.bias.fill(array);
    Ok(())
}

/// Elements one after the other.
fn dense(
    memory: &Memory,
    (buffer, data_type, arithmetic): (Buffer, DataType, Arithmetic),
    shape: Vec<usize>,
    base: u64,
) -> Result<Array, FaultKind> {
    let size = data_type.size_bytes() as usize;
    let len = shape.iter().product::<usize>() * size;
    in_memory(Extent { first: base, end: base + len as u64 })?;
    if arithmetic == Arithmetic::Absent {
        return Ok(Array::without_elements(data_type, shape));
    }
    written(memory, buffer, [(base, len as u64)])?;
    let mut bytes = vec![0; len];
    memory.read(base, &mut bytes);
    array(buffer, data_type, shape, &bytes, |element| base + (element * size) as u64)
}

/// Elements of a buffer; `address` tells where one of them came from.
fn array(
    buffer: Buffer,
    data_type: DataType,
    shape: Vec<usize>,
    bytes: &[u8],
    address: impl Fn(usize) -> u64,
) -> Result<Array, FaultKind> {
    Array::from_bytes(data_type, shape, bytes).map_err(|(element, bits)| FaultKind::NonFinite {
        buffer,
        element,
        address: address(element),
        bits,
    })
}

/// `pad`: clears the slots less than `p` from an edge of the plane.
///
/// Source: specification, section 4.8.
fn pad(
    registers: &Registers,
    memory: &mut Memory,
    (types, arithmetic): (&Types, Arithmetic),
    [addr, p]: [u32; 2],
) -> Result<(), FaultKind> {
    let plane = defined(registers.ofm_mem, "ofm_mem_h", "@mem.ofm")?;
    let (h, w) = (plane.h, plane.w);
    if p > h.min(w) {
        return Err(FaultKind::PadBounds { p, h, w });
    }
    if p == 0 {
        return Ok(());
    }
    let size = types.itype.size_bytes();
    let base = byte_address(plane.addr, addr);
    in_memory(extent::slots(base, [h, w, w], SLOT * size, size))?;
    if arithmetic != Arithmetic::Absent {
        extent::border_runs(base, [h, w, p], size).for_each(|(first, bytes)| memory.clear(first, bytes));
    }
    Ok(())
}

/// Somebody has written all bytes of some runs, or memory does not care.
fn written(
    memory: &Memory,
    buffer: Buffer,
    runs: impl IntoIterator<Item = (u64, u64)>,
) -> Result<(), FaultKind> {
    if !memory.is_poisoned() {
        return Ok(());
    }
    let unwritten = runs.into_iter().find_map(|(first, bytes)| memory.unwritten(first, bytes as usize));
    unwritten.map_or(Ok(()), |address| Err(FaultKind::Unwritten { buffer, address }))
}

/// The byte an instruction's `addr` means.
fn byte_address(bank: u32, addr: u32) -> u64 {
    u64::from(bank) + u64::from(addr) * 64
}

fn in_memory(Extent { first, end }: Extent) -> Result<(), FaultKind> {
    if Memory::holds(first, end - first) {
        return Ok(());
    }
    Err(FaultKind::AddressRange { first, last: end.saturating_sub(1) })
}
