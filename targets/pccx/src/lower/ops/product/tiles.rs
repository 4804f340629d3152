//! Products with more rows than L2 can hold: the host sends some rows at a time and receives their
//! results.

use npukit_graph::ValueId;

use crate::config::{WINDOW_UNITS, WORD_LANES};
use crate::isa::op::MacFlags;
use crate::lower::LowerError;
use crate::lower::emit::Lowering;
use crate::lower::macros::Macros;
use crate::lower::memory::Region;
use crate::lower::work::Product;

impl Lowering<'_> {
    /// Returns the number of rows per tile; `None` if all rows fit.
    pub(super) fn tile(&self, product: &Product, x: ValueId) -> Option<usize> {
        let [m, k, n] = product.size;
        let words = |rows: usize| (rows * k).div_ceil(WORD_LANES) + (rows * n).div_ceil(WORD_LANES) + 2;
        let l2 = self.l2_words() as usize;
        if product.quotient || self.is_in_l2(x) || words(m) <= l2 - l2 / 16 {
            return None;
        }
        // The results are in one window; both results and rows begin at whole words.
        let fits = m * n <= WINDOW_UNITS as usize * WORD_LANES;
        let rows = (l2 / 2 * WORD_LANES / (k + n)).max(WORD_LANES) / WORD_LANES * WORD_LANES;
        (fits && words(rows) <= l2).then_some(rows)
    }

    /// Emits a product of `rows` rows at a time; its result is at the host.
    ///
    /// # Errors
    /// Too little room in L2; weights that cannot be quantized.
    pub(super) fn product_in_tiles(
        &mut self,
        product: &Product,
        operands: &[ValueId],
        result: ValueId,
        rows: usize,
    ) -> Result<(), LowerError> {
        let &[x, ref other @ ..] = operands else { return Err(LowerError::Fault("a product")) };
        let [m, k, n] = product.size;
        operands.iter().for_each(|&id| self.bring_to_host(id));
        let passes = self.passes_of(product)?;
        let accm = product.adds || product.bias.is_some();
        let flags = MacFlags { findemax: product.softmax, accm, w_scale: true };
        let place = self.code.reserve(m * n);
        for start in (0..m).step_by(rows) {
            let count = (m - start).min(rows);
            let (source, region) = (self.allocate(count * k)?, self.allocate(count * n)?);
            self.code.send_part(x, start * k, source);
            match (other.first(), product.bias) {
                (Some(&other), _) => self.code.send_part(other, start * n, region),
                (None, Some(bias)) if self.values(bias) == m * n => {
                    self.code.send_part(bias, start * n, region);
                }
                (None, Some(bias)) => self.send_bias(bias, region, [count, n])?,
                (None, None) => {}
            }
            let size = [count, k, n];
            match product.softmax {
                true => self.softmax_of_rows(&passes, [source, region], size, flags)?,
                false => self.multiply(&passes, [source.base, region.base], size, flags)?,
            }
            self.code.store_at(place, start * n / WORD_LANES, region);
            [source, region].into_iter().for_each(|region: Region| self.release(region));
        }
        self.stored(result, place);
        Ok(())
    }
}
