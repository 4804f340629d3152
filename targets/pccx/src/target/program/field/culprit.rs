//! Finds the instruction that caused a wrong output: [`find`].
//!
//! The search follows a wrong scalar back through instructions and host steps. If an operand is not
//! a value of the graph either, the search continues there. Layers exchange values of the graph, so
//! the layer found is the faulty one. Within a layer, some scalars are never values of the graph;
//! the result is the first instruction whose operands are all correct.

mod flow;
mod record;

use npukit_numeric::Element;
use npukit_target::{Culprit, FieldValues, TargetError};

use super::PccxField;
use crate::config::WORD_LANES;
use crate::program::host::Host;
use crate::program::runtime::Moment;
use flow::{Memory, Place, Reach};
use record::{Event, Read, Record};

/// A wrong scalar, before an event.
#[derive(Clone, Copy, Debug)]
struct Scalar {
    memory: Memory,
    index: usize,
    value: Element,
    before: usize,
}

/// Returns the instruction that caused element `element` of an output; `None` if the program does
/// not have that output.
pub(super) fn find(
    field: &PccxField<'_>,
    inputs: &FieldValues,
    seed: u64,
    (output, element): (&str, usize),
    is_known: &dyn Fn(Element) -> bool,
) -> Result<Option<Culprit>, TargetError> {
    let host = field.owner.host();
    let mut record = Record::new(&field.owner.executable.program, host, is_known);
    let outputs = field.run_observed(inputs, seed, &mut |session, moment| record.note(session, moment))?;
    let found = host.graph.outputs.iter().zip(&outputs).find(|(_, (name, _))| name == output);
    let Some((&slot, (_, tensor))) = found else { return Ok(None) };
    let Some(&value) = tensor.elements.get(element) else { return Ok(None) };
    let events = record.events;
    let scalar = Scalar { memory: Memory::Slot(slot), index: element, value, before: events.len() };
    let (scalar, event) = Search { events: &events }.origin(scalar);
    Ok(Some(culprit(host, scalar, event.map(|event| &events[event]))))
}

fn culprit(host: &Host, scalar: Scalar, event: Option<&Event>) -> Culprit {
    let instruction = event.and_then(|event| match event.moment {
        Moment::Instruction(index) => Some(index),
        Moment::Host(_) => None,
    });
    let layer = event.and_then(|event| host.layers.get(event.layer));
    let (memory, lanes) = match scalar.memory {
        Memory::L2 => ("L2".to_owned(), WORD_LANES),
        Memory::Window(direction, number) => (format!("window {number} {direction}"), WORD_LANES),
        Memory::Slot(id) => (format!("host value `{}`", host.graph.value(id).name), 1),
        Memory::Maximum => ("e_max".to_owned(), 1),
    };
    Culprit {
        segment: None,
        instruction,
        layer: layer.map(|layer| layer.name.clone()),
        memory,
        address: (scalar.index / lanes) as u64,
        lane: (scalar.index % lanes) as u64,
        value: scalar.value,
    }
}

/// State of the search in the recorded events of a run.
struct Search<'a> {
    events: &'a [Event],
}

impl Search<'_> {
    /// Returns the first wrong scalar from which `scalar` derives, and the event that wrote it, if
    /// any.
    fn origin(&self, mut scalar: Scalar) -> (Scalar, Option<usize>) {
        while let Some(writer) = self.writer(scalar) {
            match self.within(scalar, writer) {
                Ok(earlier) => scalar = earlier,
                Err((scalar, writer)) => return (scalar, Some(writer)),
            }
        }
        (scalar, None)
    }

    /// Returns a wrong operand that an earlier layer has left.
    ///
    /// # Errors
    /// If all operands are correct: the first wrong scalar of this layer, and its writer.
    fn within(&self, scalar: Scalar, writer: usize) -> Result<Scalar, (Scalar, usize)> {
        let layer = self.events[writer].layer;
        let (mut first, mut seen, mut next) = (None, vec![false; writer + 1], vec![(scalar, writer)]);
        while let Some((scalar, writer)) = next.pop() {
            if std::mem::replace(&mut seen[writer], true) {
                continue;
            }
            let wrong = self.wrong(scalar, writer);
            if wrong.is_empty() {
                first.get_or_insert((scalar, writer));
            }
            // The last operand is searched first, so factors come before the addend.
            for earlier in wrong.into_iter().rev() {
                match self.writer(earlier) {
                    // A wrong scalar that no instruction writes is a cause itself.
                    None => return Err((scalar, writer)),
                    Some(writer) if self.events[writer].layer == layer => next.push((earlier, writer)),
                    Some(_) => return Ok(earlier),
                }
            }
        }
        // Default: the first scalar has no wrong operand, or only visited ones.
        Err(first.unwrap_or((scalar, writer)))
    }

    /// Returns wrong operands of an event that affect `scalar`: one per operand.
    fn wrong(&self, scalar: Scalar, writer: usize) -> Vec<Scalar> {
        let event = &self.events[writer];
        let place = event.writes.iter().find(|place| place.has(scalar.memory, scalar.index));
        let Some(offset) = place.map(|place| scalar.index - place.first) else { return Vec::new() };
        event.reads.iter().filter_map(|read| self.operand(read, offset, scalar.value)).collect()
    }

    /// Returns the most likely wrong scalar of an operand: an equal element, or otherwise the
    /// element at the same index.
    fn operand(&self, read: &Read, offset: usize, value: Element) -> Option<Scalar> {
        let is_meant = |place: usize| match read.reach {
            Reach::Same => place == offset,
            Reach::Rows { inputs, results } => place / inputs.max(1) == offset / results.max(1),
            Reach::All => true,
        };
        let meant = || read.strangers.iter().filter(|(place, _)| is_meant(*place));
        let same = meant().find(|(_, other)| *other == value);
        let there = || meant().find(|(place, _)| *place == offset);
        let &(place, value) = same.or_else(there).or_else(|| meant().next())?;
        Some(Scalar { memory: read.from.memory, index: read.from.first + place, value, before: read.before })
    }

    /// Returns the last earlier event that writes the scalar.
    fn writer(&self, scalar: Scalar) -> Option<usize> {
        let writes = |place: &Place| place.has(scalar.memory, scalar.index);
        (0..scalar.before).rev().find(|&event| self.events[event].writes.iter().any(writes))
    }
}
