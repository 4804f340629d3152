//! Power-of-two scaling of values between layers, so that they fit a number format: [`rescale`].
//!
//! A value `v` gets an exponent `s` and is stored as `v / 2^s`.
//!
//! - Operators with constant weights change the exponent at no cost: weights and bias are
//!   multiplied by powers of two.
//! - Operators with `f(c x) = c f(x)` keep it, so their operands and results form a class with one
//!   exponent.
//! - Before any other operator, and at the outputs, a multiplication by a power of two removes it.
//! - If functions of one element are lookup tables, their operands and results have separate
//!   exponents, as multiplications next to them cost nothing.
//!
//! Each exponent is the smallest with which every value and constant fits. It is at least 0, or
//! below 0 for small values if the format should be filled. [`equalize`] does the same for
//! channels. In real arithmetic the network computes the same function, and also in `f32` as long
//! as no number becomes subnormal.
//!
//! | module | contents |
//! |---|---|
//! | `balance` | bits moved from operands of products to the weights |
//! | `border` | powers of two that the host applies to inputs and outputs |
//! | `ends` | final results that fit at no scale |
//! | `channels` | values between layers whose channels can be scaled separately |
//! | `equalize` | powers of two between the channels of neighboring layers |
//! | `ranges` | magnitude of each value over samples |
//! | `roles` | effect of scaled operands on an operator's results: one line per operator |
//! | `solve` | classes and their exponents |
//! | `rewrite` | the new graph |

mod balance;
mod border;
pub(crate) mod channels;
mod ends;
mod equalize;
mod ranges;
mod rewrite;
pub(crate) mod roles;
mod solve;

use crate::ir::{Graph, Node};
use crate::op::Op;
use crate::pass::PassError;

pub use border::{Border, Scales};
pub use ends::unfit_ends;
pub use equalize::equalize;
pub use ranges::{Magnitude, Ranges};
use roles::{Role, role};

/// Limits of a number format, and the scaling that a target can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Largest magnitude of the number format.
    pub largest: f64,
    /// Smallest positive value of the number format.
    pub step: f64,
    /// Factor of the largest observed magnitude that must fit; at least 1. It leaves room for
    /// inputs that no sample covers, and for partial sums larger than the final sum. It does not
    /// apply to constants, which are known.
    pub margin: f64,
    /// Whether small values and constants are scaled up as well, so that they use all bits of the
    /// format.
    pub fill: bool,
    /// Whether multiplications by powers of two before and after functions of one element are free,
    /// as for lookup tables.
    pub functions: bool,
    /// Whether operands of products with constants may be scaled down, so that the constants use
    /// more bits. Useful if each product is rounded separately: then both factors should have
    /// similar magnitudes.
    pub balance: bool,
    /// Whether multiplying inputs and outputs by powers of two is free, because the host converts
    /// them.
    pub ports: bool,
    /// Largest number of elements that a mean adds before it divides; 1 if sums are wider than the
    /// number format.
    pub addends: usize,
}

impl Limits {
    /// Returns the smallest exponent with which `magnitude` fits; at least 0 unless `fill` is set.
    /// `None` if every exponent fits.
    fn exponent_of(&self, magnitude: f64) -> Option<i32> {
        let exponent = floor_log2(self.largest, magnitude).map(|room| -room);
        // Default: 0 fits at any scale.
        if self.fill { exponent } else { Some(exponent.unwrap_or(0).max(0)) }
    }
}

/// Returns the exponent, or 0 if it would gain only one bit; at least the negative of [`MAX`].
fn worthwhile(exponent: i32) -> i32 {
    if exponent == -1 { 0 } else { exponent.max(-MAX) }
}

/// Largest magnitude of an exponent. A larger one indicates an error in the model or in a sample.
const MAX: i32 = 30;

/// A graph whose values are stored divided by powers of two.
#[derive(Clone, Debug)]
pub struct Rescaled {
    /// The graph; its inputs and outputs are unchanged.
    pub graph: Graph,
    /// Name and exponent of each value that is stored divided by `2^exponent`; exponents of 0 are
    /// left out.
    pub exponents: Vec<(String, i32)>,
    /// Exponents with which inputs, outputs and values computed by the host must be stored, by
    /// name. The graph multiplies by these powers of two where such values enter and leave the
    /// machine; [`Border`] removes those multiplications.
    pub scales: Scales,
}

/// Chooses exponents for the values of a valid graph and rewrites it. `None` if all exponents are
/// 0, or if no exponents of a reasonable size fit.
///
/// # Errors
///
/// [`PassError`] if the rewritten graph is invalid, which is a bug in npukit.
pub fn rescale(graph: &Graph, ranges: &Ranges, limits: &Limits) -> Result<Option<Rescaled>, PassError> {
    rescale_beside(graph, ranges, limits, &|_| false)
}

/// Like [`rescale`], but the host computes the nodes for which `is_host` is true. They take and
/// return real values. If scaling of inputs and outputs is free, so is that of the host's results.
///
/// # Errors
///
/// See [`rescale`].
pub fn rescale_beside(
    graph: &Graph,
    ranges: &Ranges,
    limits: &Limits,
    is_host: &dyn Fn(&Node) -> bool,
) -> Result<Option<Rescaled>, PassError> {
    let roles = roles(graph, ranges, limits, is_host);
    match solve::exponents(graph, &roles, ranges, limits) {
        Some(exponents) if exponents.iter().any(|&exponent| exponent != 0) => {
            rewrite::rewrite(graph, &roles, exponents, ranges, limits).map(Some)
        }
        _ => Ok(None),
    }
}

/// Whether the ranges of all products with constants are known, either of the results or of values
/// that share their exponents.
pub fn is_known(graph: &Graph, ranges: &Ranges, limits: &Limits, is_host: &dyn Fn(&Node) -> bool) -> bool {
    let roles = roles(graph, ranges, limits, is_host);
    solve::is_known(graph, &roles, ranges, limits)
}

/// Returns the largest `k` with `magnitude * 2^k <= largest`; `None` if every `k` fits.
fn floor_log2(largest: f64, magnitude: f64) -> Option<i32> {
    (magnitude > 0.0 && magnitude.is_finite()).then(|| {
        let guess = (largest / magnitude).log2().floor() as i32;
        // Just below an integer, the logarithm is rounded to it.
        if magnitude * 2f64.powi(guess) <= largest { guess } else { guess - 1 }
    })
}

/// Returns the roles of all nodes under these limits. A final node that combines values and fits at
/// no scale takes and returns real values, so that no operand takes bits from another.
fn roles(graph: &Graph, ranges: &Ranges, limits: &Limits, is_host: &dyn Fn(&Node) -> bool) -> Vec<Role> {
    let of_node = |node| match is_host(node) {
        true if limits.ports => Role::Host,
        true => Role::Real,
        false => role(graph, node).within(limits),
    };
    let mut roles: Vec<Role> = graph.nodes.iter().map(of_node).collect();
    for end in unfit_ends(graph, ranges, limits.largest) {
        if matches!(graph.node(end).op, Op::Concat(_)) {
            roles[end.0 as usize] = Role::Real;
        }
    }
    roles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_power_that_fits_is_found() {
        let powers = [-40, -1, 0, 1, 7, 30, 60].map(|k| 2f64.powi(k));
        let near = |x: f64| [x.next_down(), x, x.next_up(), x * 1.3];
        for largest in powers.into_iter().flat_map(near).chain([32767.0 / 256.0]) {
            for magnitude in powers.into_iter().flat_map(near) {
                let expected = (-200..200).rev().find(|&k| magnitude * 2f64.powi(k) <= largest);
                assert_eq!(floor_log2(largest, magnitude), expected, "{magnitude} in {largest}");
            }
        }
        for any in [0.0, f64::INFINITY, f64::NAN] {
            assert_eq!(floor_log2(1.0, any), None);
        }
    }
}
