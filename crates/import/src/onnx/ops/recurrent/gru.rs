//! A step of a GRU. The weights hold the update and reset gates, then the candidate.

use npukit_graph::ValueId;
use npukit_graph::op::BinaryKind::{Add, Mul};

use super::{Cell, Context, Kind, Reason};

pub(super) const KIND: Kind = Kind { gates: 3, defaults: &["Sigmoid", "Tanh"], states: 1, step };

/// Computes `h' = (1 - z) * g + z * h`. The reset gate scales the hidden state before its product,
/// or the product itself.
fn step(
    cell: &Cell,
    context: &mut Context<'_>,
    input: ValueId,
    states: &[Option<ValueId>],
) -> Result<Vec<ValueId>, Reason> {
    let size = cell.hidden;
    let before = match states.first().copied().flatten() {
        Some(before) => before,
        None => cell.zeros(context)?,
    };
    let inputs = context.split("gates", input, 1, &[2 * size, size])?;
    let &[gates, candidate] = inputs.as_slice() else { return Ok(Vec::new()) };
    let (of_gates, of_candidate) = if cell.reset_after {
        let product = cell.recurrent.of(context, before)?;
        let parts = context.split("recurrent", product, 1, &[2 * size, size])?;
        (parts[0], Some(parts[1]))
    } else {
        (cell.recurrent.part(context, before, 0, 2 * size)?, None)
    };
    let gates = cell.binary(context, Add, gates, of_gates)?;
    let gates = cell.activated(context, 0, gates)?;
    let gates = context.split("gates", gates, 1, &[size, size])?;
    let &[update, reset] = gates.as_slice() else { return Ok(Vec::new()) };
    let seen = match of_candidate {
        Some(product) => {
            let product = match cell.apart {
                Some(bias) => cell.binary(context, Add, product, bias)?,
                None => product,
            };
            cell.binary(context, Mul, reset, product)?
        }
        None => {
            let weighed = cell.binary(context, Mul, reset, before)?;
            cell.recurrent.part(context, weighed, 2 * size, size)?
        }
    };
    let candidate = cell.binary(context, Add, candidate, seen)?;
    let candidate = cell.activated(context, 1, candidate)?;
    let rest = cell.rest(context, update)?;
    let new = cell.binary(context, Mul, rest, candidate)?;
    let kept = cell.binary(context, Mul, update, before)?;
    Ok(vec![cell.binary(context, Add, new, kept)?])
}
