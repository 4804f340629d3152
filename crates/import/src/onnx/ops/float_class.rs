//! IsNaN, and IsInf by comparison.

use npukit_graph::ValueId;
use npukit_graph::op::{Compare, CompareKind, IsNaN, Logic, LogicKind};

use super::super::context::Context;
use super::super::error::Reason;

const EQUAL: Compare = Compare { kind: CompareKind::Equal };

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    if context.op_type() == "IsNaN" {
        return Ok(vec![context.emit(IsNaN, vec![x])?]);
    }
    let positive = context.attributes.flag("detect_positive", true)?;
    let negative = context.attributes.flag("detect_negative", true)?;
    let mut found = Vec::new();
    for (wanted, infinity) in [(positive, f32::INFINITY), (negative, f32::NEG_INFINITY)] {
        // Nothing is both infinities: of those not asked for, one that nothing is equal to.
        let infinity = context.scalar(x, if wanted { infinity } else { f32::NAN })?;
        found.push(context.helper("is_infinite", EQUAL, vec![x, infinity])?);
    }
    Ok(vec![context.emit(Logic { kind: LogicKind::Or }, found)?])
}
