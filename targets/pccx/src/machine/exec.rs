//! Semantics of instructions: one function per instruction, on a [`State`]. Source: specification
//! 4.
//!
//! [`step`] is the entry point. Each function checks all preconditions before it changes the state.

mod cvo;
mod mac;
mod memcpy;
mod quantize;
mod upstream;

use crate::config::{Config, Profile};
use crate::isa::fault::FaultKind;
use crate::isa::op::{Cache, Memset, Op};
use crate::machine::arith::Arithmetic;
use crate::machine::state::State;

pub use quantize::{Quantized, quantize};

/// Executes an instruction; changes nothing if it fails.
///
/// # Errors
/// The faults of specification 4.8.
pub(crate) fn step<A: Arithmetic>(state: &mut State<A>, config: &Config, op: &Op) -> Result<(), FaultKind> {
    match (op, config.profile) {
        (Op::Kick | Op::Dropped(_), _) => Ok(()),
        (Op::Memset(memset), _) => {
            write_constant(state, memset);
            Ok(())
        }
        (Op::Memcpy(memcpy), _) => memcpy::memcpy(state, config.strict, memcpy),
        (Op::Gemv(mac), Profile::Reference) => mac::gemv(state, config.reading, mac),
        (Op::Gemm(mac), Profile::Reference) => mac::gemm(state, config.reading, mac),
        (Op::Cvo(cvo), Profile::Reference) => cvo::cvo(state, config.reading, cvo),
        (Op::Gemv(_) | Op::Gemm(_), Profile::Upstream) => Err(FaultKind::UpstreamUndefined {
            what: "the results of GEMV and GEMM, which are not connected",
        }),
        (Op::Cvo(cvo), Profile::Upstream) => upstream::cvo(state, cvo),
    }
}

/// Executes MEMSET, which is visible to each later instruction.
///
/// Source: specification, section 4.1.
fn write_constant<A: Arithmetic>(state: &mut State<A>, memset: &Memset) {
    let bank = match memset.dest_cache {
        Cache::FmapShape => &mut state.fmap,
        Cache::WeightShape => &mut state.weight,
    };
    if let Some(entry) = bank.get_mut(usize::from(memset.dest_addr)) {
        *entry = memset.shape;
    }
}
