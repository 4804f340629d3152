//! Fused additions: sums wait in the accumulators for the layer that adds to them.
//!
//! In a residual network a sum takes two paths: through the next layers, and around them. The value
//! on the path around need not leave the accumulators and come back if they have room for it.
//! [`keep_sums`] leaves it at the start of the accumulators.

use super::hir::{Layer, Model, Step};
use crate::config::Config;
use crate::lower::layers::hir::for_each_object;
use crate::lower::memory::object::{ObjectId, ObjectKind, VecRef};

/// A kept sum may take at most `1 / SHARE` of the accumulators.
const SHARE: u64 = 2;

/// Replaces saves that are only read by an addition.
pub fn keep_sums(model: &mut Model, config: &Config) {
    for from in 0..model.layers.len() {
        let Some((at, object)) = candidate(model, from) else { continue };
        let size = (model.layers[from].pixels * model.layers[from].blocks) as u64;
        let Some(to) = resumes(model, from, object) else { continue };
        // The first of these layers may end with a resumed sum. That sum has the same size and is
        // not counted.
        let free = model.layers[from + 1..=to].iter().all(|layer| layer.kept == 0);
        if !free || size.saturating_mul(SHARE) > config.accumulator_depth {
            continue;
        }
        model.layers[from].steps[at] = Step::Keep { object };
        model.layers[to].steps.remove(1);
        model.layers[to].steps.insert(0, Step::Resume);
        model.layers[from..=to].iter_mut().for_each(|layer| layer.kept = size);
    }
}

/// Returns the step index of a save that precedes a change of the grid, and the object it saves.
fn candidate(model: &Model, layer: usize) -> Option<(usize, ObjectId)> {
    let steps = &model.layers[layer].steps;
    let (at, object) = steps.windows(2).enumerate().find_map(|(at, pair)| match pair {
        [Step::Save { object, pixel_major: false, .. }, Step::ChannelWise { .. } | Step::Formula(_)] => {
            Some((at, *object))
        }
        _ => None,
    })?;
    let one_grid = steps.iter().all(|step| step.windows().is_none());
    (one_grid && model.objects.get(object).kind == ObjectKind::Variable).then_some((at, object))
}

/// Returns the layer that reads the object saved by layer `from`, if it is the only reader and adds
/// the object to a product.
fn resumes(model: &Model, from: usize, object: ObjectId) -> Option<usize> {
    let mut readers =
        (0..model.layers.len()).filter(|&layer| layer != from && uses(&model.layers[layer].steps, object));
    let to = readers.next().filter(|_| readers.next().is_none()).filter(|&to| to > from)?;
    let layer = &model.layers[to];
    let [Step::MatMul(product), Step::AddVectors(vectors), rest @ ..] = &layer.steps[..] else { return None };
    let others = product.terms.iter().flat_map(|term| &term.inputs).all(|input| input.object != object);
    let one_grid = rest.iter().all(|step| step.windows().is_none());
    (others && one_grid && !uses(rest, object) && is_whole(vectors, object, layer)).then_some(to)
}

/// Whether any of `steps` reads or writes `object`.
fn uses(steps: &[Step], object: ObjectId) -> bool {
    let mut found = false;
    for_each_object(steps, |used| found |= used == object);
    found
}

/// Whether `vectors` is exactly `object`, one vector for each place of the layer's grid.
fn is_whole(vectors: &[VecRef], object: ObjectId, layer: &Layer) -> bool {
    let place = |i: usize| (i % layer.blocks * layer.pixels + i / layer.blocks) as u32;
    vectors.len() == layer.pixels * layer.blocks
        && vectors.iter().enumerate().all(|(i, vector)| *vector == VecRef { object, index: place(i) })
}
