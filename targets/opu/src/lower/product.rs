//! [`Product`]: sums of pointwise products over taps, the first step of every layer.

use std::sync::Arc;

use npukit_numeric::Tensor;

use super::map::PlaneId;

/// Matrix from elements of the operand to channels of the result.
#[derive(Clone, Debug)]
pub enum Weights {
    /// Row-major, with one row per element of the operand.
    Rows {
        /// Matrix of any shape; its last axis is the result's channels.
        matrix: Arc<Tensor>,
        /// Number of channels of the result.
        columns: usize,
    },
    /// Row-major, with one row per channel of the result.
    Columns {
        /// Matrix of the weights.
        matrix: Arc<Tensor>,
        /// Number of elements of the operand.
        rows: usize,
    },
    /// Weights of a grouped convolution: `[tap, channel in its group, result]`.
    Grouped {
        /// The weights.
        matrix: Arc<Tensor>,
        /// Input and output channels per group.
        group: [usize; 2],
        /// Total input and output channels.
        channels: [usize; 2],
    },
    /// Each channel of the operand is multiplied by its factor and added to the same channel of the
    /// result.
    Diagonal {
        /// Factor of each channel.
        factors: Vec<f32>,
        /// Number of taps over which `factors` are divided, so that their sum is exact after
        /// rounding.
        taps: usize,
    },
}

impl Part {
    /// Creates a part of terms with one matrix; the terms of a plane are sorted to follow each
    /// other.
    pub fn new(weights: Weights, strides: [usize; 2], mut terms: Vec<Term>) -> Self {
        terms.sort_by_key(|term| term.plane);
        Self { weights, strides, terms }
    }
}

impl Weights {
    /// Returns the identity on `channels` channels, times `factor`.
    pub fn identity(channels: usize, factor: f32) -> Self {
        Self::Diagonal { factors: vec![factor; channels], taps: 1 }
    }

    /// Returns the weight from `row` to `column`.
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

    /// Whether any weight from `rows` (of one tap) to `columns` may be non-zero.
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

/// Tap of some channels of a plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Plane that is read.
    pub plane: PlaneId,
    /// First channel in the plane.
    pub lane: usize,
    /// Number of channels.
    pub channels: usize,
    /// Pixel of the plane that the first pixel of the result reads; pixels outside the plane are
    /// zero.
    pub at: [isize; 2],
    /// Row of the weights for the first channel.
    pub row: usize,
}

/// Terms that share a matrix of weights.
#[derive(Clone, Debug)]
pub struct Part {
    /// Matrix of the weights.
    pub weights: Weights,
    /// Rows and columns of the operand between adjacent pixels of the result.
    pub strides: [usize; 2],
    /// Terms; the terms of one plane follow each other.
    pub terms: Vec<Term>,
}

/// Sum of products, `bias[k] + sum over parts, terms and channels of weight * operand`.
#[derive(Clone, Debug)]
pub struct Product {
    /// Rows and columns of the result.
    pub size: [usize; 2],
    /// Number of channels of the result.
    pub channels: usize,
    /// Parts that are summed.
    pub parts: Vec<Part>,
    /// Factor of each channel's weights; `None` if all are 1.
    pub factors: Option<Vec<f32>>,
    /// Initial values of the sums, by channel.
    pub bias: Option<Vec<f32>>,
}

impl Product {
    /// Returns the weight from `row` of part `part` to channel `column`, times the channel's
    /// factor.
    pub fn weight(&self, part: &Part, row: usize, column: usize) -> f32 {
        let weight = part.weights.at(row, column);
        self.factors.as_ref().map_or(weight, |factors| weight * factors[column])
    }

    /// Multiplies by a factor and adds a constant, by channel.
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

    /// Adds another sum of products of the same size; returns false if their factors differ.
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

    /// Terms whose weights are all zero are not loaded. A matrix connects rows and columns if one
    /// of their elements may be non-zero.
    #[test]
    fn channels_are_connected_by_the_elements_of_the_matrix() {
        let ones = |shape: [usize; 2]| {
            Arc::new(Tensor::from_f32(shape.to_vec(), vec![1.0; shape[0] * shape[1]]).unwrap())
        };
        for (weights, rows, columns) in [
            (Weights::Rows { matrix: ones([6, 4]), columns: 4 }, 6, 4),
            (Weights::Columns { matrix: ones([4, 6]), rows: 6 }, 6, 4),
            // Two groups of 3 to 2 channels, and three groups of 2 to 2 channels.
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
