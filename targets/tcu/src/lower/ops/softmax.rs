//! Softmax: the array has no exponential, so the host computes it at the network's end.

use npukit_graph::op;

use crate::lower::layers::{Builder, Lowered, Reject};
use crate::program::{HostOp, HostStep};

/// Makes a host step of a Softmax over the innermost axis of an output.
pub fn lower(builder: &mut Builder, i: usize, softmax: &op::Softmax) -> Result<Lowered, Reject> {
    let node = &builder.graph.nodes[i];
    let output = node.outputs[0];
    let shape = builder.graph.shape(output);
    if builder.is_read(output) || !builder.is_output(output) {
        return Err(Reject::new(
            "the array has no exponential, and what follows reads this Softmax",
            "cut the model before it and let the host do the rest",
        ));
    }
    let product = |axes: &[usize]| axes.iter().product::<usize>();
    let summed = shape.get(softmax.axis..softmax.axis_end).map(product);
    let innermost = shape.last().copied().unwrap_or(1);
    if summed != Some(innermost) || product(&shape[softmax.axis_end..]) != 1 {
        return Err(Reject::new(
            format!(
                "it sums over axes {} to {} of {shape:?}, not the innermost alone",
                softmax.axis, softmax.axis_end
            ),
            "transpose so that the classes come last",
        ));
    }
    builder.add_host_step(HostStep {
        node: node.name.clone(),
        output: builder.graph.value(output).name.clone(),
        op: HostOp::Softmax,
        reason: "the array has no exponential".to_owned(),
    });
    Ok(Lowered::Views)
}
