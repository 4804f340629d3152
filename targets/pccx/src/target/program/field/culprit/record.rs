//! Record of operands that are not values of the graph, from a run over the field: [`Record`].

use std::collections::{BTreeMap, HashSet};

use npukit_graph::ValueId;
use npukit_numeric::Element;

use super::flow::{Flow, Memory, Place, Reach, of_instruction, of_step};
use crate::config::WORD_LANES;
use crate::isa::op::Banks;
use crate::machine::arith::Arithmetic;
use crate::machine::arith::field::Modular;
use crate::program::Program;
use crate::program::host::{Host, HostStep};
use crate::program::runtime::{Moment, Session};

/// An operand with the indices of its scalars that are not values of the graph.
#[derive(Clone, Debug)]
pub struct Read {
    pub from: Place,
    pub reach: Reach,
    pub strangers: Vec<(usize, Element)>,
    /// Event before which the operand was read.
    pub before: usize,
}

/// An instruction or host step.
#[derive(Debug)]
pub struct Event {
    pub moment: Moment,
    /// Index of the event's layer.
    pub layer: usize,
    pub writes: Vec<Place>,
    pub reads: Vec<Read>,
}

/// Recorded events of a run, in order.
pub struct Record<'a> {
    program: &'a Program,
    host: &'a Host,
    is_known: &'a dyn Fn(Element) -> bool,
    pub events: Vec<Event>,
    banks: Banks,
    /// Number of products with streamed weights.
    products: usize,
    /// Operands of the host's weight images.
    images: BTreeMap<u32, Vec<Read>>,
    /// Slots of scales from quantization at the host.
    scales: HashSet<ValueId>,
    /// Elements that are correct although they are not values of the graph: constants, scales, and
    /// products with scales.
    right: HashSet<Element>,
}

impl<'a> Record<'a> {
    pub fn new(program: &'a Program, host: &'a Host, is_known: &'a dyn Fn(Element) -> bool) -> Self {
        Self {
            program,
            host,
            is_known,
            events: Vec::new(),
            banks: Banks::default(),
            products: 0,
            images: BTreeMap::new(),
            scales: HashSet::new(),
            right: HashSet::new(),
        }
    }

    /// Records the next event.
    pub fn note(&mut self, session: &Session<'_, Modular>, moment: Moment) {
        let (position, flow, weights) = match moment {
            Moment::Instruction(index) => {
                let op = &self.program.code[index];
                self.banks.step(op);
                let weights = op.takes_weights(&self.banks).then(|| self.weights()).flatten();
                (index, of_instruction(op, &self.banks), weights)
            }
            Moment::Host(index) => {
                let op = &self.program.host_ops[index];
                // Default: an invalid step ends the run.
                let flow =
                    HostStep::decode(index, op).map(|step| self.step(session, &step)).unwrap_or_default();
                (op.position as usize, flow, None)
            }
        };
        let mut reads = self.reads(session, &flow);
        reads.extend(weights.into_iter().flatten());
        let layers = &self.host.layers;
        let layer = layers.partition_point(|layer| layer.end as usize <= position);
        let layer = layer.min(layers.len().saturating_sub(1));
        self.events.push(Event { moment, layer, writes: flow.writes, reads });
    }

    /// Returns the operands of the next weights.
    fn weights(&mut self) -> Option<Vec<Read>> {
        let number = self.program.bindings.get(self.products);
        self.products += 1;
        self.images.get(number?).cloned()
    }

    /// Records a host step; its constants and scales are correct.
    fn step(&mut self, session: &Session<'_, Modular>, step: &HostStep) -> Flow {
        let flow = of_step(step, &self.host.graph);
        for (place, _) in &flow.reads {
            let Memory::Slot(id) = place.memory else { continue };
            let is_constant =
                self.host.graph.values.get(id.0 as usize).is_some_and(|value| value.constant.is_some());
            if is_constant || self.scales.contains(&id) {
                let slot = session.held(id);
                self.right.extend(slot.iter().filter_map(Modular::sent).flatten());
                self.right.extend(slot.iter().filter_map(Modular::floats).flat_map(|all| all.into_owned()));
            }
        }
        let image = match step {
            HostStep::Keys { image, .. } | HostStep::Scales { image, .. } => Some(*image),
            HostStep::Values { image, scales, .. } => {
                self.scales.insert(*scales);
                Some(*image)
            }
            _ => None,
        };
        if let Some(image) = image {
            let reads = self.reads(session, &flow);
            self.images.insert(image, reads);
        }
        flow
    }

    /// Returns the operands of an event. The product of an operand with scales counts as correct.
    fn reads(&mut self, session: &Session<'_, Modular>, flow: &Flow) -> Vec<Read> {
        let before = self.events.len();
        // Default: nothing is read from a missing place, which ends the run.
        let operands: Vec<Vec<Element>> =
            flow.reads.iter().map(|(place, _)| content(session, place).unwrap_or_default()).collect();
        let is_right = |element: Element| (self.is_known)(element) || self.right.contains(&element);
        let strangers = |elements: &Vec<Element>| {
            let all = elements.iter().copied().enumerate();
            all.filter(|&(_, element)| !is_right(element)).collect::<Vec<_>>()
        };
        let reads = flow.reads.iter().zip(&operands).map(|(&(from, reach), elements)| Read {
            from,
            reach,
            strangers: strangers(elements),
            before,
        });
        let reads: Vec<Read> = reads.filter(|read| !read.strangers.is_empty()).collect();
        if flow.is_scaled
            && let [left, right] = &operands[..]
        {
            let right_ones = left.iter().zip(right).filter(|&(&l, &r)| is_right(l) && is_right(r));
            let products: Vec<Element> = right_ones.map(|(&l, &r)| l * r).collect();
            self.right.extend(products);
        }
        reads
    }
}

/// Returns the scalars of a range; `None` if the range exceeds its memory.
fn content(session: &Session<'_, Modular>, place: &Place) -> Option<Vec<Element>> {
    let range = place.first..place.first + place.count;
    match place.memory {
        Memory::L2 => {
            let found = session.machine().read_l2((place.first / WORD_LANES) as u32, place.count).ok()?;
            Some(found.to_vec())
        }
        Memory::Window(direction, number) => {
            Some(session.machine().in_window(direction, number, range)?.collect())
        }
        Memory::Slot(id) => Some(Modular::floats(&session.held(id)?)?.get(range)?.to_vec()),
        Memory::Maximum => Some(vec![session.machine().e_max()]),
    }
}
