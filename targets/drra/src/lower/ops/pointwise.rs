//! Operators on elements: streams of one operand or two, a word a cycle.

use npukit_graph::op::BinaryKind;
use npukit_graph::{Node, ValueId};

use super::dense::constant;
use super::{operand, result};
use crate::lower::gather::{Axes, Gather, Tail, strides};
use crate::lower::kernels::Work;
use crate::lower::plan::{Place, Source, Task};
use crate::lower::{Lowering, Reject};
use crate::op::DpuMode;

/// Two operands, broadcast as NumPy does.
pub fn binary(lowering: &mut Lowering<'_>, node: &Node, kind: BinaryKind) -> Result<(), Reject> {
    let (a, b, y) = (operand(node, 0)?, operand(node, 1)?, result(node)?);
    let (from_a, from_b, to) = (fraction(lowering, a), fraction(lowering, b), fraction(lowering, y));
    let work = match kind {
        BinaryKind::Mul => lowering.format.product(from_a + from_b - to)?,
        BinaryKind::Add => Work::plain(DpuMode::Add),
        BinaryKind::Sub => lowering.format.extension(DpuMode::Subt, 0)?,
        BinaryKind::Max => lowering.format.extension(DpuMode::MaxMin, 0)?,
        BinaryKind::Min => lowering.format.extension(DpuMode::MaxMin, 1)?,
        _ => {
            return Err(Reject::new(
                "there is no mode of the dpu for it",
                "there are Add, Sub, Mul, Max and Min",
            ));
        }
    };
    if kind != BinaryKind::Mul && (from_a != to || from_b != to) {
        let reason = format!("operands and result have {from_a}, {from_b} and {to} fraction bits");
        return Err(Reject::new(reason, "give them the same"));
    }
    let operands = vec![spread(lowering, a, y, from_a)?, spread(lowering, b, y, from_b)?];
    lowering.push(node, y.0 as usize, vec![Task::Vectors { work, operands, to: all(lowering, y) }]);
    Ok(())
}

/// `max(x, 0)`: a mode of the extension, or three saturating sums.
pub fn relu(lowering: &mut Lowering<'_>, node: &Node) -> Result<(), Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    if fraction(lowering, x) != fraction(lowering, y) {
        return Err(Reject::new("operand and result have different fraction bits", "give them the same"));
    }
    let bits = fraction(lowering, x);
    let mut operand = spread(lowering, x, y, bits)?;
    if let Ok(work) = lowering.format.extension(DpuMode::Relu, 0) {
        let task = Task::Vectors { work, operands: vec![operand], to: all(lowering, y) };
        lowering.push(node, y.0 as usize, vec![task]);
        return Ok(());
    }
    // What is negative saturates at the least number, and comes back as 0.
    let shape = lowering.graph.shape(y).to_vec();
    let words = [i16::MIN, i16::MAX, 1];
    for (index, word) in words.into_iter().enumerate() {
        let last = index + 1 == words.len();
        let to = if last { y.0 as usize } else { lowering.temporary(&node.name, shape.clone(), bits) };
        let addend = Gather { vectors: zero(&operand.vectors), ..Gather::rows(constant(word), 1, 1) };
        let (work, place) = (Work::plain(DpuMode::Add), all(lowering, y));
        let task = Task::Vectors { work, operands: vec![operand.clone(), addend], to: place };
        lowering.push(node, to, vec![task]);
        operand.source = Source::Value(to);
        operand.vectors = vec![(operand.count(), 1)];
    }
    Ok(())
}

fn fraction(lowering: &Lowering<'_>, id: ValueId) -> i32 {
    lowering.format.fraction(id)
}

/// Every element in its place.
fn all(lowering: &Lowering<'_>, y: ValueId) -> Place {
    Place { offset: 0, axes: vec![(lowering.graph.shape(y).iter().product(), 1)] }
}

/// The same axes over a single element.
fn zero(axes: &[(usize, usize)]) -> Axes {
    axes.iter().map(|axis| (axis.0, 0)).collect()
}

/// The elements of `id` as often as the shape of `like` asks for.
fn spread(lowering: &Lowering<'_>, id: ValueId, like: ValueId, fraction: i32) -> Result<Gather, Reject> {
    let (shape, own) = (lowering.graph.shape(like), lowering.graph.shape(id));
    let missing = shape.len().saturating_sub(own.len());
    let stride = strides(own);
    let axis = |index: usize, size: usize| match index.checked_sub(missing) {
        Some(own_index) if own.get(own_index).is_some_and(|own| *own == size) => {
            (size, stride.get(own_index).copied().unwrap_or(0))
        }
        _ => (size, 0),
    };
    let vectors = shape.iter().enumerate().map(|(index, &size)| axis(index, size)).collect();
    let source = lowering.source(id, fraction)?;
    Ok(Gather { source, offset: 0, vectors, elements: Vec::new(), tail: Tail::None })
}
