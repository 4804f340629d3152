//! Cast: conversion to another element type.

use npukit_graph::ValueId;
use npukit_graph::op::Cast;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::element_type;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "x")?;
    context.attributes.without_effect("Truncate"); // of floats narrower than ours
    let to = context.attributes.element_type("DstT")?.ok_or(Reason::AttributeMissing { name: "DstT" })?;
    Ok(vec![context.emit(Cast::new(element_type(to)?), vec![x])?])
}
