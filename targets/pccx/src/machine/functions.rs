//! CVO functions in double precision: [`evaluate`].

use crate::isa::op::CvoFunc;

/// Evaluates a function of one element in double precision. Functions of several elements return
/// the argument.
pub fn evaluate(function: CvoFunc, x: f64) -> f64 {
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

/// Evaluates the tanh form of Gelu as x / (1 + exp(-2z)); at minus infinity, its limit.
pub(crate) fn gelu(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        return -0.0;
    }
    let z = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
    x / (1.0 + (-2.0 * z).exp())
}
