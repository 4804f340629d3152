//! [`Matrix`]: weights of a language model as 4-bit weights, in passes of a product.

use std::sync::Arc;

use npukit_graph::language::Rows;
use npukit_graph::quantize::rows::{Int4Rows, RowsError};
use npukit_numeric::BLOCK;
use rayon::prelude::*;

use crate::config::WORD_LANES;
use crate::lower::LowerError;
use crate::lower::limits::{LARGEST, MAX_ROWS};
use crate::machine::weights::{WeightImage, row_bytes};
use crate::program::host::{HIGH, eight_bits, split};

/// Form of a matrix's weights on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// 4 bits and a scale per row, in one pass.
    Four,
    /// 8 bits and a scale per row, in two passes.
    Eight,
    /// The codes of the file, unchanged: a pass per 32 columns, with scales of their own. Offsets
    /// of codes multiply sums of 32 activations, with 8 bits per row.
    File,
}

/// Operand of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// All columns.
    All,
    /// The 32 columns of a block.
    Block(usize),
    /// The sums of 32 columns each.
    Sums,
}

/// Part of a product; parts are added.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Operand.
    pub reads: Reads,
    /// Weights, in parts of at most [`MAX_ROWS`] rows.
    pub images: Vec<Arc<WeightImage>>,
}

/// Weights of a matrix.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Number of results.
    pub rows: usize,
    /// Number of inputs.
    pub columns: usize,
    /// Form of the weights.
    pub form: Form,
    /// Passes in the order of the sums: small parts come first, so that they are not lost in
    /// rounding.
    pub passes: Vec<Pass>,
}

/// Returns the number of sums of 32 columns, in whole words.
pub const fn sums(columns: usize) -> usize {
    columns.div_ceil(BLOCK).next_multiple_of(WORD_LANES)
}

/// Rows of a matrix with its results and inputs in other places; places without one have zeros.
pub struct Source<'a> {
    /// Name for messages.
    pub name: String,
    /// Matrix of the model.
    pub weights: &'a Rows,
    /// Row of the model for each result.
    pub rows: Vec<Option<usize>>,
    /// Column of the model for each input; `None` if inputs are in the model's order.
    pub columns: Option<Vec<Option<usize>>>,
}

impl Source<'_> {
    /// Whether the codes of the file can be kept.
    pub fn has_codes(&self) -> bool {
        let [_, columns] = self.weights.shape();
        self.columns.is_none() && self.weights.format().has_codes() && columns.is_multiple_of(BLOCK)
    }

    /// Returns the matrix in a form; [`Form::File`] becomes 8 bits if the file has no codes.
    ///
    /// # Errors
    /// A weight that is not finite; more columns than an image can have.
    pub fn matrix(&self, form: Form) -> Result<Matrix, LowerError> {
        let form = if form == Form::File && !self.has_codes() { Form::Eight } else { form };
        let columns = self.columns.as_ref().map_or(self.weights.shape()[1], Vec::len);
        if columns > LARGEST {
            let error = crate::machine::weights::WeightError::Dimension { what: "K", value: columns };
            return Err(LowerError::Weights { name: self.name.clone(), error });
        }
        let passes = match form {
            Form::Four => vec![self.pass(Reads::All, self.four_bits(columns)?)?],
            Form::Eight => self.two_passes(Reads::All, columns, |row, values| self.row(row, values))?,
            Form::File => self.carried_over(columns)?,
        };
        Ok(Matrix { rows: self.rows.len(), columns, form, passes })
    }

    /// Writes the weights of a result, in the order of the inputs.
    fn row(&self, row: usize, values: &mut [f32]) {
        let Some(row) = self.rows[row] else { return values.fill(0.0) };
        match &self.columns {
            None => self.weights.decode(row, values),
            Some(columns) => {
                let mut all = vec![0.0; self.weights.shape()[1]];
                self.weights.decode(row, &mut all);
                let value = |column: &Option<usize>| column.map_or(0.0, |column| all[column]);
                values.iter_mut().zip(columns).for_each(|(to, column)| *to = value(column));
            }
        }
    }

    /// Returns the error of the weights of a result.
    fn wrong(&self, row: usize, error: RowsError) -> LowerError {
        let error = match error {
            RowsError::NotFinite { column, value, .. } => RowsError::NotFinite { row, column, value },
            other => other,
        };
        LowerError::Rows { name: self.name.clone(), error }
    }

    /// Packs the weights of each result with `pack`, which gets the result's index, its bytes and
    /// room for its values, and returns its scales.
    fn packed<const PARTS: usize>(
        &self,
        columns: usize,
        values: impl Fn(usize, &mut [f32]) + Sync,
        quantize: impl Fn(&[f32]) -> Result<([Vec<i8>; PARTS], [f32; PARTS]), RowsError> + Sync,
    ) -> Result<[Packed; PARTS], LowerError> {
        let pitch = row_bytes(columns);
        let mut parts: [Vec<u8>; PARTS] = std::array::from_fn(|_| vec![0; self.rows.len() * pitch]);
        // Rows of all parts, result by result.
        let mut by_row: Vec<Vec<&mut [u8]>> = (0..self.rows.len()).map(|_| Vec::new()).collect();
        for part in &mut parts {
            by_row.iter_mut().zip(part.chunks_exact_mut(pitch)).for_each(|(rows, row)| rows.push(row));
        }
        let one = |(row, parts): (usize, Vec<&mut [u8]>)| -> Result<[f32; PARTS], LowerError> {
            let mut buffer = vec![0.0; columns];
            values(row, &mut buffer);
            let (codes, scales) = quantize(&buffer).map_err(|error| self.wrong(row, error))?;
            parts.into_iter().zip(&codes).for_each(|(bytes, codes)| pack(codes, bytes));
            Ok(scales)
        };
        let scales: Vec<[f32; PARTS]> =
            by_row.into_par_iter().enumerate().map(one).collect::<Result<_, _>>()?;
        let mut part = 0;
        Ok(parts.map(|rows| {
            part += 1;
            Packed { columns, rows, scales: scales.iter().map(|scales| scales[part - 1]).collect() }
        }))
    }

    fn four_bits(&self, columns: usize) -> Result<Packed, LowerError> {
        let quantize = |values: &[f32]| {
            let rows = Int4Rows::new(1, columns, values)?;
            Ok(([rows.codes().to_vec()], [rows.scales()[0]]))
        };
        let [packed] = self.packed(columns, |row, values| self.row(row, values), quantize)?;
        Ok(packed)
    }

    /// Returns two passes over 8-bit weights, the low part first.
    fn two_passes(
        &self,
        reads: Reads,
        columns: usize,
        values: impl Fn(usize, &mut [f32]) + Sync,
    ) -> Result<Vec<Pass>, LowerError> {
        let quantize = |values: &[f32]| {
            let (scale, codes) = eight_bits(columns, values)?;
            let [high, low] = split(&codes);
            Ok(([low, high], [scale, HIGH * scale]))
        };
        let packed: [Packed; 2] = self.packed(columns, values, quantize)?;
        packed.into_iter().map(|packed| self.pass(reads, packed)).collect()
    }

    /// Returns the passes of the file's codes: offsets, if any is not 0, then blocks.
    fn carried_over(&self, columns: usize) -> Result<Vec<Pass>, LowerError> {
        let missing = || LowerError::Fault("codes of a row");
        let blocks = columns / BLOCK;
        let codes = |row: &Option<usize>| match row {
            Some(row) => self.weights.codes(*row).map(Some).ok_or_else(missing),
            None => Ok(None),
        };
        let rows = self.rows.par_iter().map(codes).collect::<Result<Vec<_>, _>>()?;
        let offset = |row: usize, block: usize| rows[row].as_ref().map_or(0.0, |codes| codes[block].offset);
        let has_offsets = (0..rows.len()).any(|row| (0..blocks).any(|block| offset(row, block) != 0.0));
        let mut passes = Vec::new();
        if has_offsets {
            let values = |row: usize, values: &mut [f32]| {
                values.iter_mut().enumerate().for_each(|(block, value)| {
                    *value = if block < blocks { offset(row, block) } else { 0.0 };
                });
            };
            passes = self.two_passes(Reads::Sums, sums(columns), values)?;
        }
        let block = |block: usize| -> Result<Pass, LowerError> {
            let mut packed = vec![0; rows.len() * row_bytes(BLOCK)];
            let mut scales = vec![0.0; rows.len()];
            for ((bytes, scale), row) in packed.chunks_exact_mut(row_bytes(BLOCK)).zip(&mut scales).zip(&rows)
            {
                let Some(codes) = row else { continue };
                *scale = codes[block].scale;
                pack(&codes[block].codes, bytes);
            }
            self.pass(Reads::Block(block), Packed { columns: BLOCK, rows: packed, scales })
        };
        let blocks = (0..blocks).into_par_iter().map(block).collect::<Result<Vec<_>, _>>()?;
        passes.extend(blocks);
        Ok(passes)
    }

    /// Divides the rows of a pass into images.
    fn pass(&self, reads: Reads, packed: Packed) -> Result<Pass, LowerError> {
        let Packed { columns, rows, scales } = packed;
        let image = |(scales, rows): (&[f32], &[u8])| {
            let image = WeightImage::with_rows(scales.len(), columns, rows.to_vec(), Some(scales.to_vec()));
            image.map(Arc::new).map_err(|error| LowerError::Weights { name: self.name.clone(), error })
        };
        let images = scales.chunks(MAX_ROWS).zip(rows.chunks(MAX_ROWS * row_bytes(columns)));
        Ok(Pass { reads, images: images.map(image).collect::<Result<_, _>>()? })
    }
}

/// Packed weights with a scale per row.
struct Packed {
    columns: usize,
    rows: Vec<u8>,
    scales: Vec<f32>,
}

/// Packs codes of 4 bits, two per byte, into a row of zeros.
fn pack(codes: &[i8], bytes: &mut [u8]) {
    for (pair, byte) in codes.chunks(2).zip(bytes) {
        // Default: an odd number of codes ends with a zero.
        *byte = pair[0] as u8 & 0xF | (pair.get(1).copied().unwrap_or(0) as u8 & 0xF) << 4;
    }
}
