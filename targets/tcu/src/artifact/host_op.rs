//! A host step's operator in `.npukit.json`: its name as ONNX spells it in `op`, its attributes beside it.

use npukit_graph::op::{GeluForm, LogSoftmax, Softmax, Unary, UnaryKind};
use serde_json::{Map, Value, json};

use crate::keys::{KeyError, Keys};
use crate::program::HostOp;

/// Functions without attributes.
const PLAIN: &[UnaryKind] = &[
    UnaryKind::Sign,
    UnaryKind::Sqrt,
    UnaryKind::Exp,
    UnaryKind::Log,
    UnaryKind::Reciprocal,
    UnaryKind::Floor,
    UnaryKind::Ceil,
    UnaryKind::Round,
    UnaryKind::Sin,
    UnaryKind::Cos,
    UnaryKind::Tan,
    UnaryKind::Asin,
    UnaryKind::Acos,
    UnaryKind::Atan,
    UnaryKind::Sinh,
    UnaryKind::Cosh,
    UnaryKind::Tanh,
    UnaryKind::Asinh,
    UnaryKind::Acosh,
    UnaryKind::Atanh,
    UnaryKind::Erf,
    UnaryKind::Sigmoid,
    UnaryKind::Mish,
    UnaryKind::Softplus,
    UnaryKind::Softsign,
];

/// Functions with attributes; the values here do not count.
const WITH_ATTRIBUTES: &[UnaryKind] = &[
    UnaryKind::Swish { alpha: 1.0 },
    UnaryKind::Gelu { form: GeluForm::Exact },
    UnaryKind::Elu { alpha: 1.0 },
    UnaryKind::Celu { alpha: 1.0 },
    UnaryKind::Selu { alpha: 1.0, gamma: 1.0 },
];

/// The name and the attributes.
pub(super) fn to_json(op: &HostOp) -> Map<String, Value> {
    let attributes = match op {
        HostOp::Softmax(Softmax { axis, axis_end }) | HostOp::LogSoftmax(LogSoftmax { axis, axis_end }) => {
            json!({ "axis": axis, "axis_end": axis_end })
        }
        HostOp::Unary(Unary { kind }) => attributes(*kind),
    };
    let mut map = Map::from_iter([("op".to_owned(), json!(op.name()))]);
    if let Value::Object(attributes) = attributes {
        map.extend(attributes);
    }
    map
}

fn attributes(kind: UnaryKind) -> Value {
    match kind {
        UnaryKind::Swish { alpha } | UnaryKind::Elu { alpha } | UnaryKind::Celu { alpha } => {
            json!({ "alpha": alpha })
        }
        UnaryKind::Selu { alpha, gamma } => json!({ "alpha": alpha, "gamma": gamma }),
        UnaryKind::Gelu { form } => json!({ "approximate": approximation(form) }),
        _ => json!({}),
    }
}

/// ONNX's name for the form.
const fn approximation(form: GeluForm) -> &'static str {
    match form {
        GeluForm::Exact => "none",
        GeluForm::Tanh => "tanh",
    }
}

/// The operator of an entry, on an output of `rank` axes.
pub(super) fn from_keys(entry: &Keys<'_>, rank: usize) -> Result<HostOp, KeyError> {
    let name = entry.string("op")?;
    if name == "Softmax" {
        let (axis, axis_end) = axes(entry, rank)?;
        return Ok(HostOp::Softmax(Softmax { axis, axis_end }));
    }
    if name == "LogSoftmax" {
        let (axis, axis_end) = axes(entry, rank)?;
        return Ok(HostOp::LogSoftmax(LogSoftmax { axis, axis_end }));
    }
    let known = PLAIN.iter().chain(WITH_ATTRIBUTES);
    let named = known.copied().find(|&kind| HostOp::from(kind).name() == name);
    let kind = named.ok_or_else(|| {
        let reason = format!("is `{name}`, which is not a host step of this npukit; compile the model again");
        entry.error("op", reason)
    })?;
    with_attributes(entry, kind).map(HostOp::from)
}

fn axes(entry: &Keys<'_>, rank: usize) -> Result<(usize, usize), KeyError> {
    let (axis, axis_end) = (entry.number("axis")?, entry.number("axis_end")?);
    if axis >= axis_end || axis_end > rank as u64 {
        let reason = format!("is {axis_end} with axis {axis}, of an output of {rank} axes");
        return Err(entry.error("axis_end", reason));
    }
    Ok((axis as usize, axis_end as usize))
}

fn with_attributes(entry: &Keys<'_>, kind: UnaryKind) -> Result<UnaryKind, KeyError> {
    Ok(match kind {
        UnaryKind::Swish { .. } => UnaryKind::Swish { alpha: entry.float("alpha")? },
        UnaryKind::Elu { .. } => UnaryKind::Elu { alpha: entry.float("alpha")? },
        UnaryKind::Celu { .. } => UnaryKind::Celu { alpha: entry.float("alpha")? },
        UnaryKind::Selu { .. } => {
            UnaryKind::Selu { alpha: entry.float("alpha")?, gamma: entry.float("gamma")? }
        }
        UnaryKind::Gelu { .. } => UnaryKind::Gelu { form: gelu_form(entry)? },
        plain => plain,
    })
}

fn gelu_form(entry: &Keys<'_>) -> Result<GeluForm, KeyError> {
    let name = entry.string("approximate")?;
    [GeluForm::Exact, GeluForm::Tanh]
        .into_iter()
        .find(|&form| approximation(form) == name)
        .ok_or_else(|| entry.error("approximate", format!("is `{name}`, must be `none` or `tanh`")))
}
