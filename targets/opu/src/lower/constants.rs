//! Weights and biases as machine numbers: [`Constants`].
//!
//! Each block of channels has its own powers of two, since shifts are part of the instructions.

use std::collections::HashMap;
use std::ops::Range;

use npukit_numeric::Quantized;

use super::error::LowerError;
use super::layer::Layer;
use super::limits::{LANES, filters, slices};
use super::map::Planes;
use super::product::{Part, Product, Term, Weights};
use super::tile::{self, Load};
use crate::config::Types;
use crate::config::datatype::DataType;

/// Alignment of loaded data, in bytes.
pub const ALIGNMENT: usize = 64;
/// Number of fraction lengths that are tried beyond the largest one without saturation: a finer
/// step for all weights may be worth the saturation of a few.
const MAX_EXTRA_BITS: i32 = 3;

/// Kernel slices that one `ld.ker` loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Byte offset in [`Constants::weights`].
    pub at: usize,
    /// Number of slices.
    pub slices: usize,
    /// Offset in the feature buffer, and slice, of each convolution.
    pub taps: Vec<([usize; 2], usize)>,
}

/// Load of features with the weights applied to it.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    /// Load of features.
    pub load: Load,
    /// Chunks of weights, each loaded at once.
    pub chunks: Vec<Chunk>,
    /// Exponent of two for the load's sums of products.
    pub shift: i32,
}

/// Block of up to 64 channels of a layer's result.
#[derive(Clone, Debug)]
pub struct BlockPlan {
    /// Channels of the result in this block.
    pub columns: Range<usize>,
    /// Number of channels of the partial sums.
    pub filters: usize,
    /// Byte offset in [`Constants::biases`]; `None` without biases.
    pub bias: Option<usize>,
    /// Exponent of two for the bias.
    pub bias_shift: i32,
    /// Loads with products that are summed, in order.
    pub loads: Vec<LoadPlan>,
}

/// Source of the slices of a load.
struct Kernel<'a> {
    product: &'a Product,
    /// Channels of the result.
    columns: Range<usize>,
    ktype: DataType,
    /// Fraction length of the weights.
    fraction: i32,
}

/// All weights and biases of a program.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    /// Bytes of the weights, as in memory.
    pub weights: Vec<u8>,
    /// Bytes of the biases, as in memory.
    pub biases: Vec<u8>,
    /// Number of constants that saturated.
    pub saturated: u64,
    /// Names of the layers with saturated constants, with their number.
    pub saturated_layers: Vec<(String, u64)>,
    /// Exact values in the model, if they are kept.
    pub exact: Option<Exact>,
    /// Offsets of the chunks of diagonal matrices, which are often equal.
    known: HashMap<Vec<u8>, usize>,
}

/// Minimum and maximum exact value in the model for each weight and bias of the machine, in units
/// of the machine's types. They differ only if several constants of the model share one machine
/// constant.
#[derive(Clone, Debug, Default)]
pub struct Exact {
    /// Minimum and maximum for each weight.
    pub weights: Vec<(f64, f64)>,
    /// Minimum and maximum for each bias.
    pub biases: Vec<(f64, f64)>,
}

/// Slice of the kernel.
struct Slice {
    bytes: Vec<u8>,
    /// Minimum and maximum exact value for each weight; empty if exact values are not kept.
    exact: Vec<(f64, f64)>,
}

impl Slice {
    /// Merges the exact values of `other`, which has the same machine weights.
    fn merge(&mut self, other: &Self) {
        merge(&mut self.exact, &other.exact);
    }
}

fn merge(into: &mut [(f64, f64)], other: &[(f64, f64)]) {
    for (into, other) in into.iter_mut().zip(other) {
        *into = (into.0.min(other.0), into.1.max(other.1));
    }
}

impl Constants {
    /// Creates an empty set of constants.
    pub fn new(keeps_exact: bool) -> Self {
        Self { exact: keeps_exact.then(Exact::default), ..Self::default() }
    }

    /// Quantizes the weights of a layer.
    ///
    /// # Errors
    ///
    /// A shift does not fit its field.
    pub fn blocks(
        &mut self,
        layer: &Layer,
        planes: &Planes,
        types: &Types,
    ) -> Result<Vec<BlockPlan>, LowerError> {
        let fraction = planes.get(layer.output.pieces[0].plane).fraction;
        let sum_fraction = fraction - types.store_shift();
        let before = self.saturated;
        let block = |columns| self.block(layer, planes, types, columns, sum_fraction);
        let blocks = tile::blocks(layer.product.channels).map(block).collect::<Result<Vec<_>, _>>()?;
        let saturated = self.saturated - before;
        self.saturated_layers.extend((saturated > 0).then(|| (layer.name.clone(), saturated)));
        Ok(blocks)
    }

    fn block(
        &mut self,
        layer: &Layer,
        planes: &Planes,
        types: &Types,
        columns: Range<usize>,
        sum_fraction: i32,
    ) -> Result<BlockPlan, LowerError> {
        let product = &layer.product;
        let filters = filters(columns.len());
        let shift = |shift: i32| match shift {
            -128..=127 => Ok(shift),
            _ => Err(LowerError::Shift { layer: layer.name.clone(), shift: shift.into() }),
        };
        let fractions = weight_fractions(product, &columns, types.ktype);
        let (bias, bias_shift) = match addends(product, &columns, planes, types, &fractions) {
            Some(addends) => {
                let fraction = bias_fraction(&addends, types, sum_fraction);
                let bias = self.bias(&addends, filters, types.btype, fraction);
                (Some(bias), shift(sum_fraction - fraction)?)
            }
            None => (None, 0),
        };
        let mut loads = Vec::new();
        for load in tile::loads(product, &columns) {
            // All taps of a load belong to one part.
            let weights = fractions[load.taps[0].part];
            let shift = shift(sum_fraction - planes.get(load.plane).fraction - weights)?;
            let kernel = Kernel { product, columns: columns.clone(), ktype: types.ktype, fraction: weights };
            let chunks = self.chunks(&kernel, &load);
            loads.push(LoadPlan { load, chunks, shift });
        }
        Ok(BlockPlan { columns, filters, bias, bias_shift, loads })
    }

    /// Appends the initial values of sums and returns their offset.
    fn bias(&mut self, addends: &[[f64; 2]], filters: usize, btype: DataType, fraction: i32) -> usize {
        let at = aligned(&mut self.biases);
        if let Some(exact) = &mut self.exact {
            exact.biases.resize(at / btype.size_bytes() as usize, (0.0, 0.0));
        }
        for k in 0..filters {
            // Default: filters after the last channel, whose results are never read.
            let [value, exact] = addends.get(k).copied().unwrap_or_default();
            let raw = self.raw(btype, value, fraction);
            push(&mut self.biases, btype, raw);
            let exact = exact * 2f64.powi(fraction);
            self.exact.iter_mut().for_each(|kept| kept.biases.push((exact, exact)));
        }
        at
    }

    fn raw(&mut self, data_type: DataType, value: f64, fraction: i32) -> i32 {
        let (raw, saturated) = quantize(data_type, value, fraction);
        self.saturated += u64::from(saturated);
        raw
    }

    /// Returns the slices of a load in chunks that fit the kernel buffer.
    fn chunks(&mut self, kernel: &Kernel<'_>, load: &Load) -> Vec<Chunk> {
        let max_slices = slices(load.lanes, filters(kernel.columns.len()));
        let mut chunks: Vec<(Vec<Slice>, Chunk)> = Vec::new();
        let mut shared = false;
        for tap in &load.taps {
            let part = &kernel.product.parts[tap.part];
            shared |= matches!(part.weights, Weights::Diagonal { .. });
            let slice = self.slice(kernel, part, &part.terms[tap.term], load.lanes);
            let known = chunks
                .last()
                .and_then(|(slices, _)| slices.iter().position(|other| shared && other.bytes == slice.bytes));
            let place = match (known, chunks.last_mut()) {
                (Some(place), Some((slices, _))) => {
                    slices[place].merge(&slice);
                    place
                }
                (None, Some((slices, _))) if slices.len() < max_slices => {
                    slices.push(slice);
                    slices.len() - 1
                }
                _ => {
                    chunks.push((vec![slice], Chunk { at: 0, slices: 0, taps: Vec::new() }));
                    0
                }
            };
            if let Some((_, chunk)) = chunks.last_mut() {
                chunk.taps.push((tap.offset, place));
            }
        }
        let mut placed = Vec::new();
        for (slices, chunk) in chunks {
            let count = slices.len();
            placed.push(Chunk { at: self.place(slices, kernel.ktype, shared), slices: count, ..chunk });
        }
        placed
    }

    fn place(&mut self, slices: Vec<Slice>, ktype: DataType, shared: bool) -> usize {
        let (mut bytes, mut exact) = (Vec::new(), Vec::new());
        for slice in slices {
            bytes.extend(slice.bytes);
            exact.extend(slice.exact);
        }
        let size = ktype.size_bytes() as usize;
        if let Some(&at) = self.known.get(&bytes).filter(|_| shared) {
            self.exact.iter_mut().for_each(|kept| merge(&mut kept.weights[at / size..], &exact));
            return at;
        }
        let at = aligned(&mut self.weights);
        self.weights.extend_from_slice(&bytes);
        if let Some(kept) = &mut self.exact {
            kept.weights.resize(at / size, (0.0, 0.0));
            kept.weights.append(&mut exact);
        }
        if shared {
            self.known.insert(bytes, at);
        }
        at
    }

    /// Returns a slice of the kernel: for each output channel, all input channels in order.
    fn slice(&mut self, kernel: &Kernel<'_>, part: &Part, term: &Term, lanes: usize) -> Slice {
        let columns = &kernel.columns;
        let (mut bytes, mut exact) = (Vec::new(), Vec::new());
        for k in columns.start..columns.start + filters(columns.len()) {
            for lane in 0..lanes {
                let channel = lane.checked_sub(term.lane).filter(|&channel| channel < term.channels);
                // Lanes and filters after the last channel have weights of zero.
                let place = channel.filter(|_| k < columns.end).map(|channel| [term.row + channel, k]);
                let raw = place.map_or(0, |[row, k]| self.weight(kernel, part, row, k));
                push(&mut bytes, kernel.ktype, raw);
                if self.exact.is_some() {
                    let real = place.map_or(0.0, |[row, k]| f64::from(kernel.product.weight(part, row, k)));
                    let scaled = real * 2f64.powi(kernel.fraction);
                    exact.push((scaled, scaled));
                }
            }
        }
        Slice { bytes, exact }
    }

    fn weight(&mut self, kernel: &Kernel<'_>, part: &Part, row: usize, k: usize) -> i32 {
        let (raw, saturated) = weight(kernel.product, part, [row, k], kernel.ktype, kernel.fraction);
        self.saturated += u64::from(saturated);
        raw
    }
}

/// Returns a weight and whether it saturated. A weight that is spread over several taps is rounded
/// so that the sum over the taps is right.
fn weight(
    product: &Product,
    part: &Part,
    [row, k]: [usize; 2],
    ktype: DataType,
    fraction: i32,
) -> (i32, bool) {
    let value = f64::from(product.weight(part, row, k));
    match &part.weights {
        Weights::Diagonal { factors, taps: 2.. } if ktype.fixed().is_some() => {
            let tap = (row / factors.len()) as f64;
            let up_to =
                |taps: f64| quantize(DataType::INT32, value * taps, fraction_of_raw(ktype, fraction)).0;
            (up_to(tap + 1.0) - up_to(tap), false)
        }
        _ => quantize(ktype, value, fraction),
    }
}

/// Weights and biases of a layer as the machine represents them, as real numbers.
pub struct Rounded<'a> {
    layer: &'a Layer,
    types: &'a Types,
    /// Fraction lengths of the weights, by block of channels and part.
    fractions: Vec<Vec<i32>>,
    biases: Option<Vec<f64>>,
}

impl<'a> Rounded<'a> {
    /// Rounds the constants of a layer.
    pub fn new(layer: &'a Layer, planes: &Planes, types: &'a Types) -> Self {
        let product = &layer.product;
        let of = |columns| weight_fractions(product, &columns, types.ktype);
        let fractions: Vec<Vec<i32>> = tile::blocks(product.channels).map(of).collect();
        let sum_fraction = planes.get(layer.output.pieces[0].plane).fraction - types.store_shift();
        let biases = |(columns, fractions): (Range<usize>, &Vec<i32>)| {
            let addends = addends(product, &columns, planes, types, fractions)?;
            let fraction = bias_fraction(&addends, types, sum_fraction);
            let real = |[value, _]: [f64; 2]| {
                types.btype.to_f64(quantize(types.btype, value, fraction).0) * 2f64.powi(-fraction)
            };
            Some(addends.into_iter().map(real).collect::<Vec<f64>>())
        };
        let biases = tile::blocks(product.channels).zip(&fractions).map(biases).collect::<Option<Vec<_>>>();
        let biases = biases.map(|blocks| blocks.concat());
        Self { layer, types, fractions, biases }
    }

    /// Returns the weight from `row` of part `part` to channel `column`.
    pub fn weight(&self, part: usize, row: usize, column: usize) -> f64 {
        let (product, ktype) = (&self.layer.product, self.types.ktype);
        let fraction = self.fractions[column / LANES][part];
        let (raw, _) = weight(product, &product.parts[part], [row, column], ktype, fraction);
        ktype.to_f64(raw) * 2f64.powi(-fraction)
    }

    /// Returns the biases, if there are any.
    pub fn biases(&self) -> Option<&[f64]> {
        self.biases.as_deref()
    }
}

/// Returns the raw value nearest to `value * 2^fraction`, and whether it saturated.
fn quantize(data_type: DataType, value: f64, fraction: i32) -> (i32, bool) {
    let scaled = value * 2f64.powi(fraction);
    match data_type.fixed() {
        Some(fixed) => {
            let Quantized { value, is_saturated } = fixed.quantized(scaled);
            (value as i32, is_saturated)
        }
        None => (data_type.from_f64(scaled), false),
    }
}

/// Returns the exponent that converts real values to integers of the type.
fn fraction_of_raw(data_type: DataType, fraction: i32) -> i32 {
    fraction + data_type.fixed().map_or(0, |fixed| fixed.fraction())
}

/// Pads `bytes` to a multiple of [`ALIGNMENT`] and returns its length.
fn aligned(bytes: &mut Vec<u8>) -> usize {
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    bytes.len()
}

fn push(bytes: &mut Vec<u8>, data_type: DataType, raw: i32) {
    bytes.extend_from_slice(&raw.to_le_bytes()[..data_type.size_bytes() as usize]);
}

/// Returns the largest fraction length at which `largest` does not saturate; 0 for floats.
fn fitting(data_type: DataType, largest: f64) -> i32 {
    let Some(fixed) = data_type.fixed() else { return 0 };
    if largest == 0.0 || !largest.is_finite() {
        return 0;
    }
    let fits = (f64::from(fixed.max()) + 0.49) / largest;
    fits.log2().floor().clamp(-100.0, 100.0) as i32 - fixed.fraction()
}

/// Returns the initial values of the sums of some channels, if there are any: as on the machine
/// before rounding, and as in the model.
///
/// If a single weight scales each channel, and operands can be so large that the sum is 0, the
/// addend is scaled by the same factor by which rounding changes the weight. A sum that cancels,
/// such as the mask `(1 - m) * -10000`, then still cancels.
fn addends(
    product: &Product,
    columns: &Range<usize>,
    planes: &Planes,
    types: &Types,
    fractions: &[i32],
) -> Option<Vec<[f64; 2]>> {
    let bias = product.bias.as_ref()?;
    let scales = match (product.parts.as_slice(), fractions) {
        ([part], &[fraction]) if scales_channels(product, part) => {
            Some((part, fraction, largest_operand(part, planes, types)))
        }
        _ => None,
    };
    let addend = |k: usize| {
        let addend = f64::from(bias[k]);
        let Some((part, fraction, largest)) = scales else { return [addend; 2] };
        let exact = f64::from(product.weight(part, k, k));
        let (raw, is_saturated) = weight(product, part, [k, k], types.ktype, fraction);
        let rounded = types.ktype.to_f64(raw) * 2f64.powi(-fraction);
        let cancels = addend.abs() <= exact.abs() * largest;
        let factor = if cancels && !is_saturated && exact != 0.0 { rounded / exact } else { 1.0 };
        [addend * factor, addend]
    };
    Some(columns.clone().map(addend).collect())
}

/// Whether each channel of the result is one channel of the operand times a factor.
fn scales_channels(product: &Product, part: &Part) -> bool {
    let operands: usize = part.terms.iter().map(|term| term.channels).sum();
    matches!(part.weights, Weights::Diagonal { taps: 1, .. }) && operands == product.channels
}

/// Returns the largest absolute value of a part's operands; infinite for floats.
fn largest_operand(part: &Part, planes: &Planes, types: &Types) -> f64 {
    let Some(fixed) = types.itype.fixed() else { return f64::INFINITY };
    let largest =
        |term: &Term| f64::from(fixed.max()) * 2f64.powi(-planes.get(term.plane).fraction - fixed.fraction());
    part.terms.iter().map(largest).fold(0.0, f64::max)
}

/// Returns the fraction length of biases. It is limited to the partial sums' fraction length, which
/// would round off more bits.
fn bias_fraction(addends: &[[f64; 2]], types: &Types, sum_fraction: i32) -> i32 {
    if types.btype.fixed().is_none() {
        return 0;
    }
    let last_place = fraction_of_raw(types.otype, sum_fraction) - fraction_of_raw(types.btype, 0);
    let largest = addends.iter().fold(0.0, |largest: f64, [value, _]| largest.max(value.abs()));
    fitting(types.btype, largest).min(last_place)
}

/// Returns the fraction length of each part's weights that contribute to `columns`.
fn weight_fractions(product: &Product, columns: &Range<usize>, ktype: DataType) -> Vec<i32> {
    product.parts.iter().map(|part| weight_fraction(product, part, columns, ktype)).collect()
}

/// Returns the fraction length with the smallest sum of squared errors, over the weights of a part
/// that contribute to `columns`.
fn weight_fraction(product: &Product, part: &Part, columns: &Range<usize>, ktype: DataType) -> i32 {
    if ktype.fixed().is_none() {
        return 0;
    }
    let weights = || {
        let rows = part.terms.iter().flat_map(|term| term.row..term.row + term.channels);
        rows.flat_map(|row| columns.clone().map(move |k| f64::from(product.weight(part, row, k))))
    };
    let largest = weights().fold(0.0, |largest: f64, weight| largest.max(weight.abs()));
    let first = fitting(ktype, largest);
    if matches!(part.weights, Weights::Diagonal { taps: 2.., .. }) || largest == 0.0 {
        return first;
    }
    let error = |fraction: i32| -> f64 {
        let squared = |weight: f64| {
            let (raw, _) = quantize(ktype, weight, fraction);
            (f64::from(raw) * 2f64.powi(-fraction_of_raw(ktype, fraction)) - weight).powi(2)
        };
        weights().map(squared).sum()
    };
    let tried = (first..=first + MAX_EXTRA_BITS).map(|fraction| (error(fraction), fraction));
    // Of two equally good fraction lengths, the first is taken.
    tried.min_by(|(a, _), (b, _)| a.total_cmp(b)).map_or(first, |(_, fraction)| fraction)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::super::map::PlaneId;
    use super::*;

    #[test]
    fn the_largest_fraction_length_that_fits() {
        let fx8_5: DataType = "fx8_5".parse().unwrap();
        for (data_type, largest, expected) in [
            (DataType::INT8, 127.0, 0),
            (DataType::INT8, 127.4, 0),
            // 127.5 is rounded to 128.
            (DataType::INT8, 127.5, -1),
            (DataType::INT8, 1.0, 6),
            (DataType::INT8, 127.0 / 128.0, 7),
            (DataType::INT16, 1.0, 14),
            (fx8_5, 127.0 / 32.0, 0),
            (fx8_5, 4.0, -1),
            (DataType::INT8, 0.0, 0),
            (DataType::INT8, f64::INFINITY, 0),
            (DataType::Fp16, 3.0, 0),
        ] {
            assert_eq!(fitting(data_type, largest), expected, "{data_type} {largest}");
        }
    }

    #[test]
    fn weights_have_the_fraction_length_of_the_least_error() {
        let fraction = |factors: &[f32], taps| {
            let term = |tap| Term {
                plane: PlaneId(0),
                lane: 0,
                channels: factors.len(),
                at: [0, tap as isize],
                row: tap * factors.len(),
            };
            let terms = (0..taps).map(term).collect();
            let part = Part {
                weights: Weights::Diagonal { factors: factors.to_vec(), taps },
                strides: [1, 1],
                terms,
            };
            let (channels, columns) = (factors.len(), 0..factors.len());
            let product = Product { size: [1, 1], channels, parts: vec![part], factors: None, bias: None };
            weight_fraction(&product, &product.parts[0], &columns, DataType::INT8)
        };
        // At 2^-7, 1 becomes 127/128, which is an error of one step. Each 3/128 gains half a step
        // of 2^-6.
        assert_eq!(fraction(&[1.0, 1.0 / 64.0, 1.0 / 64.0], 1), 6);
        assert_eq!(fraction(&[1.0, 3.0 / 128.0, 3.0 / 128.0], 1), 7);
        // Likewise if only 2^0 fits.
        assert_eq!(fraction(&[64.0, 1.5, 1.5], 1), 1);
        // The gain equals the loss: 127.5 / 128.
        assert_eq!(fraction(&[127.5 / 128.0], 1), 6);
        // Weights of taps that are exact only as a sum do not saturate.
        assert_eq!(fraction(&[1.0, 3.0 / 128.0, 3.0 / 128.0], 2), 6);
        assert_eq!(fraction(&[0.0, 0.0], 1), 0);
    }
}
