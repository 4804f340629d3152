//! Dilated convolutions as TensorFlow wrote them before its kernels knew dilations: the image is
//! cut into blocks that become batches (SpaceToBatchND), convolved densely, and put together
//! again (BatchToSpaceND). [`Blocks`] remembers what was cut until it is put together.

use std::collections::HashMap;

use npukit_graph::ValueId;
use npukit_graph::op::Conv;

/// What is known of values between SpaceToBatchND and BatchToSpaceND.
#[derive(Default)]
pub(crate) struct Blocks {
    known: HashMap<ValueId, Blocked>,
}

/// A value cut into blocks.
#[derive(Clone)]
pub(super) struct Blocked {
    /// The value before it was cut.
    pub(super) source: ValueId,
    /// Sizes of the blocks, for each axis that is cut, from axis 1 on.
    pub(super) block: Vec<usize>,
    /// Zeros added before and after, for each of those axes.
    pub(super) pads: Vec<[usize; 2]>,
    /// The axis of size 1 that was put in since, for a convolution of one axis.
    pub(super) inserted: Option<usize>,
    /// The convolution that was done since, with its weights.
    pub(super) conv: Option<(Conv, ValueId)>,
}

impl Blocks {
    /// What is known of a value.
    pub(super) fn get(&self, id: ValueId) -> Option<&Blocked> {
        self.known.get(&id)
    }

    /// Remembers a value.
    pub(super) fn set(&mut self, id: ValueId, blocked: Blocked) {
        self.known.insert(id, blocked);
    }

    /// `y` is `x` with an axis of size 1 at `axis`. In front of the batches it makes rows of them,
    /// which are not blocks.
    pub(super) fn inserted(&mut self, x: ValueId, y: ValueId, axis: usize) {
        let first = |known: &&Blocked| known.inserted.is_none() && known.conv.is_none();
        if let Some(blocked) = self.known.get(&x).filter(|known| axis > 0 && first(known)) {
            self.set(y, Blocked { inserted: Some(axis), ..blocked.clone() });
        }
    }

    /// `y` is `x` without its axes `axes`.
    pub(super) fn removed(&mut self, x: ValueId, y: ValueId, axes: &[usize]) {
        let removes =
            |known: &&Blocked| known.conv.is_some() && known.inserted.is_some_and(|axis| *axes == [axis]);
        if let Some(blocked) = self.known.get(&x).filter(removes) {
            // The axis is remembered: the convolution needs it again.
            let blocked = blocked.clone();
            self.set(y, blocked);
        }
    }

    /// `y` is `x` convolved. Only dense convolutions without padding do in blocks what a dilated
    /// one does to the whole.
    pub(super) fn convolved(&mut self, x: ValueId, y: ValueId, conv: &Conv, weights: ValueId) {
        let plain = conv.strides == [1, 1] && conv.dilations == [1, 1] && conv.pads == [0; 4];
        if let Some(blocked) = self.known.get(&x).filter(|known| plain && known.conv.is_none()) {
            self.set(y, Blocked { conv: Some((conv.clone(), weights)), ..blocked.clone() });
        }
    }
}
