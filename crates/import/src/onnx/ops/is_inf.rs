//! IsInf: whether elements are infinite.

use npukit_graph::ValueId;
use npukit_graph::op::{Compare, CompareKind, Logic, LogicKind};

use super::super::context::Context;
use super::super::error::Reason;

const EQUAL: Compare = Compare { kind: CompareKind::Equal };

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    let positive = context.attributes.flag("detect_positive", true)?;
    let negative = context.attributes.flag("detect_negative", true)?;
    let mut found = Vec::new();
    for (wanted, infinity) in [(positive, f32::INFINITY), (negative, f32::NEG_INFINITY)] {
        // An element cannot equal both infinities. An unwanted one becomes NaN, which equals
        // nothing.
        let infinity = context.scalar(x, if wanted { infinity } else { f32::NAN })?;
        found.push(context.helper("is_infinite", EQUAL, vec![x, infinity])?);
    }
    Ok(vec![context.emit(Logic { kind: LogicKind::Or }, found)?])
}
