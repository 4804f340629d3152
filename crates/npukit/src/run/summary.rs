//! [`Summary`]: statistics of the elements of an output, over all samples.

use npukit_numeric::Tensor;
use serde::Serialize;

/// Statistics of the elements of an output, over all samples. Elements that are not finite are only
/// counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Summary {
    /// Smallest finite element; `None` if no element is finite.
    pub min: Option<f64>,
    /// Largest finite element; `None` if no element is finite.
    pub max: Option<f64>,
    /// Mean of the finite elements; `None` if no element is finite.
    pub mean: Option<f64>,
    /// Number of NaN elements.
    pub nan: u64,
    /// Number of infinite elements.
    pub infinite: u64,
    /// Distribution of the finite elements.
    pub histogram: Histogram,
}

/// Histogram of finite elements: `counts[i]` of them are at least `edges[i]` and below `edges[i +
/// 1]`. The last bin includes its upper edge. Empty if no element is finite.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Histogram {
    /// Edges of the bins in ascending order, one more than bins.
    pub edges: Vec<f64>,
    /// Number of elements in each bin.
    pub counts: Vec<u64>,
}

/// Number of bins of a histogram, unless all elements are equal.
const BINS: usize = 10;

impl Summary {
    /// Summarizes the elements of these tensors.
    pub(crate) fn of(samples: &[Tensor]) -> Self {
        let mut summary = Self::default();
        let (mut sum, mut finite) = (0.0, 0_u64);
        for value in samples.iter().flat_map(Tensor::reals) {
            if value.is_finite() {
                summary.min = Some(summary.min.map_or(value, |min| min.min(value)));
                summary.max = Some(summary.max.map_or(value, |max| max.max(value)));
                (sum, finite) = (sum + value, finite + 1);
            } else if value.is_nan() {
                summary.nan += 1;
            } else {
                summary.infinite += 1;
            }
        }
        summary.mean = (finite > 0).then(|| sum / finite as f64);
        if let (Some(min), Some(max)) = (summary.min, summary.max) {
            summary.histogram = Histogram::of(samples, min, max);
        }
        summary
    }
}

impl Histogram {
    /// Counts the finite elements, which are in `min` to `max`.
    fn of(samples: &[Tensor], min: f64, max: f64) -> Self {
        let bins = if max > min { BINS } else { 1 };
        let width = (max - min) / bins as f64;
        let mut counts = vec![0; bins];
        for value in samples.iter().flat_map(Tensor::reals).filter(|value| value.is_finite()) {
            // The largest element is at the upper edge of the last bin. If all elements are equal,
            // there is only one bin.
            let bin = if width > 0.0 { ((value - min) / width) as usize } else { 0 };
            counts[bin.min(bins - 1)] += 1;
        }
        let edge = |bin: usize| if bin == bins { max } else { min + width * bin as f64 };
        Self { edges: (0..=bins).map(edge).collect(), counts }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_numeric::TensorData;

    use super::*;

    fn summary(values: &[f32]) -> Summary {
        Summary::of(&[Tensor::from_f32(vec![values.len()], values.to_vec()).unwrap()])
    }

    #[test]
    fn every_element_is_in_one_place() {
        let values: Vec<f32> = (0..=20).map(|i| i as f32 / 2.0).collect();
        let Summary { min, max, mean, nan, infinite, histogram } = summary(&values);
        assert_eq!((min, max, mean, nan, infinite), (Some(0.0), Some(10.0), Some(5.0), 0, 0));
        assert_eq!(histogram.edges, (0..=10).map(f64::from).collect::<Vec<_>>());
        assert_eq!(histogram.counts, [2, 2, 2, 2, 2, 2, 2, 2, 2, 3]);
    }

    #[test]
    fn what_is_not_finite_is_counted_apart() {
        let found = summary(&[1.0, f32::NAN, f32::INFINITY, 3.0, f32::NEG_INFINITY]);
        assert_eq!((found.min, found.max, found.mean), (Some(1.0), Some(3.0), Some(2.0)));
        assert_eq!((found.nan, found.infinite, found.histogram.counts.iter().sum::<u64>()), (1, 2, 2));
        let none = summary(&[f32::NAN]);
        assert_eq!((none.min, none.mean, none.nan, none.histogram), (None, None, 1, Histogram::default()));
        assert_eq!(Summary::of(&[]), Summary::default());
    }

    #[test]
    fn equal_elements_have_one_place() {
        let found = summary(&[4.0; 3]);
        assert_eq!((found.histogram.edges, found.histogram.counts), (vec![4.0, 4.0], vec![3]));
        // The difference of these values is too small to be divided.
        let tiny = summary(&[0.0, f32::from_bits(1), 0.0]);
        assert_eq!(tiny.histogram.counts.iter().sum::<u64>(), 3);
    }

    #[test]
    fn integers_and_truth_values_are_numbers() {
        let integers = Tensor::new(vec![3], TensorData::I64(vec![-7, 0, 7])).unwrap();
        assert_eq!(Summary::of(&[integers]).mean, Some(0.0));
        let truths = Tensor::new(vec![4], TensorData::Bool(vec![true, false, true, true])).unwrap();
        assert_eq!(Summary::of(&[truths]).histogram.counts, [1, 0, 0, 0, 0, 0, 0, 0, 0, 3]);
    }
}
