//! Constants as 4-bit weights, or as 8-bit weights in two passes: [`Weights`].

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::quantize::rows::{Int4Rows, RowsError, WeightError as Error};
use npukit_numeric::Tensor;

use super::split::{Codes, split, split_by, value_of};
use crate::lower::LowerError;
use crate::lower::limits::MAX_ROWS;
use crate::lower::work::{Bits, Product};
use crate::machine::bf16::{bf, val};
use crate::machine::weights::WeightImage;

/// Cache of quantized constants by name; graphs with the same constants share it.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    matrices: BTreeMap<String, Vec<Pass>>,
    /// Quantization error of each constant with 4 bits.
    pub errors: BTreeMap<String, Error>,
    /// Quantization error of each constant with 8 bits.
    pub errors_of_8_bits: BTreeMap<String, Error>,
    /// Codes before rounding; `None` if they are not recorded.
    exact: Option<ExactCodes>,
}

/// For the size and rows of an image, the model's weights in units of their scales; `None` if
/// several matrices of the model give the same image.
type ExactCodes = BTreeMap<([usize; 2], Vec<u8>), Option<Arc<[f64]>>>;

/// Weights of one pass over a matrix: the whole matrix, or a part of each weight.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Images; several if the matrix has more rows than an image can have.
    pub images: Vec<Arc<WeightImage>>,
    /// BF16 factor of all rows, set by MEMSET instead of scales.
    pub factor: Option<u16>,
}

impl Weights {
    /// Returns an empty cache that also records codes before rounding.
    pub(crate) fn keeping_exact() -> Self {
        Self { exact: Some(ExactCodes::new()), ..Self::default() }
    }

    /// Returns the codes of an image before rounding, row by row; `None` if it is not from exactly
    /// one constant of the model.
    pub(crate) fn exact(&self, image: &WeightImage) -> Option<Arc<[f64]>> {
        let key = ([image.n(), image.k()], image.rows().to_vec());
        self.exact.as_ref()?.get(&key)?.clone()
    }

    /// Returns sentences on the matrices with the largest quantization error, for 4 and for 8 bits.
    pub(in crate::lower) fn worst(&self) -> Vec<String> {
        let of_4 = worst(&self.errors, "matrices became 4-bit rows");
        let of_8 = worst(
            &self.errors_of_8_bits,
            "matrices became 8-bit rows, each multiplied in two passes of 4 bits",
        );
        of_4.into_iter().chain(of_8).collect()
    }

    /// Returns the passes of a matrix that is `[n, k]` if stored by rows, otherwise `[k, n]`. For 8
    /// bits the remainder comes first. `gain` multiplies the weights of each input.
    ///
    /// # Errors
    /// Weights that are not finite, or too many for an image.
    pub(super) fn of(
        &mut self,
        name: &str,
        tensor: &Tensor,
        gain: Option<&Tensor>,
        product: &Product,
    ) -> Result<&[Pass], LowerError> {
        let key = key(name, product);
        if !self.matrices.contains_key(&key) {
            let (parts, error) = quantize(name, tensor, gain, product, self.exact.is_some())?;
            let mut passes = Vec::new();
            for Part { codes, factor, exact } in parts {
                let images = images(name, product, &codes, factor)?;
                self.keep(&images, exact);
                passes.push(Pass { images, factor });
            }
            self.matrices.insert(key.clone(), passes);
            let errors = match product.bits {
                Bits::Four => &mut self.errors,
                Bits::Eight => &mut self.errors_of_8_bits,
            };
            errors.insert(name.to_owned(), error);
        }
        Ok(&self.matrices[&key])
    }

    /// Records the codes of images before rounding.
    fn keep(&mut self, images: &[Arc<WeightImage>], exact: Vec<f64>) {
        let Some(kept) = &mut self.exact else { return };
        let mut rest = &exact[..];
        for image in images {
            let (codes, behind) = rest.split_at(image.n() * image.k());
            rest = behind;
            let entry = kept.entry(([image.n(), image.k()], image.rows().to_vec()));
            let held = entry.or_insert_with(|| Some(codes.into()));
            if held.as_deref() != Some(codes) {
                *held = None;
            }
        }
    }

    /// Returns, for each pass over a matrix, its codes as `[k, n]` and the factors of its `n`
    /// results.
    ///
    /// # Errors
    /// The errors of [`Self::of`].
    pub(in crate::lower) fn codes_of(
        &mut self,
        name: &str,
        tensor: &Tensor,
        gain: Option<&Tensor>,
        product: &Product,
    ) -> Result<Vec<[Vec<f32>; 2]>, LowerError> {
        let [_, k, n] = product.size;
        self.of(name, tensor, gain, product)?.iter().map(|pass| pass.codes([k, n])).collect()
    }
}

impl Pass {
    /// Returns the codes as `[k, n]`, and the factors of the `n` results.
    fn codes(&self, [k, n]: [usize; 2]) -> Result<[Vec<f32>; 2], LowerError> {
        let factor = self.factor.map(val);
        let (mut codes, mut factors) = (vec![0.0; k * n], Vec::with_capacity(n));
        for image in &self.images {
            for row in 0..image.n() {
                let scale = image.scales().and_then(|scales| scales.get(row)).copied().or(factor);
                for column in 0..k {
                    // Default: every row has `k` weights.
                    codes[column * n + factors.len()] = image.weight(row, column).unwrap_or_default().into();
                }
                factors.push(scale.ok_or(LowerError::Fault("scales"))?);
            }
        }
        Ok([codes, factors])
    }
}

/// Returns a sentence on the matrix with the largest error; `None` if no matrix has an error.
fn worst(errors: &BTreeMap<String, Error>, became: &str) -> Option<String> {
    let relative = |(_, error): &(&String, &Error)| error.relative;
    let worst = errors.iter().max_by(|a, b| relative(a).total_cmp(&relative(b)));
    let (name, error) = worst.filter(|worst| relative(worst) > 0.0)?;
    Some(format!(
        "{} {became}; the worst, `{name}`, is {:.1} % off (RMS, relative to its weights), at most {:.3}",
        errors.len(),
        100.0 * error.relative,
        error.max
    ))
}

fn key(name: &str, product: &Product) -> String {
    let lie = if product.by_rows { "rows" } else { "columns" };
    let scales = if product.one_scale { ", one scale" } else { "" };
    let bits = if product.bits == Bits::Eight { ", 8 bits" } else { "" };
    format!("{name}, {lie}, times {}{scales}{bits}", product.alpha)
}

/// Part of a matrix as weights.
struct Part {
    codes: Codes,
    /// BF16 factor of all rows, instead of scales.
    factor: Option<u16>,
    /// Weights in units of their scales, if recorded.
    exact: Vec<f64>,
}

/// Quantizes a matrix: returns its parts, the remainder first, and the quantization error.
fn quantize(
    name: &str,
    tensor: &Tensor,
    gain: Option<&Tensor>,
    product: &Product,
    keeps_exact: bool,
) -> Result<(Vec<Part>, Error), LowerError> {
    let values = tensor.as_f32().ok_or(LowerError::Fault("weights"))?;
    let [_, k, n] = product.size;
    let by_column = || (0..n).flat_map(|column| values.iter().skip(column).step_by(n)).copied();
    let gain = gain.map(|gain| gain.as_f32().ok_or(LowerError::Fault("gains"))).transpose()?;
    let mut made: Vec<f32> = match (product.by_rows, gain) {
        (false, _) => by_column().collect(),
        (true, Some(_)) => values.to_vec(),
        (true, None) => Vec::new(),
    };
    if let Some(gain) = gain {
        made.chunks_mut(k.max(1)).for_each(|row| row.iter_mut().zip(gain).for_each(|(w, gain)| *w *= gain));
    }
    let values = if made.is_empty() { values } else { &made };
    let failed = |error| LowerError::Rows { name: name.to_owned(), error };
    // Rejects values that are not finite, and a wrong number of values.
    let rows = Int4Rows::keeping(n, k, values).map_err(failed)?;
    match product.bits {
        Bits::Four => in_one_pass(rows, values, product, keeps_exact).map_err(failed),
        Bits::Eight => Ok(in_two_passes(values, product, keeps_exact)),
    }
}

/// Returns a factor that MEMSET can set, which must not be 0.
fn legal_factor(factor: f32) -> Option<u16> {
    let factor = bf(factor);
    (val(factor) != 0.0 && val(factor).is_finite()).then_some(factor)
}

/// Quantizes a matrix to 4 bits, with one scale for all rows if requested and possible.
fn in_one_pass(
    rows: Int4Rows,
    values: &[f32],
    product: &Product,
    keeps_exact: bool,
) -> Result<(Vec<Part>, Error), RowsError> {
    let ([_, k, n], alpha) = (product.size, product.alpha);
    let mut rows = rows;
    let mut factor = None;
    if product.one_scale {
        // For one factor, the whole matrix is quantized as one long row.
        let whole = Int4Rows::new(1, n * k, values)?;
        factor = legal_factor(whole.scales().iter().sum::<f32>() * alpha);
    }
    if let Some(factor) = factor {
        rows = Int4Rows::with_scale(n, k, values, val(factor) / alpha)?;
    }
    let step = |(place, &value): (usize, &f32)| in_steps(value.into(), rows.scales()[place / k.max(1)]);
    let exact = values.iter().enumerate().filter(|_| keeps_exact).map(step).collect();
    let codes = Codes { codes: rows.codes().to_vec(), scales: rows.scales().to_vec() };
    Ok((vec![Part { codes, factor, exact }], rows.error(values)))
}

/// Quantizes a matrix to 8 bits, in two parts.
fn in_two_passes(values: &[f32], product: &Product, keeps_exact: bool) -> (Vec<Part>, Error) {
    let ([_, k, n], alpha) = (product.size, product.alpha);
    let mut factors = [None; 2];
    if product.one_scale {
        let whole = split(n * k, values);
        // Default: a matrix without weights has no scales, and no factors.
        let found = whole.map(|part| legal_factor(part.scales.first().copied().unwrap_or_default() * alpha));
        factors = if found.contains(&None) { [None; 2] } else { found };
    }
    let [large, small] = match factors {
        [Some(large), Some(small)] => split_by(k, values, [large, small].map(|factor| val(factor) / alpha)),
        _ => split(k, values),
    };
    let error = error_of(&large, &small, values, k);
    let kept = |exact: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
        (0..values.len()).filter(|_| keeps_exact).map(|place| exact(place, place / k.max(1))).collect()
    };
    // If the large part is exact, the small part is the whole remainder.
    let exact_large = kept(&|place, _| large.codes[place].into());
    let exact_small = kept(&|place, row| {
        let rest = f64::from(values[place]) - f64::from(large.codes[place]) * f64::from(large.scales[row]);
        in_steps(rest, small.scales[row])
    });
    let small = Part { codes: small, factor: factors[1], exact: exact_small };
    (vec![small, Part { codes: large, factor: factors[0], exact: exact_large }], error)
}

/// Returns a weight in units of a scale.
fn in_steps(value: f64, scale: f32) -> f64 {
    if scale == 0.0 { 0.0 } else { value / f64::from(scale) }
}

/// Returns the error of two parts together.
fn error_of(large: &Codes, small: &Codes, values: &[f32], k: usize) -> Error {
    let (mut max, mut squares, mut energy) = (0f64, 0.0, 0.0);
    for (place, &value) in values.iter().enumerate() {
        let row = place / k.max(1);
        let found =
            value_of([large.codes[place], small.codes[place]], [large.scales[row], small.scales[row]]);
        let difference = found - f64::from(value);
        max = max.max(difference.abs());
        squares += difference * difference;
        energy += f64::from(value) * f64::from(value);
    }
    let relative = if energy > 0.0 { (squares / energy).sqrt() } else { 0.0 };
    Error { max, rms: (squares / values.len().max(1) as f64).sqrt(), relative }
}

/// Returns the images of a part.
fn images(
    name: &str,
    product: &Product,
    Codes { codes, scales }: &Codes,
    factor: Option<u16>,
) -> Result<Vec<Arc<WeightImage>>, LowerError> {
    let [_, k, n] = product.size;
    let images = (0..n).step_by(MAX_ROWS).map(|start| {
        let part = start..(start + MAX_ROWS).min(n);
        let codes = &codes[part.start * k..part.end * k];
        let scales = factor
            .is_none()
            .then(|| scales[part.clone()].iter().map(|scale| scale * product.alpha).collect());
        let image = WeightImage::new(part.len(), k, codes, scales);
        image.map(Arc::new).map_err(|error| LowerError::Weights { name: name.to_owned(), error })
    });
    images.collect()
}

/// Quantizes a matrix with the gains of its inputs to 4 bits, and returns the dequantized weights
/// divided by the gains.
///
/// # Errors
/// Weights that are not finite floats.
pub fn dequantized_with(
    weights: &Tensor,
    gain: &Tensor,
    by_rows: bool,
    [_, k, n]: [usize; 3],
) -> Result<Tensor, LowerError> {
    let floats =
        |tensor: &'_ Tensor| tensor.as_f32().map(<[f32]>::to_vec).ok_or(LowerError::Fault("weights"));
    let (values, gain) = (floats(weights)?, floats(gain)?);
    // Returns the index of a weight in its constant.
    let place = |output: usize, input: usize| if by_rows { output * k + input } else { input * n + output };
    let all = || (0..n).flat_map(|output| (0..k).map(move |input| (output, input)));
    let scaled: Vec<f32> = all().map(|(output, input)| values[place(output, input)] * gain[input]).collect();
    let rows = Int4Rows::new(n, k, &scaled);
    let rows = rows.map_err(|error| LowerError::Rows { name: "weights with gains".to_owned(), error })?;
    let mut found = values.clone();
    for ((output, input), weight) in all().zip(rows.dequantized()) {
        if gain[input] != 0.0 {
            found[place(output, input)] = weight / gain[input];
        }
    }
    Tensor::from_f32(weights.shape().to_vec(), found).map_err(|_| LowerError::Fault("weights"))
}
