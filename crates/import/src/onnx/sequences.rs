//! Sequences of tensors. They are lists of values that are resolved during the import, so the graph
//! does not contain them. The positions of the elements must be constant.

use npukit_graph::ValueId;
use npukit_graph::op::{Concat, Split};
use npukit_numeric::TensorData;

use super::attributes::unsupported;
use super::context::Context;
use super::error::Reason;
use super::importer::{Binding, Importer};
use super::proto::NodeProto;
use super::tensor::tensor;
use crate::shape::MAX_ELEMENTS;

/// Result of a node on sequences.
pub(super) enum Given {
    Value(ValueId),
    Sequence(Vec<ValueId>),
}

impl<'a> Importer<'a, '_> {
    /// Returns the result of a node on sequences, or `None` if a value that it needs failed. The
    /// failure is recorded.
    pub(super) fn of_sequences(&mut self, node: &'a NodeProto) -> Result<Option<Given>, Reason> {
        let (mut operands, mut sequence) = (Vec::new(), None);
        for name in &node.input {
            match self.sequences.get(name.as_str()) {
                Some(known) => {
                    sequence = Some(known.clone());
                    operands.push(None);
                }
                None if name.is_empty() => operands.push(None),
                None => match self.lookup(name, (&node.name, &node.op_type)) {
                    Some(id) => operands.push(Some(id)),
                    None => return Ok(None),
                },
            }
        }
        let mut context = self.context(node, operands)?;
        let given = translate(&mut context, sequence)?;
        context.finish()?;
        Ok(Some(given))
    }

    /// Binds the result of a node on sequences.
    pub(super) fn bind_given(&mut self, node: &'a NodeProto, given: Given) {
        let Some(name) = node.output.first() else { return };
        match given {
            Given::Value(id) => drop(self.bindings.insert(name, Binding::Value(id))),
            Given::Sequence(values) => drop(self.sequences.insert(name, values)),
        }
    }
}

fn translate(context: &mut Context<'_>, sequence: Option<Vec<ValueId>>) -> Result<Given, Reason> {
    let operator = context.op_type();
    match operator {
        "SequenceConstruct" => {
            let inputs = (0..context.operands()).map(|index| context.input(index, "inputs"));
            return inputs.collect::<Result<_, _>>().map(Given::Sequence);
        }
        "SequenceEmpty" => {
            context.attributes.without_effect("dtype");
            return Ok(Given::Sequence(Vec::new()));
        }
        "SplitToSequence" => return split(context).map(Given::Sequence),
        _ => {}
    }
    let mut values = sequence.ok_or(Reason::OperandMissing { operand: "input_sequence" })?;
    match operator {
        "SequenceAt" => {
            let place =
                place(context, 1, values.len())?.ok_or(Reason::OperandMissing { operand: "position" })?;
            values.get(place).copied().map(Given::Value).ok_or_else(|| outside(place, values.len()))
        }
        "SequenceInsert" => {
            let new = context.input(1, "tensor")?;
            let place = place(context, 2, values.len())?.unwrap_or(values.len());
            values.insert(place, new);
            Ok(Given::Sequence(values))
        }
        "SequenceErase" => {
            let last = values.len().checked_sub(1).ok_or_else(|| outside(0, 0))?;
            let place = place(context, 1, values.len())?.unwrap_or(last);
            if place > last {
                return Err(outside(place, values.len()));
            }
            values.remove(place);
            Ok(Given::Sequence(values))
        }
        "SequenceLength" => {
            let length = tensor(Vec::new(), TensorData::I64(vec![values.len() as i64]))?;
            Ok(Given::Value(context.make_constant(length)))
        }
        _ => join(context, values).map(Given::Value),
    }
}

/// Returns a constant operand that is a position in a list, or its end. Negative positions count
/// from the end.
fn place(context: &mut Context<'_>, index: usize, length: usize) -> Result<Option<usize>, Reason> {
    let Some(stated) = context.integers(index, "position")? else { return Ok(None) };
    let place = match stated[..] {
        [place] if place < 0 => place.saturating_add(length as i64),
        [place] => place,
        _ => return Err(unsupported("position", stated, "one integer")),
    };
    let known = usize::try_from(place).ok().filter(|&place| place <= length);
    known.map(Some).ok_or_else(|| unsupported("position", stated, format!("-{length} to {length}")))
}

fn outside(place: usize, length: usize) -> Reason {
    unsupported("position", place, format!("one of the {length} places of the sequence"))
}

/// Splits a tensor along an axis into parts of the stated sizes, of one size, or single slices,
/// which may lose the axis.
fn split(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let mut shape = context.shape(x).to_vec();
    let axis = Context::axis("axis", context.attributes.int_or("axis", 0)?, shape.len())?;
    let (size, keep_dims) = (shape[axis], context.attributes.flag("keepdims", true)?);
    let stated = match context.optional(1) {
        None => None,
        Some(id) => Some(context.constant(id, "split")?),
    };
    let stated = stated.map(|split| (split.shape().is_empty(), split.reals()));
    let sizes: Vec<usize> = match &stated {
        Some((false, sizes)) => {
            context.reserve_results(sizes.len())?;
            sizes.iter().map(|&size| size as usize).collect()
        }
        stated => {
            let step = stated.as_ref().map_or(Some(1.0), |(_, step)| step.first().copied());
            let step = step.filter(|step| (1.0..=MAX_ELEMENTS as f64).contains(step));
            let step = step.ok_or_else(|| unsupported("split", stated, "1 or more"))? as usize;
            context.reserve_results(size.div_ceil(step))?;
            (0..size.div_ceil(step)).map(|index| step.min(size - index * step)).collect()
        }
    };
    let parts = context.emit_all(Split { axis, sizes }, vec![x])?;
    if stated.is_some() || keep_dims {
        return Ok(parts);
    }
    shape.remove(axis);
    parts.into_iter().map(|part| context.reshape(part, shape.clone())).collect()
}

/// Joins the tensors of a list along an axis, or along a new one.
fn join(context: &mut Context<'_>, mut values: Vec<ValueId>) -> Result<ValueId, Reason> {
    let first = *values.first().ok_or_else(|| unsupported("input_sequence", 0, "at least one tensor"))?;
    let is_new = context.attributes.flag("new_axis", false)?;
    let stated = context.attributes.int("axis")?.ok_or(Reason::AttributeMissing { name: "axis" })?;
    let axis = Context::axis("axis", stated, context.shape(first).len() + usize::from(is_new))?;
    if is_new {
        for value in &mut values {
            let shape = context.shape(*value).to_vec();
            if axis > shape.len() {
                return Err(unsupported("axis", axis, format!("an axis of {shape:?} with a new one")));
            }
            *value = context.reshape(*value, [&shape[..axis], &[1], &shape[axis..]].concat())?;
        }
    }
    context.emit(Concat { axis }, values)
}
