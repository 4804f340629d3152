//! [`check`]: verifies that each value between parts is produced once, before it is read, and with
//! the type that the reader expects.

use std::collections::HashMap;

use npukit_graph::Graph;
use npukit_numeric::ElementType;

use crate::segments::SegmentError;
use crate::segments::program::{Part, SegmentedProgram};

/// Names in errors: the source of the inputs, and a host part.
pub(super) const BEGINNING: &str = "the program's beginning";
pub(super) const HOST: &str = "a host step";
pub(super) const END: &str = "the model's end";

/// Checks the values between the parts of a program.
///
/// # Errors
///
/// [`SegmentError::Missing`], [`SegmentError::Twice`], [`SegmentError::Converted`].
pub(super) fn check(program: &SegmentedProgram) -> Result<(), SegmentError> {
    let mut made: HashMap<String, ElementType> = HashMap::new();
    let mut segments = 0;
    let inputs = program.inputs.iter().map(|end| (end.name.clone(), end.info.element));
    inputs.into_iter().try_for_each(|(name, element)| make(&mut made, name, element))?;
    for part in &program.parts {
        match part {
            Part::Chip(compiled) => {
                let reader = format!("segment {segments}");
                compiled.inputs().iter().try_for_each(|port| read(&made, &reader, &port.name, None))?;
                // Outputs of a machine are real numbers.
                let outputs = compiled.outputs().into_iter();
                outputs.map(|port| port.name).try_for_each(|name| make(&mut made, name, ElementType::F32))?;
                segments += 1;
            }
            Part::Host(graph) => {
                let value = |&id| graph.value(id);
                let mut inputs = graph.inputs.iter().map(value);
                inputs.try_for_each(|value| read(&made, HOST, &value.name, Some(value.info.element)))?;
                let mut outputs = graph.outputs.iter().map(value);
                outputs.try_for_each(|value| make(&mut made, value.name.clone(), value.info.element))?;
            }
        }
    }
    program.outputs.iter().try_for_each(|end| read(&made, END, &end.name, None))
}

fn make(
    made: &mut HashMap<String, ElementType>,
    value: String,
    element: ElementType,
) -> Result<(), SegmentError> {
    match made.insert(value.clone(), element) {
        Some(_) => Err(SegmentError::Twice { value }),
        None => Ok(()),
    }
}

/// Float types are interchangeable; other conversions involve more than rounding.
fn read(
    made: &HashMap<String, ElementType>,
    reader: &str,
    value: &str,
    expected: Option<ElementType>,
) -> Result<(), SegmentError> {
    let (reader, value) = (reader.to_owned(), value.to_owned());
    match (made.get(&value), expected) {
        (None, _) => Err(SegmentError::Missing { reader, value }),
        (Some(&found), Some(expected)) => as_it_is(&reader, &value, found, expected),
        (Some(_), None) => Ok(()),
    }
}

fn as_it_is(
    reader: &str,
    value: &str,
    found: ElementType,
    expected: ElementType,
) -> Result<(), SegmentError> {
    if found == expected || found.is_float() && expected.is_float() {
        return Ok(());
    }
    let (reader, value) = (reader.to_owned(), value.to_owned());
    Err(SegmentError::Converted { reader, value, found, expected })
}

/// Checks that a host part reads and produces numbers of the model's types; it would otherwise
/// convert them.
///
/// # Errors
///
/// [`SegmentError::Converted`].
pub(super) fn are_of(model: &Graph, host: &Graph) -> Result<(), SegmentError> {
    let mut ends = host.inputs.iter().chain(&host.outputs).map(|&id| host.value(id));
    ends.try_for_each(|value| {
        let own = model.find_value(&value.name).map(|id| model.value(id).info.element);
        own.map_or(Ok(()), |found| as_it_is(HOST, &value.name, found, value.info.element))
    })
}
