//! [`SegmentedField`]: a segmented program over a prime field, which `npu verify` compares with the
//! model.
//!
//! Every part runs as it would in a run: segments on their machine, host steps by the evaluator.
//! Results are passed on by name. The outputs are compared with one graph of the whole model whose
//! nodes use the constants of the part that computes them ([`composed`]). The proof therefore
//! covers the cut, too.

mod composed;
mod culprit;
mod ends;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use npukit_base::distinct;
use npukit_graph::Graph;
use npukit_graph::field::{Evaluator, FieldTensor, Images, Operand, Value, constant_elements, walk};
use npukit_numeric::Element;

use super::{End, Part, SegmentedProgram};
use crate::contract::proof::{Culprit, Expected, FieldProgram, FieldValues, References};
use crate::error::TargetError;
use crate::segments::SegmentError;

/// A segmented program over the field.
pub(super) struct SegmentedField<'a> {
    parts: Vec<FieldPart<'a>>,
    inputs: &'a [End],
    outputs: &'a [End],
}

/// A part of the program.
struct FieldPart<'a> {
    work: Work<'a>,
    /// Names of the values that it reads.
    inputs: Vec<String>,
    /// Names of the values that it produces.
    outputs: Vec<String>,
}

enum Work<'a> {
    /// Segment with this index.
    Chip(usize, Box<dyn FieldProgram + 'a>),
    Host(&'a Graph),
}

/// Values of a run over the field, by name.
type Tensors = HashMap<String, FieldTensor>;

impl<'a> SegmentedField<'a> {
    /// # Errors
    ///
    /// Parts that read a missing value or produce an existing one; a segment without a proof.
    pub fn new(program: &'a SegmentedProgram) -> Result<Self, TargetError> {
        ends::check(program).map_err(TargetError::failed)?;
        let mut segments = 0..;
        let part = |part: &'a Part| {
            Ok(match part {
                Part::Chip(compiled) => FieldPart {
                    // Default: never used, the segment numbers do not end.
                    work: Work::Chip(segments.next().unwrap_or_default(), compiled.in_field()?),
                    inputs: compiled.inputs().into_iter().map(|port| port.name).collect(),
                    outputs: compiled.outputs().into_iter().map(|port| port.name).collect(),
                },
                Part::Host(graph) => FieldPart {
                    work: Work::Host(graph),
                    inputs: names(graph, &graph.inputs),
                    outputs: names(graph, &graph.outputs),
                },
            })
        };
        let parts = program.parts.iter().map(part).collect::<Result<_, TargetError>>()?;
        Ok(Self { parts, inputs: &program.inputs, outputs: &program.outputs })
    }

    /// Returns all values between parts, and the program's inputs and outputs.
    fn values(&self, inputs: &FieldValues, seed: u64) -> Result<Tensors, TargetError> {
        let mut values: Tensors = inputs.iter().cloned().collect();
        self.inputs.iter().try_for_each(|end| fits(end, &values)).map_err(TargetError::failed)?;
        for (number, part) in self.parts.iter().enumerate() {
            let made = part.run(&part.read(&values)?, seed_of(seed, number))?;
            values.extend(made);
        }
        Ok(values)
    }
}

/// Checks that the program's input matches the model.
fn fits(end: &End, values: &Tensors) -> Result<(), SegmentError> {
    let (reader, value) = (ends::BEGINNING.to_owned(), end.name.clone());
    match values.get(&end.name) {
        None => Err(SegmentError::Foreign { part: reader, value }),
        Some(tensor) if tensor.shape != end.info.shape => {
            let (expected, found) = (end.info.shape.clone(), tensor.shape.clone());
            Err(SegmentError::Shape { reader, value, expected, found })
        }
        Some(_) => Ok(()),
    }
}

fn names(graph: &Graph, ids: &[npukit_graph::ValueId]) -> Vec<String> {
    ids.iter().map(|&id| graph.value(id).name.clone()).collect()
}

/// Returns the seed of a part's memories, different for each part.
fn seed_of(seed: u64, part: usize) -> u64 {
    Element::hashed(seed, [Element::from_integer(part as i64)]).bits()
}

impl FieldPart<'_> {
    /// Returns the name of the part in errors.
    fn name(&self) -> String {
        match &self.work {
            Work::Chip(segment, _) => format!("segment {segment}"),
            Work::Host(_) => ends::HOST.to_owned(),
        }
    }

    fn read(&self, values: &Tensors) -> Result<Vec<(String, FieldTensor)>, TargetError> {
        let tensor = |name: &String| {
            let missing = || SegmentError::Missing { reader: self.name(), value: name.clone() };
            let tensor = values.get(name).ok_or_else(|| TargetError::failed(missing()))?;
            Ok((name.clone(), tensor.clone()))
        };
        self.inputs.iter().map(tensor).collect()
    }

    fn run(&self, inputs: &FieldValues, seed: u64) -> Result<Vec<(String, FieldTensor)>, TargetError> {
        match &self.work {
            Work::Chip(_, program) => program.run(inputs, seed),
            Work::Host(graph) => hosted(graph, inputs, |_, _| ()).map_err(TargetError::failed),
        }
    }
}

/// Computes the host's results from `inputs`, in the order of the graph's inputs; `see` is called
/// with every value's name.
fn hosted(
    graph: &Graph,
    inputs: &FieldValues,
    mut see: impl FnMut(&str, &FieldTensor),
) -> Result<Vec<(String, FieldTensor)>, SegmentError> {
    let fitting = |(&id, (name, tensor)): (_, &(String, FieldTensor))| {
        let expected = graph.shape(id).to_vec();
        if tensor.shape == expected {
            return Ok(tensor.clone());
        }
        let (reader, value, found) = (ends::HOST.to_owned(), name.clone(), tensor.shape.clone());
        Err(SegmentError::Shape { reader, value, expected, found })
    };
    let inputs = graph.inputs.iter().zip(inputs).map(fitting).collect::<Result<_, _>>()?;
    let walked = walk(graph, inputs, &|_| &Evaluator, |id, tensor| see(&graph.value(id).name, tensor));
    let output = |(name, value): (String, Value)| {
        let tensor = known(value).ok_or_else(|| SegmentError::NoImage { value: name.clone() })?;
        Ok((name, tensor))
    };
    names(graph, &graph.outputs).into_iter().zip(walked.outputs).map(output).collect()
}

/// Returns an output of the host; a constant is returned as such.
fn known(value: Value) -> Option<FieldTensor> {
    match value {
        Value::Known(Operand::Field(tensor)) => Some(FieldTensor::clone(&tensor)),
        Value::Known(Operand::Constant(tensor)) => {
            let elements = constant_elements(&tensor, &Evaluator);
            Some(FieldTensor { shape: tensor.shape().to_vec(), elements })
        }
        Value::Unknown(_) => None,
    }
}

impl FieldProgram for SegmentedField<'_> {
    fn images(&self, part: usize) -> &dyn Images {
        match self.parts.get(part).map(|part| &part.work) {
            Some(Work::Chip(_, program)) => program.images(0),
            _ => &Evaluator,
        }
    }

    fn references<'b>(&'b self, graph: &'b Graph) -> References<'b> {
        let mut has_failed = false;
        Box::new((0..).map_while(move |order| {
            // An invalid cut is invalid in every order.
            let reference = (!has_failed).then(|| composed::reference(self, graph, order)).flatten();
            has_failed = matches!(reference, Some(Err(_)));
            reference
        }))
    }

    fn assumptions(&self, graph: &Graph) -> Vec<String> {
        let mut stated = vec![
            "what goes between segments and steps of the host is handed on as it is, and rounded to the machine's numbers at \
             most"
                .to_owned(),
        ];
        for part in &self.parts {
            if let (Work::Chip(_, program), Ok(cut)) = (&part.work, composed::cut(graph, part)) {
                stated.extend(program.assumptions(&cut));
            }
        }
        distinct(stated.iter())
    }

    fn run(&self, inputs: &FieldValues, seed: u64) -> Result<Vec<(String, FieldTensor)>, TargetError> {
        let values = self.values(inputs, seed)?;
        let output = |End { name, .. }: &End| {
            let missing = || SegmentError::Missing { reader: ends::END.to_owned(), value: name.clone() };
            let tensor = values.get(name).ok_or_else(|| TargetError::failed(missing()))?;
            Ok((name.clone(), tensor.clone()))
        };
        self.outputs.iter().map(output).collect()
    }

    fn culprit(
        &self,
        inputs: &FieldValues,
        seed: u64,
        wrong: (&str, usize),
        expected: &dyn Expected,
    ) -> Result<Option<Culprit>, TargetError> {
        culprit::find(self, inputs, seed, wrong, expected)
    }
}
