//! Dead-store elimination: vectors that no layer reads are not saved ([`skip_unread`]).
//!
//! If all readers of a variable skip some of its pixels, the remaining ones are stored contiguously
//! in local memory and in DRAM0. The variable takes less of both and moves in long runs.

use super::hir::{ChannelOperand, Layer, Model, Operand, Rows, Step};
use crate::lower::memory::object::{ObjectId, ObjectKind, VecRef};

/// A saved variable and which of its pixels are read.
struct Saved {
    object: ObjectId,
    /// Layer and step that save it.
    at: (usize, usize),
    pixels: Vec<bool>,
}

/// Removes from variables the pixels that no layer reads.
pub fn skip_unread(model: &mut Model) {
    let mut saved = saved(model);
    for vector in model.layers.iter_mut().flat_map(|layer| &mut layer.steps).flat_map(vectors) {
        if let Some(Some(Saved { pixels, .. })) = saved.get_mut(vector.object.0 as usize) {
            let count = pixels.len();
            pixels[vector.index as usize % count] = true;
        }
    }
    let in_part = |saved: &Saved| saved.pixels.contains(&true) && saved.pixels.contains(&false);
    let places: Vec<Option<Places>> =
        saved.into_iter().map(|saved| Some(shorten(model, saved.filter(in_part)?))).collect();
    if places.iter().all(Option::is_none) {
        return;
    }
    for vector in model.layers.iter_mut().flat_map(|layer| &mut layer.steps).flat_map(vectors) {
        if let Some(Some(places)) = places.get(vector.object.0 as usize) {
            vector.index = places.of(vector.index);
        }
    }
}

/// Maps pixels of a variable to their places after unread pixels are removed.
struct Places {
    /// For each pixel, the number of read pixels before it.
    before: Vec<u32>,
    /// Total number of read pixels.
    read: u32,
}

impl Places {
    /// Returns the new index of the vector that had `index` before the removal.
    fn of(&self, index: u32) -> u32 {
        let pixels = self.before.len() as u32;
        index / pixels * self.read + self.before[(index % pixels) as usize]
    }
}

/// Removes the unread pixels of a variable.
fn shorten(model: &mut Model, Saved { object, at, pixels }: Saved) -> Places {
    let read: Vec<u32> = (0..pixels.len() as u32).filter(|&pixel| pixels[pixel as usize]).collect();
    let before = (0..pixels.len() as u32).map(|pixel| read.partition_point(|&other| other < pixel) as u32);
    let places = Places { before: before.collect(), read: read.len() as u32 };
    let blocks = model.objects.get(object).vectors / pixels.len() as u32;
    model.objects.shorten(object, places.read * blocks);
    if let Step::Save { pixels, .. } = &mut model.layers[at.0].steps[at.1] {
        *pixels = Some(read);
    }
    places
}

/// Returns the variables that exactly one step saves block by block, indexed by object.
fn saved(model: &Model) -> Vec<Option<Saved>> {
    let mut saved: Vec<Option<Saved>> = (0..model.objects.len()).map(|_| None).collect();
    let mut others = Vec::new();
    for (i, Layer { steps, blocks, .. }) in model.layers.iter().enumerate() {
        for (at, step) in steps.iter().enumerate() {
            let &(Step::Save { object, .. } | Step::Keep { object }) = step else { continue };
            let found = model.objects.get(object);
            let is_plain = matches!(step, Step::Save { pixel_major: false, .. });
            if !is_plain || found.kind != ObjectKind::Variable {
                others.push(object);
            }
            let pixels = vec![false; found.vectors as usize / blocks];
            if saved[object.0 as usize].replace(Saved { object, at: (i, at), pixels }).is_some() {
                others.push(object);
            }
        }
    }
    others.into_iter().for_each(|object| saved[object.0 as usize] = None);
    saved
}

/// Returns the vectors that a step reads, except constants at known places.
fn vectors(step: &mut Step) -> Box<dyn Iterator<Item = &mut VecRef> + '_> {
    match step {
        Step::MatMul(matmul) => {
            let rows = matmul.sets.iter_mut().flatten().filter_map(|set| match &mut set.rows {
                Rows::Variable(rows) => Some(rows),
                Rows::Constant(_) => None,
            });
            Box::new(matmul.terms.iter_mut().map(|term| &mut term.inputs).chain(rows).flatten())
        }
        Step::Load(list) | Step::AddVectors(list) | Step::Binary { vectors: list, .. } => {
            Box::new(list.iter_mut())
        }
        Step::ChannelWise { operand: ChannelOperand::Blocks(list), .. } => Box::new(list.iter_mut()),
        Step::Formula(formula) => {
            let others = formula.operations.iter_mut().map(|operation| &mut operation.operand);
            let lists =
                std::iter::once(&mut formula.first).chain(others).filter_map(|operand| match operand {
                    Operand::Grid => None,
                    Operand::Blocks(list) | Operand::Vectors(list) => Some(list),
                });
            Box::new(lists.flatten())
        }
        Step::AveragePool { scales: list, .. } => Box::new(list.iter_mut()),
        Step::WeightedSum(sum) => Box::new(sum.weights.iter_mut().chain([&mut sum.bias]).flatten()),
        Step::ChannelWise { .. }
        | Step::Lookup(_)
        | Step::Reduce { .. }
        | Step::Resume
        | Step::Keep { .. }
        | Step::Save { .. } => Box::new(std::iter::empty()),
    }
}
