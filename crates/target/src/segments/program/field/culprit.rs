//! [`find`]: the first part that computes a wrong value, and where.

use std::collections::HashMap;

use npukit_graph::Graph;
use npukit_graph::field::FieldTensor;

use super::{FieldPart, SegmentedField, Tensors, Work, hosted, seed_of};
use crate::contract::proof::{Culprit, Expected, FieldValues};
use crate::error::TargetError;

/// A wrong element: name of the value and index.
type Place<'a> = (&'a str, usize);

/// Finds the origin of a wrong output element. Each part gets the results of the earlier ones, so
/// the culprit is the first part that computes a wrong value from correct ones.
pub(super) fn find(
    field: &SegmentedField<'_>,
    inputs: &FieldValues,
    seed: u64,
    (output, element): Place<'_>,
    expected: &dyn Expected,
) -> Result<Option<Culprit>, TargetError> {
    let values = field.values(inputs, seed)?;
    let mut wrong = differing(&values, expected);
    wrong.entry(output.to_owned()).or_insert(element);
    for (number, part) in field.parts.iter().enumerate() {
        let place = part.outputs.iter().find_map(|name| Some((name.as_str(), *wrong.get(name)?)));
        if let Some(place) = place {
            return within(part, &part.read(&values)?, seed_of(seed, number), place, &values, expected)
                .map(Some);
        }
    }
    Ok(None)
}

/// Returns the index of the first wrong element of each value.
fn differing(values: &Tensors, expected: &dyn Expected) -> HashMap<String, usize> {
    let mut wrong = HashMap::new();
    expected.each(&mut |name, tensor| {
        let own = values.get(name).into_iter().flat_map(|own| &own.elements);
        if let Some(at) = own.zip(&tensor.elements).position(|(own, other)| own != other) {
            wrong.insert(name.to_owned(), at);
        }
    });
    wrong
}

/// Finds the culprit within a part whose element `at` of `name` is wrong.
fn within(
    part: &FieldPart<'_>,
    inputs: &FieldValues,
    seed: u64,
    (name, at): Place<'_>,
    values: &Tensors,
    expected: &dyn Expected,
) -> Result<Culprit, TargetError> {
    // Default: a missing element is zero.
    let value = values.get(name).and_then(|tensor| tensor.elements.get(at)).copied().unwrap_or_default();
    let given =
        Culprit { memory: format!("host value `{name}`"), address: at as u64, value, ..Culprit::default() };
    match &part.work {
        Work::Host(graph) => step(graph, inputs, expected, given),
        Work::Chip(segment, program) => {
            let found = program.culprit(inputs, seed, (name, at), expected)?;
            Ok(Culprit { segment: Some(*segment), ..found.unwrap_or(given) }) // Default: only the output is known.
        }
    }
}

/// Returns the first host step whose results differ from the model, or otherwise the one that
/// computes `given`.
fn step(
    graph: &Graph,
    inputs: &FieldValues,
    expected: &dyn Expected,
    given: Culprit,
) -> Result<Culprit, TargetError> {
    let mut values: Tensors = Tensors::new();
    let mut see = |name: &str, tensor: &FieldTensor| {
        values.insert(name.to_owned(), tensor.clone());
    };
    hosted(graph, inputs, &mut see).map_err(TargetError::failed)?;
    let wrong = differing(&values, expected);
    let made = graph.nodes.iter().flat_map(|node| node.outputs.iter().map(move |&id| (node, id)));
    let first = made.into_iter().find_map(|(node, id)| {
        let name = &graph.value(id).name;
        let at = *wrong.get(name)?;
        let value = *values.get(name)?.elements.get(at)?;
        let (layer, memory) = (Some(node.name.clone()), format!("host value `{name}`"));
        Some(Culprit { layer, memory, address: at as u64, value, ..Culprit::default() })
    });
    Ok(first.unwrap_or(given)) // Default: the model has no values with the names of these steps.
}
