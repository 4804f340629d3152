//! MEMCPY. Source: specification 4.3.

use crate::config::WORD_BYTES;
use crate::isa::fault::{Direction, FaultKind};
use crate::isa::op::{Cache, Device, Memcpy};
use crate::isa::usage::words_of;
use crate::machine::arith::Arithmetic;
use crate::machine::state::{State, upstream_words, window};

/// Moves whole words, including the rest of the last one.
///
/// Source: specification, section 4.3.
///
/// # Errors
/// [`FaultKind::BadDirection`] for host to host; [`FaultKind::ShapeZero`] and
/// [`FaultKind::ShapeOverflow`] for the number of values; [`FaultKind::L2Range`] and
/// [`FaultKind::HostRange`] if the transfer exceeds L2 or the window.
pub fn memcpy<A: Arithmetic>(state: &mut State<A>, strict: bool, memcpy: &Memcpy) -> Result<(), FaultKind> {
    let words = words(state, strict, memcpy)?;
    if words == 0 {
        return Ok(());
    }
    let Memcpy { dest_addr, src_addr, aux_addr, .. } = *memcpy;
    match (memcpy.from_device, memcpy.to_device) {
        (Device::Host, Device::Npu) => {
            state.check_l2("dest_addr", dest_addr, words)?;
            let State { l2, windows, .. } = state;
            let (from, place) = window::<A>(windows, Direction::HostToL2, src_addr, aux_addr, words)?;
            A::copy_in(from, place, l2.vectors_mut(dest_addr.into(), words));
        }
        (Device::Npu, Device::Host) => {
            state.check_l2("src_addr", src_addr, words)?;
            let State { l2, windows, .. } = state;
            let (to, place) = window::<A>(windows, Direction::L2ToHost, dest_addr, aux_addr, words)?;
            A::copy_out(to, place, l2.vectors(src_addr.into(), words));
        }
        (Device::Npu, Device::Npu) => {
            state.check_l2("src_addr", src_addr, words)?;
            state.check_l2("dest_addr", dest_addr, words)?;
            // The ranges may overlap, so the words are copied through a temporary buffer.
            let values = state.l2.vectors(src_addr.into(), words).to_vec();
            state.l2.vectors_mut(dest_addr.into(), words).copy_from_slice(&values);
        }
        (Device::Host, Device::Host) => return Err(FaultKind::BadDirection),
    }
    Ok(())
}

/// Returns the number of words to move. The circuits count with 20 bits, and may move no word.
fn words<A: Arithmetic>(state: &State<A>, strict: bool, memcpy: &Memcpy) -> Result<u64, FaultKind> {
    let entry = memcpy.shape_ptr_addr;
    if !strict {
        return Ok(upstream_words(state.shape(Cache::FmapShape, entry)));
    }
    const { assert!(WORD_BYTES == 16, "a word is a unit of a window") };
    Ok(words_of(state.transfer_shape("shape_ptr_addr", entry)?.product() as usize))
}
