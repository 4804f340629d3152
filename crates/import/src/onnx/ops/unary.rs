//! Operators that apply a function to each element.

use npukit_graph::ValueId;
use npukit_graph::op::{GeluForm, Unary, UnaryKind};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use crate::function;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    let kind = match function::of(context.op_type()) {
        Some(kind) => kind,
        None => with_attributes(context)?,
    };
    Ok(vec![context.emit(Unary { kind }, vec![x])?])
}

/// Functions with attributes, with the defaults of the standard.
fn with_attributes(context: &mut Context<'_>) -> Result<UnaryKind, Reason> {
    let operator = context.op_type();
    if operator == "Gelu" {
        return Ok(UnaryKind::Gelu { form: gelu_form(context)? });
    }
    let stated = context.attributes.float("alpha")?;
    let alpha = |default: f32| stated.unwrap_or(default);
    Ok(match operator {
        "Celu" => UnaryKind::Celu { alpha: alpha(1.0) },
        "Elu" => UnaryKind::Elu { alpha: alpha(1.0) },
        "HardSigmoid" => {
            let beta = context.attributes.float_or("beta", 0.5)?;
            UnaryKind::HardSigmoid { alpha: alpha(0.2), beta }
        }
        "Selu" => {
            let gamma = context.attributes.float_or("gamma", 1.050_701)?;
            UnaryKind::Selu { alpha: alpha(1.673_263_2), gamma }
        }
        "Swish" => UnaryKind::Swish { alpha: alpha(1.0) },
        "ThresholdedRelu" => UnaryKind::ThresholdedRelu { alpha: alpha(1.0) },
        other => return Err(Reason::Operator { operator: other.to_owned() }),
    })
}

fn gelu_form(context: &mut Context<'_>) -> Result<GeluForm, Reason> {
    match context.attributes.string("approximate")?.as_deref() {
        None | Some("none") => Ok(GeluForm::Exact),
        Some("tanh") => Ok(GeluForm::Tanh),
        Some(other) => Err(unsupported("approximate", other, "none or tanh")),
    }
}
