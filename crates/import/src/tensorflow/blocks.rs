//! Dilated convolutions in the form that TensorFlow used before its kernels had dilations. The
//! image is split into blocks that become batches (SpaceToBatchND), convolved densely, and joined
//! again (BatchToSpaceND). [`Blocks`] tracks values between the two.

use std::collections::HashMap;

use npukit_graph::ValueId;
use npukit_graph::op::Conv;

/// Properties of values between SpaceToBatchND and BatchToSpaceND.
#[derive(Default)]
pub(crate) struct Blocks {
    known: HashMap<ValueId, Blocked>,
}

/// A value split into blocks.
#[derive(Clone)]
pub(super) struct Blocked {
    /// Value before it was split.
    pub(super) source: ValueId,
    /// Block size of each split axis, starting at axis 1.
    pub(super) block: Vec<usize>,
    /// Zeros added before and after each of those axes.
    pub(super) pads: Vec<[usize; 2]>,
    /// Axis of size 1 that was inserted later, for a convolution over one axis.
    pub(super) inserted: Option<usize>,
    /// Convolution of the blocks, with its weights.
    pub(super) conv: Option<(Conv, ValueId)>,
}

impl Blocks {
    /// Returns the properties of a value.
    pub(super) fn get(&self, id: ValueId) -> Option<&Blocked> {
        self.known.get(&id)
    }

    /// Stores the properties of a value.
    pub(super) fn set(&mut self, id: ValueId, blocked: Blocked) {
        self.known.insert(id, blocked);
    }

    /// Records that `y` is `x` with an axis of size 1 at `axis`. An axis before the batch turns
    /// batches into rows, which are not blocks.
    pub(super) fn inserted(&mut self, x: ValueId, y: ValueId, axis: usize) {
        let first = |known: &&Blocked| known.inserted.is_none() && known.conv.is_none();
        if let Some(blocked) = self.known.get(&x).filter(|known| axis > 0 && first(known)) {
            self.set(y, Blocked { inserted: Some(axis), ..blocked.clone() });
        }
    }

    /// Records that `y` is `x` without its axes `axes`.
    pub(super) fn removed(&mut self, x: ValueId, y: ValueId, axes: &[usize]) {
        let removes =
            |known: &&Blocked| known.conv.is_some() && known.inserted.is_some_and(|axis| *axes == [axis]);
        if let Some(blocked) = self.known.get(&x).filter(removes) {
            // The inserted axis is kept: the convolution needs it again.
            let blocked = blocked.clone();
            self.set(y, blocked);
        }
    }

    /// Records that `y` is `x` convolved. Only dense convolutions without padding compute the same
    /// in blocks as a dilated convolution of the whole.
    pub(super) fn convolved(&mut self, x: ValueId, y: ValueId, conv: &Conv, weights: ValueId) {
        let plain = conv.strides == [1, 1] && conv.dilations == [1, 1] && conv.pads == [0; 4];
        if let Some(blocked) = self.known.get(&x).filter(|known| plain && known.conv.is_none()) {
            self.set(y, Blocked { conv: Some((conv.clone(), weights)), ..blocked.clone() });
        }
    }
}
