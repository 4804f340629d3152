//! Resize by integer factors by repeating elements.

use npukit_graph::op::{self, ResizeMode};
use npukit_graph::{NodeId, Op, Operator};
use npukit_lower::Reject;
use npukit_numeric::Tensor;

use crate::lower::builder::copies::identity;
use crate::lower::builder::{Builder, Chain, Lowered};
use crate::lower::product::Product;

/// Lowers a resampling that repeats each pixel.
///
/// # Errors
///
/// The resampling does not repeat whole pixels.
pub fn lower(builder: &mut Builder, id: NodeId, op: &op::Resize) -> Result<Lowered, Reject> {
    let node = builder.node(id);
    let view = builder.view(node.inputs[0])?;
    let copies = copies(op, view.size).ok_or_else(|| {
        let reason = format!("it resamples {:?} pixels to {:?} with {:?}", view.size, op.size, op.mode);
        let hint = match op.mode {
            ResizeMode::Nearest(_) if is_whole(op, view.size) => {
                "repeat every pixel as often as the others: nearest_mode round_prefer_floor, or floor with \
                 coordinate_transformation_mode asymmetric"
            }
            _ => "enlarge by integer factors with mode nearest",
        };
        Reject::new(reason, hint)
    })?;
    let parts = vec![identity(&view, 1.0)];
    let product = Product { size: view.size, channels: view.channels(), parts, factors: None, bias: None };
    Ok(Lowered::Chain(Chain { copies, ..builder.chain(id, product) }))
}

/// Whether both scale factors are integers.
fn is_whole(op: &op::Resize, size: [usize; 2]) -> bool {
    (0..2).all(|axis| op.size[axis] > 0 && op.size[axis].is_multiple_of(size[axis].max(1)))
}

/// Returns how often rows and columns are repeated, if the operator does nothing else. The
/// operator's own indexing decides this.
fn copies(op: &op::Resize, size: [usize; 2]) -> Option<[usize; 2]> {
    let copies = [0, 1].map(|axis| op.size[axis] / size[axis].max(1));
    if !matches!(op.mode, ResizeMode::Nearest(_))
        || (0..2).any(|axis| copies[axis] * size[axis] != op.size[axis])
    {
        return None;
    }
    let numbers = (0..size[0] * size[1]).map(|index| index as f32).collect();
    let image = Tensor::from_f32(vec![1, size[0], size[1], 1], numbers).ok()?;
    let resized = Op::from(op.clone()).eval(&[&image]).ok()?;
    let found = resized.first()?.as_f32()?;
    let expected = |index: usize| index / op.size[1] / copies[0] * size[1] + index % op.size[1] / copies[1];
    found.iter().enumerate().all(|(index, &value)| value == expected(index) as f32).then_some(copies)
}
