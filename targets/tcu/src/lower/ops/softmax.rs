//! Softmax: the array has no exponential, so the host computes it at the network's end.

use npukit_graph::{Op, ValueId, op};

use super::rearrange;
use crate::lower::layers::{Builder, Lowered, Reject};
use crate::program::{HostOp, HostStep};

/// Makes a host step of a Softmax of an output.
pub fn lower(builder: &mut Builder, i: usize, softmax: &op::Softmax) -> Result<Lowered, Reject> {
    let node = &builder.graph.nodes[i];
    let mut axes: Vec<usize> = (softmax.axis..softmax.axis_end).collect();
    let output = follow_transpose(builder, node.outputs[0], &mut axes);
    if builder.is_read(output) || !builder.is_output(output) {
        return Err(Reject::new(
            "the array has no exponential, and what follows reads this Softmax",
            "cut the model before it and let the host do the rest",
        ));
    }
    axes.sort_unstable();
    let (Some(&axis), Some(&last)) = (axes.first(), axes.last()) else {
        return Err(Reject::new("it sums over no axis", "name the axis of the classes"));
    };
    if last - axis + 1 != axes.len() {
        return Err(Reject::new(
            format!("it sums over axes {axes:?} of the output, which are not neighbours"),
            "transpose so that they are",
        ));
    }
    builder.add_host_step(HostStep {
        node: node.name.clone(),
        output: builder.graph.value(output).name.clone(),
        op: HostOp::Softmax { axis, axis_end: last + 1 },
        reason: "the array has no exponential".to_owned(),
    });
    Ok(Lowered::Views)
}

/// The output behind a Transpose that only the host reads, with `axes` as they are there.
fn follow_transpose(builder: &Builder, value: ValueId, axes: &mut [usize]) -> ValueId {
    let Some(reader) = builder.only_reader(value) else { return value };
    let node = &builder.graph.nodes[reader];
    match &node.op {
        Op::Transpose(transpose) if rearrange::closes_the_graph(builder, node.outputs[0]) => {
            for axis in axes {
                *axis = transpose.perm.iter().position(|from| from == axis).unwrap_or(*axis);
            }
            node.outputs[0]
        }
        _ => value,
    }
}
