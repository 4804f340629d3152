//! Rotation of pairs of features by the position in a sequence.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build_floats, floats, infer_tensors};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Rotates the first `size` features of each head, in pairs: `(a, b)` becomes `(a cos - b sin, a
/// sin + b cos)`.
///
/// Operands: `x [batch, heads, sequence, head]` or `[batch, sequence, heads * head]`, and `cos` and
/// `sin [batch, sequence, size / 2]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RotaryEmbedding {
    /// Number of heads in the last axis of a three-axis operand; unused for four axes.
    pub heads: usize,
    /// Number of rotated features, even; the remaining ones are unchanged.
    pub size: usize,
    /// Whether the features of a pair are neighbors, instead of half of `size` apart.
    pub interleaved: bool,
}

impl Operator for RotaryEmbedding {
    fn name(&self) -> &'static str {
        "RotaryEmbedding"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 3, 3)?;
        let layout = self.layout(operands.floats(0, "operand", 3, 4)?)?;
        if !self.size.is_multiple_of(2) || self.size > layout.head {
            let (op, found) = (self.name(), format!("{} of {} features", self.size, layout.head));
            return Err(OpError::Attribute {
                op,
                attribute: "size",
                found,
                legal: "an even number of features",
            });
        }
        for (i, operand) in [(1, "cosines"), (2, "sines")] {
            let shape = operands.floats(i, operand, 3, 3)?;
            let expected = [layout.batch, layout.sequence, self.size / 2];
            if shape != expected {
                let (left, right) = (expected.to_vec(), shape.to_vec());
                return Err(OpError::Shapes { op: self.name(), left, right });
            }
        }
        Ok(vec![operands.info(0).clone()])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let layout = self.layout(&infos[0].shape)?;
        let mut data = floats(self, inputs, 0, "operand")?.to_vec();
        let (cos, sin) = (floats(self, inputs, 1, "cosines")?, floats(self, inputs, 2, "sines")?);
        let half = self.size / 2;
        for (index, head) in data.chunks_mut(layout.head.max(1)).enumerate() {
            let angles = layout.position(index) * half;
            for i in 0..half {
                let [a, b] = if self.interleaved { [2 * i, 2 * i + 1] } else { [i, half + i] };
                let (x, y, cos, sin) = (head[a], head[b], cos[angles + i], sin[angles + i]);
                (head[a], head[b]) = (x * cos - y * sin, x * sin + y * cos);
            }
        }
        build_floats(self, &infos, data)
    }
}

/// Layout of the heads in the operand.
struct Layout {
    batch: usize,
    sequence: usize,
    heads: usize,
    /// Features of a head.
    head: usize,
    /// Whether the heads of a position are neighbors, instead of the positions of a head.
    by_position: bool,
}

impl RotaryEmbedding {
    fn layout(&self, shape: &[usize]) -> Result<Layout, OpError> {
        match *shape {
            [batch, heads, sequence, head] => Ok(Layout { batch, sequence, heads, head, by_position: false }),
            [batch, sequence, hidden] if self.heads > 0 && hidden.is_multiple_of(self.heads) => {
                let heads = self.heads;
                Ok(Layout { batch, sequence, heads, head: hidden / heads, by_position: true })
            }
            _ => {
                // Default: a scalar has no last axis.
                let (what, found) = ("size of the last axis", shape.last().copied().unwrap_or(0));
                Err(OpError::Multiple { op: self.name(), what, found, divisor: self.heads })
            }
        }
    }
}

impl Layout {
    /// Returns the position, counted over all batches, of the head at `index`.
    fn position(&self, index: usize) -> usize {
        if self.by_position {
            return index / self.heads;
        }
        index / (self.heads * self.sequence) * self.sequence + index % self.sequence
    }
}
