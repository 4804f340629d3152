//! CVO as the published circuits compute it, where they define it. Source: specification 4.6.4.

use crate::config::WORD_LANES;
use crate::isa::fault::FaultKind;
use crate::isa::op::Cvo;
use crate::isa::usage::words_of;
use crate::machine::arith::Arithmetic;
use crate::machine::state::State;

/// Executes CVO like the circuits. Addresses are in elements, and their lowest three bits are
/// dropped; for SCALE the first element is the scalar.
///
/// Source: specification, section 4.6.4.
///
/// # Errors
/// [`FaultKind::UpstreamUndefined`] for flags and functions that the published code does not
/// define; [`FaultKind::LengthZero`]; [`FaultKind::L2Range`] if source or destination exceed L2.
pub fn cvo<A: Arithmetic>(state: &mut State<A>, cvo: &Cvo) -> Result<(), FaultKind> {
    let undefined = |what| Err(FaultKind::UpstreamUndefined { what });
    if cvo.flags.sub_emax || cvo.flags.accm {
        return undefined("sub_emax and accm of CVO");
    }
    let length = usize::from(cvo.length);
    if length == 0 {
        return Err(FaultKind::LengthZero);
    }
    let (source, dest) = (cvo.src_addr / WORD_LANES as u32, cvo.dst_addr / WORD_LANES as u32);
    state.check_l2("src_addr", source, words_of(length))?;
    let results = A::upstream(cvo, state.values(source, length))?;
    state.check_l2("dst_addr", dest, words_of(results.len()))?;
    state.values_mut(dest, results.len()).copy_from_slice(&results);
    Ok(())
}
