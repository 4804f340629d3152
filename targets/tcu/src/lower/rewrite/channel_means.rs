//! Means over channels as a product with a column and a factor, so that calibration can choose
//! their scales.
//!
//! In a mean over many elements each has a small weight: if every product is rounded separately,
//! small ones vanish. How large the weight may be depends on the range of the elements and of their
//! sum, which only samples show.

use npukit_graph::op::{Binary, BinaryKind, MatMul, Reduce, ReduceKind, Reshape};
use npukit_graph::{Graph, Node, Op};

use super::add_floats;
use super::parts::{Parts, replace_nodes};

/// Means over at most this many channels are not rewritten.
const FEW: usize = 16;

/// Rewrites every mean over many channels of a tensor, if it reduces only the channel axis.
pub fn rewrite(graph: &mut Graph) {
    replace_nodes(graph, write);
}

fn write(parts: &mut Parts<'_>, node: &Node) -> Option<()> {
    let Op::Reduce(Reduce { kind: ReduceKind::Mean, axes, .. }) = &node.op else { return None };
    let x = *node.inputs.first()?;
    let (&channels, outer) = parts.graph.shape(x).split_last()?;
    if axes[..] != [outer.len()] || channels <= FEW {
        return None;
    }
    // The factor is a power of two near the square root. At this stage scales are unknown, and both
    // factors are then as precise as the number format.
    let weight = (channels as f32).sqrt().log2().round().exp2().recip();
    let column = format!("{}/column", parts.name);
    let column = add_floats(parts.graph, &column, vec![channels, 1], vec![weight; channels])?;
    let factor = format!("{}/factor", parts.name);
    let factor = add_floats(parts.graph, &factor, Vec::new(), vec![(channels as f32 * weight).recip()])?;
    let sum = parts.add("sum", MatMul, &[x, column])?;
    let mean = parts.add("mean", Binary { kind: BinaryKind::Mul }, &[sum, factor])?;
    let shape = parts.graph.shape(*node.outputs.first()?).to_vec();
    if parts.graph.shape(mean) != shape {
        parts.add("shaped", Reshape { shape }, &[mean])?;
    }
    Some(())
}
