//! Reasons and hints for operators that the array does not support.

use npukit_graph::{Op, Operator};

use crate::lower::layers::{Builder, Reject};

/// Returns the reason for an operator that can neither start a chain nor follow in one.
pub fn of(op: &Op) -> Reject {
    match op {
        Op::InstanceNormalization(_) | Op::GroupNormalization(_) | Op::LayerNormalization(_) => {
            only_by_lookup("reciprocal square root of each input's variance, which this operator needs")
        }
        Op::RmsNormalization(_) | Op::LpNormalization(_) => {
            only_by_lookup("reciprocal square root of each input's squares, which this operator needs")
        }
        Op::Lrn(_) => only_by_lookup("fractional power, which this operator needs"),
        Op::Softmax(_) => needs_lookup("exponential, and a following node reads this Softmax"),
        Op::LogSoftmax(_) => needs_lookup("exponential and no logarithm"),
        Op::Cast(_) => one_format(),
        _ => Reject::new(
            format!("the array cannot compute {} of these operands", op.name()),
            "end the model before it, or replace it by sums, products, maxima and rearrangements",
        ),
    }
}

/// Returns the reason for an operator with results that are not floats; `None` if the element type
/// is the only problem.
pub fn of_other_types(op: &Op) -> Option<Reject> {
    match op {
        Op::ArgMax(_) => Some(Reject::new(
            "the array computes the largest element, but not its index",
            "end the model before it, and find the largest element of the output on the host",
        )),
        Op::Cast(_) | Op::Compare(_) | Op::Logic(_) => Some(one_format()),
        _ => None,
    }
}

/// Returns the reason like [`needs_lookup`], for operators that the host has no step for either.
fn only_by_lookup(function: &str) -> Reject {
    Reject::new(
        format!("the SIMD unit adds, multiplies and compares; it has no {function}"),
        "use an instance with the lookup extension (`lookup_tables` above 0; above 1 in FLOAT32), or end the model before it",
    )
}

fn one_format() -> Reject {
    Reject::new(
        "the array has a single number format and cannot compute integers or Booleans",
        "compute with floats throughout, or end the model before it",
    )
}

/// Returns how the accelerator can compute a function of one element instead of the host, as the
/// end of a sentence; empty for other operators.
pub fn way(function: &str) -> &'static str {
    match function {
        "Sigmoid" | "Tanh" | "Swish" | "Gelu" => {
            " (`--option functions=lines` approximates it, an instance with `+lut` has tables for it)"
        }
        _ => "",
    }
}

/// Returns the reason for a function that needs a lookup table.
pub fn needs_lookup(function: &str) -> Reject {
    Reject::new(
        format!("the SIMD unit adds, multiplies and compares; it has no {function}{}", way(function)),
        "use an instance with the lookup extension (`lookup_tables` above 0; above 1 in FLOAT32), or \
         move it to the model's end and let the host do it",
    )
}

/// Checks for a SIMD register, through which the SIMD unit combines two vectors.
///
/// # Errors
///
/// Fails on an instance without a SIMD register.
pub fn needs_register(builder: &Builder) -> Result<(), Reject> {
    if builder.config.simd_registers_depth == 0 {
        return Err(Reject::new(
            "the instance has no SIMD register (simd_registers_depth is 0)",
            "use an instance with at least one",
        ));
    }
    Ok(())
}
