//! Why the operators without a file here are refused, and what would help.

use npukit_graph::{Op, Operator};

use super::unary::needs_lookup;
use crate::lower::layers::Reject;

/// The reason against an operator that neither starts a chain nor follows in one.
pub fn of(op: &Op) -> Reject {
    match op {
        Op::InstanceNormalization(_) | Op::GroupNormalization(_) | Op::LayerNormalization(_) => {
            needs_lookup("reciprocal square root, which this needs of the variance of each input")
        }
        Op::RmsNormalization(_) | Op::LpNormalization(_) => {
            needs_lookup("reciprocal square root, which this needs of the squares of each input")
        }
        Op::Lrn(_) => needs_lookup("power of a fraction, which this divides by"),
        Op::Softmax(_) => needs_lookup("exponential, and what follows reads this Softmax"),
        Op::LogSoftmax(_) => needs_lookup("exponential and no logarithm"),
        _ => Reject::new(
            format!("{} has no form on the array for these operands", op.name()),
            "move it to the end of the model, or replace it by operators the target has (see `npu check`)",
        ),
    }
}

/// The reason against an operator whose results are not floats; `None` where the type is all there is
/// to say.
pub fn of_other_types(op: &Op) -> Option<Reject> {
    match op {
        Op::ArgMax(_) => Some(Reject::new(
            "the array finds the largest element, but not where it is",
            "end the model before it: the largest element of an output is the host's to find",
        )),
        Op::Cast(_) | Op::Compare(_) | Op::Logic(_) => Some(Reject::new(
            "the array has one number format for everything, and no truth values",
            "compute with floats throughout, or end the model before it",
        )),
        _ => None,
    }
}
