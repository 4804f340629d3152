//! Constants as weights of 4 bits: [`Weights`].

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::quantise::rows::{Int4Rows, WeightError as Error};
use npukit_numeric::Tensor;

use super::{MAX_ROWS, Product};
use crate::bf16::{bf, val};
use crate::lower::LowerError;
use crate::weights::WeightImage;

/// Constants as weights, by name: of graphs that share them each is quantised once.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    images: BTreeMap<String, Vec<Arc<WeightImage>>>,
    /// The BF16 factor of each whose scale MEMSET brings.
    factors: BTreeMap<String, u16>,
    /// What quantisation does to each.
    pub errors: BTreeMap<String, Error>,
    /// What codes would be without rounding, where somebody wants to know.
    exact: Option<ExactCodes>,
}

/// By size and rows of an image, what the model's weights are in steps of their scales; none where several matrices of the
/// model have become the same image.
type ExactCodes = BTreeMap<([usize; 2], Vec<u8>), Option<Arc<[f64]>>>;

impl Weights {
    /// Those that also keep what codes would be without rounding.
    pub(crate) fn keeping_exact() -> Self {
        Self { exact: Some(ExactCodes::new()), ..Self::default() }
    }

    /// What the codes of an image would be, row by row; none of one that is no constant of the model, or of several.
    pub(crate) fn exact(&self, image: &WeightImage) -> Option<Arc<[f64]>> {
        let key = ([image.n(), image.k()], image.rows().to_vec());
        self.exact.as_ref()?.get(&key)?.clone()
    }
    /// A sentence on what quantisation does to the matrix that suffers most.
    pub(in crate::lower) fn worst(&self) -> Option<String> {
        let relative = |(_, error): &(&String, &Error)| error.relative;
        let worst = self.errors.iter().max_by(|a, b| relative(a).total_cmp(&relative(b)));
        let (name, error) = worst.filter(|worst| relative(worst) > 0.0)?;
        Some(format!(
            "{} matrices became 4-bit rows; the worst, `{name}`, is {:.1} % off (root of the \
             mean square, next to its weights'), at most {:.3}",
            self.errors.len(),
            100.0 * error.relative,
            error.max
        ))
    }

    /// The images of a matrix `[n, k]` when it lies by rows, `[k, n]` else; several for more rows than an
    /// image has. Each input of a row has its gain where there are gains.
    ///
    /// # Errors
    ///
    /// Weights that are not finite, or too many for an image.
    pub(super) fn of(
        &mut self,
        name: &str,
        tensor: &Tensor,
        gain: Option<&Tensor>,
        product: &Product,
    ) -> Result<&[Arc<WeightImage>], LowerError> {
        let key = key(name, product);
        if !self.images.contains_key(&key) {
            let Quantised { images, factor, error, exact } =
                quantise(name, tensor, gain, product, self.exact.is_some())?;
            self.keep(&images, exact);
            self.factors.extend(factor.map(|factor| (key.clone(), factor)));
            self.images.insert(key.clone(), images);
            self.errors.insert(name.to_owned(), error);
        }
        Ok(&self.images[&key])
    }

    /// Keeps what the codes of images would be without rounding.
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

    /// The codes of a matrix as `[k, n]`, and the factor of each of its `n` results.
    ///
    /// # Errors
    ///
    /// Those of [`Self::of`].
    pub(in crate::lower) fn codes_of(
        &mut self,
        name: &str,
        tensor: &Tensor,
        gain: Option<&Tensor>,
        product: &Product,
    ) -> Result<[Vec<f32>; 2], LowerError> {
        let [_, k, n] = product.size;
        let images = self.of(name, tensor, gain, product)?.to_vec();
        let factor = self.factor(name, product).map(val);
        let (mut codes, mut factors) = (vec![0.0; k * n], Vec::with_capacity(n));
        for image in &images {
            for row in 0..image.n() {
                let scale = image.scales().and_then(|scales| scales.get(row)).copied().or(factor);
                for column in 0..k {
                    // Default: every row has that many.
                    codes[column * n + factors.len()] = image.weight(row, column).unwrap_or_default().into();
                }
                factors.push(scale.ok_or(LowerError::Fault("scales"))?);
            }
        }
        Ok([codes, factors])
    }

    /// The BF16 factor of a matrix, where it has one instead of scales.
    pub(super) fn factor(&self, name: &str, product: &Product) -> Option<u16> {
        self.factors.get(&key(name, product)).copied()
    }
}

fn key(name: &str, product: &Product) -> String {
    let lie = if product.by_rows { "rows" } else { "columns" };
    let scales = if product.one_scale { ", one scale" } else { "" };
    format!("{name}, {lie}, times {}{scales}", product.alpha)
}

/// A matrix as weights.
struct Quantised {
    images: Vec<Arc<WeightImage>>,
    /// The BF16 factor of all, instead of scales.
    factor: Option<u16>,
    /// What quantisation does to it.
    error: Error,
    /// Its weights in steps of their scales, where they are kept.
    exact: Vec<f64>,
}

fn quantise(
    name: &str,
    tensor: &Tensor,
    gain: Option<&Tensor>,
    product: &Product,
    keeps_exact: bool,
) -> Result<Quantised, LowerError> {
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
    // With one scale a matrix is one long row.
    let mut rows = match product.one_scale {
        true => Int4Rows::new(1, n * k, values).map_err(failed)?,
        false => Int4Rows::keeping(n, k, values).map_err(failed)?,
    };
    let factor = product.one_scale.then(|| bf(rows.scales().iter().sum::<f32>() * product.alpha));
    // A slot of 0 is no factor: such a matrix keeps scales of its rows.
    let factor = factor.filter(|&factor| val(factor) != 0.0 && val(factor).is_finite());
    if let Some(factor) = factor {
        rows = Int4Rows::with_scale(n, k, values, val(factor) / product.alpha).map_err(failed)?;
    } else if product.one_scale {
        rows = Int4Rows::keeping(n, k, values).map_err(failed)?;
    }
    let images = (0..n).step_by(MAX_ROWS).map(|start| {
        let part = start..(start + MAX_ROWS).min(n);
        let codes = &rows.codes()[part.start * k..part.end * k];
        let scales = factor
            .is_none()
            .then(|| rows.scales()[part.clone()].iter().map(|scale| scale * product.alpha).collect());
        let image = WeightImage::new(part.len(), k, codes, scales);
        image.map(Arc::new).map_err(|error| LowerError::Weights { name: name.to_owned(), error })
    });
    let images = images.collect::<Result<_, _>>()?;
    let step = |(place, &value): (usize, &f32)| {
        // With one scale all rows have it.
        let scale = rows.scales()[place / k.max(1) % rows.scales().len()];
        if scale == 0.0 { 0.0 } else { f64::from(value) / f64::from(scale) }
    };
    let exact = values.iter().enumerate().filter(|_| keeps_exact).map(step).collect();
    Ok(Quantised { images, factor, error: rows.error(values), exact })
}

/// What 4 bits stand for of a matrix whose inputs have gains, without these.
///
/// # Errors
///
/// Weights that are not finite floats.
pub fn dequantised_with(
    weights: &Tensor,
    gain: &Tensor,
    by_rows: bool,
    [_, k, n]: [usize; 3],
) -> Result<Tensor, LowerError> {
    let floats =
        |tensor: &'_ Tensor| tensor.as_f32().map(<[f32]>::to_vec).ok_or(LowerError::Fault("weights"));
    let (values, gain) = (floats(weights)?, floats(gain)?);
    // The place of a weight in its constant, by output and input.
    let place = |output: usize, input: usize| if by_rows { output * k + input } else { input * n + output };
    let all = || (0..n).flat_map(|output| (0..k).map(move |input| (output, input)));
    let scaled: Vec<f32> = all().map(|(output, input)| values[place(output, input)] * gain[input]).collect();
    let rows = Int4Rows::new(n, k, &scaled);
    let rows = rows.map_err(|error| LowerError::Rows { name: "weights with gains".to_owned(), error })?;
    let mut found = values.clone();
    for ((output, input), weight) in all().zip(rows.dequantised()) {
        if gain[input] != 0.0 {
            found[place(output, input)] = weight / gain[input];
        }
    }
    Tensor::from_f32(weights.shape().to_vec(), found).map_err(|_| LowerError::Fault("weights"))
}
