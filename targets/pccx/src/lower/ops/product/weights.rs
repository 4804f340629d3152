//! Constants as weights of 4 bits: [`Weights`].

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::quantise::rows::{Int4Rows, WeightError as Error};
use npukit_numeric::Tensor;

use super::{MAX_ROWS, Product};
use crate::lower::LowerError;
use crate::weights::WeightImage;

/// Constants as weights, by name: of graphs that share them each is quantised once.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    images: BTreeMap<String, Vec<Arc<WeightImage>>>,
    /// What quantisation does to each.
    pub errors: BTreeMap<String, Error>,
}

impl Weights {
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
    /// image has.
    ///
    /// # Errors
    ///
    /// Weights that are not finite, or too many for an image.
    pub(super) fn of(
        &mut self,
        name: &str,
        tensor: &Tensor,
        product: &Product,
    ) -> Result<&[Arc<WeightImage>], LowerError> {
        let lie = if product.by_rows { "rows" } else { "columns" };
        let key = format!("{name}, {lie}, times {}", product.alpha);
        if !self.images.contains_key(&key) {
            let (images, error) = quantise(name, tensor, product)?;
            self.images.insert(key.clone(), images);
            self.errors.insert(name.to_owned(), error);
        }
        Ok(&self.images[&key])
    }
}

fn quantise(
    name: &str,
    tensor: &Tensor,
    product: &Product,
) -> Result<(Vec<Arc<WeightImage>>, Error), LowerError> {
    let values = tensor.as_f32().ok_or(LowerError::Fault("weights"))?;
    let [_, k, n] = product.size;
    let by_column = || (0..n).flat_map(|column| values.iter().skip(column).step_by(n)).copied();
    let transposed: Vec<f32> = if product.by_rows { Vec::new() } else { by_column().collect() };
    let values = if product.by_rows { values } else { &transposed };
    let rows = Int4Rows::keeping(n, k, values);
    let rows = rows.map_err(|error| LowerError::Rows { name: name.to_owned(), error })?;
    let images = (0..n).step_by(MAX_ROWS).map(|start| {
        let part = start..(start + MAX_ROWS).min(n);
        let codes = &rows.codes()[part.start * k..part.end * k];
        let scales = rows.scales()[part.clone()].iter().map(|scale| scale * product.alpha).collect();
        let image = WeightImage::new(part.len(), k, codes, Some(scales));
        image.map(Arc::new).map_err(|error| LowerError::Weights { name: name.to_owned(), error })
    });
    let images = images.collect::<Result<_, _>>()?;
    Ok((images, rows.error(values)))
}
