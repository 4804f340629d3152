//! [`Comparison`]: how much outputs differ from the float reference, and whether they still carry
//! information.

use crate::numbers::classes::agreement;
use crate::report::comparison::Comparison;
use crate::run::stack::Stack;

/// Relative to the deviation of the outputs from their mean: a larger difference leaves less than 1
/// dB, so no information.
const NO_INFORMATION: f64 = 0.9;

/// Compares outputs with the same names, shapes and samples. Their order does not matter.
pub(crate) fn compare(ours: &[Stack], reference: &[Stack]) -> Comparison {
    let pairs = by_name(ours, reference);
    let outputs: Vec<Sums> = pairs.iter().map(|(a, b)| Sums::of(a, b)).collect();
    let all = outputs.iter().fold(Sums::default(), |all, output| all.merged(output));
    // An output without finite numbers has no figures, so it cannot be the worst one.
    let are_numbers = |_: &f64| all.largest.is_finite();
    let positions = pairs.iter().filter_map(|(a, b)| agreement(a, b));
    let (agree, positions) = positions.fold((0, 0), |(agree, all), (a, n)| (agree + a, all + n));
    let decibels = outputs.iter().filter_map(Sums::decibels).reduce(f64::min).filter(are_numbers);
    Comparison {
        max_abs_error: all.largest,
        rms_error: all.rms(),
        relative_error: outputs.iter().filter_map(Sums::relative).reduce(worst).filter(are_numbers),
        signal_to_noise_db: decibels,
        snr_db: decibels,
        argmax_agree: (positions > 0).then(|| agree as f64 / positions as f64),
        informative: outputs.iter().all(Sums::is_informative),
    }
}

/// Pairs outputs by name, in the order of `ours`. A model may return one value twice under the same
/// name; then both are paired.
fn by_name<'a>(ours: &'a [Stack], reference: &'a [Stack]) -> Vec<(&'a Stack, &'a Stack)> {
    let pair = |stack: &'a Stack| Some((stack, reference.iter().find(|other| other.name == stack.name)?));
    ours.iter().filter_map(pair).collect()
}

/// Sums over the elements of an output, in the order of the samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums {
    values: u64,
    /// Largest absolute difference.
    largest: f64,
    /// Sum of the squared differences.
    squares: f64,
    /// Sum, sum of squares, smallest and largest element of the reference.
    sum: f64,
    signal: f64,
    range: [f64; 2],
}

impl Default for Sums {
    fn default() -> Self {
        let range = [f64::INFINITY, f64::NEG_INFINITY];
        Self { values: 0, largest: 0.0, squares: 0.0, sum: 0.0, signal: 0.0, range }
    }
}

impl Sums {
    fn of(ours: &Stack, reference: &Stack) -> Self {
        let mut sums = Self::default();
        for (a, b) in ours.samples.iter().zip(&reference.samples) {
            a.reals().into_iter().zip(b.reals()).for_each(|(a, b)| sums.add(a, b));
        }
        sums
    }

    /// Adds an element and its reference value.
    pub fn add(&mut self, ours: f64, reference: f64) {
        let difference = difference(ours, reference);
        self.values += 1;
        self.largest = worst(self.largest, difference);
        self.squares += difference * difference;
        self.sum += reference;
        self.signal += reference * reference;
        self.range = [self.range[0].min(reference), self.range[1].max(reference)];
    }

    /// Merges the sums of two sets of elements.
    pub fn merged(mut self, other: &Self) -> Self {
        self.values += other.values;
        self.largest = worst(self.largest, other.largest);
        self.squares += other.squares;
        self.sum += other.sum;
        self.signal += other.signal;
        self.range = [self.range[0].min(other.range[0]), self.range[1].max(other.range[1])];
        self
    }

    /// Returns the largest absolute difference.
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// Returns the root mean square of the differences.
    pub fn rms(&self) -> f64 {
        (self.squares / self.values.max(1) as f64).sqrt()
    }

    /// Returns the largest difference as a share of the reference's range, or of its magnitude if
    /// all elements are equal.
    pub fn relative(&self) -> Option<f64> {
        let [low, high] = self.range;
        let range = if high > low { high - low } else { high.abs() };
        (range > 0.0 && self.largest.is_finite()).then(|| self.largest / range)
    }

    /// Returns the signal-to-noise ratio in decibels, or `None` without differences.
    pub fn decibels(&self) -> Option<f64> {
        let decibels = 10.0 * (self.signal / self.squares).log10();
        (self.squares > 0.0 && decibels.is_finite()).then_some(decibels)
    }

    /// Returns the smallest and the largest element of the reference.
    pub fn range(&self) -> [f64; 2] {
        self.range
    }

    /// Whether the differences are smaller than the deviations of the reference from its mean.
    fn is_informative(&self) -> bool {
        let values = self.values.max(1) as f64;
        let spread = (self.signal / values - (self.sum / values).powi(2)).max(0.0);
        // If all elements are equal, their magnitude is all that is known.
        let known = if self.range[0] < self.range[1] { spread } else { self.signal / values };
        self.squares == 0.0 || (self.squares / values).sqrt() < NO_INFORMATION * known.sqrt()
    }
}

/// Returns the absolute difference: 0 for equal infinities, NaN if one operand is NaN.
pub(crate) fn difference(a: f64, b: f64) -> f64 {
    if a == b { 0.0 } else { (a - b).abs() }
}

/// Returns the larger of two differences; NaN counts as the largest.
pub(crate) fn worst(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_numeric::Tensor;

    use super::*;

    fn stack(samples: &[&[f32]]) -> Stack {
        let tensor = |sample: &&[f32]| Tensor::from_f32(vec![1, sample.len()], sample.to_vec()).unwrap();
        let samples: Vec<Tensor> = samples.iter().map(tensor).collect();
        let shape = samples[0].shape().to_vec();
        Stack { name: "y".into(), shape, samples, ..Stack::default() }
    }

    fn compared(ours: &[&[f32]], reference: &[&[f32]]) -> Comparison {
        compare(&[stack(ours)], &[stack(reference)])
    }

    #[test]
    fn a_comparison_counts_every_value() {
        let found = compared(&[&[0.0, 2.0, 1.0], &[0.0, 0.0, 1.0]], &[&[0.0, 2.0, 4.0], &[0.0, 0.0, 1.0]]);
        assert_eq!((found.max_abs_error, found.argmax_agree), (3.0, Some(0.5)));
        assert!((found.rms_error - (9.0f64 / 6.0).sqrt()).abs() < 1e-12);
        assert_eq!(found.relative_error, Some(0.75), "of the range 0 to 4");
        let decibels = 10.0 * (21.0f64 / 9.0).log10();
        assert!((found.signal_to_noise_db.unwrap() - decibels).abs() < 1e-12);
        let same = compared(&[&[1.0, 2.0]], &[&[1.0, 2.0]]);
        assert_eq!((same.relative_error, same.signal_to_noise_db, same.informative), (Some(0.0), None, true));
    }

    /// `f64::max` would ignore NaN, and report that nothing differs.
    #[test]
    fn nan_is_the_largest_difference() {
        for (ours, reference) in
            [([0.0, f32::NAN, 9.0], [0.0, 1.0, 2.0]), ([0.0, 1.0, 2.0], [0.0, f32::NAN, 9.0])]
        {
            let found = compared(&[&ours], &[&reference]);
            assert!(
                found.max_abs_error.is_nan() && found.rms_error.is_nan() && !found.informative,
                "{found:?}"
            );
            assert_eq!(
                (found.relative_error, found.signal_to_noise_db, found.argmax_agree),
                (None, None, Some(0.0))
            );
            let json = serde_json::to_string(&found).unwrap();
            assert!(json.contains(r#""max_abs_error":null"#), "{json}");
        }
        let infinite = compared(&[&[0.0, f32::INFINITY]], &[&[0.0, f32::INFINITY]]);
        assert_eq!(infinite.max_abs_error, 0.0, "the same infinity");
        assert_eq!(compared(&[&[0.0, 1.0]], &[&[0.0, f32::INFINITY]]).max_abs_error, f64::INFINITY);
    }

    #[test]
    fn outputs_that_tell_nothing_are_called_that() {
        let float: &[f32] = &[0.01, -0.04, 0.03, 0.02];
        assert!(!compared(&[&[0.0; 4]], &[float]).informative, "all of it vanished");
        assert!(!compared(&[&[5.0; 4]], &[&[5.01, 4.99, 5.02, 4.98]]).informative, "only the mean is left");
        assert!(compared(&[&[0.01, -0.03, 0.03, 0.01]], &[float]).informative);
        // A single output is judged by its magnitude.
        assert!(compared(&[&[0.5]], &[&[0.51]]).informative && !compared(&[&[0.0]], &[&[0.51]]).informative);
    }

    #[test]
    fn outputs_are_compared_by_their_names() {
        let named = |name: &str, values: &[f32]| Stack { name: name.into(), ..stack(&[values]) };
        let ours = [named("w", &[1.0, 2.0]), named("y", &[30.0, 40.0, 50.0])];
        let reference = [named("y", &[30.0, 40.0, 51.0]), named("w", &[1.0, 2.0])];
        assert_eq!(compare(&ours, &reference).max_abs_error, 1.0);
    }

    #[test]
    fn the_worst_output_counts() {
        let good = Stack { name: "good".into(), ..stack(&[&[1.0, 100.0]]) };
        let found = compare(&[good.clone(), stack(&[&[0.0, 0.5]])], &[good, stack(&[&[0.0, 1.0]])]);
        assert_eq!((found.max_abs_error, found.relative_error), (0.5, Some(0.5)));
    }
}
