//! Quantization of weights to 4 bits with one scale per row: [`Int4Rows`].
//!
//! A row holds the weights of one output channel. [`quantize_weights`] quantizes every constant
//! matrix that a graph multiplies by. [`WeightedRounding`] considers typical inputs of a matrix.

mod cholesky;
mod moments;
mod weighted;

use std::sync::Arc;

use npukit_numeric::{Tensor, nearest_code};

use crate::ir::{Graph, ValueId};
use crate::op::Op;

pub use moments::InputMoments;
pub use weighted::WeightedRounding;

/// Largest magnitude of a generated code; -8 exists in memory, and is kept if a model uses it.
const LARGEST: f32 = 7.0;

/// Reason why weights cannot be quantized.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum RowsError {
    /// The number of weights does not match the shape.
    #[error("{rows} rows of {columns} weights need {expected} values, but there are {found}")]
    Length {
        /// Number of rows.
        rows: usize,
        /// Number of weights of a row.
        columns: usize,
        /// Required number of weights; saturated.
        expected: usize,
        /// Actual number of weights.
        found: usize,
    },
    /// A weight is infinite or NaN.
    #[error("the weight in row {row}, column {column} is {value}: quantization needs finite weights")]
    NotFinite {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// Value of the weight.
        value: f32,
    },
}

/// Checks that `values` are `rows` rows of `columns` finite numbers.
///
/// # Errors
///
/// [`RowsError::Length`] if there are not `rows * columns` values; [`RowsError::NotFinite`] for the
/// first value that is infinite or NaN.
pub fn check(rows: usize, columns: usize, values: &[f32]) -> Result<(), RowsError> {
    let expected = rows.saturating_mul(columns);
    if values.len() != expected {
        return Err(RowsError::Length { rows, columns, expected, found: values.len() });
    }
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => {
            let (row, column) = (index / columns, index % columns);
            Err(RowsError::NotFinite { row, column, value: values[index] })
        }
        None => Ok(()),
    }
}

/// A matrix as 4-bit integers, -8 to 7, and one scale per row: a weight is `code * scale`.
#[derive(Clone, Debug, PartialEq)]
pub struct Int4Rows {
    columns: usize,
    codes: Vec<i8>,
    scales: Vec<f32>,
}

/// Error of quantized weights.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WeightError {
    /// Largest absolute difference.
    pub max: f64,
    /// Root mean square difference.
    pub rms: f64,
    /// Root mean square difference divided by the root mean square of the weights; 0 if all weights
    /// are 0.
    pub relative: f64,
}

impl Int4Rows {
    /// Quantizes `values`, `rows` rows of `columns`. The scale of a row is its largest magnitude /
    /// 7; codes are rounded to nearest, ties to even. A row of zeros has scale 1.
    ///
    /// Source: 3.3 and 4.4.4 of the specification of 4-bit weights that the golden vectors of this
    /// form follow.
    ///
    /// # Errors
    ///
    /// [`RowsError::Length`] if there are not `rows * columns` values; [`RowsError::NotFinite`] for
    /// the first value that is infinite or NaN.
    pub fn new(rows: usize, columns: usize, values: &[f32]) -> Result<Self, RowsError> {
        Self::of_rows(rows, columns, values, |row| (row_scale(row), LARGEST))
    }

    /// Like [`Int4Rows::new`], with one given scale for all rows. Larger weights saturate to code 7
    /// or -7.
    ///
    /// # Errors
    ///
    /// See [`Int4Rows::new`].
    pub fn with_scale(rows: usize, columns: usize, values: &[f32], scale: f32) -> Result<Self, RowsError> {
        Self::of_rows(rows, columns, values, |_| (scale, LARGEST))
    }

    /// Like [`Int4Rows::new`], but a row that already consists of 4-bit integers (-8 allowed) times
    /// a scale is kept exactly. A model with 4-bit weights and one scale per row loses nothing.
    ///
    /// # Errors
    ///
    /// See [`Int4Rows::new`].
    pub fn keeping(rows: usize, columns: usize, values: &[f32]) -> Result<Self, RowsError> {
        Self::of_rows(rows, columns, values, |row| match kept_scale(row) {
            Some(scale) => (scale, LARGEST + 1.0),
            None => (row_scale(row), LARGEST),
        })
    }

    /// Like [`Int4Rows::new`], with the scale of least squared error for each row, and with codes
    /// of -8. The largest weights may saturate.
    ///
    /// # Errors
    ///
    /// See [`Int4Rows::new`].
    pub fn searched(rows: usize, columns: usize, values: &[f32]) -> Result<Self, RowsError> {
        Self::of_rows(rows, columns, values, |row| (searched_scale(row, None), LARGEST + 1.0))
    }

    /// Quantizes each row with the result of `scale`: the row's scale, and the magnitude of its
    /// smallest code.
    fn of_rows(
        rows: usize,
        columns: usize,
        values: &[f32],
        scale: impl Fn(&[f32]) -> (f32, f32),
    ) -> Result<Self, RowsError> {
        check(rows, columns, values)?;
        let mut codes = Vec::with_capacity(values.len());
        let mut scales = Vec::with_capacity(rows);
        for row in (0..rows).map(|row| &values[row * columns..][..columns]) {
            let (scale, below) = scale(row);
            codes.extend(row.iter().map(|value| code(*value, scale, below)));
            scales.push(scale);
        }
        Ok(Self { columns, codes, scales })
    }

    /// Returns the number of rows: output channels.
    pub fn rows(&self) -> usize {
        self.scales.len()
    }

    /// Returns the number of weights of a row.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the codes, row by row.
    pub fn codes(&self) -> &[i8] {
        &self.codes
    }

    /// Returns the scale of each row.
    pub fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// Returns the codes of each row and its scale.
    pub fn iter(&self) -> impl Iterator<Item = (&[i8], f32)> {
        let row = |row: usize| &self.codes[row * self.columns..][..self.columns];
        self.scales.iter().enumerate().map(move |(index, &scale)| (row(index), scale))
    }

    /// Returns the weights that the codes represent, row by row.
    pub fn dequantized(&self) -> Vec<f32> {
        self.iter()
            .flat_map(|(codes, scale)| codes.iter().map(move |&code| f32::from(code) * scale))
            .collect()
    }

    /// Returns the error relative to `values`, the original weights.
    pub fn error(&self, values: &[f32]) -> WeightError {
        let (mut max, mut squares, mut energy) = (0f64, 0.0, 0.0);
        for (found, &value) in self.dequantized().into_iter().zip(values) {
            let difference = f64::from(found) - f64::from(value);
            max = max.max(difference.abs());
            squares += difference * difference;
            energy += f64::from(value) * f64::from(value);
        }
        let count = values.len().max(1) as f64;
        let relative = if energy > 0.0 { (squares / energy).sqrt() } else { 0.0 };
        WeightError { max, rms: (squares / count).sqrt(), relative }
    }
}

/// Returns the scale of a row of finite weights.
fn row_scale(row: &[f32]) -> f32 {
    let largest = row.iter().fold(0f32, |largest, value| largest.max(value.abs()));
    let scale = largest / LARGEST;
    if scale > 0.0 { scale } else { 1.0 }
}

/// Returns the scale for which the codes of a row have the least squared error, each weight counted
/// by its factor if there are any.
fn searched_scale(row: &[f32], factors: Option<&[f32]>) -> f32 {
    let most = row_scale(row);
    let error = |scale: f32| -> f32 {
        let inverse = 1.0 / scale;
        let square = |value: &f32| (value - nearest(value * inverse) * scale).powi(2);
        match factors {
            None => row.iter().map(square).sum(),
            Some(factors) => row.iter().zip(factors).map(|(value, factor)| factor * square(value)).sum(),
        }
    };
    let mut best = (f32::INFINITY, most);
    for share in (0..SHARES).map(|step| 1.0 - 0.05 * step as f32) {
        let error = error(most * share);
        if error < best.0 {
            best = (error, most * share);
        }
    }
    best.1
}

/// Number of scales that are tried: the largest one, less a twentieth each.
const SHARES: usize = 12;

/// Returns the code from -8 to 7 that is nearest to a number, ties to even.
fn nearest(number: f32) -> f32 {
    // The sum has no bits for fractions.
    const WHOLE: f32 = 12_582_912.0;
    number.clamp(-LARGEST - 1.0, LARGEST) + WHOLE - WHOLE
}

/// Returns the scale that divides all weights of a row into integers from -8 to 7, up to rounding;
/// `None` if no scale fits.
fn kept_scale(row: &[f32]) -> Option<f32> {
    let largest = row.iter().fold(0f32, |largest, value| largest.max(value.abs()));
    let is_code = |value: &f32, scale: f32| {
        let multiple = value / scale;
        let code = multiple.round_ties_even();
        (multiple - code).abs() <= NEAR && (-LARGEST - 1.0..=LARGEST).contains(&code)
    };
    let scales = MAGNITUDES.iter().map(|magnitude| largest / magnitude);
    let mut fitting =
        scales.filter(|&scale| scale.is_normal() && row.iter().all(|value| is_code(value, scale)));
    fitting.next()
}

/// Candidates for the largest code of a row. 7 comes first, as it is the largest code of
/// requantized rows.
const MAGNITUDES: [f32; 5] = [7.0, 8.0, 6.0, 5.0, 4.0];

/// Largest distance of a multiple from its integer: a few roundings.
const NEAR: f32 = 4e-6;

fn code(value: f32, scale: f32, below: f32) -> i8 {
    nearest_code((value / scale).clamp(-below, LARGEST)) as i8
}

/// A quantized constant matrix that a graph multiplies by.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantizedWeights {
    /// Constant with the weights.
    pub value: ValueId,
    /// Whether the constant itself has one row per output channel.
    pub by_rows: bool,
    /// Codes and scales; always one row per output channel.
    pub rows: Int4Rows,
    /// Error of the quantization.
    pub error: WeightError,
}

/// Quantizes the constant right operand of every product of `graph`, each constant once.
///
/// # Errors
///
/// [`RowsError::NotFinite`] for a weight that is infinite or NaN, with the constant's name.
pub fn quantize_weights(graph: &Graph) -> Result<Vec<QuantizedWeights>, (String, RowsError)> {
    let mut found: Vec<QuantizedWeights> = Vec::new();
    for node in &graph.nodes {
        let transposed = match &node.op {
            Op::MatMul(_) => false,
            Op::Gemm(gemm) => gemm.trans_b,
            _ => continue,
        };
        let Some(&value) = node.inputs.get(1) else { continue };
        if found.iter().any(|known| known.value == value) {
            continue;
        }
        if let Some((rows, columns, values)) = output_rows(graph, value, transposed) {
            let named = |error| (graph.value(value).name.clone(), error);
            let rows = Int4Rows::keeping(rows, columns, &values).map_err(named)?;
            let error = rows.error(&values);
            found.push(QuantizedWeights { value, by_rows: transposed, rows, error });
        }
    }
    Ok(found)
}

/// Returns the graph with the weights of its products replaced by the numbers that their 4-bit
/// codes represent.
///
/// # Errors
///
/// See [`quantize_weights`].
pub fn dequantize_weights(graph: &Graph) -> Result<Graph, (String, RowsError)> {
    let mut dequantized = graph.clone();
    for QuantizedWeights { value, by_rows, rows, .. } in quantize_weights(graph)? {
        let mut weights = rows.dequantized();
        if !by_rows {
            let column = |i| weights.iter().skip(i).step_by(rows.columns().max(1)).copied();
            weights = (0..rows.columns()).flat_map(column).collect();
        }
        let tensor = Tensor::from_f32(graph.shape(value).to_vec(), weights).ok();
        if let (Some(tensor), Some(value)) = (tensor, dequantized.values.get_mut(value.0 as usize)) {
            value.constant = Some(Arc::new(tensor));
        }
    }
    Ok(dequantized)
}

/// Returns a constant matrix by output channels: their number, the number of weights of each, and
/// the weights. With `transposed`, the constant already has that layout.
fn output_rows(graph: &Graph, value: ValueId, transposed: bool) -> Option<(usize, usize, Vec<f32>)> {
    let values = graph.constant(value)?.as_f32()?;
    let &[first, second] = graph.shape(value) else { return None };
    if transposed {
        return Some((first, second, values.to_vec()));
    }
    let by_column = (0..second).flat_map(|column| values.iter().skip(column).step_by(second.max(1)));
    Some((second, first, by_column.copied().collect()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::ir::ValueInfo;
    use crate::op::MatMul;
    use npukit_numeric::ElementType;
    use proptest::prelude::*;

    #[test]
    fn scales_and_codes_are_by_row() {
        let rows = Int4Rows::new(3, 2, &[7.0, -2.5, 0.0, 0.0, -0.7, 0.35]).unwrap();
        assert_eq!(rows.scales()[..2], [1.0, 1.0]);
        // Ties go to the even code: -2.5 to -2, 0.35 / 0.1 = 3.5 to 4.
        assert_eq!(rows.codes(), [7, -2, 0, 0, -7, 4]);
        assert!((rows.scales()[2] - 0.1).abs() < 1e-8);
        assert_eq!(rows.dequantized()[..4], [7.0, -2.0, 0.0, 0.0]);
    }

    #[test]
    fn errors_are_measured() {
        let values = [7.0, -2.5, 0.0, 0.0];
        let error = Int4Rows::new(2, 2, &values).unwrap().error(&values);
        assert_eq!((error.max, error.rms), (0.5, 0.25));
        assert!((error.relative - 0.5 / 55.25f64.sqrt()).abs() < 1e-12);
        assert_eq!(Int4Rows::new(0, 3, &[]).unwrap().error(&[]), WeightError::default());
    }

    #[test]
    fn wrong_weights_are_refused_with_their_place() {
        let expected = RowsError::Length { rows: 2, columns: 3, expected: 6, found: 5 };
        assert_eq!(Int4Rows::new(2, 3, &[0.0; 5]), Err(expected));
        let refused = Int4Rows::new(2, 2, &[0.0, 0.0, 0.0, f32::INFINITY]);
        assert_eq!(refused, Err(RowsError::NotFinite { row: 1, column: 1, value: f32::INFINITY }));
    }

    #[test]
    fn products_are_found_and_their_columns_are_rows() {
        let mut graph = Graph::default();
        let info = ValueInfo { shape: vec![1, 2], element: ElementType::F32 };
        let x = graph.add_input("x", info);
        let weights = Tensor::from_f32(vec![2, 2], vec![7.0, 1.0, 3.0, 14.0]).unwrap();
        let weights = graph.add_constant("w", weights);
        let y = graph.add_node("first", MatMul.into(), vec![x, weights], &["y"]).unwrap();
        graph.outputs = graph.add_node("second", MatMul.into(), vec![y[0], weights], &["z"]).unwrap();
        let [found] = &quantize_weights(&graph).unwrap()[..] else { panic!("one matrix") };
        assert_eq!((found.value, found.rows.codes()), (weights, &[7, 3, 0, 7][..]));
        assert_eq!(found.error.max, 1.0);
        let again = dequantize_weights(&graph).unwrap();
        assert_eq!(again.constant(weights).unwrap().as_f32(), Some(&[7.0, 0.0, 3.0, 14.0][..]));
    }

    #[test]
    fn rows_of_4_bits_are_kept() {
        let kept = |codes: &[i8], scale: f32| {
            let values: Vec<f32> = codes.iter().map(|&code| f32::from(code) * scale).collect();
            let rows = Int4Rows::keeping(1, codes.len(), &values).unwrap();
            assert_eq!(rows.codes(), codes);
            assert!(rows.error(&values).relative < 1e-6);
        };
        kept(&[-8, 3, 7, 1, 0], 0.037);
        kept(&[5, -3, 2, 1, 4], 1.7);
        kept(&[7, -6, 1, 0, 2], 0.1);
        // 8 is not a code, and numbers between codes are rounded as usual.
        for values in [[8.0, -3.0, 1.0], [-8.0, 3.5, 1.0]] {
            assert_eq!(Int4Rows::keeping(1, 3, &values), Int4Rows::new(1, 3, &values));
        }
    }

    proptest! {
        /// The largest error is half a step, and quantized weights do not change.
        #[test]
        fn half_a_step_at_most(values in prop::collection::vec(-1e3f32..1e3, 12)) {
            let rows = Int4Rows::new(3, 4, &values).unwrap();
            let found = rows.dequantized();
            for (index, (found, value)) in found.iter().zip(&values).enumerate() {
                prop_assert!((found - value).abs() <= rows.scales()[index / 4] * 0.500_001);
            }
            let again = Int4Rows::new(3, 4, &found).unwrap();
            prop_assert_eq!(again.codes(), rows.codes());
        }
    }
}
