//! Quantisation of weights to 4 bits with a scale for each row: [`Int4Rows`].
//!
//! A row is what makes one result: the weights of one output channel. [`quantise_weights`] does it to
//! every matrix of constants that a graph multiplies by.

use std::sync::Arc;

use npukit_numeric::Tensor;

use crate::ir::{Graph, ValueId};
use crate::op::Op;

/// Largest magnitude of a code that is made; -8 exists in memory, and is kept where a model has it.
const LARGEST: f32 = 7.0;

/// Why weights cannot be quantised.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum RowsError {
    /// Not as many weights as the shape says.
    #[error("{rows} rows of {columns} weights need {expected} of them, but there are {found}")]
    Length {
        /// Rows.
        rows: usize,
        /// Number of weights of a row.
        columns: usize,
        /// Their product, as large as can be said.
        expected: usize,
        /// Weights given.
        found: usize,
    },
    /// A weight is infinite or no number.
    #[error("the weight in row {row}, column {column} is {value}: quantisation needs finite weights")]
    NotFinite {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The weight.
        value: f32,
    },
}

/// A matrix as 4-bit integers, -8 to 7, and a scale for each row: a weight is `code * scale`.
#[derive(Clone, Debug, PartialEq)]
pub struct Int4Rows {
    columns: usize,
    codes: Vec<i8>,
    scales: Vec<f32>,
}

/// How far quantised weights are from what they stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WeightError {
    /// Largest absolute difference.
    pub max: f64,
    /// Root of the mean square difference.
    pub rms: f64,
    /// That root relative to the root of the weights' mean square; 0 when all weights are.
    pub relative: f64,
}

impl Int4Rows {
    /// Quantises `values`, `rows` rows of `columns`: the scale is the row's largest magnitude / 7, codes are
    /// rounded to the nearest, ties to the even one. A row of zeros has the scale 1.
    ///
    /// Source: 3.3 and 4.4.4 of the specification of 4-bit weights that the golden vectors of this form follow.
    ///
    /// # Errors
    ///
    /// [`RowsError::Length`] when there are not `rows * columns` values; [`RowsError::NotFinite`] for the
    /// first value that is infinite or NaN.
    pub fn new(rows: usize, columns: usize, values: &[f32]) -> Result<Self, RowsError> {
        Self::of_rows(rows, columns, values, |row| (row_scale(row), LARGEST))
    }

    /// The same with one scale for all rows, which need not be that of the largest weight: what is beyond 7 of it is 7.
    ///
    /// # Errors
    ///
    /// Those of [`Int4Rows::new`].
    pub fn with_scale(rows: usize, columns: usize, values: &[f32], scale: f32) -> Result<Self, RowsError> {
        Self::of_rows(rows, columns, values, |_| (scale, LARGEST))
    }

    /// As [`Int4Rows::new`], but a row that is a scale times integers of 4 bits already, -8 among them, is kept: a model
    /// whose weights have 4 bits and one scale for each row loses nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Int4Rows::new`].
    pub fn keeping(rows: usize, columns: usize, values: &[f32]) -> Result<Self, RowsError> {
        Self::of_rows(rows, columns, values, |row| match kept_scale(row) {
            Some(scale) => (scale, LARGEST + 1.0),
            None => (row_scale(row), LARGEST),
        })
    }

    /// Quantises each row by the scale that `scale` gives for it, to codes from minus the number beside it on.
    fn of_rows(
        rows: usize,
        columns: usize,
        values: &[f32],
        scale: impl Fn(&[f32]) -> (f32, f32),
    ) -> Result<Self, RowsError> {
        let expected = rows.saturating_mul(columns);
        if values.len() != expected {
            return Err(RowsError::Length { rows, columns, expected, found: values.len() });
        }
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            let (row, column) = (index / columns, index % columns);
            return Err(RowsError::NotFinite { row, column, value: values[index] });
        }
        let mut codes = Vec::with_capacity(values.len());
        let mut scales = Vec::with_capacity(rows);
        for row in (0..rows).map(|row| &values[row * columns..][..columns]) {
            let (scale, below) = scale(row);
            codes.extend(row.iter().map(|value| code(*value, scale, below)));
            scales.push(scale);
        }
        Ok(Self { columns, codes, scales })
    }

    /// Number of rows: output channels.
    pub fn rows(&self) -> usize {
        self.scales.len()
    }

    /// Number of weights of a row.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The codes, row by row.
    pub fn codes(&self) -> &[i8] {
        &self.codes
    }

    /// The scale of each row.
    pub fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// The codes of each row and its scale.
    pub fn iter(&self) -> impl Iterator<Item = (&[i8], f32)> {
        let row = |row: usize| &self.codes[row * self.columns..][..self.columns];
        self.scales.iter().enumerate().map(move |(index, &scale)| (row(index), scale))
    }

    /// The weights that the codes stand for, row by row.
    pub fn dequantised(&self) -> Vec<f32> {
        self.iter()
            .flat_map(|(codes, scale)| codes.iter().map(move |&code| f32::from(code) * scale))
            .collect()
    }

    /// How far they are from `values`, the weights that were quantised.
    pub fn error(&self, values: &[f32]) -> WeightError {
        let (mut max, mut squares, mut energy) = (0f64, 0.0, 0.0);
        for (found, &value) in self.dequantised().into_iter().zip(values) {
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

/// The scale of a row of finite weights.
fn row_scale(row: &[f32]) -> f32 {
    let largest = row.iter().fold(0f32, |largest, value| largest.max(value.abs()));
    let scale = largest / LARGEST;
    if scale > 0.0 { scale } else { 1.0 }
}

/// The scale of which all weights of a row are multiples by -8 to 7, but for roundings; none when there is none.
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

/// What the largest code of a row may be: 7 first, which is what rows are given that are not kept.
const MAGNITUDES: [f32; 5] = [7.0, 8.0, 6.0, 5.0, 4.0];

/// How far a multiple may be from an integer that it stands for: a few roundings.
const NEAR: f32 = 4e-6;

fn code(value: f32, scale: f32, below: f32) -> i8 {
    (value / scale).round_ties_even().clamp(-below, LARGEST) as i8
}

/// A matrix of constants that a graph multiplies by, quantised.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantisedWeights {
    /// The constant with the weights.
    pub value: ValueId,
    /// Whether it lies with a row for each output channel itself.
    pub by_rows: bool,
    /// Its codes; a row for each output channel, however the constant lies.
    pub rows: Int4Rows,
    /// What that does to it.
    pub error: WeightError,
}

/// Quantises the matrices that products of `graph` have as their constant right operand, each once.
///
/// # Errors
///
/// [`RowsError::NotFinite`] for a weight that is infinite or NaN, with the constant's name.
pub fn quantise_weights(graph: &Graph) -> Result<Vec<QuantisedWeights>, (String, RowsError)> {
    let mut found: Vec<QuantisedWeights> = Vec::new();
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
            found.push(QuantisedWeights { value, by_rows: transposed, rows, error });
        }
    }
    Ok(found)
}

/// The graph with the weights that 4 bits stand for in place of those of its products.
///
/// # Errors
///
/// Those of [`quantise_weights`].
pub fn dequantise_weights(graph: &Graph) -> Result<Graph, (String, RowsError)> {
    let mut dequantised = graph.clone();
    for QuantisedWeights { value, by_rows, rows, .. } in quantise_weights(graph)? {
        let mut weights = rows.dequantised();
        if !by_rows {
            let column = |i| weights.iter().skip(i).step_by(rows.columns().max(1)).copied();
            weights = (0..rows.columns()).flat_map(column).collect();
        }
        let tensor = Tensor::from_f32(graph.shape(value).to_vec(), weights).ok();
        if let (Some(tensor), Some(value)) = (tensor, dequantised.values.get_mut(value.0 as usize)) {
            value.constant = Some(Arc::new(tensor));
        }
    }
    Ok(dequantised)
}

/// A constant matrix by output channels: their number, the weights of each, the weights. `transposed`
/// says that the constant already lies so.
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
        assert_eq!(rows.dequantised()[..4], [7.0, -2.0, 0.0, 0.0]);
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
        let [found] = &quantise_weights(&graph).unwrap()[..] else { panic!("one matrix") };
        assert_eq!((found.value, found.rows.codes()), (weights, &[7, 3, 0, 7][..]));
        assert_eq!(found.error.max, 1.0);
        let again = dequantise_weights(&graph).unwrap();
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
        // 8 is no code, and what lies between codes is rounded as always.
        for values in [[8.0, -3.0, 1.0], [-8.0, 3.5, 1.0]] {
            assert_eq!(Int4Rows::keeping(1, 3, &values), Int4Rows::new(1, 3, &values));
        }
    }

    proptest! {
        /// Half a step is the worst, and what is quantised already stays.
        #[test]
        fn half_a_step_at_most(values in prop::collection::vec(-1e3f32..1e3, 12)) {
            let rows = Int4Rows::new(3, 4, &values).unwrap();
            let found = rows.dequantised();
            for (index, (found, value)) in found.iter().zip(&values).enumerate() {
                prop_assert!((found - value).abs() <= rows.scales()[index / 4] * 0.500_001);
            }
            let again = Int4Rows::new(3, 4, &found).unwrap();
            prop_assert_eq!(again.codes(), rows.codes());
        }
    }
}
