//! [`Method`]: choice of a fraction length from the magnitudes of values.

use super::distribution::Distribution;
use super::mask::is_mask;
use super::masks::room;
use super::{Kind, Scheme};

/// Method to choose a fraction length. Each takes the largest one with which its selected elements
/// fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// All observed elements fit.
    MinMax,
    /// The given percentage of each tensor's elements fits.
    Percentile(f64),
    /// Minimizes the sum of the squared errors of rounding and saturation.
    LeastSquares,
}

/// Smallest and largest fraction length.
pub(super) const FRACTIONS: (i32, i32) = (-64, 64);

/// Known elements of a tensor.
pub(super) enum Tensor<'a> {
    /// Distribution over samples.
    Seen(&'a Distribution),
    /// All elements.
    Constant(&'a [f32]),
}

impl Tensor<'_> {
    /// Returns the smallest finite element, at most 0, and the largest, at least 0. Distributions
    /// never include masks.
    fn extremes(&self, with_masks: bool) -> [f64; 2] {
        match self {
            Self::Seen(distribution) => distribution.extremes(),
            Self::Constant(values) => {
                let counts = |x: f32| x.is_finite() && (with_masks || !is_mask(x));
                let finite = values.iter().copied().filter(|&x| counts(x)).map(f64::from);
                finite.fold([0.0; 2], |[low, high], x| [low.min(x), high.max(x)])
            }
        }
    }

    fn has_masks(&self) -> bool {
        match self {
            Self::Seen(distribution) => distribution.has_masks(),
            Self::Constant(values) => values.iter().copied().any(is_mask),
        }
    }

    /// Returns the magnitude that at most a fraction `1 - share` of the elements exceeds.
    fn magnitude_of(&self, share: f64) -> f64 {
        match self {
            Self::Seen(distribution) => distribution.magnitude_of(share),
            Self::Constant(values) => {
                let mut all: Vec<f64> =
                    values.iter().map(|x| f64::from(x.abs())).filter(|x| x.is_finite()).collect();
                all.sort_by(f64::total_cmp);
                let above = ((1.0 - share) * all.len() as f64) as usize;
                // Default: 0 without magnitudes.
                all.len().checked_sub(above + 1).and_then(|place| all.get(place)).copied().unwrap_or(0.0)
            }
        }
    }

    /// Returns the sum of the squares of `error` over all elements.
    fn squares(&self, error: impl Fn(f64) -> f64) -> f64 {
        match self {
            Self::Seen(distribution) => {
                distribution.points().map(|(x, count)| error(x).powi(2) * count as f64).sum()
            }
            Self::Constant(values) => {
                values.iter().filter(|x| x.is_finite()).map(|&x| error(x.into()).powi(2)).sum()
            }
        }
    }
}

/// Returns the fraction length for tensors that share it.
pub(super) fn fraction(scheme: &Scheme, kind: Kind, method: Method, tensors: &[Tensor<'_>]) -> i32 {
    let bits = scheme.bits(kind);
    let is_masked = kind == Kind::Activation && tensors.iter().any(Tensor::has_masks);
    let extremes = tensors.iter().map(|tensor| tensor.extremes(!is_masked));
    let extremes = extremes.fold([0.0f64; 2], |a, b| [a[0].min(b[0]), a[1].max(b[1])]);
    if is_masked {
        let largest = extremes.map(f64::abs).into_iter().fold(0.0, f64::max);
        return largest_that_fits(scheme, bits, [-room(largest), 0.0]);
    }
    let full = largest_that_fits(scheme, bits, extremes);
    match method {
        Method::MinMax => full,
        Method::Percentile(percent) => {
            let most = tensors.iter().map(|tensor| tensor.magnitude_of(percent / 100.0)).fold(0.0, f64::max);
            // Only zeros must fit: all other elements may still fit as well.
            if most == 0.0 { full } else { largest_that_fits(scheme, bits, [0.0, most]).max(full) }
        }
        Method::LeastSquares => {
            let squares = |fraction: i32| -> f64 {
                let error = |x: f64| x - scheme.nearest(x, fraction, bits);
                tensors.iter().map(|tensor| tensor.squares(error)).sum()
            };
            // With another `bits` bits, everything except zeros saturates.
            let all = (full..=FRACTIONS.1).take(bits as usize).map(|fraction| (fraction, squares(fraction)));
            all.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(full, |(fraction, _)| fraction)
        }
    }
}

/// Returns the largest fraction length with which numbers up to magnitude `most` fit.
pub(super) fn holding(scheme: &Scheme, kind: Kind, most: f64) -> i32 {
    largest_that_fits(scheme, scheme.bits(kind), [-most, most])
}

/// Returns the largest fraction length with which nothing between the extremes saturates after
/// rounding.
fn largest_that_fits(scheme: &Scheme, bits: u32, extremes: [f64; 2]) -> i32 {
    let most = extremes.map(f64::abs).into_iter().fold(0.0, f64::max);
    if most == 0.0 {
        return bits as i32 - 1;
    }
    let fits = |fraction: i32| extremes.iter().all(|&x| !scheme.saturates(x, fraction, bits));
    // Start one above the estimate from the logarithm, as that may be rounded down.
    let guess = bits as i32 - most.log2().floor() as i32;
    let guess = guess.clamp(FRACTIONS.0, FRACTIONS.1);
    (guess - 3..=guess).rev().find(|&fraction| fits(fraction)).unwrap_or(guess - 3).max(FRACTIONS.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::observe::Statistic;
    use proptest::prelude::*;

    fn chosen(method: Method, values: &[f32]) -> i32 {
        fraction(&Scheme::default(), Kind::Weight, method, &[Tensor::Constant(values)])
    }

    #[test]
    fn everything_fits_by_the_extremes() {
        for (values, expected) in [
            (&[0.0][..], 7),
            (&[], 7),
            (&[1.0], 6),
            (&[-1.0], 7),
            (&[127.0], 0),
            (&[127.4], 0),
            (&[127.5], -1),
            (&[1e-30], 64),
        ] {
            assert_eq!(chosen(Method::MinMax, values), expected, "{values:?}");
        }
    }

    #[test]
    fn outliers_are_given_up_for_the_rest() {
        let mut values: Vec<f32> = (0..10_000).map(|i| (i as f32 / 5_000.0) - 1.0).collect();
        values.push(40.0);
        assert_eq!(chosen(Method::MinMax, &values), 1);
        assert_eq!(chosen(Method::Percentile(99.0), &values), 7);
        assert_eq!(chosen(Method::Percentile(100.0), &values), 1);
        values.extend(vec![3.0; 10]);
        assert_eq!(chosen(Method::LeastSquares, &values), 2);
    }

    /// A masked score is below all others, with room for values of either sign.
    #[test]
    fn masks_do_not_take_the_bits_of_values() {
        let scheme = Scheme { activations: 16, ..Scheme::default() };
        let (scores, mask) = ([-7.5f32, 7.5], [0.0, f32::MIN]);
        for method in [Method::MinMax, Method::Percentile(99.0), Method::LeastSquares] {
            let tensors = [Tensor::Constant(&scores), Tensor::Constant(&mask)];
            let fraction = fraction(&scheme, Kind::Activation, method, &tensors);
            assert_eq!(fraction, 10, "2 x 7.5 + 16 is below 32");
            let masked = 7.5 + scheme.nearest(f32::MIN.into(), fraction, 16);
            assert!(masked <= -7.5 - 16.0, "{masked}");
        }
    }

    proptest! {
        /// Compared with an exhaustive search over all fraction lengths.
        #[test]
        fn least_squares_are_least(values in prop::collection::vec(-100.0..100.0f32, 1..40)) {
            let scheme = Scheme::default();
            let squares = |fraction| -> f64 {
                values.iter().map(|&x| (f64::from(x) - scheme.nearest(x.into(), fraction, 8)).powi(2)).sum()
            };
            let best = (-64..=64).map(squares).fold(f64::INFINITY, f64::min);
            prop_assert_eq!(squares(chosen(Method::LeastSquares, &values)), best);
        }
    }

    /// Returns the largest fraction length with which at most `allowed` numbers saturate; the
    /// smallest one if no length does.
    fn finest(values: &[f64], allowed: usize) -> i32 {
        let saturated = |fraction: i32| {
            let scaled = values.iter().map(|x| (x * 2f64.powi(fraction) + 0.5).floor());
            scaled.filter(|integer| !(-128.0..=127.0).contains(integer)).count()
        };
        (FRACTIONS.0..=FRACTIONS.1)
            .rev()
            .find(|&fraction| saturated(fraction) <= allowed)
            .unwrap_or(FRACTIONS.0)
    }

    /// Numbers of any magnitude.
    fn any_size() -> impl Strategy<Value = Vec<f32>> {
        let number = (-1.0..1.0f32, -20..40i32).prop_map(|(x, exponent)| x * 2f32.powi(exponent));
        prop::collection::vec(prop_oneof![number, Just(f32::MAX), Just(-2.0), Just(-1e30)], 1..30)
    }

    proptest! {
        #[test]
        fn extremes_just_fit(values in any_size()) {
            let reals: Vec<f64> = values.iter().map(|&x| x.into()).collect();
            prop_assert_eq!(chosen(Method::MinMax, &values), finest(&reals, 0));
        }

        /// Only magnitudes are compared, so the additional negative integer is never used.
        #[test]
        fn percentiles_just_fit(values in any_size(), percent in prop::sample::select(vec![40.0, 75.0, 90.0])) {
            let sizes: Vec<f64> = values.iter().map(|&x| f64::from(x).abs()).collect();
            let allowed = ((1.0 - percent / 100.0) * values.len() as f64) as usize;
            let expected = finest(&sizes, allowed).max(chosen(Method::MinMax, &values));
            prop_assert_eq!(chosen(Method::Percentile(percent), &values), expected);
        }

        /// Numbers in the middle of their steps give the same result for both kinds of tensors.
        #[test]
        fn samples_count_as_constants_do(steps in prop::collection::vec((0..2048u32, any::<bool>(), 1..20usize), 1..9)) {
            let value = |(step, below, _): &(u32, bool, usize)| {
                let middle = (*step as f32 + 0.5) / 32.0;
                if *below { -middle } else { middle }
            };
            // One value is above 32, so that the step width is 1/32.
            let mut values = vec![63.0 + 1.0 / 64.0];
            steps.iter().for_each(|drawn| values.extend(vec![value(drawn); drawn.2]));
            let mut seen = Distribution::default();
            seen.note(&npukit_numeric::Tensor::from_f32(vec![values.len()], values.clone()).unwrap());
            let of_seen = fraction(&Scheme::default(), Kind::Weight, Method::LeastSquares, &[Tensor::Seen(&seen)]);
            prop_assert_eq!(of_seen, chosen(Method::LeastSquares, &values));
        }
    }

    /// Saturating one number may cost less than a coarser step for all others.
    #[test]
    fn least_squares_may_saturate() {
        let mut values: Vec<f32> = (0..400).map(|i| (i % 97) as f32 / 7.0).collect();
        values.push(64.0);
        assert_eq!((chosen(Method::MinMax, &values), chosen(Method::LeastSquares, &values)), (0, 1));
    }
}
