//! Powers of two between layers, so that values fit a number format: [`rescale`].
//!
//! A value `v` gets an exponent `s`; what is stored is `v / 2^s`. Operators with constant weights
//! change the exponent for nothing, by weights and bias multiplied by powers of two; operators for
//! which `f(c x) = c f(x)` keep it, so that their operands and results form a class with one
//! exponent; before any other operator, and at the outputs, a multiplication by a power of two takes
//! it back. Where functions of one element are tables, their operands and results have exponents of their own, as
//! multiplications beside them cost nothing. The exponents are the smallest with which every value and constant fits: at least 0, or, to fill the
//! format, below 0 where values are small. [`equalise`] does for channels what this does for values. In real
//! arithmetic the network computes what it did before, and so it does in `f32` as long as no number
//! becomes subnormal.
//!
//! | module | is |
//! |---|---|
//! | `balance` | bits that operands of products lend to the weights |
//! | `border` | powers of two that the host multiplies inputs and outputs by |
//! | `ends` | results at the end that fit at no scale |
//! | `channels` | values between layers, whose channels can have other scales |
//! | `equalise` | powers of two between the channels of neighbouring layers |
//! | `ranges` | how large each value becomes, from samples |
//! | `roles` | what becomes of an operator's results when its operands are scaled: a line per operator |
//! | `solve` | classes and their exponents |
//! | `rewrite` | the new graph |

mod balance;
mod border;
pub(crate) mod channels;
mod ends;
mod equalise;
mod ranges;
mod rewrite;
pub(crate) mod roles;
mod solve;

use crate::ir::{Graph, Node};
use crate::op::Op;
use crate::pass::PassError;

pub use border::{Border, Scales};
pub use ends::unfit_ends;
pub use equalise::equalise;
pub use ranges::{Magnitude, Ranges};
use roles::{Role, role};

/// What has to fit, and into what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Largest magnitude the number format holds.
    pub largest: f64,
    /// Smallest positive value of the number format.
    pub step: f64,
    /// How many times the largest magnitude seen must fit, for inputs that no sample has, and for sums
    /// that are larger on the way than at their end; at least 1. Constants are known, and need none.
    pub margin: f64,
    /// Whether what is small is made larger, too: values and constants then take all bits of the format that
    /// they may.
    pub fill: bool,
    /// Whether functions of one element take a multiplication by a power of two before and after them for nothing, as
    /// those do that are looked up in a table.
    pub functions: bool,
    /// Whether what a product with constants takes may be made smaller before it, so that the constants take more
    /// bits: where each product is rounded by itself, what counts is that both factors are alike.
    pub balance: bool,
    /// Whether inputs and outputs are multiplied by powers of two where the host converts them, for nothing.
    pub ports: bool,
    /// How many elements a mean adds, at most, before it divides; 1 where sums are wider than the number format.
    pub addends: usize,
}

impl Limits {
    /// The smallest exponent with which `magnitude` fits; at least 0 unless what is small is made larger. None
    /// when any would do.
    fn exponent_of(&self, magnitude: f64) -> Option<i32> {
        let exponent = floor_log2(self.largest, magnitude).map(|room| -room);
        // Default: 0 fits at any scale.
        if self.fill { exponent } else { Some(exponent.unwrap_or(0).max(0)) }
    }
}

/// The exponent, or 0 where it would win a single bit; none is less than the negative of [`MAX`].
fn worthwhile(exponent: i32) -> i32 {
    if exponent == -1 { 0 } else { exponent.max(-MAX) }
}

/// Exponents beyond this, either way, mean that something is wrong with the model, or with a sample.
const MAX: i32 = 30;

/// A graph whose values are stored divided by powers of two.
#[derive(Clone, Debug)]
pub struct Rescaled {
    /// The graph; inputs and outputs are as they were.
    pub graph: Graph,
    /// Names of its values that are stored divided by `2^exponent`, with the exponent, where it is not 0.
    pub exponents: Vec<(String, i32)>,
    /// By name, the exponents with which inputs and outputs are to be stored, and what the host computes in between: the
    /// graph multiplies them by powers of two where they enter and where they leave, which [`Border`] takes off.
    pub scales: Scales,
}

/// Chooses exponents for the values of a valid graph and rewrites it. `None` when nothing needs one, or
/// no exponents of a reasonable size do.
///
/// # Errors
///
/// [`PassError`] when the rewritten graph is not valid, which would be a fault of ours.
pub fn rescale(graph: &Graph, ranges: &Ranges, limits: &Limits) -> Result<Option<Rescaled>, PassError> {
    rescale_beside(graph, ranges, limits, &|_| false)
}

/// As [`rescale`], where the host computes the nodes that `is_host` tells: it takes and gives real values, and where
/// inputs and outputs are multiplied for nothing, so are its results.
///
/// # Errors
///
/// Those of [`rescale`].
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

/// Whether the ranges of all products with constants are known, of the results or of what shares their exponents.
pub fn is_known(graph: &Graph, ranges: &Ranges, limits: &Limits, is_host: &dyn Fn(&Node) -> bool) -> bool {
    let roles = roles(graph, ranges, limits, is_host);
    solve::is_known(graph, &roles, ranges, limits)
}

/// The largest `k` with `magnitude * 2^k <= largest`; `None` when any would do.
fn floor_log2(largest: f64, magnitude: f64) -> Option<i32> {
    (magnitude > 0.0 && magnitude.is_finite()).then(|| {
        let guess = (largest / magnitude).log2().floor() as i32;
        // Just below a whole number the logarithm is rounded to it.
        if magnitude * 2f64.powi(guess) <= largest { guess } else { guess - 1 }
    })
}

/// The roles of all nodes where these limits hold. What puts values together at the end that fit at no scale takes and
/// gives real values, so that none takes bits of another.
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
