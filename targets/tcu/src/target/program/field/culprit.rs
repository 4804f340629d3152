//! [`find`]: the instruction that caused a wrong output.
//!
//! The wrong scalar is traced back. If an operand of its instruction is not a value of the graph
//! either, the search continues there. The culprit is the first instruction whose operands are all
//! values of the graph.

use std::collections::HashMap;

use npukit_numeric::Element;
use npukit_target::{Culprit, FieldValues, TargetError};

use super::TcuField;
use crate::isa::op::{Flow, Memory, Op, Path};
use crate::machine::arith::field::Modular;
use crate::machine::state::State;
use crate::program::Program;

/// A scalar of a memory, before instruction `before`.
#[derive(Clone, Copy, Debug)]
struct Scalar {
    memory: Memory,
    address: u64,
    lane: usize,
    before: usize,
}

/// Lanes of vectors read by instructions that are not values of the graph, by instruction and index
/// of the vector.
type Strangers = HashMap<(usize, u64), Vec<usize>>;

/// Finds the instruction that wrote element `wrong` of an output, or the wrong value it comes from;
/// `None` for an output without a layout.
pub(super) fn find(
    field: &TcuField<'_>,
    inputs: &FieldValues,
    seed: u64,
    (output, element): (&str, usize),
    is_known: &dyn Fn(Element) -> bool,
) -> Result<Option<Culprit>, TargetError> {
    let program = &field.owner.program;
    let binding = program.outputs.iter().find(|binding| binding.name == output);
    let Some((address, lane)) = binding.and_then(|binding| binding.place(element, field.owner.lanes()))
    else {
        return Ok(None);
    };
    let mut strangers = Strangers::new();
    let mut run = field.start(inputs, seed)?;
    run.finish(|state, i| note(state, i, &program.instructions[i], is_known, &mut strangers))
        .map_err(TargetError::failed)?;
    let before = program.instructions.len();
    let search = Search { program, strangers: &strangers };
    let (scalar, writer) = search.origin(Scalar { memory: Memory::Dram0, address, lane, before });
    let mut vector = vec![Element::ZERO; field.owner.lanes()];
    let mut run = field.start(inputs, seed)?;
    run.finish(|state, i| {
        if Some(i) == writer.map(|writer| writer + 1) {
            state.read(scalar.memory, scalar.address, &mut vector);
        }
    })
    .map_err(TargetError::failed)?;
    if writer.is_none_or(|writer| writer + 1 == before) {
        run.state.read(scalar.memory, scalar.address, &mut vector);
    }
    let layers = program.layer_of_each();
    let layer = writer.and_then(|writer| program.layers.get(layers[writer]));
    Ok(Some(Culprit {
        segment: None,
        instruction: writer,
        layer: layer.map(|layer| layer.name.clone()),
        memory: scalar.memory.to_string(),
        address: scalar.address,
        lane: scalar.lane as u64,
        value: vector[scalar.lane],
    }))
}

/// Records the vectors that an instruction will read and that hold elements other than values of
/// the graph.
fn note(
    state: &State<Modular>,
    index: usize,
    op: &Op,
    is_known: &dyn Fn(Element) -> bool,
    strangers: &mut Strangers,
) {
    let flow = op.flow();
    let Some(source) = flow.source.filter(|source| source.memory != Memory::Dram1) else { return };
    let mut vector = vec![Element::ZERO; state.lanes];
    for k in 0..flow.size {
        state.read(source.memory, source.run.at(k), &mut vector);
        let lanes: Vec<usize> = (0..state.lanes).filter(|&lane| !is_known(vector[lane])).collect();
        if !lanes.is_empty() {
            strangers.insert((index, k), lanes);
        }
    }
}

/// The program, and the wrong elements that it reads.
struct Search<'a> {
    program: &'a Program,
    strangers: &'a Strangers,
}

impl Search<'_> {
    /// Returns the first wrong scalar from which `scalar` was computed, and the instruction that
    /// wrote it; `None` if no instruction wrote it.
    fn origin(&self, mut scalar: Scalar) -> (Scalar, Option<usize>) {
        loop {
            let Some((writer, k, flow)) = self.writer(scalar, scalar.before) else { return (scalar, None) };
            let earlier = self.contributors(scalar, (writer, k, flow));
            let wrong = earlier.into_iter().rev().find_map(|(index, k, flow)| {
                let (source, lanes) = (flow.source?, self.strangers.get(&(index, k))?);
                let lane = match flow.path {
                    Path::Array => lanes.first(),
                    // The other instructions keep lanes separate.
                    _ => lanes.iter().find(|&&lane| lane == scalar.lane),
                };
                Some(Scalar { memory: source.memory, address: source.run.at(k), lane: *lane?, before: index })
            });
            match wrong {
                Some(next) => scalar = next,
                None => return (scalar, Some(writer)),
            }
        }
    }

    /// Returns the last instruction before `before` that writes the vector, and the index of the
    /// vector in its run.
    fn writer(&self, scalar: Scalar, before: usize) -> Option<(usize, u64, Flow)> {
        (0..before).rev().find_map(|index| {
            let flow = self.program.instructions[index].flow();
            Some((index, flow.writes(scalar.memory, scalar.address..scalar.address + 1)?, flow))
        })
    }

    /// Returns the writer, and the earlier writers of results to which it adds.
    fn contributors(&self, scalar: Scalar, last: (usize, u64, Flow)) -> Vec<(usize, u64, Flow)> {
        let mut found = vec![last];
        while let Some(&(index, _, flow)) = found.last()
            && flow.adds
            && let Some(earlier) = self.writer(scalar, index)
        {
            found.push(earlier);
        }
        found
    }
}
