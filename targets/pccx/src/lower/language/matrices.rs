//! [`Matrix`]: weights of a language model as 4-bit weights, in passes of a product.

use std::sync::Arc;

use npukit_graph::language::Rows;
use npukit_graph::quantize::rows::{Int4Rows, RowsError};
use npukit_numeric::{BLOCK, RowFormat};
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
    /// The columns of a part.
    Part {
        /// Number of columns of all parts except the last one, which may have fewer.
        size: usize,
        /// Number of the part.
        part: usize,
    },
    /// The sums of 32 columns each.
    Sums,
}

impl Reads {
    /// Returns the operands that have together `columns` columns, and each at most `size`.
    fn divided(columns: usize, size: usize) -> Vec<Self> {
        if columns <= size {
            return vec![Self::All];
        }
        (0..columns.div_ceil(size)).map(|part| Self::Part { size, part }).collect()
    }

    /// Returns the number of columns of a part; `None` for other operands.
    pub const fn size(self) -> Option<usize> {
        match self {
            Self::Part { size, .. } => Some(size),
            Self::All | Self::Sums => None,
        }
    }
}

/// Part of a product; parts are added.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Operand.
    pub reads: Reads,
    /// Weights, in parts of at most [`MAX_ROWS`] rows.
    pub images: Vec<Arc<WeightImage>>,
}

impl Pass {
    /// Returns the weights of `count` results starting at `first`, which are of one image.
    pub fn part(&self, first: usize, count: usize) -> Arc<WeightImage> {
        let image = &self.images[first / MAX_ROWS];
        // The images of a shape have one weight.
        image.part(first % MAX_ROWS, count).map_or_else(|| Arc::clone(image), Arc::new)
    }
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
#[derive(Clone)]
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
        self.columns.is_none() && self.weights.has_codes() && columns.is_multiple_of(BLOCK)
    }

    /// Returns the matrix in a form, in products of at most `size` columns; [`Form::File`] becomes
    /// 8 bits if the file has no codes.
    ///
    /// # Errors
    /// A weight that is not finite; more columns than an image can have.
    pub fn matrix(&self, form: Form, size: usize) -> Result<Matrix, LowerError> {
        let form = self.form(form);
        let columns = self.columns()?;
        let passes = match form {
            Form::Four => {
                let [rows, columns] = self.weights.shape();
                let codes = Int4Rows::searched(rows, columns, &self.weights.to_floats());
                return self.four_bits(&codes.map_err(|error| self.wrong(None, error))?, size);
            }
            Form::Eight => {
                let weights = &self.weights.settled();
                let source = Source { weights, ..self.clone() };
                let packed = source.two_passes(columns, |row, values| source.row(row, values))?;
                let passes = packed.into_iter().map(|packed| source.divided(packed, size));
                passes.collect::<Result<Vec<_>, _>>()?.concat()
            }
            Form::File => self.carried_over(columns)?,
        };
        Ok(Matrix { rows: self.rows.len(), columns, form, passes })
    }

    /// Returns the matrix that [`Self::matrix`] makes of such a file, with images of one weight.
    /// Offsets of codes are assumed not to be 0 where the format has them.
    ///
    /// # Errors
    /// More columns than an image can have.
    pub fn shape(&self, form: Form, size: usize) -> Result<Matrix, LowerError> {
        let form = self.form(form);
        let columns = self.columns()?;
        let reads = match form {
            Form::Four => Reads::divided(columns, size),
            Form::Eight => Reads::divided(columns, size).repeat(2),
            Form::File => {
                let sums = if self.weights.format() == Some(RowFormat::Q4_0) { 0 } else { 2 };
                let blocks = (0..columns / BLOCK).map(|part| Reads::Part { size: BLOCK, part });
                std::iter::repeat_n(Reads::Sums, sums).chain(blocks).collect()
            }
        };
        let image = Packed { columns: 1, rows: vec![0; row_bytes(1)], scales: vec![0.0] };
        let one = self.pass(Reads::All, image)?.images.swap_remove(0);
        let images = vec![one; self.rows.len().div_ceil(MAX_ROWS)];
        let passes = reads.into_iter().map(|reads| Pass { reads, images: images.clone() }).collect();
        Ok(Matrix { rows: self.rows.len(), columns, form, passes })
    }

    /// Returns the form of the matrix if `form` is asked for.
    fn form(&self, form: Form) -> Form {
        if form == Form::File && !self.has_codes() { Form::Eight } else { form }
    }

    /// Returns the number of inputs.
    fn columns(&self) -> Result<usize, LowerError> {
        let columns = self.columns.as_ref().map_or(self.weights.shape()[1], Vec::len);
        if columns > LARGEST {
            let error = crate::machine::weights::WeightError::Dimension { what: "K", value: columns };
            return Err(LowerError::Weights { name: self.name.clone(), error });
        }
        Ok(columns)
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

    /// Returns the error of the weights of a result, or of the matrix of the model.
    pub fn wrong(&self, result: Option<usize>, error: RowsError) -> LowerError {
        let error = match (result, error) {
            (Some(row), RowsError::NotFinite { column, value, .. }) => {
                RowsError::NotFinite { row, column, value }
            }
            (_, other) => other,
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
        // Slices of all parts, ordered by row.
        let mut by_row: Vec<Vec<&mut [u8]>> = (0..self.rows.len()).map(|_| Vec::new()).collect();
        for part in &mut parts {
            by_row.iter_mut().zip(part.chunks_exact_mut(pitch)).for_each(|(rows, row)| rows.push(row));
        }
        let one = |(row, parts): (usize, Vec<&mut [u8]>)| -> Result<[f32; PARTS], LowerError> {
            let mut buffer = vec![0.0; columns];
            values(row, &mut buffer);
            let (codes, scales) = quantize(&buffer).map_err(|error| self.wrong(Some(row), error))?;
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

    /// Returns the matrix in 4 bits, from the codes of the model's matrix, in products of at most
    /// `size` columns.
    ///
    /// # Errors
    /// More columns than an image can have.
    pub fn four_bits(&self, codes: &Int4Rows, size: usize) -> Result<Matrix, LowerError> {
        let columns = self.columns.as_ref().map_or(self.weights.shape()[1], Vec::len);
        let pitch = row_bytes(columns);
        let mut rows = vec![0; self.rows.len() * pitch];
        let all: Vec<(&[i8], f32)> = codes.iter().collect();
        rows.par_chunks_exact_mut(pitch).zip(&self.rows).for_each(|(bytes, row)| {
            let Some((codes, _)) = row.map(|row| all[row]) else { return };
            match &self.columns {
                None => pack(codes, bytes),
                Some(columns) => {
                    let code = |column: &Option<usize>| column.map_or(0, |column| codes[column]);
                    pack(&columns.iter().map(code).collect::<Vec<_>>(), bytes);
                }
            }
        });
        let scales = self.rows.iter().map(|row| row.map_or(1.0, |row| all[row].1)).collect();
        let passes = self.divided(Packed { columns, rows, scales }, size)?;
        Ok(Matrix { rows: self.rows.len(), columns, form: Form::Four, passes })
    }

    /// Returns the low and the high part of 8-bit weights.
    fn two_passes(
        &self,
        columns: usize,
        values: impl Fn(usize, &mut [f32]) + Sync,
    ) -> Result<[Packed; 2], LowerError> {
        let quantize = |values: &[f32]| {
            let (scale, codes) = eight_bits(columns, values)?;
            let [high, low] = split(&codes);
            Ok(([low, high], [scale, HIGH * scale]))
        };
        self.packed(columns, values, quantize)
    }

    /// Returns passes of at most `size` columns, a multiple of 32. Each has the scales of the whole
    /// rows.
    fn divided(&self, packed: Packed, size: usize) -> Result<Vec<Pass>, LowerError> {
        if packed.columns <= size {
            return Ok(vec![self.pass(Reads::All, packed)?]);
        }
        let Packed { columns, rows, scales } = packed;
        let one = |(part, first): (usize, usize)| {
            let count = (columns - first).min(size);
            let bytes = row_bytes(first)..row_bytes(first) + row_bytes(count);
            let of_rows = rows.chunks_exact(row_bytes(columns)).map(|row| &row[bytes.clone()]);
            let rows = of_rows.collect::<Vec<&[u8]>>().concat();
            self.pass(Reads::Part { size, part }, Packed { columns: count, rows, scales: scales.clone() })
        };
        (0..columns).step_by(size).enumerate().map(one).collect()
    }

    /// Returns the passes of the file's codes: offsets, if any is not 0, then blocks.
    fn carried_over(&self, columns: usize) -> Result<Vec<Pass>, LowerError> {
        let (blocks, rows) = (columns / BLOCK, self.rows.len());
        let empty =
            || Packed { columns: BLOCK, rows: vec![0; rows * row_bytes(BLOCK)], scales: vec![0.0; rows] };
        let mut packed: Vec<Packed> = (0..blocks).map(|_| empty()).collect();
        let mut offsets = vec![0.0; rows * blocks];
        for (row, source) in self.rows.iter().enumerate() {
            let Some(source) = *source else { continue };
            let codes = self.weights.codes(source).ok_or(LowerError::Fault("codes of a row"))?;
            let places = packed.iter_mut().zip(&mut offsets[row * blocks..]);
            for (codes, (packed, offset)) in codes.into_iter().zip(places) {
                (packed.scales[row], *offset) = (codes.scale, codes.offset);
                pack(&codes.codes, &mut packed.rows[row * row_bytes(BLOCK)..]);
            }
        }
        let mut passes = Vec::new();
        if offsets.iter().any(|&offset| offset != 0.0) {
            let values = |row: usize, values: &mut [f32]| {
                let (of_blocks, padding) = values.split_at_mut(blocks);
                of_blocks.copy_from_slice(&offsets[row * blocks..][..blocks]);
                padding.fill(0.0);
            };
            let packed = self.two_passes(sums(columns), values)?;
            let in_passes = packed.into_iter().map(|packed| self.pass(Reads::Sums, packed));
            passes = in_passes.collect::<Result<_, _>>()?;
        }
        for (block, packed) in packed.into_iter().enumerate() {
            passes.push(self.pass(Reads::Part { size: BLOCK, part: block }, packed)?);
        }
        Ok(passes)
    }

    /// Divides the rows of a pass into images.
    fn pass(&self, reads: Reads, packed: Packed) -> Result<Pass, LowerError> {
        let Packed { columns, rows, scales } = packed;
        let image = |scales: Vec<f32>, rows: Vec<u8>| {
            let image = WeightImage::with_rows(scales.len(), columns, rows, Some(scales));
            image.map(Arc::new).map_err(|error| LowerError::Weights { name: self.name.clone(), error })
        };
        // Most matrices consist of one image, which is used without a copy.
        let images = if scales.len() <= MAX_ROWS {
            vec![image(scales, rows)?]
        } else {
            let parts = scales.chunks(MAX_ROWS).zip(rows.chunks(MAX_ROWS * row_bytes(columns)));
            parts.map(|(scales, rows)| image(scales.to_vec(), rows.to_vec())).collect::<Result<_, _>>()?
        };
        Ok(Pass { reads, images })
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Each format in each form, with and without columns in other places.
    #[test]
    fn shapes_have_the_passes_of_matrices() {
        for format in RowFormat::ALL {
            let bytes = vec![0x11; 3 * format.row_bytes(256).unwrap()];
            let weights = Rows::new(format, [3, 256], bytes).unwrap();
            let zeros = Rows::zeros(format, [3, 256]).unwrap();
            for columns in
                [None, Some((0..264).map(|place| Some(place).filter(|&place| place < 256)).collect())]
            {
                let source = |weights| Source {
                    name: String::new(),
                    weights,
                    rows: vec![Some(2), None, Some(0), Some(1)],
                    columns: Option::<Vec<Option<usize>>>::clone(&columns),
                };
                let forms = [Form::Four, Form::Eight, Form::File];
                for (form, size) in forms.into_iter().flat_map(|form| [(form, LARGEST), (form, 96)]) {
                    let made = source(&weights).matrix(form, size).unwrap();
                    let shape = source(&zeros).shape(form, size).unwrap();
                    assert_eq!([made.rows, made.columns], [shape.rows, shape.columns]);
                    let passes = |matrix: &Matrix| -> Vec<_> {
                        matrix.passes.iter().map(|pass| (pass.reads, pass.images.len())).collect()
                    };
                    assert_eq!(
                        (made.form, passes(&made)),
                        (shape.form, passes(&shape)),
                        "{format:?} {form:?}"
                    );
                }
            }
        }
    }

    /// Parts have the weights and scales of the whole rows: 256 columns are 96, 96 and 64.
    #[test]
    fn parts_are_the_columns_of_the_whole() {
        let values: Vec<f32> = (0..3 * 256).map(|index| ((index * 37) % 101) as f32 - 50.0).collect();
        let weights = Rows::from_floats([3, 256], &values).unwrap();
        let rows = (0..3).map(Some).collect();
        let source = Source { name: String::new(), weights: &weights, rows, columns: None };
        for (form, passes) in [(Form::Four, 1), (Form::Eight, 2)] {
            let [whole, divided] = [256, 96].map(|size| source.matrix(form, size).unwrap());
            assert_eq!((whole.passes.len(), divided.passes.len()), (passes, 3 * passes));
            for (index, part) in divided.passes.iter().enumerate() {
                let (expected, first) = (&whole.passes[index / 3].images[0], 96 * (index % 3));
                assert_eq!(part.reads, Reads::Part { size: 96, part: index % 3 });
                let image = &part.images[0];
                assert_eq!((image.k(), image.scales()), ([96, 96, 64][index % 3], expected.scales()));
                for (row, column) in (0..3).flat_map(|row| (0..image.k()).map(move |column| (row, column))) {
                    assert_eq!(image.weight(row, column), expected.weight(row, first + column));
                }
            }
        }
    }
}
