//! Conv: one term for each tap and each plane of the operand.

use npukit_graph::{NodeId, op};
use npukit_lower::Reject;

use super::{constant, optional};
use crate::lower::builder::{Builder, Lowered};
use crate::lower::map::View;
use crate::lower::product::{Part, Product, Term, Weights};

/// Taps of windows over the rows and columns of an image.
#[derive(Clone, Copy, Debug)]
pub struct Taps {
    /// Rows and columns of the kernel.
    pub kernel: [usize; 2],
    /// Rows and columns between adjacent windows.
    pub strides: [usize; 2],
    /// Rows and columns between adjacent taps.
    pub dilations: [usize; 2],
    /// Rows and columns of padding before the image.
    pub before: [usize; 2],
    /// Number of windows, along rows and columns.
    pub size: [usize; 2],
}

impl Taps {
    /// Returns how far the taps reach beyond an image of `size`.
    fn reach(&self, size: [usize; 2]) -> usize {
        let axis = |axis: usize| {
            let last =
                (self.size[axis] - 1) * self.strides[axis] + (self.kernel[axis] - 1) * self.dilations[axis];
            self.before[axis].max((last + 1).saturating_sub(self.before[axis] + size[axis]))
        };
        axis(0).max(axis(1))
    }

    /// Returns the terms over `view`, with the border that they need. Rows of the weights are
    /// ordered by tap, then channel.
    ///
    /// # Errors
    ///
    /// The padding exceeds the maximum border.
    pub fn terms(&self, builder: &mut Builder, view: View, name: &str) -> Result<Vec<Term>, Reject> {
        let reach = self.reach(view.size);
        let view = builder.bordered(view, name, reach)?;
        let (channels, mut terms) = (view.channels(), Vec::new());
        let mut first = 0;
        for piece in &view.pieces {
            for tap in 0..self.kernel[0] * self.kernel[1] {
                let offset =
                    [tap / self.kernel[1] * self.dilations[0], tap % self.kernel[1] * self.dilations[1]];
                let at = [0, 1]
                    .map(|axis| (piece.origin[axis] + offset[axis]) as isize - self.before[axis] as isize);
                let row = tap * channels + first;
                terms.push(Term { plane: piece.plane, lane: piece.lane, channels: piece.channels, at, row });
            }
            first += piece.channels;
        }
        Ok(terms)
    }
}

/// Lowers a convolution with constant weights.
///
/// # Errors
///
/// The weights are computed or not floats, or an error of [`terms`].
pub fn lower(builder: &mut Builder, id: NodeId, conv: &op::Conv) -> Result<Lowered, Reject> {
    let node = builder.node(id);
    let matrix = constant(builder, node.inputs[1], "weights")?;
    let bias = optional(builder, node.inputs.get(2), "bias")?;
    let &[rows, columns, group_in, channels] = matrix.shape() else {
        let reason =
            format!("its weights have shape {:?}, which is not that of a 2-D convolution", matrix.shape());
        return Err(Reject::new(reason, "use a 2-D convolution"));
    };
    let view = builder.view(node.inputs[0])?;
    let [height, width, _] = builder.extent(node.outputs[0])?;
    let packed = builder.is_packed(node.inputs[0]);
    let operand = if packed { rows * columns * group_in } else { group_in * conv.group };
    if view.channels() != operand {
        let reason =
            format!("its operand has {} channels in memory, but {operand} are expected", view.channels());
        return Err(Reject::new(reason, "remove reshapes of images before it"));
    }
    let taps = Taps {
        kernel: [rows, columns],
        strides: conv.strides,
        dilations: conv.dilations,
        before: [conv.pads[0], conv.pads[1]],
        size: [height, width],
    };
    let pointwise = Taps { kernel: [1, 1], strides: [1, 1], before: [0, 0], ..taps };
    let taps = if packed { pointwise } else { taps };
    let weights = if conv.group == 1 {
        Weights::Rows { matrix, columns: channels }
    } else {
        let group = [group_in, channels / conv.group];
        Weights::Grouped { matrix, group, channels: [operand, channels] }
    };
    let terms = taps.terms(builder, view, &node.name)?;
    let parts = vec![Part::new(weights, taps.strides, terms)];
    Ok(Lowered::Chain(
        builder.chain(id, Product { size: [height, width], channels, parts, factors: None, bias }),
    ))
}
