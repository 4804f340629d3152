//! Pow: a small integer power is computed by multiplications, any other constant power by a lookup.

use npukit_graph::NodeId;
use npukit_graph::op::Pow;

use super::lookup;
use crate::isa::op::SimdOp;
use crate::lower::layers::hir::Operand;
use crate::lower::layers::lookup_table::Function;
use crate::lower::layers::ops::refusal::{needs_lookup, needs_register};
use crate::lower::layers::ops::steps::{formula, on_grid};
use crate::lower::layers::{Builder, Chain, Reject};

/// Highest power computed by multiplications; each multiplication adds a rounding error.
const MOST: usize = 8;

/// Raises the grid to the power of the node's constant operand.
///
/// # Errors
///
/// Fails for an exponent that is not constant, or that the array cannot compute.
pub fn follow(builder: &mut Builder, chain: &mut Chain, id: NodeId) -> Result<bool, Reject> {
    needs_register(builder)?;
    let node = builder.graph.node(id);
    let exponent = builder.graph.constant(node.inputs[1]).and_then(|tensor| Pow::shared_exponent(tensor));
    let exponent = exponent
        .ok_or_else(|| needs_lookup("Pow with an exponent that is not one constant for all elements"))?;
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
            let name = format!("Pow by {exponent} (not an integer from 1 to {MOST})");
            lookup::follow(builder, chain, id, Function::Power(exponent), &name)?;
        }
    }
    Ok(true)
}
