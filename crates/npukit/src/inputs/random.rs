//! Random inputs, `random:SEED`: numbers drawn uniformly from the range of an input.

use npukit_numeric::{ElementType, SplitMix64, Tensor};
use npukit_target::to_element;

use super::made_up;
use super::media::Given;
use super::read::Offer;
use super::wanted::Wanted;
use crate::numbers::assumed::GivenRange;

/// Range of real numbers if nothing is known about them.
const UNKNOWN: [f64; 2] = [-1.0, 1.0];

/// Takes random numbers without a name out of `offers`. They are for all inputs that are not given
/// otherwise; of several seeds, the last one is used.
pub(super) fn apart(offers: Vec<Offer>) -> (Vec<Offer>, Option<u64>) {
    let mut seed = None;
    let others = offers.into_iter().filter(|offer| match (&offer.name, &offer.given) {
        (None, Given::Random(found)) => {
            seed = Some(*found);
            false
        }
        _ => true,
    });
    let others = others.collect();
    (others, seed)
}

/// Returns the range of a random input, and the reason for it: the declared range, the model's, or
/// that of the element type.
fn range(wanted: &Wanted, declared: &[GivenRange]) -> ([f64; 2], &'static str) {
    if let Some(range) = GivenRange::find(declared, &wanted.port.name) {
        return (range, "--range");
    }
    match (wanted.range, wanted.element) {
        (Some(range), _) => (range, "the range that the model suggests"),
        (None, Some(ElementType::Bool)) => ([0.0, 1.0], "its element type"),
        (None, Some(element)) if !element.is_float() => {
            ([0.0; 2], "integers are indices, and 0 is valid in every table")
        }
        _ => (UNKNOWN, "its range is unknown; --range LOW..HIGH sets one"),
    }
}

/// Draws `count` samples of the input with number `index`. Returns `None` if they do not fit in
/// memory.
pub(super) fn samples(
    wanted: &Wanted,
    index: usize,
    seed: u64,
    count: usize,
    declared: &[GivenRange],
    notes: &mut Vec<String>,
) -> Option<Vec<Tensor>> {
    let ([low, high], reason) = range(wanted, declared);
    // Default: a program that does not specify its type takes real numbers.
    let element = wanted.element.unwrap_or(ElementType::F32);
    let name = &wanted.port.name;
    notes
        .push(format!("input `{name}`: uniform random numbers from {low} to {high} ({reason}), seed {seed}"));
    let mut random = SplitMix64::new(SplitMix64::new(seed).bits() ^ index as u64);
    let zeros = made_up::zeros(&wanted.port.shape, ElementType::F32)?;
    let elements = zeros.as_f32()?.len();
    let is_whole = !element.is_float();
    let mut one = || {
        let draw = |_| {
            let value =
                if is_whole { random.between(low, high + 1.0).floor() } else { random.between(low, high) };
            value.clamp(low, high) as f32
        };
        let values = (0..elements).map(draw).collect();
        let tensor = Tensor::from_f32(wanted.port.shape.clone(), values).ok()?;
        to_element(name, &tensor, element).ok()
    };
    (0..count).map(|_| one()).collect()
}
