//! Products with constants, and the weights they become: [`Weights`].

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::ValueId;
use npukit_graph::quantise::rows::{Int4Rows, WeightError as Error};
use npukit_numeric::Tensor;

use super::LowerError;
use super::code::Code;
use super::machine::Lowering;
use super::memory::Region;
use super::plan::Product;
use crate::config::WORD_LANES;
use crate::op::MacFlags;
use crate::weights::WeightImage;

/// Most rows of an image, in whole words of results.
pub(super) const MOST_ROWS: usize = u16::MAX as usize - WORD_LANES + 1;

/// Constants as weights, by name: of graphs that share them each is quantised once.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    images: BTreeMap<String, Vec<Arc<WeightImage>>>,
    /// What quantisation does to each.
    pub errors: BTreeMap<String, Error>,
}

impl Weights {
    /// A sentence on what quantisation does to the matrix that suffers most.
    pub(super) fn worst(&self) -> Option<String> {
        let relative = |(_, error): &(&String, &Error)| error.relative;
        let worst = self.errors.iter().max_by(|a, b| relative(a).total_cmp(&relative(b)));
        let (name, error) = worst.filter(|worst| relative(worst) > 0.0)?;
        Some(format!(
            "{} matrices became 4-bit rows; the worst, `{name}`, is {:.1} % off (root of the mean square, next to its \
             weights'), at most {:.3}",
            self.errors.len(),
            100.0 * error.relative,
            error.max
        ))
    }

    /// The images of a matrix `[n, k]` when it lies by rows, `[k, n]` else; several for more rows than an image
    /// has.
    fn of(
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
        Ok(self.images.get(&key).map(Vec::as_slice).unwrap_or_default())
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
    let rows = Int4Rows::new(n, k, values);
    let rows = rows.map_err(|error| LowerError::Rows { name: name.to_owned(), error })?;
    let images = (0..n).step_by(MOST_ROWS).map(|start| {
        let part = start..(start + MOST_ROWS).min(n);
        let codes = rows.codes().get(part.start * k..part.end * k).unwrap_or_default();
        let scales = rows.scales().get(part.clone()).unwrap_or_default();
        let scales = scales.iter().map(|scale| scale * product.alpha).collect();
        let image = WeightImage::new(part.len(), k, codes, Some(scales));
        image.map(Arc::new).map_err(|error| LowerError::Weights { name: name.to_owned(), error })
    });
    let images = images.collect::<Result<_, _>>()?;
    Ok((images, rows.error(values)))
}

impl Lowering<'_> {
    /// `x weights`, plus the bias or the second operand.
    pub(super) fn product(
        &mut self,
        product: &Product,
        operands: &[ValueId],
        result: ValueId,
    ) -> Result<(), LowerError> {
        let &[x, ref other @ ..] = operands else { return Err(LowerError::Fault("a product")) };
        let [m, _, n] = product.size;
        let source = self.fetch(x)?;
        let region = match (other.first(), product.bias) {
            (Some(&other), _) => self.turn(other)?,
            (None, bias) => {
                let region = self.allocate(m * n)?;
                if let Some(bias) = bias {
                    self.send_bias(bias, region, [m, n])?;
                }
                region
            }
        };
        let accm = product.adds || product.bias.is_some();
        let flags = MacFlags { findemax: false, accm, w_scale: true };
        let images = self.images_of(product)?;
        self.multiply(&images, [source.base, region.base], product.size, flags)?;
        self.place(result, region);
        Ok(())
    }

    /// Every row of the region begins as the bias.
    fn send_bias(&mut self, bias: ValueId, region: Region, [m, n]: [usize; 2]) -> Result<(), LowerError> {
        if self.values(bias) == m * n {
            self.send(bias, region);
            return Ok(());
        }
        let first = Region { values: n, ..region };
        self.send(bias, first);
        (1..m).for_each(|row| self.code.copy(region.base, region.at(row * n), n));
        Ok(())
    }

    fn images_of(&mut self, product: &Product) -> Result<Vec<u32>, LowerError> {
        let value = self.graph.value(product.weights);
        let key = format!("{} {} {}", value.name, product.by_rows, product.alpha);
        if let Some(known) = self.images.get(&key) {
            return Ok(known.clone());
        }
        let (name, tensor) = (value.name.clone(), value.constant.clone());
        let tensor = tensor.ok_or(LowerError::Fault("weights"))?;
        let images = self.weights.of(&name, &tensor, product)?.to_vec();
        let numbers: Vec<u32> = images.into_iter().map(|image| self.code.image(image)).collect();
        self.images.insert(key, numbers.clone());
        Ok(numbers)
    }

    /// Rows from word `source` on, as the engines take them, times the weights of the images.
    pub(super) fn multiply_once(
        &mut self,
        images: &[u32],
        [source, dst]: [u32; 2],
        [m, k, n]: [usize; 3],
        flags: MacFlags,
    ) {
        // Results of several images do not lie next to each other: then rows go one by one.
        let tile = if images.len() > 1 { 1 } else { Code::most_rows(k) };
        for start in (0..m).step_by(tile) {
            let rows = (m - start).min(tile);
            let (src, row) =
                (source + (start * k / WORD_LANES) as u32, dst + (start * n / WORD_LANES) as u32);
            for (part, &image) in images.iter().enumerate() {
                let first = part * MOST_ROWS;
                let results = (n - first).min(MOST_ROWS);
                let dst = row + (first / WORD_LANES) as u32;
                self.code.product(image, src, dst, [rows, k, results], flags);
            }
        }
    }
}
