//! Pow: by a small integer, products of the value with itself; by another constant, a lookup.

use npukit_graph::{Graph, NodeId, ValueId};
use npukit_numeric::TensorData;

use super::activation::{formula, needs_register, on_grid};
use super::lookup;
use super::unary::needs_lookup;
use crate::lower::hir::Operand;
use crate::lower::layers::{Builder, Chain, Reject};
use crate::lower::lookup_table::Function;
use crate::op::SimdOp;

/// The highest power: each one more is a rounding more.
const MOST: usize = 8;

/// Raises the grid to the power of the node's constant operand.
///
/// # Errors
///
/// Exponents that are computed, or that the array has no form of.
pub fn follow(builder: &mut Builder, chain: &mut Chain, id: NodeId) -> Result<bool, Reject> {
    needs_register(builder)?;
    let node = builder.graph.node(id);
    let exponent = exponent(builder.graph, node.inputs[1])
        .ok_or_else(|| needs_lookup("Pow by an exponent that is no constant, the same for all elements"))?;
    if chain.value != node.inputs[0]
        || builder.graph.shape(chain.value) != builder.graph.shape(node.outputs[0])
    {
        return Ok(false);
    }
    let whole = (1..=MOST).find(|&k| exponent == k as f32);
    match whole {
        Some(1) => {}
        Some(k) => chain.steps.push(formula(Operand::Grid, (1..k).map(|_| on_grid(SimdOp::Multiply)))),
        None => {
            let name = format!("Pow by {exponent}, which is none of 1 to {MOST}");
            lookup::follow(builder, chain, id, Function::Power(exponent), &name)?;
        }
    }
    Ok(true)
}

/// The exponent that all elements share.
fn exponent(graph: &Graph, value: ValueId) -> Option<f32> {
    let tensor = graph.constant(value)?;
    let all: Vec<f32> = match tensor.data() {
        TensorData::F32(all) => all.clone(),
        TensorData::I64(all) => all.iter().map(|&x| x as f32).collect(),
        TensorData::I32(all) => all.iter().map(|&x| x as f32).collect(),
        TensorData::Bool(_) => return None,
    };
    let (&first, others) = all.split_first()?;
    others.iter().all(|&x| x == first).then_some(first)
}
