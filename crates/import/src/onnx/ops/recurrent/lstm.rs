//! A step of an LSTM. The weights hold the input, output and forget gates, then the cell's
//! candidate.

use npukit_graph::ValueId;
use npukit_graph::op::BinaryKind::{Add, Mul};

use super::{Cell, Context, Kind, Reason};

pub(super) const KIND: Kind = Kind { gates: 4, defaults: &["Sigmoid", "Tanh", "Tanh"], states: 2, step };

/// Computes `c' = f * c + i * g` and `h' = o * tanh(c')`. Peepholes add the cell's state to the
/// gates; the output gate uses the new state.
fn step(
    cell: &Cell,
    context: &mut Context<'_>,
    input: ValueId,
    states: &[Option<ValueId>],
) -> Result<Vec<ValueId>, Reason> {
    let &[hidden, state] = states else { return Ok(Vec::new()) };
    let gates = match hidden {
        Some(hidden) => {
            let recurrent = cell.recurrent.of(context, hidden)?;
            cell.binary(context, Add, input, recurrent)?
        }
        None => input,
    };
    let gates = context.split("gates", gates, 1, &[cell.hidden; 4])?;
    let &[input, output, forget, candidate] = gates.as_slice() else { return Ok(Vec::new()) };
    let peephole = |context: &mut Context<'_>, gate, index: usize, state: Option<ValueId>| {
        let Some((peepholes, state)) = cell.peepholes.zip(state) else { return Ok(gate) };
        let seen = cell.binary(context, Mul, peepholes[index], state)?;
        cell.binary(context, Add, gate, seen)
    };
    let input = peephole(context, input, 0, state)?;
    let input = cell.activated(context, 0, input)?;
    let candidate = cell.activated(context, 1, candidate)?;
    let mut new = cell.binary(context, Mul, input, candidate)?;
    if let Some(state) = state {
        let forget = if cell.input_forget {
            cell.rest(context, input)?
        } else {
            let forget = peephole(context, forget, 2, Some(state))?;
            cell.activated(context, 0, forget)?
        };
        let kept = cell.binary(context, Mul, forget, state)?;
        new = cell.binary(context, Add, kept, new)?;
    }
    let output = peephole(context, output, 1, Some(new))?;
    let output = cell.activated(context, 0, output)?;
    let seen = cell.unbounded(context, 2, new)?;
    Ok(vec![cell.binary(context, Mul, output, seen)?, new])
}
