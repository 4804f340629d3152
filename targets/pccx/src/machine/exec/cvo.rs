//! CVO: special functions, correctly rounded. Source: specification 4.6.1 to 4.6.3.

use crate::config::Reading;
use crate::isa::fault::FaultKind;
use crate::isa::op::{Cvo, CvoFunc};
use crate::isa::usage::words_of;
use crate::machine::arith::Arithmetic;
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
    // SCALE has its scalar in a separate word before the vector.
    let scalar_words = u32::from(cvo.cvo_func == CvoFunc::Scale);
    let results = if cvo.cvo_func == CvoFunc::ReduceSum { 1 } else { length };
    state.check_l2("src_addr", cvo.src_addr, u64::from(scalar_words) + words_of(length))?;
    state.check_l2("dst_addr", cvo.dst_addr, words_of(results))?;
    let e_max = cvo.flags.sub_emax.then(|| A::value(state.e_max));
    let less_e_max = |&scalar: &A::Scalar| match e_max {
        Some(e_max) => A::value(scalar) - e_max,
        None => A::value(scalar),
    };
    let inputs = state.values(cvo.src_addr + scalar_words, length).iter();
    let inputs: Vec<A::Real> = inputs.map(less_e_max).collect();
    let scalar = A::value(state.l2.vector(cvo.src_addr.into())[0]);
    let old = state.values_mut(cvo.dst_addr, results);
    match cvo.cvo_func {
        CvoFunc::ReduceSum => {
            let sum = inputs.iter().fold(A::Real::default(), |sum, &x| sum + x);
            store::<A>(old, [sum], cvo.flags.accm);
        }
        CvoFunc::Scale => {
            let factor = if cvo.flags.recip_scale { A::reciprocal(scalar, reading) } else { scalar };
            store::<A>(old, inputs.iter().map(|&x| x * factor), cvo.flags.accm);
        }
        CvoFunc::Mul => {
            let products: Vec<A::Real> =
                inputs.iter().zip(&*old).map(|(&x, &old)| x * A::value(old)).collect();
            store::<A>(old, products, cvo.flags.accm);
        }
        function => {
            for (old, x) in old.iter_mut().zip(inputs) {
                *old = A::function(function, reading, x, cvo.flags.accm.then_some(*old));
            }
        }
    }
    Ok(())
}

fn store<A: Arithmetic>(dest: &mut [A::Scalar], results: impl IntoIterator<Item = A::Real>, accm: bool) {
    for (dest, y) in dest.iter_mut().zip(results) {
        *dest = A::rounded(if accm { A::value(*dest) + y } else { y });
    }
}
