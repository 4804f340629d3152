//! Pad (zeros), PadV2 (a value) and MirrorPad.

use npukit_graph::ValueId;
use npukit_graph::op::{Pad, PadMode};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use crate::shape::MAX_ELEMENTS;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let pads = pads(context, x)?;
    let mode = match context.op() {
        "MirrorPad" => match context.attributes.string("mode")?.as_deref() {
            Some("REFLECT") => PadMode::Reflect,
            Some("SYMMETRIC") => PadMode::Symmetric,
            Some(other) => return Err(unsupported("mode", other, "REFLECT or SYMMETRIC")),
            None => return Err(Reason::AttributeMissing { name: "mode" }),
        },
        "PadV2" => {
            let missing = Reason::OperandMissing { operand: "constant_values" };
            PadMode::Constant(context.number(2, "constant_values")?.ok_or(missing)?)
        }
        _ => PadMode::Constant(0.0),
    };
    let pads = pads.into_iter().map(|pads| pads.map(|pad| pad as isize)).collect();
    Ok(vec![context.emit(Pad { pads, mode }, vec![x])?])
}

/// Reads operand `paddings` of shape `[rank, 2]`: the number of elements added before and after
/// each axis.
fn pads(context: &mut Context<'_>, x: ValueId) -> Result<Vec<[usize; 2]>, Reason> {
    let rank = context.shape(x).len();
    let stated = context.pairs(1, "paddings")?;
    let legal = || format!("{rank} pairs of numbers from 0 to {MAX_ELEMENTS}");
    if stated.len() != rank {
        let found = format!("{} pairs", stated.len());
        return Err(Reason::OperandValue { operand: "paddings", found, legal: legal() });
    }
    Ok(stated)
}
