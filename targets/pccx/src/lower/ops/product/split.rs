//! Splits 8-bit rows into two 4-bit rows: [`split`] gives the weights of a product in two passes. A
//! weight is `large * scale + small * scale of the remainder`; the second scale is about a
//! sixteenth of the first.

use std::ops::RangeInclusive;

/// A matrix as 4-bit codes, row by row, with a scale for each row.
#[derive(Clone, Debug, PartialEq)]
pub struct Codes {
    /// Codes of -8 to 7.
    pub codes: Vec<i8>,
    /// Scale of each row; may be negative.
    pub scales: Vec<f32>,
}

/// Smallest and largest code.
const ENDS: [f64; 2] = [-8.0, 7.0];
/// Ratios of the large step to the step of the remainder. With 16, each integer up to 119 can be
/// represented; with 17, the range is up to 126, and every seventeenth integer is off by one.
const RATIOS: [f32; 2] = [16.0, 17.0];
/// Maximum distance of a multiple from its integer: a few roundings of numbers up to 128.
const NEAR: f64 = 1e-4;
/// Range of the largest magnitude of a row's integers. For smaller ones, some multiple is in this
/// range; unsigned integers minus a zero point may exceed 128.
const MAGNITUDES: RangeInclusive<u8> = 64..=255;

/// Splits a matrix of `columns` finite weights per row into two parts: large, then remainder. A row
/// of 8-bit integers times a scale is represented exactly unless it exceeds 119 on both sides.
pub fn split(columns: usize, values: &[f32]) -> [Codes; 2] {
    let rows: Vec<Row> = values.chunks(columns.max(1)).map(Row::best).collect();
    let part = |part: usize| Codes {
        codes: rows.iter().flat_map(|row| row.codes.iter().map(move |pair| pair[part])).collect(),
        scales: rows.iter().map(|row| row.scales[part]).collect(),
    };
    [part(0), part(1)]
}

/// Splits a matrix with two given scales for all rows.
pub fn split_by(columns: usize, values: &[f32], scales: [f32; 2]) -> [Codes; 2] {
    let row = Row::by(values, scales);
    let rows = values.len() / columns.max(1);
    let part = |part: usize| Codes {
        codes: row.codes.iter().map(|pair| pair[part]).collect(),
        scales: vec![scales[part]; rows],
    };
    [part(0), part(1)]
}

/// Returns the pair of codes nearest to a weight.
pub fn nearest(weight: f32, scales: [f32; 2]) -> [i8; 2] {
    let [large, small] = scales.map(f64::from);
    let code = |value: f64| value.round_ties_even().clamp(ENDS[0], ENDS[1]);
    let weight = f64::from(weight);
    let middle = code(weight / large);
    let pair = |first: f64| {
        let second = code((weight - large * first) / small);
        ((weight - large * first - small * second).abs(), [first as i8, second as i8])
    };
    let others = [middle, middle + 1.0, middle - 1.0].map(|first| pair(first.clamp(ENDS[0], ENDS[1])));
    others
        .into_iter()
        .reduce(|best, other| if other.0 < best.0 { other } else { best })
        .map_or([0; 2], |best| best.1)
}

/// A candidate split of a row.
struct Row {
    codes: Vec<[i8; 2]>,
    scales: [f32; 2],
    /// Sum of the squared differences.
    error: f64,
}

impl Row {
    /// Returns the candidate with the least error among both signs and ratios, using the step of
    /// the row's integers if there is one.
    fn best(values: &[f32]) -> Self {
        let declared = step_of_integers(values);
        let tried = RATIOS.into_iter().flat_map(|ratio| [(1.0, ratio), (-1.0, ratio)]);
        let rows = tried.flat_map(|(sign, ratio)| {
            let steps = declared.into_iter().chain([fitting(values, sign, ratio)]);
            steps.map(move |step| Self::by(values, [sign * step * ratio, sign * step]))
        });
        let best = rows.reduce(|best, other| if other.error < best.error { other } else { best });
        best.unwrap_or_else(|| Self::by(values, [1.0, 1.0 / RATIOS[0]]))
    }

    fn by(values: &[f32], scales: [f32; 2]) -> Self {
        let codes: Vec<[i8; 2]> = values.iter().map(|&value| nearest(value, scales)).collect();
        let difference = |(pair, &value): (&[i8; 2], &f32)| value_of(*pair, scales) - f64::from(value);
        let error = codes.iter().zip(values).map(difference).map(|difference| difference * difference).sum();
        Self { codes, scales, error }
    }
}

/// Returns the value that a pair of codes represents.
pub fn value_of(codes: [i8; 2], scales: [f32; 2]) -> f64 {
    codes.iter().zip(scales).map(|(&code, scale)| f64::from(code) * f64::from(scale)).sum()
}

/// Returns the smallest step of the remainder for which no weight of the row saturates.
fn fitting(values: &[f32], sign: f32, ratio: f32) -> f32 {
    let end = |end: f64| ((f64::from(ratio) + 1.0) * end) as f32;
    let [lowest, highest] = ENDS.map(end);
    let step = values
        .iter()
        .map(|value| value * sign)
        .fold(0f32, |step, value| step.max(if value < 0.0 { value / lowest } else { value / highest }));
    if step.is_normal() { step } else { 1.0 }
}

/// Returns the step for which all weights of a row are multiples by 8-bit integers, up to rounding;
/// `None` if no step fits. Among several, the largest one is chosen, so that the integers
/// are smallest.
pub fn step_of_integers(values: &[f32]) -> Option<f32> {
    let largest = values.iter().fold(0f32, |largest, value| largest.max(value.abs()));
    let is_integer = |value: &f32, step: f32| {
        let multiple = f64::from(*value) / f64::from(step);
        (multiple - multiple.round()).abs() <= NEAR
    };
    let steps = MAGNITUDES.map(|magnitude| largest / f32::from(magnitude));
    let mut found =
        steps.filter(|&step| step.is_normal() && values.iter().all(|value| is_integer(value, step)));
    found.next()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;

    use super::*;

    fn values(split: &[Codes; 2], columns: usize) -> Vec<f64> {
        let [large, small] = split;
        let value = |place: usize| {
            let row = place / columns;
            value_of([large.codes[place], small.codes[place]], [large.scales[row], small.scales[row]])
        };
        (0..large.codes.len()).map(value).collect()
    }

    /// The largest magnitude of an int8 row is usually 127; the row may be negated so that -127 is
    /// a code.
    #[test]
    fn integers_of_8_bits_are_kept() {
        for integers in
            [[127, -119, 3, 0, 64], [-127, 119, 1, -8, 7], [-128, 8, 7, 40, -9], [119, -3, 2, 1, 0]]
        {
            for scale in [0.0371, 1.0, 3e-5] {
                let row: Vec<f32> = integers.iter().map(|&integer| integer as f32 * scale).collect();
                let found = values(&split(5, &row), 5);
                for (found, integer) in found.iter().zip(integers) {
                    let exact = f64::from(integer) * f64::from(scale);
                    assert!((found - exact).abs() <= 2e-7 * f64::from(128.0 * scale), "{integer}: {found}");
                }
            }
        }
        // In rows that exceed 119 on both sides, values are off by at most one.
        let found = values(&split(4, &[127.0, -127.0, 8.0, 25.0]), 4);
        assert!(
            found.iter().zip([127.0, -127.0, 8.0, 25.0]).all(|(found, exact)| (found - exact).abs() <= 1.1)
        );
    }

    #[test]
    fn rows_of_zeros_and_none_are_taken() {
        assert_eq!(values(&split(3, &[0.0; 6]), 3), [0.0; 6]);
        assert!(split(3, &[])[0].codes.is_empty());
    }

    proptest! {
        /// The error is at most half a step, which is about 1/127 of the largest weight (1/7 with
        /// one pass), and no pair of codes is nearer.
        #[test]
        fn half_a_step_at_most(row in prop::collection::vec(-1e3f32..1e3, 1..40)) {
            let columns = row.len();
            let found = split(columns, &row);
            let scales = [found[0].scales[0], found[1].scales[0]];
            let largest = row.iter().fold(0f32, |largest, value| largest.max(value.abs()));
            for (place, (found, &value)) in values(&found, columns).into_iter().zip(&row).enumerate() {
                prop_assert!((found - f64::from(value)).abs() <= f64::from(largest) / 110.0, "{place}");
                let own = (found - f64::from(value)).abs();
                for large in -8..=7i8 {
                    for small in -8..=7i8 {
                        let other = (value_of([large, small], scales) - f64::from(value)).abs();
                        prop_assert!(own <= other + 1e-9 * f64::from(largest));
                    }
                }
            }
        }
    }
}
