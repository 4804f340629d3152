//! Data that host operations write: [`follow`].

use std::collections::{BTreeMap, BTreeSet};

use npukit_graph::ValueId;

use super::{Missing, Unwritten, WrittenData, part, part_mut};
use crate::isa::fault::Direction;
use crate::program::Program;
use crate::program::host::{Host, HostStep};

/// Follows a program and its host operations.
pub(super) fn follow(written: WrittenData, program: &Program, host: &Host) -> Vec<Unwritten> {
    let steps: Vec<Option<HostStep>> =
        program.host_ops.iter().enumerate().map(|(index, op)| HostStep::decode(index, op).ok()).collect();
    let made = |step: &HostStep| match step {
        HostStep::Keys { image, .. }
        | HostStep::Values { image, .. }
        | HostStep::Scales { image, .. }
        | HostStep::Cached { image, .. } => Some(*image),
        _ => None,
    };
    let to_make = steps.iter().flatten().filter_map(made).collect();
    let slots = host.graph.inputs.iter().map(|&id| (id, None)).collect();
    let mut follower = Follower { written, program, host, slots, to_make, products: 0 };
    let mut number = 0;
    for (before, range) in program.segments() {
        for op in before {
            if let Some(step) = steps.get(number).and_then(Option::as_ref) {
                follower.host_step(op.position as usize, number, step);
            }
            number += 1;
        }
        for index in range {
            follower.instruction(program, index);
        }
    }
    for &id in &host.graph.outputs {
        follower.use_slot(None, None, id, 0..usize::MAX);
    }
    follower.written.found
}

/// Written elements of a value; `None` if all are written.
type Filled = Option<Vec<bool>>;

struct Follower<'a> {
    written: WrittenData,
    program: &'a Program,
    host: &'a Host,
    slots: BTreeMap<ValueId, Filled>,
    /// Weights that the host computes and has not computed yet.
    to_make: BTreeSet<u32>,
    products: usize,
}

impl Follower<'_> {
    fn instruction(&mut self, program: &Program, index: usize) {
        let Some(op) = program.code.get(index) else { return };
        if op.takes_weights(&self.written.banks) {
            let image = program.bindings.get(self.products).copied();
            if let Some(image) = image.filter(|image| self.to_make.remove(image)) {
                self.written.missing(index, Missing::Weights { image });
            }
            self.products += 1;
        }
        self.written.step(index, op);
    }

    fn host_step(&mut self, position: usize, number: usize, step: &HostStep) {
        let (at, by) = (Some(position), Some(number));
        let all = 0..usize::MAX;
        match step {
            &HostStep::Receive { slot, window, unit } => {
                let filled = self.received(slot, window, unit);
                self.slots.insert(slot, Some(filled));
            }
            &HostStep::Send { slot, window, unit } => {
                self.send(number, position, [slot.0, window, unit], 0..self.values(slot));
            }
            &HostStep::Part { slot, start, values, window, unit } => {
                let range = start as usize..start as usize + values as usize;
                self.send(number, position, [slot.0, window, unit], range);
            }
            &HostStep::Patches { slot, patches: made, .. } | &HostStep::Squares { slot, sums: made, .. } => {
                self.use_slot(at, by, slot, all);
                self.slots.insert(made, None);
            }
            &HostStep::Compute { node } => {
                let Some(node) = self.host.graph.nodes.get(node as usize) else { return };
                node.inputs.iter().for_each(|&id| self.use_slot(at, by, id, all.clone()));
                self.slots.extend(node.outputs.iter().map(|&id| (id, None)));
            }
            &HostStep::Weigh { slot, start, scales } => {
                let start = start as usize;
                self.use_slot(at, by, slot, start..start + self.values(scales));
                self.use_slot(at, by, scales, all);
            }
            HostStep::Wait => {}
            &HostStep::Append { slot, .. } => self.use_slot(at, by, slot, all),
            HostStep::Cached { image, .. } => {
                self.to_make.remove(image);
            }
            &HostStep::CachedScales { slot, .. } => {
                self.slots.insert(slot, None);
            }
            &HostStep::Scales { slot, start, image } => {
                let rows = self.program.images.get(image as usize).map_or(0, |image| image.n());
                self.use_slot(at, by, slot, start as usize..start as usize + rows);
                self.to_make.remove(&image);
            }
            &HostStep::Weights { image, window, unit } => self.send_weights(position, image, window, unit),
            HostStep::Keys { slot, image, .. } => {
                self.use_slot(at, by, *slot, all);
                self.to_make.remove(image);
            }
            HostStep::Values { slot, image, scales, .. } => {
                self.use_slot(at, by, *slot, all);
                self.to_make.remove(image);
                self.slots.insert(*scales, None);
            }
        }
    }

    /// Returns whether each element that a value receives was written.
    fn received(&self, slot: ValueId, window: u32, unit: u32) -> Vec<bool> {
        let (filled, values) = (self.window(Direction::L2ToHost, window), self.values(slot));
        let filled = part(filled, unit, values);
        // If the window is too small for all values, some elements stay unwritten.
        if filled.len() < values { vec![false] } else { filled.to_vec() }
    }

    /// Copies an image of weights to a window.
    fn send_weights(&mut self, position: usize, image: u32, window: u32, unit: u32) {
        if self.to_make.remove(&image) {
            self.written.missing(position, Missing::Weights { image });
        }
        let image = self.program.images.get(image as usize);
        let lanes = image.map_or(0, |image| image.words().len() / 2);
        let windows = self.written.windows.as_mut();
        let window = windows.and_then(|windows| windows.get_mut(&(Direction::HostToL2, window)));
        // Default: a missing window has no units; the run refuses it.
        part_mut(window.map(Vec::as_mut_slice).unwrap_or_default(), unit, lanes).fill(true);
    }

    /// Copies elements of a value to a window, together with their flags.
    fn send(
        &mut self,
        number: usize,
        position: usize,
        [slot, window, unit]: [u32; 3],
        elements: std::ops::Range<usize>,
    ) {
        let slot = ValueId(slot);
        if !self.slots.contains_key(&slot) {
            self.use_slot(Some(position), Some(number), slot, 0..usize::MAX);
        }
        let windows = self.written.windows.as_mut();
        let window = windows.and_then(|windows| windows.get_mut(&(Direction::HostToL2, window)));
        // Default: a missing window has no units; the run refuses it.
        let place = part_mut(window.map(Vec::as_mut_slice).unwrap_or_default(), unit, elements.len());
        match self.slots.get(&slot) {
            Some(Some(filled)) => place
                .iter_mut()
                .zip(filled.iter().skip(elements.start))
                .for_each(|(place, &filled)| *place = filled),
            _ => place.fill(true),
        }
    }

    fn window(&self, direction: Direction, number: u32) -> &[bool] {
        let windows = self.written.windows.as_ref();
        // Default: a missing window has no units; the run refuses it.
        windows.and_then(|windows| windows.get(&(direction, number))).map(Vec::as_slice).unwrap_or_default()
    }

    fn values(&self, slot: ValueId) -> usize {
        let value = self.host.graph.values.get(slot.0 as usize);
        value.map_or(0, |value| value.info.shape.iter().fold(1, |all, &axis| all.saturating_mul(axis)))
    }

    /// Marks elements of a value as used.
    fn use_slot(
        &mut self,
        index: Option<usize>,
        host_op: Option<usize>,
        slot: ValueId,
        elements: std::ops::Range<usize>,
    ) {
        let value = self.host.graph.values.get(slot.0 as usize);
        let is_filled = match self.slots.get(&slot) {
            Some(None) => true,
            Some(Some(filled)) => {
                let end = elements.end.min(filled.len());
                filled.get(elements.start.min(end)..end).is_some_and(|part| !part.contains(&false))
            }
            None => value.is_none_or(|value| value.constant.is_some()),
        };
        if !is_filled {
            self.slots.insert(slot, None);
            let slot = value.map_or_else(String::new, |value| value.name.clone());
            self.written.found.push(Unwritten { index, host_op, missing: Missing::Slot { slot } });
        }
    }
}
