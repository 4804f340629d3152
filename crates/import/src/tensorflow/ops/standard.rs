//! Operators that equal ONNX's under another name. [`ROWS`] holds the names of the operators and
//! their attributes.

use npukit_graph::ValueId;

use super::super::context::Context;
use super::super::error::Reason;
use crate::onnx::Given;

/// Mapping of one operator.
struct Row {
    name: &'static str,
    /// Name of ONNX's operator.
    standard: &'static str,
    /// Boolean attributes, with equal names in both.
    flags: &'static [&'static str],
    /// Integer attributes: names in both, and the default.
    ints: &'static [(&'static str, &'static str, i64)],
    /// Operation that combines scattered and existing elements.
    reduction: Option<&'static str>,
}

const PLAIN: Row = Row { name: "", standard: "", flags: &[], ints: &[], reduction: None };
const RUNNING: Row = Row { flags: &["exclusive", "reverse"], ..PLAIN };

const ROWS: &[Row] = &[
    Row { name: "BitwiseAnd", standard: "BitwiseAnd", ..PLAIN },
    Row { name: "BitwiseOr", standard: "BitwiseOr", ..PLAIN },
    Row { name: "BitwiseXor", standard: "BitwiseXor", ..PLAIN },
    Row { name: "Cumprod", standard: "CumProd", ..RUNNING },
    Row { name: "Cumsum", standard: "CumSum", ..RUNNING },
    Row { name: "GatherNd", standard: "GatherND", ints: &[("batch_dims", "batch_dims", 0)], ..PLAIN },
    Row { name: "Invert", standard: "BitwiseNot", ..PLAIN },
    Row { name: "IsInf", standard: "IsInf", ..PLAIN },
    Row { name: "IsNan", standard: "IsNaN", ..PLAIN },
    Row {
        name: "ReverseSequence",
        standard: "ReverseSequence",
        ints: &[("seq_dim", "time_axis", 0), ("batch_dim", "batch_axis", 0)],
        ..PLAIN
    },
    Row { name: "TensorScatterAdd", standard: "ScatterND", reduction: Some("add"), ..PLAIN },
    Row { name: "TensorScatterMax", standard: "ScatterND", reduction: Some("max"), ..PLAIN },
    Row { name: "TensorScatterMin", standard: "ScatterND", reduction: Some("min"), ..PLAIN },
    Row { name: "TensorScatterUpdate", standard: "ScatterND", ..PLAIN },
];

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let unknown = || Reason::Operator { operator: context.op().to_owned() };
    let row = ROWS.iter().find(|row| row.name == context.op()).ok_or_else(unknown)?;
    // Invalid indices are always refused.
    context.attributes.without_effect("bad_indices_policy");
    let mut attributes = Vec::new();
    for name in row.flags {
        attributes.push((*name, Given::Int(context.attributes.flag(name, false)?.into())));
    }
    for (name, standard, default) in row.ints {
        attributes.push((*standard, Given::Int(context.attributes.int_or(name, *default)?)));
    }
    attributes.extend(row.reduction.map(|text| ("reduction", Given::Text(text))));
    let operands = context.inputs("input")?;
    Ok(vec![context.standard(row.standard, &attributes, &operands)?])
}
