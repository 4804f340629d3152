//! Square roots by Newton's method: repeats `(s + v / s) / 2`, with quotients and exact sums of the
//! extension.

use std::sync::Arc;

use npukit_graph::Node;
use npukit_lower::Reject;

use super::dense::dots;
use super::scale::singles;
use super::{operand, result};
use crate::isa::op::DpuMode;
use crate::lower::Lowering;
use crate::lower::format::FUNCTION_BITS;
use crate::lower::rounded::{Rounding, real};
use crate::program::gather::{Gather, Source};
use crate::program::kernels::Work;
use crate::program::plan::{Place, Task};

/// Number of steps: ten until the initial guess approaches roots of a thousandth of the largest,
/// and four more.
const STEPS: usize = 14;
/// Largest root: of 2^15 with 14 more fraction bits, rounded up.
const LARGEST: i16 = 23_171;

/// Lowers the square root of each element.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn root(lowering: &mut Lowering<'_>, node: &Node) -> Result<(), Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    let quotient = lowering.format.extension(DpuMode::Div, 0)?;
    let of_x = lowering.format.fraction(x);
    // A root has 14 or 13 bits more than half of the fraction bits of its square, so the largest
    // root fits.
    let fraction = (of_x + 14).div_euclid(2);
    // Quotients have 2 or 3 fraction bits fewer than roots.
    let more = fraction - (FUNCTION_BITS + of_x - fraction);
    let shape = lowering.graph.shape(y).to_vec();
    let count = shape.iter().product();
    lowering.note(Rounding::Root { guess: real(LARGEST, fraction), steps: STEPS });
    let squares = singles(lowering.read(node, x, of_x)?, count);
    let halves: Arc<[i16]> = [1, 1 << more].into();
    let mean = Work { mode: DpuMode::MacInter, immediate: 1 };
    let mut root = Gather { vectors: vec![(count, 0)], ..singles(Source::Constant([LARGEST].into()), count) };
    let to = lowering.unscaled(node, y, fraction);
    for step in 0..STEPS {
        // Roots and quotients alternate.
        let pairs = lowering.temporary(&node.name, vec![count, 2], fraction);
        let place = |offset| Place { offset, axes: vec![(count, 2)] };
        let divide =
            Task::Vectors { work: quotient, operands: vec![squares.clone(), root.clone()], to: place(1) };
        lowering.push(node, pairs, vec![Task::Move { from: root, to: place(0), shift: 0 }, divide]);
        let next =
            if step + 1 == STEPS { to } else { lowering.temporary(&node.name, shape.clone(), fraction) };
        let weights = Gather::rows(Source::Constant(Arc::clone(&halves)), 1, 2);
        let pairs = Gather::rows(Source::Value(pairs), count, 2);
        let means = dots(mean, weights, pairs, Place { offset: 0, axes: vec![(1, 0), (count, 1)] })?;
        lowering.push(node, next, vec![means]);
        root = singles(Source::Value(next), count);
    }
    lowering.finish(node, to, y);
    Ok(())
}
