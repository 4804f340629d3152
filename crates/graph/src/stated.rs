//! Quantization parameters that a model specifies by QuantizeLinear and DequantizeLinear, as
//! [`QdqScales`].

use npukit_numeric::Tensor;

use crate::ir::{Graph, ValueId};
use crate::op::Op;
use crate::qdq_scales::QdqScales;

impl QdqScales {
    /// Returns the parameters of the floats of a QuantizeLinear or DequantizeLinear. `None` for any
    /// other operator, for scales that are not positive constants, and for narrow floats instead of
    /// integers.
    pub fn of(graph: &Graph, op: &Op, inputs: &[ValueId], results: &[ValueId]) -> Option<Self> {
        let integers = match op {
            Op::QuantizeLinear(_) => graph.value(*results.first()?),
            Op::DequantizeLinear(_) => graph.value(*inputs.first()?),
            _ => return None,
        };
        let (name, element) = (integers.name.clone(), integers.info.element);
        element.integer_range()?;
        let operand = |place: usize| inputs.get(place).map(|&id| graph.constant(id));
        let scales = extremes(operand(1)??).map(|scale| scale as f32);
        let zero_points = match operand(2) {
            Some(constant) => extremes(constant?).map(|zero| zero as i64),
            None => [0; 2],
        };
        let positive = scales[0] > 0.0 && scales[1].is_finite();
        positive.then_some(Self { name, scales, zero_points, element })
    }
}

/// Returns the smallest and the largest element; NaN for an empty tensor.
fn extremes(tensor: &Tensor) -> [f64; 2] {
    let fold = |of: fn(f64, f64) -> f64| tensor.reals().into_iter().fold(f64::NAN, of);
    [fold(f64::min), fold(f64::max)]
}

/// Whether an operator only selects and moves elements of its first operand.
pub(crate) fn moves(op: &Op) -> bool {
    matches!(op, Op::Reshape(_) | Op::Transpose(_) | Op::Slice(_) | Op::Split(_) | Op::Tile(_))
}

impl Graph {
    /// Copies the parameters of operands to `results`, the results of `op`, which replace the
    /// results of a node.
    pub fn state_results(&mut self, op: &Op, inputs: &[ValueId], results: &[ValueId]) {
        let stated = match op {
            Op::DequantizeLinear(_) => QdqScales::of(self, op, inputs, results),
            _ if moves(op) => inputs.first().and_then(|id| self.scales.get(id)).cloned(),
            _ => None,
        };
        if let Some(stated) = stated {
            self.scales.extend(results.iter().map(|&id| (id, stated.clone())));
        }
    }

    /// Copies the parameters of `from` to `to`, which has the same elements.
    pub fn state_alike(&mut self, from: ValueId, to: ValueId) {
        if let Some(stated) = self.scales.get(&from).cloned() {
            self.scales.entry(to).or_insert(stated);
        }
    }
}
