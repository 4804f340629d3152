//! Products and CVO of any arithmetic, one number after the other. They are the reference for
//! [`fast`](super::fast).

use crate::isa::op::CvoFunc;
use crate::machine::arith::{Arithmetic, Operation, Product};

/// Rows of activations, as they are in L2.
#[derive(Clone, Debug)]
pub(crate) struct Rows<S> {
    /// Row after row.
    pub values: Vec<S>,
    /// Length of a row.
    pub k: usize,
}

impl<S: Clone> Rows<S> {
    /// Copies rows of `k` activations.
    pub fn of(values: &[S], k: usize) -> Self {
        Self { values: values.to_vec(), k }
    }
}

/// Scales the sums of a product, adds the old results if `accm` is set, and rounds.
pub(crate) fn finish<A: Arithmetic>(
    sums: &[A::Real],
    product: &Product<'_, A::Image, A::Real>,
    dest: &mut [A::Scalar],
) {
    let [n, _] = A::size(product.image);
    for (dest, sums) in dest.chunks_exact_mut(n).zip(sums.chunks_exact(n)) {
        let scaled = sums.iter().enumerate().map(|(i, &sum)| match product.after {
            Some(scales) => sum * scales[i],
            None => sum,
        });
        store::<A>(dest, scaled, product.accm);
    }
}

/// Executes CVO on a vector.
///
/// Source: specification, sections 4.6.2 and 4.6.3.
pub(crate) fn apply<A: Arithmetic>(
    operation: &Operation<A::Scalar>,
    inputs: &[A::Scalar],
    dest: &mut [A::Scalar],
) {
    let Operation { function, reading, less, factor, recip_scale, accm } = *operation;
    let inputs = inputs.iter().map(|&scalar| match less {
        Some(less) => A::value(scalar) - A::value(less),
        None => A::value(scalar),
    });
    match function {
        CvoFunc::ReduceSum => {
            let sum = inputs.fold(A::Real::default(), |sum, x| sum + x);
            store::<A>(dest, [sum], accm);
        }
        CvoFunc::Scale => {
            let factor = A::value(factor);
            let factor = if recip_scale { A::reciprocal(factor, reading) } else { factor };
            store::<A>(dest, inputs.map(|x| x * factor), accm);
        }
        CvoFunc::Mul => {
            let products: Vec<A::Real> = inputs.zip(&*dest).map(|(x, &old)| x * A::value(old)).collect();
            store::<A>(dest, products, accm);
        }
        function => {
            for (dest, x) in dest.iter_mut().zip(inputs) {
                *dest = A::function(function, reading, x, accm.then_some(*dest));
            }
        }
    }
}

fn store<A: Arithmetic>(dest: &mut [A::Scalar], results: impl IntoIterator<Item = A::Real>, accm: bool) {
    for (dest, y) in dest.iter_mut().zip(results) {
        *dest = A::rounded(if accm { A::value(*dest) + y } else { y });
    }
}
