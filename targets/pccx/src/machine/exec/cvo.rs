//! CVO: special functions, correctly rounded. Source: specification 4.6.1 to 4.6.3.

use crate::config::Reading;
use crate::isa::fault::FaultKind;
use crate::isa::op::{Cvo, CvoFunc};
use crate::isa::usage::words_of;
use crate::machine::arith::{Arithmetic, Operation};
use crate::machine::state::State;

/// Reads all operands before it writes: source and destination may overlap.
///
/// Source: specification, section 4.6.
///
/// # Errors
/// [`FaultKind::LengthZero`]; [`FaultKind::L2Range`] if source or destination exceed L2.
pub fn cvo<A: Arithmetic>(state: &mut State<A>, reading: Reading, cvo: &Cvo) -> Result<(), FaultKind> {
    let length = usize::from(cvo.length);
    if length == 0 {
        return Err(FaultKind::LengthZero);
    }
    // SCALE reads its scalar from a separate word before the vector.
    let scalar_words = u32::from(cvo.cvo_func == CvoFunc::Scale);
    let results = if cvo.cvo_func == CvoFunc::ReduceSum { 1 } else { length };
    state.check_l2("src_addr", cvo.src_addr, u64::from(scalar_words) + words_of(length))?;
    state.check_l2("dst_addr", cvo.dst_addr, words_of(results))?;
    let inputs = state.values(cvo.src_addr + scalar_words, length).to_vec();
    let operation = Operation {
        function: cvo.cvo_func,
        reading,
        less: cvo.flags.sub_emax.then_some(state.e_max),
        factor: state.l2.vector(cvo.src_addr.into())[0],
        recip_scale: cvo.flags.recip_scale,
        accm: cvo.flags.accm,
    };
    A::apply(&operation, &inputs, state.values_mut(cvo.dst_addr, results));
    Ok(())
}
