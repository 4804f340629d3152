//! Host steps: operators that the array cannot compute. Only the host reads their results.

use npukit_graph::op::{LogSoftmax, Softmax, UnaryKind};
use npukit_graph::{NodeId, Op, Operator, ValueId};

use super::rearrange;
use super::refusal::way;
use crate::lower::layers::{Builder, Lowered, Reject};
use crate::program::{HostOp, HostStep};

/// Returns the host operation for `op`; `None` if the array computes it, or the host does not
/// support it.
pub fn of(builder: &Builder, op: &Op) -> Option<HostOp> {
    match op {
        Op::Softmax(op) => Some(HostOp::Softmax(op.clone())),
        Op::LogSoftmax(op) => Some(HostOp::LogSoftmax(op.clone())),
        Op::Unary(op) if !builder.config.has_lookup() && !has_form(op.kind) => Some(HostOp::from(op.kind)),
        _ => None,
    }
}

/// Whether the SIMD unit computes the function without a lookup.
fn has_form(kind: UnaryKind) -> bool {
    matches!(
        kind,
        UnaryKind::Neg
            | UnaryKind::Abs
            | UnaryKind::Not
            | UnaryKind::HardSigmoid { .. }
            | UnaryKind::HardSwish
            | UnaryKind::ThresholdedRelu { .. }
    )
}

/// Creates a host step for node `id`; `None` if a layer on the array reads its result.
///
/// # Errors
///
/// Fails for a sum over axes that are not adjacent in the output.
pub fn lower(builder: &mut Builder, id: NodeId, op: HostOp) -> Result<Option<Lowered>, Reject> {
    let node = builder.graph.node(id);
    let Some((output, perm)) = output_path(builder, node.outputs[0]) else { return Ok(None) };
    let op = permuted(op, &perm)?;
    builder.add_host_step(HostStep {
        node: node.name.clone(),
        output: builder.graph.value(output).name.clone(),
        reason: format!("the array cannot compute {0}{1}", node.op.name(), way(node.op.name())),
        op,
    });
    Ok(Some(Lowered::Views))
}

/// Returns the output that `value` reaches through host steps and a final Transpose only, and the
/// position of each axis in it. Returns `None` if anything other than these reads the value.
fn output_path(builder: &Builder, mut value: ValueId) -> Option<(ValueId, Vec<usize>)> {
    let mut axes: Vec<usize> = (0..builder.graph.shape(value).len()).collect();
    while !rearrange::closes_the_graph(builder, value) {
        let node = builder.graph.node(builder.fusion.readers.only(value)?);
        match &node.op {
            Op::Transpose(op) if rearrange::closes_the_graph(builder, node.outputs[0]) => {
                let moved = axes.iter().map(|axis| op.perm.iter().position(|from| from == axis));
                axes = moved.collect::<Option<_>>()?;
            }
            op if of(builder, op).is_some() => {}
            _ => return None,
        }
        value = node.outputs[0];
    }
    Some((value, axes))
}

/// Returns the operator for an output whose axis `perm[i]` is the node's axis `i`.
fn permuted(op: HostOp, perm: &[usize]) -> Result<HostOp, Reject> {
    Ok(match op {
        HostOp::Softmax(op) => {
            let (axis, axis_end) = neighbors(&perm[op.axis..op.axis_end])?;
            HostOp::Softmax(Softmax { axis, axis_end })
        }
        HostOp::LogSoftmax(op) => {
            let (axis, axis_end) = neighbors(&perm[op.axis..op.axis_end])?;
            HostOp::LogSoftmax(LogSoftmax { axis, axis_end })
        }
        HostOp::Unary(op) => HostOp::Unary(op),
    })
}

/// Returns the first of these axes and one past the last.
fn neighbors(axes: &[usize]) -> Result<(usize, usize), Reject> {
    let mut axes = axes.to_vec();
    axes.sort_unstable();
    let (Some(&axis), Some(&last)) = (axes.first(), axes.last()) else {
        return Err(Reject::new("it has no axis to sum over", "give the axis of the classes"));
    };
    if last - axis + 1 != axes.len() {
        return Err(Reject::new(
            format!("it sums over axes {axes:?} of the output, which are not adjacent"),
            "transpose the operand so that they are adjacent",
        ));
    }
    Ok((axis, last + 1))
}
