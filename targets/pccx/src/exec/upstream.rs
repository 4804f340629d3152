//! CVO as the published circuits compute it, where they do. Source: specification 4.6.4.

use crate::config::WORD_LANES;
use crate::fault::FaultKind;
use crate::op::{Cvo, CvoFunc};
use crate::state::{State, words_of};
use crate::upstream::sfu;

/// Addresses count elements, of which three bits are dropped; of SCALE the first element is the scalar.
///
/// Source: specification, section 4.6.4.
///
/// # Errors
///
/// [`FaultKind::UpstreamUndefined`] for flags and functions that upstream's code does not define;
/// [`FaultKind::LengthZero`]; [`FaultKind::L2Range`] when source or destination do not lie in L2.
pub fn cvo(state: &mut State, cvo: &Cvo) -> Result<(), FaultKind> {
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
    let inputs = state.values(source, length);
    let each = |function: fn(u16) -> u16| inputs.iter().map(|&bits| function(bits)).collect();
    let results: Vec<u16> = match cvo.cvo_func {
        CvoFunc::Exp => each(sfu::exp),
        CvoFunc::Sqrt => each(sfu::sqrt),
        CvoFunc::Recip => each(sfu::recip),
        CvoFunc::Sin => each(|angle| sfu::sin_cos(angle).0),
        CvoFunc::Cos => each(|angle| sfu::sin_cos(angle).1),
        CvoFunc::ReduceSum => vec![sfu::reduce_sum(inputs)],
        CvoFunc::Scale => match inputs.split_first() {
            Some((&scalar, vector)) => sfu::scale(scalar, vector, cvo.flags.recip_scale),
            None => Vec::new(),
        },
        CvoFunc::Gelu => return undefined("GELU, whose delay line takes another element's input"),
        CvoFunc::Mul | CvoFunc::Relu | CvoFunc::Tanh => return undefined("extensions of CVO"),
    };
    state.check_l2("dst_addr", dest, words_of(results.len()))?;
    state.values_mut(dest, results.len()).copy_from_slice(&results);
    Ok(())
}
