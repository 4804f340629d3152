//! Pow by a small integer: products of the value with itself.

use npukit_graph::{Graph, ValueId};
use npukit_numeric::TensorData;

use super::activation::{formula, needs_register, on_grid};
use super::unary::needs_lookup;
use crate::lower::hir::Operand;
use crate::lower::layers::{Builder, Chain, Reject};
use crate::op::SimdOp;

/// The highest power: each one more is a rounding more.
const MOST: usize = 8;

/// Raises the grid to the power of the node's constant operand.
pub fn follow(builder: &mut Builder, chain: &mut Chain, i: usize) -> Result<bool, Reject> {
    needs_register(builder)?;
    let node = &builder.graph.nodes[i];
    let exponent = exponent(builder.graph, node.inputs[1])
        .ok_or_else(|| needs_lookup("Pow of other exponents than 1 to 8"))?;
    if chain.value != node.inputs[0]
        || builder.graph.shape(chain.value) != builder.graph.shape(node.outputs[0])
    {
        return Ok(false);
    }
    if exponent > 1 {
        chain.steps.push(formula(Operand::Grid, (1..exponent).map(|_| on_grid(SimdOp::Multiply))));
    }
    Ok(true)
}

/// The exponent that all elements share, where it is an integer from 1 to [`MOST`].
fn exponent(graph: &Graph, value: ValueId) -> Option<usize> {
    let tensor = graph.constant(value)?;
    (1..=MOST).find(|&k| match tensor.data() {
        TensorData::F32(all) => all.iter().all(|&x| x == k as f32),
        TensorData::I64(all) => all.iter().all(|&x| x == k as i64),
        TensorData::I32(all) => all.iter().all(|&x| x == k as i32),
        _ => false,
    })
}
