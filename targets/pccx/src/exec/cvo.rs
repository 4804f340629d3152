//! CVO: special functions, correctly rounded. Source: specification 4.6.1 to 4.6.3.

use crate::bf16::{bf, bf_of_double, val};
use crate::config::Reading;
use crate::fault::FaultKind;
use crate::op::{Cvo, CvoFunc};
use crate::state::{State, words_of};

/// Reads all, then writes all: source and destination may overlap.
///
/// Source: specification, section 4.6.
///
/// # Errors
///
/// [`FaultKind::LengthZero`]; [`FaultKind::L2Range`] when source or destination do not lie in L2.
pub fn cvo(state: &mut State, reading: Reading, cvo: &Cvo) -> Result<(), FaultKind> {
    let length = usize::from(cvo.length);
    if length == 0 {
        return Err(FaultKind::LengthZero);
    }
    // SCALE has its scalar in a word of its own, before the vector.
    let scalar_words = u32::from(cvo.cvo_func == CvoFunc::Scale);
    let results = if cvo.cvo_func == CvoFunc::ReduceSum { 1 } else { length };
    state.check_l2("src_addr", cvo.src_addr, u64::from(scalar_words) + words_of(length))?;
    state.check_l2("dst_addr", cvo.dst_addr, words_of(results))?;
    let e_max = if cvo.flags.sub_emax { val(state.e_max) } else { 0.0 };
    let less_e_max = |&bits: &u16| if cvo.flags.sub_emax { val(bits) - e_max } else { val(bits) };
    let inputs: Vec<f32> = state.values(cvo.src_addr + scalar_words, length).iter().map(less_e_max).collect();
    let scalar = val(state.l2.vector(cvo.src_addr.into())[0]);
    let old = state.values_mut(cvo.dst_addr, results);
    match cvo.cvo_func {
        CvoFunc::ReduceSum => {
            let sum = inputs.iter().fold(0.0_f32, |sum, &x| sum + x);
            store(old, [sum], cvo.flags.accm);
        }
        CvoFunc::Scale => {
            let factor = factor(scalar, cvo.flags.recip_scale, reading);
            store(old, inputs.iter().map(|x| x * factor), cvo.flags.accm);
        }
        CvoFunc::Mul => {
            let products: Vec<f32> = inputs.iter().zip(&*old).map(|(x, &old)| x * val(old)).collect();
            store(old, products, cvo.flags.accm);
        }
        function => {
            for (old, x) in old.iter_mut().zip(inputs) {
                let y = match (function, reading) {
                    (CvoFunc::Recip, Reading::Seed) => 1.0 / f64::from(x),
                    _ => evaluate(function, x),
                };
                *old = if cvo.flags.accm { bf(val(*old) + y as f32) } else { bf_of_double(y) };
            }
        }
    }
    Ok(())
}

/// What SCALE multiplies by; in the documents the reciprocal of 0 is 0.
fn factor(scalar: f32, recip: bool, reading: Reading) -> f32 {
    match (recip, scalar) {
        (false, _) => scalar,
        (true, 0.0) if reading == Reading::Documents => 0.0,
        (true, _) => 1.0 / scalar,
    }
}

fn store(dest: &mut [u16], results: impl IntoIterator<Item = f32>, accm: bool) {
    for (dest, y) in dest.iter_mut().zip(results) {
        *dest = bf(if accm { val(*dest) + y } else { y });
    }
}

/// A function of one element in double precision; those of several elements give their argument back.
pub fn evaluate(function: CvoFunc, x: f32) -> f64 {
    let x = f64::from(x);
    match function {
        CvoFunc::Exp => x.exp(),
        CvoFunc::Sqrt => x.sqrt(),
        CvoFunc::Gelu => gelu(x),
        CvoFunc::Sin => x.sin(),
        CvoFunc::Cos => x.cos(),
        CvoFunc::Recip if x == 0.0 => 0.0,
        CvoFunc::Recip => 1.0 / x,
        CvoFunc::Relu if x <= 0.0 => 0.0,
        CvoFunc::Tanh => x.tanh(),
        CvoFunc::Relu | CvoFunc::ReduceSum | CvoFunc::Scale | CvoFunc::Mul => x,
    }
}

/// The tanh form, as x / (1 + exp(-2z)); of minus infinity its limit.
fn gelu(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        return -0.0;
    }
    let z = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
    x / (1.0 + (-2.0 * z).exp())
}
