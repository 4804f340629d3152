//! Means over channels as a product with a column and a factor, so that a calibration may choose their scales.
//!
//! Of many elements each weighs little: where every product is rounded by itself, small ones vanish. What the sum
//! may be, and what the elements are, decides how much weight there is room for, and only samples tell.

use npukit_graph::op::{Binary, BinaryKind, MatMul, Reduce, ReduceKind, Reshape};
use npukit_graph::{Graph, Node, Op};

use super::add_floats;
use super::parts::{Parts, replace_nodes};

/// Means over at most this many channels stay as they are.
const FEW: usize = 16;

/// Rewrites every mean over the channels of a tensor, and nothing else, that is over many.
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
    // A power of two about the root: both factors are as precise as the number format is, before scales are chosen.
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
