//! Why the operators without a file here are refused, and what would help.

use npukit_graph::{Op, Operator};

use crate::lower::layers::{Builder, Reject};

/// The reason against an operator that neither starts a chain nor follows in one.
pub fn of(op: &Op) -> Reject {
    match op {
        Op::InstanceNormalization(_) | Op::GroupNormalization(_) | Op::LayerNormalization(_) => {
            only_by_lookup("reciprocal square root, which this needs of the variance of each input")
        }
        Op::RmsNormalization(_) | Op::LpNormalization(_) => {
            only_by_lookup("reciprocal square root, which this needs of the squares of each input")
        }
        Op::Lrn(_) => only_by_lookup("power of a fraction, which this divides by"),
        Op::Softmax(_) => needs_lookup("exponential, and what follows reads this Softmax"),
        Op::LogSoftmax(_) => needs_lookup("exponential and no logarithm"),
        Op::Cast(_) => one_format(),
        _ => Reject::new(
            format!("{} has no form on the array for these operands", op.name()),
            "end the model before it, or replace it by sums, products, maxima and moves of elements",
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
        Op::Cast(_) | Op::Compare(_) | Op::Logic(_) => Some(one_format()),
        _ => None,
    }
}

/// As [`needs_lookup`], for what the host has no step for.
fn only_by_lookup(function: &str) -> Reject {
    Reject::new(
        format!("the SIMD unit adds, multiplies and compares; it has no {function}"),
        "use an instance with the lookup extension (`lookup_tables` above 0; above 1 in FLOAT32), or end the model before it",
    )
}

fn one_format() -> Reject {
    Reject::new(
        "the array has one number format for everything, and no truth values",
        "compute with floats throughout, or end the model before it",
    )
}

/// Why a function is refused that takes a table.
pub fn needs_lookup(function: &str) -> Reject {
    Reject::new(
        format!("the SIMD unit adds, multiplies and compares; it has no {function}"),
        "use an instance with the lookup extension (`lookup_tables` above 0; above 1 in FLOAT32), or \
         move it to the model's end and let the host do it",
    )
}

/// The SIMD unit combines two vectors through a register.
///
/// # Errors
///
/// An instance without a SIMD register.
pub fn needs_register(builder: &Builder) -> Result<(), Reject> {
    if builder.config.simd_registers_depth == 0 {
        return Err(Reject::new(
            "the instance has no SIMD register (simd_registers_depth is 0)",
            "use an instance with at least one",
        ));
    }
    Ok(())
}
