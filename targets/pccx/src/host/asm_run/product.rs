//! [`Products`]: the GEMVs and GEMMs of an assembly program, each with its own weights.

use std::sync::Arc;

use crate::host::asm_run::error::AsmRunError;
use crate::isa::op::{Banks, Op};
use crate::machine::weights::WeightImage;

/// A product with its weights.
#[derive(Clone, Debug)]
struct Product {
    /// Index of the instruction.
    index: usize,
    /// Rows and columns, according to the program's MEMSETs.
    n: usize,
    k: usize,
    /// Weights; `None` before any are written.
    image: Option<WeightImage>,
    /// Whether each row is written.
    rows: Vec<bool>,
    /// Scales of the rows; `None` if not written.
    scales: Vec<Option<f32>>,
}

/// Returns number, rows and columns of the products of a program, according to its MEMSETs.
/// Products with invalid sizes are left out.
pub fn products(ops: &[Op]) -> Vec<(usize, usize, usize)> {
    Products::new(ops, 0).sizes().collect()
}

/// Products of a program with streamed weights, in issue order.
#[derive(Clone, Debug)]
pub struct Products {
    all: Vec<Product>,
    /// Bytes in host memory, including windows.
    host_bytes: u64,
}

impl Products {
    /// Collects the matrix products of a program with `host_bytes` bytes of host windows.
    pub fn new(ops: &[Op], host_bytes: u64) -> Self {
        let (mut banks, mut all) = (Banks::default(), Vec::new());
        for (index, op) in ops.iter().enumerate() {
            banks.step(op);
            if let Op::Gemv(mac) | Op::Gemm(mac) = op
                && op.takes_weights(&banks)
            {
                let shape = banks.weight(mac.size_ptr_addr);
                let (n, k) = (usize::from(shape.y), usize::from(shape.z));
                all.push(Product { index, n, k, image: None, rows: Vec::new(), scales: Vec::new() });
            }
        }
        Self { all, host_bytes }
    }

    /// Returns number, rows and columns of the products that have a valid size.
    pub fn sizes(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let all = self.all.iter().enumerate().map(|(number, product)| (number, product.n, product.k));
        all.filter(|(_, n, k)| *n > 0 && *k > 0)
    }

    /// Writes rows of weights, starting at `row`; each row has K values of -8 to 7.
    ///
    /// # Errors
    /// [`AsmRunError::HostMemory`] if the weights exceed host memory.
    pub fn write_weights(&mut self, number: usize, row: usize, numbers: &[i64]) -> Result<(), AsmRunError> {
        let product = &mut self.all[number];
        if product.image.is_none() {
            let image = WeightImage::size_of(product.n, product.k);
            self.host_bytes = self.host_bytes.saturating_add(image);
            AsmRunError::check(self.host_bytes)?;
            // Both sizes are 1 to 65535, because a constant entry has 16 bits for each.
            product.image = WeightImage::zeros(product.n, product.k).ok();
            product.rows = vec![false; product.n];
        }
        let Some(image) = &mut product.image else { return Ok(()) };
        for (row, numbers) in (row..).zip(numbers.chunks(product.k)) {
            let weights: Vec<i8> = numbers.iter().map(|&number| number as i8).collect();
            image.set_row(row, &weights);
            product.rows[row] = true;
        }
        Ok(())
    }

    /// Writes scales as bits of `f32`, starting with the scale of `row`.
    pub fn write_scales(&mut self, number: usize, row: usize, numbers: &[i64]) {
        let product = &mut self.all[number];
        product.scales.resize(product.n, None);
        for (scale, &number) in product.scales.iter_mut().skip(row).zip(numbers) {
            *scale = Some(f32::from_bits(number as u32));
        }
    }

    /// Returns the weights of `count` rows, starting at `row`; zeros if not written.
    pub fn weights(&self, number: usize, row: usize, count: usize) -> Vec<i64> {
        let product = &self.all[number];
        let weight = |row, column| {
            let weight = product.image.as_ref().and_then(|image| image.weight(row, column));
            // Default: an unwritten row is zero.
            weight.map_or(0, i64::from)
        };
        (row..row + count).flat_map(|row| (0..product.k).map(move |column| weight(row, column))).collect()
    }

    /// Returns the bits of `count` scales, starting at `row`; zeros if not written.
    pub fn scales(&self, number: usize, row: usize, count: usize) -> Vec<i64> {
        let scale = |row| {
            let scale = self.all[number].scales.get(row).copied().flatten();
            // Default: an unwritten factor is 0.
            scale.map_or(0, |scale: f32| i64::from(scale.to_bits()))
        };
        (row..row + count).map(scale).collect()
    }

    fn at(&self, index: usize) -> Option<(usize, &Product)> {
        let number = self.all.binary_search_by_key(&index, |product| product.index).ok()?;
        Some((number, &self.all[number]))
    }

    /// Describes the unwritten rows and scales that a product uses, if its weights are partly
    /// written.
    pub fn missing(&self, index: usize) -> Vec<String> {
        let Some((number, product)) = self.at(index) else { return Vec::new() };
        let row = product.rows.iter().position(|is_filled| !is_filled);
        let scale = product.scales.iter().position(Option::is_none);
        let message = |row: Option<usize>, what: &str| {
            row.map(|row| format!("takes row {row} of `{what}.{number}`, which nothing has filled"))
        };
        [message(row, "weights"), message(scale, "scales")].into_iter().flatten().collect()
    }

    /// Returns the weights of the product at an instruction. `None` if the instruction is not a
    /// product, or has an invalid size, which the machine refuses.
    ///
    /// # Errors
    /// [`AsmRunError::NoWeights`] if no weights are written.
    pub fn image(&self, index: usize) -> Result<Option<Arc<WeightImage>>, AsmRunError> {
        let Some((number, &Product { n, k, ref image, ref scales, .. })) = self.at(index) else {
            return Ok(None);
        };
        match image {
            _ if n == 0 || k == 0 => Ok(None),
            None => Err(AsmRunError::NoWeights { number, n, k }),
            Some(image) => {
                // Default: an unwritten factor is 0, which was reported.
                let scales: Vec<f32> = scales.iter().map(|scale| scale.unwrap_or(0.0)).collect();
                Ok(Some(Arc::new(image.clone().with_scales(scales))))
            }
        }
    }
}
