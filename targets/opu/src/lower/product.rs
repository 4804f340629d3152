//! [`Product`]: sums of pointwise products over taps, what every layer computes first.

use std::sync::Arc;

use npukit_numeric::Tensor;

use super::map::PlaneId;

/// A matrix from elements of the operand to channels of the result.
#[derive(Clone, Debug)]
pub enum Weights {
    /// Row-major, a row for each element of the operand.
    Rows {
        /// The matrix, of any shape whose last axis counts the result's channels.
        matrix: Arc<Tensor>,
        /// Channels of the result.
        columns: usize,
    },
    /// Row-major, a row for each channel of the result.
    Columns {
        /// The matrix.
        matrix: Arc<Tensor>,
        /// Elements of the operand.
        rows: usize,
    },
    /// Of a convolution in groups: `[tap, channel in its group, result]`.
    Grouped {
        /// The weights.
        matrix: Arc<Tensor>,
        /// Input and output channels of a group.
        group: [usize; 2],
        /// Input and output channels.
        channels: [usize; 2],
    },
    /// Each channel of the operand times its factor goes to the same channel of the result.
    Diagonal {
        /// Factor of each channel.
        factors: Vec<f32>,
        /// Taps over which `factors` are divided, so that their sum is exact after rounding.
        taps: usize,
    },
}

impl Part {
    /// Terms with one matrix, those of a plane one after the other.
    pub fn new(weights: Weights, strides: [usize; 2], mut terms: Vec<Term>) -> Self {
        terms.sort_by_key(|term| term.plane);
        Self { weights, strides, terms }
    }
}

impl Weights {
    /// The identity on `channels` channels, times `factor`.
    pub fn identity(channels: usize, factor: f32) -> Self {
        Self::Diagonal { factors: vec![factor; channels], taps: 1 }
    }

    /// What leads from `row` to `column`.
    pub fn at(&self, row: usize, column: usize) -> f32 {
        let element =
            |matrix: &Tensor, index: usize| matrix.as_f32().expect("weights are constants of floats")[index];
        match self {
            Self::Rows { matrix, columns } => element(matrix, row * columns + column),
            Self::Columns { matrix, rows } => element(matrix, column * rows + row),
            Self::Grouped { matrix, group, channels } => {
                let (tap, channel) = (row / channels[0], row % channels[0]);
                match channel.checked_sub(column / group[1] * group[0]) {
                    Some(channel) if channel < group[0] => {
                        element(matrix, (tap * group[0] + channel) * channels[1] + column)
                    }
                    _ => 0.0,
                }
            }
            Self::Diagonal { factors, .. } if row % factors.len() == column => factors[column],
            Self::Diagonal { .. } => 0.0,
        }
    }

    /// Whether something leads from `rows` (of one tap) to `columns`.
    pub fn connects(&self, rows: &std::ops::Range<usize>, columns: &std::ops::Range<usize>) -> bool {
        let meet =
            |first: usize, end: usize, other: &std::ops::Range<usize>| first < other.end && other.start < end;
        match self {
            Self::Rows { .. } | Self::Columns { .. } => true,
            Self::Grouped { group, channels, .. } => {
                let first = columns.start / group[1] * group[0];
                let end = columns.end.div_ceil(group[1]) * group[0];
                let start = rows.start % channels[0];
                meet(first, end, &(start..start + rows.len()))
            }
            Self::Diagonal { factors, .. } => {
                let start = rows.start % factors.len();
                meet(columns.start, columns.end, &(start..start + rows.len()))
            }
        }
    }
}

/// A tap of some channels of a plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The plane.
    pub plane: PlaneId,
    /// First channel there.
    pub lane: usize,
    /// Number of channels.
    pub channels: usize,
    /// Pixel of the plane that the first pixel of the result meets; outside it are zeros.
    pub at: [isize; 2],
    /// Row of the weights for the first channel.
    pub row: usize,
}

/// Terms with one matrix of weights.
#[derive(Clone, Debug)]
pub struct Part {
    /// The weights.
    pub weights: Weights,
    /// Rows and columns from a pixel of the operand to that of the result's next pixel.
    pub strides: [usize; 2],
    /// The terms; those of a plane follow each other.
    pub terms: Vec<Term>,
}

/// A sum of products, `bias[k] + sum over parts, terms and channels of weight * operand`.
#[derive(Clone, Debug)]
pub struct Product {
    /// Rows and columns of the result.
    pub size: [usize; 2],
    /// Channels of the result.
    pub channels: usize,
    /// What is summed up.
    pub parts: Vec<Part>,
    /// Factor of each channel's weights, when not 1.
    pub factors: Option<Vec<f32>>,
    /// What the sums begin with.
    pub bias: Option<Vec<f32>>,
}

impl Product {
    /// What leads from `row` of part `part` to channel `column`.
    pub fn weight(&self, part: &Part, row: usize, column: usize) -> f32 {
        let weight = part.weights.at(row, column);
        self.factors.as_ref().map_or(weight, |factors| weight * factors[column])
    }

    /// Multiplies and adds by channel.
    pub fn then(&mut self, affine: &[[f64; 2]]) {
        let own = |values: &Option<Vec<f32>>, k: usize, default: f64| {
            values.as_ref().map_or(default, |values| f64::from(values[k]))
        };
        let channels = || affine.iter().enumerate();
        let bias = channels()
            .map(|(k, [factor, addend])| (own(&self.bias, k, 0.0) * factor + addend) as f32)
            .collect();
        let factors =
            channels().map(|(k, [factor, _])| (own(&self.factors, k, 1.0) * factor) as f32).collect();
        (self.bias, self.factors) = (Some(bias), Some(factors));
    }

    /// Adds another sum of products of the same size; false when their factors differ.
    pub fn add(&mut self, other: Self) -> bool {
        if self.factors.is_some() || other.factors.is_some() {
            return false;
        }
        self.parts.extend(other.parts);
        self.bias = match (self.bias.take(), other.bias) {
            (Some(a), Some(b)) => Some(a.iter().zip(&b).map(|(a, b)| a + b).collect()),
            (a, b) => a.or(b),
        };
        true
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Terms whose weights are all zero are not loaded: a matrix connects what has an element that may not be.
    #[test]
    fn channels_are_connected_by_the_elements_of_the_matrix() {
        let ones = |shape: [usize; 2]| {
            Arc::new(Tensor::from_f32(shape.to_vec(), vec![1.0; shape[0] * shape[1]]).unwrap())
        };
        for (weights, rows, columns) in [
            (Weights::Rows { matrix: ones([6, 4]), columns: 4 }, 6, 4),
            (Weights::Columns { matrix: ones([4, 6]), rows: 6 }, 6, 4),
            // Two groups of 3 to 2 channels, and three of 2 to 2.
            (Weights::Grouped { matrix: ones([3, 4]), group: [3, 2], channels: [6, 4] }, 6, 4),
            (Weights::Grouped { matrix: ones([2, 6]), group: [2, 2], channels: [6, 6] }, 6, 6),
            (Weights::Diagonal { factors: vec![1.0; 5], taps: 1 }, 5, 5),
        ] {
            for (first, end) in (0..rows).flat_map(|first| (first + 1..=rows).map(move |end| (first, end))) {
                for (from, to) in (0..columns).flat_map(|from| (from + 1..=columns).map(move |to| (from, to)))
                {
                    let any = (first..end).any(|row| (from..to).any(|column| weights.at(row, column) != 0.0));
                    assert_eq!(weights.connects(&(first..end), &(from..to)), any, "{weights:?}");
                }
            }
        }
    }

    #[test]
    fn columns_are_rows_of_the_other_matrix() {
        let matrix = Arc::new(Tensor::from_f32(vec![2, 3], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).unwrap());
        let columns = Weights::Columns { matrix: Arc::clone(&matrix), rows: 3 };
        let rows = Weights::Rows { matrix, columns: 3 };
        assert_eq!((columns.at(2, 1), rows.at(1, 2), rows.at(0, 1)), (5.0, 5.0, 1.0));
    }
}
