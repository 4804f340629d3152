//! A step of a plain recurrent layer.

use npukit_graph::ValueId;
use npukit_graph::op::BinaryKind::Add;

use super::{Cell, Context, Kind, Reason};

pub(super) const KIND: Kind = Kind { gates: 1, defaults: &["Tanh"], states: 1, step };

/// Computes `h' = tanh(x * W + h * R)`.
fn step(
    cell: &Cell,
    context: &mut Context<'_>,
    input: ValueId,
    states: &[Option<ValueId>],
) -> Result<Vec<ValueId>, Reason> {
    let sum = match states.first().copied().flatten() {
        Some(hidden) => {
            let recurrent = cell.recurrent.of(context, hidden)?;
            cell.binary(context, Add, input, recurrent)?
        }
        None => input,
    };
    Ok(vec![cell.activated(context, 0, sum)?])
}
