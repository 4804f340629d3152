//! Semantics of instructions: [`step`], with one named function for each. Source: specification, 4.
//!
//! All conditions that can fault are checked before anything changes, in the order of section 3.6.

mod conv;
mod elements;
mod fixed;
mod literal;
mod numbers;
mod store;

use crate::config::{Types, Validity};
use crate::isa::fault::{Buffer, FaultKind};
use crate::isa::op::{Access, Extent, OfmMemory, Op, Registers, Shape, configuration};
use crate::machine::array::Array;
use crate::machine::memory::Memory;
use crate::machine::state::State;

use crate::machine::values::{Addressed, Arithmetic, Values};

/// Types of the values, the implementation of the arithmetic, and the reading of the specification.
#[derive(Clone, Copy, Debug)]
pub struct Numerics<'a> {
    /// Types of the buffers.
    pub types: &'a Types,
    /// Implementation of the arithmetic.
    pub arithmetic: Arithmetic,
    /// How literally the draft specification is followed.
    pub validity: Validity,
}

/// Executes one instruction on numbers.
///
/// # Errors
///
/// [`FaultKind`]: a field is not legal; a register or a buffer is undefined, or does not match the
/// registers.
pub fn step(
    state: &mut State,
    memory: &mut Memory,
    numerics: Numerics<'_>,
    op: &Op,
) -> Result<(), FaultKind> {
    execute(state, memory, numerics, op)
}

/// Returns the values that a `store` in this state would write: the array B of section 4.6.
///
/// # Errors
///
/// The errors of `store`, except for its addresses: [`FaultKind::UndefinedRegister`] and
/// [`FaultKind::BufferInvalid`].
pub fn store_result(state: &State, numerics: Numerics<'_>) -> Result<Array, FaultKind> {
    store::result(state, numerics)
}

/// Executes one instruction.
///
/// # Errors
///
/// [`FaultKind`]: a field is not legal ([`Op::check`]); a register or a buffer is undefined, or
/// does not match the registers (specification, sections 2.3 and 4). Nothing has changed then.
pub(crate) fn execute<V: Values>(
    state: &mut State<V>,
    memory: &mut V::Memory,
    numerics: Numerics<'_>,
    op: &Op,
) -> Result<(), FaultKind> {
    op.check()?;
    let access = op.effects(&state.registers, numerics.types, numerics.validity)?.memory;
    match *op {
        Op::End => Ok(()),
        configuration!() => {
            configure(state, op, numerics.validity);
            Ok(())
        }
        Op::LoadIfm { .. } => load_ifm(state, memory, numerics, &access),
        Op::LoadKer { .. } => load_ker(state, memory, numerics, &access),
        Op::LoadBias { .. } => load_bias(state, memory, numerics, &access),
        Op::Conv { addend, h, w, n } => conv::conv(state, numerics, addend, [h, w, n]),
        Op::Store { .. } => store::store(state, memory, numerics, &access),
        Op::Pad { p, .. } => pad(&state.registers, memory, numerics, &access, p),
    }
}

/// Sets registers and invalidates the buffers that they describe (specification, 3.3 and R7).
fn configure<V: Values>(state: &mut State<V>, op: &Op, validity: Validity) {
    match *op {
        Op::ShapeIfm(_) => {
            state.ifm.invalidate(op.mnemonic());
            state.ker.invalidate(op.mnemonic());
        }
        Op::ShapeOfm(Shape { c, .. }) => {
            state.ofm.invalidate(op.mnemonic());
            state.ker.invalidate(op.mnemonic());
            // The draft mentions only ofm and ker. The corrected reading also invalidates the bias.
            if validity.is_corrected() && state.registers.ofm.is_some_and(|old| old.c != c) {
                state.bias.invalidate(op.mnemonic());
            }
        }
        Op::ShapeKer { .. } => state.ker.invalidate(op.mnemonic()),
        _ => {}
    }
    state.registers.set(op);
}

/// Executes `ld.ifm`: reads the first ifm_c elements of each slot, row by row.
///
/// Source: specification, section 4.2.
fn load_ifm<V: Values>(
    state: &mut State<V>,
    memory: &V::Memory,
    numerics: Numerics<'_>,
    access: &Access,
) -> Result<(), FaultKind> {
    in_memory(access)?;
    let (itype, shape) = (numerics.types.itype, state.registers.ifm_shape()?);
    let dims = vec![shape.h as usize, shape.w as usize, shape.c as usize];
    if numerics.arithmetic == Arithmetic::Absent {
        state.ifm.fill(Array::without_elements(itype, dims));
        return Ok(());
    }
    let size = itype.size_bytes() as usize;
    let address = |element: usize| {
        let (pixel, c) = (element / shape.c as usize, element % shape.c as usize);
        let (y, x) = (pixel / shape.w as usize, pixel % shape.w as usize);
        access.base + y as u64 * access.pitch + x as u64 * access.slot + (c * size) as u64
    };
    state.ifm.fill(loaded(memory, Buffer::Ifm, Array::without_elements(itype, dims), access, address)?);
    Ok(())
}

/// Executes `ld.ker`: reads slices that are densely packed, or have the strides that the draft
/// prints.
///
/// Source: specification, section 4.2.
fn load_ker<V: Values>(
    state: &mut State<V>,
    memory: &V::Memory,
    numerics: Numerics<'_>,
    access: &Access,
) -> Result<(), FaultKind> {
    let registers = &state.registers;
    let (n, ofm_c, ifm_c) = (registers.slices()?, registers.ofm_c()?, registers.ifm_c()?);
    let largest = 36 / (ifm_c * ofm_c / 1024).max(1);
    if n > largest {
        return Err(FaultKind::KerCapacity { n, ofm_c, ifm_c, largest });
    }
    let held =
        Array::without_elements(numerics.types.ktype, vec![n as usize, ofm_c as usize, ifm_c as usize]);
    state.ker.fill(dense(memory, Buffer::Ker, numerics.arithmetic, held, access)?);
    Ok(())
}

/// Executes `ld.bias`.
///
/// Source: specification, section 4.2.
fn load_bias<V: Values>(
    state: &mut State<V>,
    memory: &V::Memory,
    numerics: Numerics<'_>,
    access: &Access,
) -> Result<(), FaultKind> {
    let c = state.registers.ofm_c()? as usize;
    let held = Array::without_elements(numerics.types.btype, vec![c]);
    state.bias.fill(dense(memory, Buffer::Bias, numerics.arithmetic, held, access)?);
    Ok(())
}

/// Reads contiguous elements, with the type and shape of `held`.
fn dense<V: Values>(
    memory: &V::Memory,
    buffer: Buffer,
    arithmetic: Arithmetic,
    held: Array<V>,
    access: &Access,
) -> Result<Array<V>, FaultKind> {
    in_memory(access)?;
    if arithmetic == Arithmetic::Absent {
        return Ok(held);
    }
    let size = u64::from(held.data_type.size_bytes());
    loaded(memory, buffer, held, access, |element| access.base + element as u64 * size)
}

/// Reads the elements of `access`, with the type and shape of `held`; `address` returns the address
/// of an element.
fn loaded<V: Values>(
    memory: &V::Memory,
    buffer: Buffer,
    held: Array<V>,
    access: &Access,
    address: impl Fn(usize) -> u64,
) -> Result<Array<V>, FaultKind> {
    if let Some(address) = access.runs().find_map(|run| memory.unwritten(run.first, run.bytes() as usize)) {
        return Err(FaultKind::Unwritten { buffer, address });
    }
    let loaded = V::load(memory, access, held.data_type);
    let elements = loaded.map_err(|(element, bits)| FaultKind::NonFinite {
        buffer,
        element,
        address: address(element),
        bits,
    })?;
    Ok(Array { elements, ..held })
}

/// Executes `pad`: clears the slots less than `p` from an edge of the plane.
///
/// Source: specification, section 4.8.
fn pad<M: Addressed>(
    registers: &Registers,
    memory: &mut M,
    numerics: Numerics<'_>,
    access: &Access,
    p: u32,
) -> Result<(), FaultKind> {
    let OfmMemory { h, w, .. } = registers.ofm_memory("ofm_mem_h")?;
    if p > h.min(w) {
        return Err(FaultKind::PadBounds { p, h, w });
    }
    in_memory(access)?;
    if numerics.arithmetic != Arithmetic::Absent {
        access.runs().for_each(|run| memory.clear(run.first, run.bytes()));
    }
    Ok(())
}

fn in_memory(access: &Access) -> Result<(), FaultKind> {
    match access.extent() {
        Some(Extent { first, end }) if !Memory::holds(first, end - first) => {
            Err(FaultKind::AddressRange { first, last: end.saturating_sub(1) })
        }
        _ => Ok(()),
    }
}
