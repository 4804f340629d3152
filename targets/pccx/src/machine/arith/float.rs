//! Machine and host in 64-bit floats: [`Reals`]. Activations keep all of their bits, results are
//! not rounded to BF16, and rows that the host quantizes are unchanged. Nodes of the host are
//! computed in `f32`, as in the model.
//!
//! Words of weights that MEMCPY brings to L2 represent 16 bits and not a number: they are stored as
//! a NaN with these bits.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use npukit_graph::quantize::rows::RowsError;
use npukit_graph::{Graph, Node, ValueInfo};
use npukit_numeric::{BLOCK, Tensor};

use crate::config::{Reading, WORD_LANES};
use crate::isa::fault::FaultKind;
use crate::isa::op::{Cvo, CvoFunc};
use crate::machine::arith::{Arithmetic, Bits, NodeError, Product, Rows, literal};
use crate::machine::bf16::val;
use crate::machine::functions::evaluate;
use crate::machine::weights::{WeightError, WeightImage};

/// Arithmetic on floats instead of BF16 patterns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reals;

/// Weight matrix: unrounded codes, and scales.
#[derive(Clone, Debug)]
pub(crate) struct RealImage {
    size: [usize; 2],
    codes: Arc<[f64]>,
    scales: Option<Vec<f64>>,
    /// The matrix in bits, if it is from the program.
    bits: Option<Arc<WeightImage>>,
}

impl RealImage {
    /// Returns the program's image with the unrounded codes of the model's weights.
    pub fn exact(image: &Arc<WeightImage>, codes: Arc<[f64]>) -> Self {
        let scales = image.scales().map(|scales| scales.iter().copied().map(f64::from).collect());
        Self { size: [image.n(), image.k()], codes, scales, bits: Some(Arc::clone(image)) }
    }
}

/// Upper bits of the NaN that marks packed weights.
const PACKED: u64 = 0x7FF8_7061_636B_0000;

/// Returns the float that represents 16 bits of a word, not a number.
const fn packed(bits: u16) -> f64 {
    f64::from_bits(PACKED | bits as u64)
}

/// Returns the bits in a value of [`packed`].
const fn unpacked(lane: f64) -> Option<u16> {
    let bits = lane.to_bits();
    if bits & !0xFFFF == PACKED { Some(bits as u16) } else { None }
}

impl Arithmetic for Reals {
    type Scalar = f64;
    type Real = f64;
    type Code = f64;
    type Activations = literal::Rows<f64>;
    type Image = RealImage;
    type Window = Vec<f64>;
    type Slot = Arc<Tensor>;

    fn value(scalar: f64) -> f64 {
        scalar
    }

    fn rounded(real: f64) -> f64 {
        real
    }

    fn of_pattern(bits: u16) -> f64 {
        val(bits).into()
    }

    fn of_f32(value: f32) -> f64 {
        value.into()
    }

    fn to_f32(value: f64) -> Option<f32> {
        Some(value as f32)
    }

    fn garbage(bits: u64) -> f64 {
        val(bits as u16).into()
    }

    fn ingest(activations: &[f64], k: usize) -> literal::Rows<f64> {
        literal::Rows::of(activations, k)
    }

    fn multiply(x: &literal::Rows<f64>, product: &Product<'_, RealImage, f64>, dest: &mut [f64]) {
        let dot = |row: &[f64], weights: &[f64]| row.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>();
        let of_row = |row: &[f64]| -> Vec<f64> {
            let sums = product.image.codes.chunks_exact(x.k.max(1)).map(|weights| dot(row, weights));
            match product.within {
                None => sums.collect(),
                Some(factors) => sums.zip(factors).map(|(sum, factor)| sum * factor).collect(),
            }
        };
        let sums: Vec<f64> = x.values.chunks_exact(x.k.max(1)).flat_map(of_row).collect();
        literal::finish::<Self>(&sums, product, dest);
    }

    fn maximum(results: &[f64]) -> f64 {
        // Default: NaN, like the machine, if there are only NaNs.
        results.iter().copied().filter(|result| !result.is_nan()).reduce(f64::max).unwrap_or(f64::NAN)
    }

    fn function(function: CvoFunc, reading: Reading, x: f64, old: Option<f64>) -> f64 {
        let y = match (function, reading) {
            _ if x.is_nan() => f64::NAN,
            (CvoFunc::Recip, Reading::Seed) => 1.0 / x,
            _ => evaluate(function, x),
        };
        // Default: without an addend.
        old.unwrap_or(0.0) + y
    }

    fn reciprocal(scalar: f64, reading: Reading) -> f64 {
        if scalar == 0.0 && reading == Reading::Documents { 0.0 } else { 1.0 / scalar }
    }

    fn upstream(_: &Cvo, _: &[f64]) -> Result<Vec<f64>, FaultKind> {
        Err(FaultKind::UpstreamUndefined { what: "CVO of the circuits in float" })
    }

    fn image(image: &Arc<WeightImage>) -> Arc<RealImage> {
        let [n, k] = [image.n(), image.k()];
        // Default: every row has `k` weights.
        let code = |row, column| f64::from(image.weight(row, column).unwrap_or_default());
        let codes = (0..n).flat_map(|row| (0..k).map(move |column| code(row, column))).collect();
        Arc::new(RealImage::exact(image, codes))
    }

    fn image_of(
        [n, k]: [usize; 2],
        codes: &[f64],
        scales: Option<Vec<f64>>,
    ) -> Result<RealImage, WeightError> {
        // An image of the same size is built only to report the same size errors as the machine's
        // own arithmetic.
        WeightImage::new(n, k, &vec![0; codes.len()], scales.as_ref().map(|all| vec![0.0; all.len()]))?;
        Ok(RealImage { size: [n, k], codes: codes.into(), scales, bits: None })
    }

    fn image_in([n, k]: [usize; 2], lanes: &[f64]) -> Option<RealImage> {
        let row = k.div_ceil(BLOCK) * WORD_LANES;
        let (rows, factors) = lanes.split_at_checked(n.checked_mul(row)?)?;
        let code = |bits: u16, nibble: u32| f64::from(((bits >> (4 * nibble)) << 12).cast_signed() >> 12);
        let four = |&lane: &f64| match unpacked(lane) {
            Some(bits) => std::array::from_fn(|nibble| code(bits, nibble as u32)),
            None => [f64::NAN; 4],
        };
        let codes = rows.chunks(row.max(1)).flat_map(|row| row.iter().flat_map(four).take(k)).collect();
        let scale = |&[low, high]: &[f64; 2]| match (unpacked(low), unpacked(high)) {
            (Some(low), Some(high)) => f32::from_bits(u32::from(high) << 16 | u32::from(low)).into(),
            _ => f64::NAN,
        };
        let scales: Vec<f64> = factors.as_chunks().0.iter().take(n).map(scale).collect();
        let scales = (scales.len() == n).then_some(scales);
        Some(RealImage { size: [n, k], codes, scales, bits: None })
    }

    fn lanes(image: &RealImage) -> Option<Vec<f64>> {
        let words = image.bits.as_ref()?.words();
        Some(words.as_chunks().0.iter().map(|&pair| packed(u16::from_le_bytes(pair))).collect())
    }

    fn size(image: &RealImage) -> [usize; 2] {
        image.size
    }

    fn scales(image: &RealImage) -> Option<&[f64]> {
        image.scales.as_deref()
    }

    fn with_scales(image: &RealImage, scales: Vec<f64>) -> RealImage {
        let scales = (scales.len() == image.size[0]).then_some(scales);
        RealImage { scales, bits: None, ..image.clone() }
    }

    fn window(scalars: usize, _: Option<u64>) -> Vec<f64> {
        vec![0.0; scalars]
    }

    fn units(window: &Vec<f64>) -> u64 {
        (window.len() / WORD_LANES) as u64
    }

    fn load(window: &Vec<f64>, place: Range<usize>) -> Option<impl Iterator<Item = f64>> {
        Some(window.get(place)?.iter().copied())
    }

    fn save(window: &mut Vec<f64>, place: Range<usize>, scalars: impl Iterator<Item = f64>) -> Option<()> {
        window.get_mut(place)?.iter_mut().zip(scalars).for_each(|(place, scalar)| *place = scalar);
        Some(())
    }

    fn constant(tensor: &Arc<Tensor>) -> Arc<Tensor> {
        Arc::clone(tensor)
    }

    fn shape(slot: &Arc<Tensor>) -> &[usize] {
        slot.shape()
    }

    fn described(slot: &Arc<Tensor>) -> String {
        Bits::described(slot)
    }

    fn floats(slot: &Arc<Tensor>) -> Option<Cow<'_, [f64]>> {
        Some(Cow::Owned(slot.as_f32()?.iter().copied().map(f64::from).collect()))
    }

    fn sent(slot: &Arc<Tensor>) -> Option<impl Iterator<Item = f64>> {
        Some(slot.as_f32()?.iter().copied().map(f64::from))
    }

    fn filled(info: &ValueInfo, values: Vec<f64>) -> Option<Arc<Tensor>> {
        Bits::filled(info, values.into_iter().map(|value| value as f32).collect())
    }

    fn computed(graph: &Graph, node: &Node, operands: &[Arc<Tensor>]) -> Result<Vec<Arc<Tensor>>, NodeError> {
        Bits::computed(graph, node, operands)
    }

    /// Returns rows unchanged, with scales of 1.
    fn quantized(rows: usize, _: usize, values: &[f64]) -> Result<Rows<Self>, RowsError> {
        Ok(Rows { codes: values.to_vec(), scales: vec![1.0; rows] })
    }

    fn share(sum: f64, count: usize) -> f64 {
        sum / count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights in L2 are the ones that were sent there, and are not numbers.
    #[test]
    fn weights_in_l2_are_those_that_were_brought() {
        let (n, k) = (3, 37);
        let codes: Vec<i8> = (0..n * k).map(|place| (place * 7 % 16) as i8 - 8).collect();
        let image = WeightImage::new(n, k, &codes, Some(vec![0.5, -3.0, 1e-3])).expect("a matrix");
        let lanes = Reals::lanes(&Reals::image(&Arc::new(image))).expect("bits");
        assert!(lanes.iter().all(|lane| lane.is_nan() && unpacked(*lane).is_some()));
        let found = Reals::image_in([n, k], &lanes).expect("a matrix");
        assert!(found.codes.iter().zip(&codes).all(|(found, &code)| *found == f64::from(code)));
        assert_eq!(found.scales, Some([0.5_f32, -3.0, 1e-3].map(f64::from).to_vec()));
        assert_eq!([unpacked(f64::NAN), unpacked(1.0), unpacked(packed(0xFFFF))], [None, None, Some(0xFFFF)]);
    }
}
