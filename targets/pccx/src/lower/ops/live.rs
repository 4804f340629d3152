//! Products of two values that are not constant, in an attention that the host computes otherwise.
//! The host makes 4-bit weights of the second value, as for keys.

use npukit_graph::ValueId;

use crate::config::WORD_LANES;
use crate::isa::op::MacFlags;
use crate::lower::LowerError;
use crate::lower::emit::Lowering;
use crate::lower::limits::MAX_ROWS;
use crate::lower::macros::Macros;
use crate::lower::steps::Layers;
use crate::lower::work::Live;
use crate::program::host::{HostStep, Tokens};

impl Layers {
    /// Returns the products of two values, matrix by matrix; `None` if matrices are repeated or are
    /// not whole words of L2.
    pub(in crate::lower) fn live(&self, left: ValueId, right: ValueId) -> Option<Live> {
        let is_float = |id| self.graph.value(id).info.element.is_float() && self.graph.constant(id).is_none();
        let (left_shape, right_shape) = (self.graph.shape(left), self.graph.shape(right));
        let (left_batch, &[rows, k]) = left_shape.split_last_chunk()?;
        let (right_batch, &[inputs, n]) = right_shape.split_last_chunk()?;
        let matrices: usize = left_batch.iter().product();
        let whole = [rows * k, rows * n].iter().all(|values| values.is_multiple_of(WORD_LANES));
        let lies = matrices == 1 || whole;
        let rows_lie = rows == 1 || k.is_multiple_of(WORD_LANES) && n.is_multiple_of(WORD_LANES);
        let fits =
            k == inputs && left_batch == right_batch && [rows, k, n, matrices].iter().all(|&size| size > 0);
        let small = k <= MAX_ROWS && n <= MAX_ROWS;
        let words = matrices * (rows * k + rows * n) / WORD_LANES + 2;
        let fits = fits && small && lies && rows_lie && words <= self.l2_words;
        (fits && is_float(left) && is_float(right)).then_some(Live { matrices, size: [rows, k, n] })
    }
}

impl Lowering<'_> {
    /// Emits each product with weights that the host has just made.
    ///
    /// # Errors
    /// Too little room in L2.
    pub(super) fn live_products(
        &mut self,
        live: &Live,
        [left, right]: [ValueId; 2],
        result: ValueId,
    ) -> Result<(), LowerError> {
        let Live { matrices, size: [rows, k, n] } = *live;
        self.bring_to_host(right);
        let source = self.fetch(left)?;
        let region = self.allocate(matrices * rows * n)?;
        let flags = MacFlags { w_scale: true, ..MacFlags::default() };
        for matrix in 0..matrices {
            let image = self.blank([n, k], Some(vec![0.0; n]))?;
            let tokens = Tokens::from_iter(std::iter::once(0..n as u32));
            let (slot, number) = (right, matrix as u32);
            self.code.step(HostStep::Keys { slot, matrix: number, image, factor: 1.0, tokens });
            let places = [source.at(matrix * rows * k), region.at(matrix * rows * n)];
            self.multiply(&[vec![image]], places, [rows, k, n], flags)?;
        }
        self.place(result, region);
        Ok(())
    }
}
