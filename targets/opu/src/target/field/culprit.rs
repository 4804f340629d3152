//! Search for the instruction that causes a wrong output: [`find`].
//!
//! Every `store` is followed: a stored value that does not occur in the graph is wrong. Its origin
//! is the earliest wrong value from which the partial sums were computed, or the `store` itself.

use std::collections::BTreeMap;

use npukit_numeric::Element;
use npukit_target::{Culprit, FieldValues, TargetError};

use super::OpuField;
use crate::isa::op::{Addend, Op};
use crate::machine::arith::field::FieldImages;
use crate::program::Program;
use crate::program::symbolic_run::{Step, addresses, map_addresses};

/// Number of powers of two that distinguish elements; the next one equals the first.
const ROTATIONS: i32 = 61;

/// Returns the culprit for element `wrong.1` of output `wrong.0`.
///
/// # Errors
///
/// The errors of a run.
pub(super) fn find(
    field: &OpuField<'_>,
    inputs: &FieldValues,
    seed: u64,
    (name, element): (&str, usize),
    is_known: &dyn Fn(Element) -> bool,
) -> Result<Option<Culprit>, TargetError> {
    let Some(binding) = field.program.outputs.iter().find(|binding| binding.name == name) else {
        return Ok(None);
    };
    // Host steps keep the shape. For a step over several elements, the first wrong element is used.
    let itype = field.program.config.types.itype;
    let mut map: Vec<(usize, u64)> = binding.order().into_iter().zip(map_addresses(binding, itype)).collect();
    map.sort_by_key(|&(place, _)| (place != element, place));
    let mut run = field.start(inputs, seed)?;
    let mut trail = Trail::new(field.program, is_known, map.first().map(|&(_, address)| address));
    run.finish(|step, ()| trail.follow(step)).map_err(TargetError::failed)?;
    let origin = map.iter().find_map(|(_, address)| trail.wrong.get(address).copied());
    Ok(origin.or(trail.last).map(|origin| trail.culprit(origin)))
}

/// Value that an instruction wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ElementOrigin {
    instruction: usize,
    address: u64,
    value: Element,
}

/// Wrong values up to the current instruction.
struct Trail<'a> {
    program: &'a Program,
    is_known: &'a dyn Fn(Element) -> bool,
    /// Layer of each instruction, and fraction length of each layer's results, if known.
    layers: Vec<usize>,
    fractions: Vec<Option<i32>>,
    /// Origin of the wrong value at each address.
    wrong: BTreeMap<u64, ElementOrigin>,
    /// Address to explain, and the last instruction that wrote to it.
    asked: Option<u64>,
    last: Option<ElementOrigin>,
    /// Earliest wrong value in the feature buffer and in the partial-sum buffer.
    ifm: Option<ElementOrigin>,
    ofm: Option<ElementOrigin>,
}

impl<'a> Trail<'a> {
    fn new(program: &'a Program, is_known: &'a dyn Fn(Element) -> bool, asked: Option<u64>) -> Self {
        // Default: floats have no fraction length.
        let unit = program.config.types.itype.fixed().map_or(0, |fixed| fixed.fraction());
        let is_float = program.config.types.itype.fixed().is_none();
        let of = |result: &String| program.fractions.get(result).map(|fraction| fraction - unit);
        let fraction = |results: &[String]| if is_float { Some(0) } else { results.iter().find_map(of) };
        let fractions = program.layers.iter().map(|layer| fraction(&layer.results)).collect();
        let layers = program.layer_of_each();
        let wrong = BTreeMap::new();
        Self { program, is_known, layers, fractions, wrong, asked, last: None, ifm: None, ofm: None }
    }

    /// Whether the element that instruction `index` wrote is a value of the graph.
    fn knows(&self, index: usize, element: Element) -> bool {
        let layer = self.layers.get(index).and_then(|&layer| self.fractions.get(layer).copied().flatten());
        match layer {
            Some(fraction) => (self.is_known)(element.scaled(-fraction)),
            None => (0..ROTATIONS).any(|exponent| (self.is_known)(element.scaled(exponent))),
        }
    }

    fn follow(&mut self, step: &Step<'_, FieldImages>) {
        let itype = self.program.config.types.itype;
        match *step.op {
            Op::LoadIfm { .. } => {
                let wrong = addresses(&step.effects.memory, itype).filter_map(|at| self.wrong.get(&at));
                self.ifm = wrong.min_by_key(|origin| origin.instruction).copied();
            }
            Op::Conv { addend, .. } => {
                let before = self.ofm.filter(|_| addend == Addend::Ofm);
                self.ofm = earliest(before, self.ifm);
            }
            Op::Store { .. } => {
                let reads_ifm = step.effects.reads.contains(&crate::isa::fault::Buffer::Ifm);
                let source = earliest(self.ofm, self.ifm.filter(|_| reads_ifm));
                for address in addresses(&step.effects.memory, itype) {
                    let Ok(value) = step.memory.read(address, itype) else { continue };
                    self.wrote(ElementOrigin { instruction: step.index, address, value }, source);
                }
            }
            Op::Pad { .. } => self.cleared(step),
            _ => {}
        }
    }

    /// Zeros are right: a plane is mostly larger than its wrong part.
    fn cleared(&mut self, step: &Step<'_, FieldImages>) {
        for run in step.effects.memory.runs() {
            let bytes = run.first..run.end;
            let gone: Vec<u64> = self.wrong.range(bytes.clone()).map(|(&address, _)| address).collect();
            for address in gone {
                self.wrong.remove(&address);
            }
            if let Some(address) = self.asked.filter(|address| bytes.contains(address)) {
                self.last = Some(ElementOrigin { instruction: step.index, address, value: Element::ZERO });
            }
        }
    }

    fn wrote(&mut self, origin: ElementOrigin, source: Option<ElementOrigin>) {
        if self.asked == Some(origin.address) {
            self.last = Some(origin);
        }
        if self.knows(origin.instruction, origin.value) {
            self.wrong.remove(&origin.address);
        } else {
            // Default: all values from which it was computed are right.
            self.wrong.insert(origin.address, source.unwrap_or(origin));
        }
    }

    fn culprit(&self, origin: ElementOrigin) -> Culprit {
        let ElementOrigin { instruction, address, value } = origin;
        let layer = self.layers.get(instruction).copied();
        let size = u64::from(self.program.config.types.itype.size_bytes());
        // Default: without a layer, the scale is unknown.
        let fraction = layer.and_then(|layer| self.fractions.get(layer).copied().flatten()).unwrap_or(0);
        Culprit {
            segment: None,
            instruction: Some(instruction),
            layer: layer.and_then(|layer| Some(self.program.layers.get(layer)?.name.clone())),
            memory: "dram".to_owned(),
            address: address / 64 * 64,
            lane: address % 64 / size,
            value: value.scaled(-fraction),
        }
    }
}

fn earliest(a: Option<ElementOrigin>, b: Option<ElementOrigin>) -> Option<ElementOrigin> {
    a.into_iter().chain(b).min_by_key(|origin| origin.instruction)
}
