//! Two graphs that are to compute the same, in floats: [`agreement`].

use npukit_graph::{EvalError, Graph, evaluate};
use npukit_numeric::{Element, Tensor};

/// How far two graphs are apart on the same inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Samples that both computed.
    pub samples: usize,
    /// Largest difference of two outputs.
    pub difference: f64,
    /// Largest magnitude of an output.
    pub largest: f64,
}

impl Agreement {
    /// The difference as a share of the largest output; 0 where both are.
    pub fn share(&self) -> f64 {
        if self.difference == 0.0 { 0.0 } else { self.difference / self.largest }
    }

    /// Whether the difference is one that rounding floats in another order makes, and not one of another computation.
    pub fn is_rounding(&self) -> bool {
        self.share() <= ROUNDING
    }
}

/// Differences of outputs, as a share of the largest, that floats of 24 bits make in networks of a hundred layers.
const ROUNDING: f64 = 1e-3;

/// Computes both graphs on as many samples as `seeds`, whose elements look like random numbers from -1 to 1.
///
/// The graphs have the same inputs and outputs.
///
/// # Errors
///
/// What one of them cannot be evaluated for.
pub fn agreement(left: &Graph, right: &Graph, seeds: &[u64]) -> Result<Agreement, EvalError> {
    let mut agreement = Agreement::default();
    for &seed in seeds {
        let samples = samples(left, seed);
        let (left, right) = (evaluate(left, &samples)?, evaluate(right, &samples)?);
        for (left, right) in left.iter().zip(&right) {
            for (&l, &r) in left.as_f32().into_iter().flatten().zip(right.as_f32().into_iter().flatten()) {
                if l.to_bits() != r.to_bits() {
                    agreement.difference = agreement.difference.max((f64::from(l) - f64::from(r)).abs());
                }
                agreement.largest = agreement.largest.max(f64::from(l).abs());
            }
        }
        agreement.samples += 1;
    }
    Ok(agreement)
}

fn samples(graph: &Graph, seed: u64) -> Vec<Tensor> {
    let sample = |(i, &id): (usize, _)| {
        let shape = graph.shape(id).to_vec();
        let count = shape.iter().product();
        let number = |element: Element| (element.bits() >> 37) as f32 / (1u32 << 23) as f32 - 1.0;
        let numbers = Element::random(seed.wrapping_add(i as u64)).map(number).take(count).collect();
        Tensor::from_f32(shape, numbers).expect("as many as the shape says")
    };
    graph.inputs.iter().enumerate().map(sample).collect()
}
