//! Products of rows with constant matrices.

mod bits16;
mod rows;
mod split;
mod tiles;
mod weights;

use std::sync::Arc;

use npukit_graph::{NodeId, ValueId};
use npukit_numeric::Tensor;

pub use rows::rows_of;
pub use split::{nearest, value_of};
pub use weights::{Weights, dequantized_with};

use super::NodeWork;
use crate::config::WORD_LANES;
use crate::isa::op::{CvoFlags, MacFlags};
use crate::lower::LowerError;
use crate::lower::code::Code;
use crate::lower::emit::Lowering;
use crate::lower::macros::Macros;
use crate::lower::memory::Region;
use crate::lower::reason::HostReason;
use crate::lower::steps::Layers;

use crate::lower::limits::{LARGEST, MAX_ROWS};
use crate::lower::work::{Bits, Product, Work};

/// Refuses products that are too large for the machine.
fn check_size(m: usize, k: usize, n: usize) -> Result<(), HostReason> {
    if k > LARGEST {
        return Err(HostReason::LongRow);
    }
    // If results come from several images, rows are computed one by one.
    if n > MAX_ROWS && m > 1 && !(n.is_multiple_of(WORD_LANES) && k.is_multiple_of(WORD_LANES)) {
        return Err(HostReason::ProductRows);
    }
    Ok(())
}

impl Layers {
    /// Lowers a product of rows with a constant matrix, which is stored by rows or by columns.
    ///
    /// # Errors
    /// The reason why the host computes it.
    pub(super) fn product(
        &mut self,
        id: NodeId,
        [x, weights]: [ValueId; 2],
        by_rows: bool,
        alpha: f32,
        bias: Option<ValueId>,
    ) -> NodeWork {
        if self.graph.constant(weights).is_none() {
            return Err(HostReason::TwoActivations);
        }
        let (&[first, second], Some((&k, rows))) =
            (self.graph.shape(weights), self.graph.shape(x).split_last())
        else {
            return Err(HostReason::SeveralMatrices);
        };
        let m = rows.iter().product();
        let n = if by_rows { first } else { second };
        if self.graph.constant(x).is_some() {
            return Err(HostReason::NothingToMultiply);
        }
        let product = self.product_of([m, k, n], id, weights, by_rows, alpha, bias)?;
        let x = self.folds.of_product(id).map_or(x, |folded| folded.normal);
        Ok((Work::Product(product), vec![x]))
    }

    /// Lowers a product of `m` rows of `k` values with a constant matrix that gives `n` results per
    /// row.
    ///
    /// # Errors
    /// The reason why the host computes it.
    pub(super) fn product_of(
        &mut self,
        [m, k, n]: [usize; 3],
        id: NodeId,
        weights: ValueId,
        by_rows: bool,
        alpha: f32,
        bias: Option<ValueId>,
    ) -> Result<Product, HostReason> {
        check_size(m, k, n)?;
        let bad = |id: ValueId| {
            let values = self.graph.constant(id).and_then(|tensor| tensor.as_f32());
            !values.is_some_and(|values| values.iter().all(|value| value.is_finite()))
        };
        if bad(weights) || bias.is_some_and(bad) {
            return Err(HostReason::NotFinite);
        }
        // A bias of whole L2 words is sent as one row. Any other bias is sent for the whole result.
        let rows = if m == 1 || n.is_multiple_of(WORD_LANES) { 1 } else { m };
        let is_row = |id| self.size(id) == n && self.graph.shape(id).last() == Some(&n);
        let bias = match bias {
            Some(bias) if is_row(bias) && rows == 1 => Some(bias),
            Some(bias) => Some(self.spread(bias, &[m, n])?),
            None => None,
        };
        let one_scale = self.one_scale;
        let mut product = Product {
            weights,
            gain: None,
            by_rows,
            alpha,
            bias,
            size: [m, k, n],
            adds: false,
            softmax: false,
            one_scale,
            quotient: false,
            bits: Bits::Four,
        };
        if let Some(folded) = self.folds.of_product(id) {
            (product.gain, product.alpha) = (Some(folded.gain), alpha * folded.factor);
            if let Some(shift) = folded.bias {
                product.bias = Some(self.shifted(&product, shift, rows)?);
            }
        }
        Ok(product)
    }

    /// Returns the bias of a product after a norm with biases: the product's own bias or `rows`
    /// rows of zeros, plus the norm's biases times the weights.
    fn shifted(&mut self, product: &Product, shift: ValueId, rows: usize) -> Result<ValueId, HostReason> {
        let floats =
            |id| self.graph.constant(id).and_then(|tensor| tensor.as_f32()).ok_or(HostReason::Unmade);
        let (weights, shift_values) = (floats(product.weights)?, floats(shift)?);
        let [_, k, n] = product.size;
        let mut values = vec![0.0f64; n];
        for (j, &shift) in shift_values.iter().enumerate() {
            let (first, step) = if product.by_rows { (j, k) } else { (j * n, 1) };
            let column = weights.iter().skip(first).step_by(step);
            values.iter_mut().zip(column).for_each(|(sum, &w)| *sum += f64::from(shift) * f64::from(w));
        }
        let shifts: Vec<f32> = values.iter().map(|sum| (sum * f64::from(product.alpha)) as f32).collect();
        let nothing = vec![0.0; rows * n];
        let own = product.bias.map(floats).transpose()?.unwrap_or(&nothing);
        let values: Vec<f32> =
            own.iter().zip(shifts.iter().cycle()).map(|(own, shift)| own + shift).collect();
        let shape = if values.len() == n { vec![n] } else { vec![values.len() / n.max(1), n] };
        let name = |id| &self.graph.value(id).name;
        let own = product.bias.map_or("nothing", |bias| name(bias));
        let name =
            format!("{own} and {} through {} times {}", name(shift), name(product.weights), product.alpha);
        let tensor = Tensor::from_f32(shape, values).map_err(|_| HostReason::Unmade)?;
        Ok(self.graph.add_constant(name, tensor))
    }

    /// Returns a constant times a factor.
    ///
    /// # Errors
    /// The factor is not constant, or is not of floats.
    pub(super) fn scaled(&mut self, id: ValueId, factor: f32) -> Result<ValueId, HostReason> {
        let constant = self.graph.constant(id).ok_or(HostReason::BiasChanges)?;
        if factor == 1.0 {
            return Ok(id);
        }
        let values = constant.as_f32().ok_or(HostReason::BiasNotFloat)?;
        let values = values.iter().map(|value| value * factor).collect();
        let shape = constant.shape().to_vec();
        let name = format!("{} times {factor}", self.graph.value(id).name);
        let tensor = Tensor::from_f32(shape, values).map_err(|_| HostReason::Unmade)?;
        Ok(self.graph.add_constant(name, tensor))
    }
}

impl Lowering<'_> {
    /// Emits `x weights`, plus the bias or the second operand.
    ///
    /// # Errors
    /// Too little room in L2; weights that cannot be quantized.
    pub(super) fn product(
        &mut self,
        product: &Product,
        operands: &[ValueId],
        result: ValueId,
    ) -> Result<(), LowerError> {
        let &[x, ref other @ ..] = operands else { return Err(LowerError::Fault("a product")) };
        if let Some(rows) = self.tile(product, x) {
            return self.product_in_tiles(product, operands, result, rows);
        }
        let [m, _, n] = product.size;
        let source = self.fetch(x)?;
        let region = match (other.first().filter(|_| product.adds), product.bias) {
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
        let flags = MacFlags { findemax: product.softmax, accm, w_scale: true };
        let passes = self.passes_of(product)?;
        match product.softmax {
            true => self.softmax_of_rows(&passes, [source, region], product.size, flags)?,
            false => self.multiply(&passes, [source.base, region.base], product.size, flags)?,
        }
        if let Some(&roots) = other.first().filter(|_| product.quotient) {
            let (roots, divided) = (self.fetch(roots)?, CvoFlags { recip_scale: true, ..CvoFlags::PLAIN });
            for row in 0..m {
                let (values, root) = (region.at(row * n), roots.at(row * WORD_LANES));
                self.scale([values, root, values], row == 0, n, divided)?;
            }
        }
        self.place(result, region);
        Ok(())
    }

    /// Emits the softmax of each row of a product, with `region` as initial value and result.
    fn softmax_of_rows(
        &mut self,
        passes: &[Vec<u32>],
        [source, region]: [Region; 2],
        [m, k, n]: [usize; 3],
        flags: MacFlags,
    ) -> Result<(), LowerError> {
        let scores = self.allocate(n)?;
        for row in 0..m {
            let (from, to) = (source.at(row * k), region.at(row * n));
            if flags.accm {
                self.code.copy(to, scores.base, n);
            }
            self.multiply(passes, [from, scores.base], [1, k, n], flags)?;
            self.softmax(scores, to, n)?;
        }
        self.release(scores);
        Ok(())
    }

    /// Initializes each row of the region with the bias.
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

    /// Returns the images of each pass over a product's weights.
    fn passes_of(&mut self, product: &Product) -> Result<Vec<Vec<u32>>, LowerError> {
        let value = self.graph.value(product.weights);
        let gain = product.gain.map(|gain| self.graph.value(gain));
        let name = match gain {
            None => value.name.clone(),
            Some(gain) => format!("{} times {}", value.name, gain.name),
        };
        let key = format!("{name} {} {} {:?}", product.by_rows, product.alpha, product.bits);
        if let Some(known) = self.passes.get(&key) {
            return Ok(known.clone());
        }
        let gain = gain.map(|gain| gain.constant.clone().ok_or(LowerError::Fault("gains"))).transpose()?;
        let tensor = value.constant.clone().ok_or(LowerError::Fault("weights"))?;
        let mut passes = Vec::new();
        for pass in self.weights.of(&name, &tensor, gain.as_deref(), product)? {
            let numbers: Vec<u32> =
                pass.images.iter().map(|image| self.code.image(Arc::clone(image))).collect();
            if let Some(factor) = pass.factor {
                numbers.iter().for_each(|&number| self.code.set_factor(number, factor));
            }
            passes.push(numbers);
        }
        self.passes.insert(key, passes.clone());
        Ok(passes)
    }

    /// Emits products of rows, starting at word `source`, with the weights of the images.
    pub(super) fn multiply_once(
        &mut self,
        images: &[u32],
        [source, dst]: [u32; 2],
        [m, k, n]: [usize; 3],
        flags: MacFlags,
    ) {
        self.bring_weights(images);
        // Results of several images are not adjacent, so rows are computed one by one.
        let tile = if images.len() > 1 { 1 } else { Code::most_rows(k) };
        for start in (0..m).step_by(tile) {
            let rows = (m - start).min(tile);
            let (src, row) =
                (source + (start * k / WORD_LANES) as u32, dst + (start * n / WORD_LANES) as u32);
            for (part, &image) in images.iter().enumerate() {
                let first = part * MAX_ROWS;
                let results = (n - first).min(MAX_ROWS);
                let dst = row + (first / WORD_LANES) as u32;
                self.code.product(image, src, dst, [rows, k, results], flags);
            }
        }
    }
}
