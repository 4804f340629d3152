//! Convolutions as products. The host lays out the patches, one row per pixel of the result, and
//! the machine multiplies them by the weights.

use npukit_graph::op::{Conv, Window};
use npukit_graph::{NodeId, ValueId};
use npukit_numeric::Tensor;

use super::NodeWork;
use crate::config::WORD_LANES;
use crate::lower::LowerError;
use crate::lower::emit::Lowering;
use crate::lower::limits::{LARGEST, MAX_WEIGHTS};
use crate::lower::reason::HostReason;
use crate::lower::steps::Layers;
use crate::lower::work::{Convolution, Work};
use crate::program::host::HostStep;

impl Layers {
    /// Lowers a convolution of `x [n, h, w, ci]` with constant weights. A 1 x 1 convolution is a
    /// product without patches.
    ///
    /// # Errors
    /// The reason why the host computes it.
    pub(super) fn convolution(
        &mut self,
        id: NodeId,
        conv: &Conv,
        [x, weights]: [ValueId; 2],
        bias: Option<ValueId>,
    ) -> NodeWork {
        let (&[count, height, width, channels], &[kh, kw, _, filters]) =
            (self.graph.shape(x), self.graph.shape(weights))
        else {
            return Err(HostReason::NoForm);
        };
        let window = conv.window([kh, kw]);
        let output = window.output([height, width]).map_err(|_| HostReason::NoForm)?;
        let pixels = window == Window::plain([1, 1], [1, 1]);
        let inputs = kh * kw * channels;
        // Rows of patches must be whole words, so zeros fill the last word.
        let row = if pixels { inputs } else { inputs.next_multiple_of(WORD_LANES) };
        if row > LARGEST {
            return Err(HostReason::LongRow);
        }
        if row.saturating_mul(filters) > MAX_WEIGHTS {
            return Err(HostReason::LargeConvolution);
        }
        let matrix = self.matrix(conv, weights, row)?;
        if pixels {
            return self.product(id, [x, matrix], false, 1.0, bias);
        }
        let rows = count * output[0] * output[1];
        let product = self.product_of([rows, row, filters], id, matrix, false, 1.0, bias)?;
        Ok((Work::Convolution(Convolution { product, window }), vec![x]))
    }

    /// Returns the weights as `[row, filters]`. The filters of a group have zeros for the channels
    /// of other groups.
    fn matrix(&mut self, conv: &Conv, weights: ValueId, row: usize) -> Result<ValueId, HostReason> {
        let name = format!("{} as a matrix of {} groups", self.graph.value(weights).name, conv.group);
        if let Some(known) = self.graph.find_value(&name) {
            return Ok(known);
        }
        let tensor = self.graph.constant(weights).ok_or(HostReason::WeightsChange)?;
        let (values, shape) = (tensor.as_f32().ok_or(HostReason::NotFloat)?, tensor.shape());
        let &[_, _, per_group, filters] = shape else { return Err(HostReason::NoForm) };
        let (group, filters_of_group) = (conv.group.max(1), (filters / conv.group.max(1)).max(1));
        let channels = per_group * group;
        let mut matrix = vec![0.0; row * filters];
        for (index, own) in values.chunks_exact(filters.max(1)).enumerate() {
            let (tap, channel) = (index / per_group, index % per_group);
            for (filter, &weight) in own.iter().enumerate() {
                let input = tap * channels + filter / filters_of_group * per_group + channel;
                if let Some(place) = matrix.get_mut(input * filters + filter) {
                    *place = weight;
                }
            }
        }
        let tensor = Tensor::from_f32(vec![row, filters], matrix).map_err(|_| HostReason::Unmade)?;
        Ok(self.graph.add_constant(name, tensor))
    }
}

impl Lowering<'_> {
    /// Emits the host step for patches, and the product.
    ///
    /// # Errors
    /// Too little room in L2; weights that cannot be quantized.
    pub(super) fn convolve(
        &mut self,
        convolution: &Convolution,
        x: ValueId,
        result: ValueId,
    ) -> Result<(), LowerError> {
        let [rows, row, _] = convolution.product.size;
        self.bring_to_host(x);
        let patches = self.slot("patches", vec![rows, row]);
        let window = convolution.window.clone();
        self.code.step(HostStep::Patches { slot: x, patches, window });
        self.filled(patches);
        // The patches must stay in L2 until the product is complete.
        self.pin(patches);
        self.product(&convolution.product, &[patches], result)?;
        self.forget(patches);
        Ok(())
    }
}
