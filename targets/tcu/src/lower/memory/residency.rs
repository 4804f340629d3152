//! Which variables live in local memory where not all of them fit: [`residents`].
//!
//! A variable that lives there is written and read without DRAM0, and takes its vectors from the arena for as long as it
//! lives. All others go through the arena, as under `local-isolated`.

use npukit_lower::{Lifetime, Uses, place};

use super::object::ObjectId;
use crate::lower::layers::hir::{Model, for_each_object};

/// The variables of `all` that take no more than `room` vectors at once: those first that are written and read most
/// often for each layer in which they take their vectors.
pub fn residents(model: &Model, uses: &Uses, all: &[ObjectId], room: u64) -> Vec<ObjectId> {
    let mentions = mentions(model);
    let mut candidates: Vec<(ObjectId, Lifetime)> = all
        .iter()
        .filter_map(|&id| Some((id, uses.lifetime(id.0 as usize, u64::from(model.objects.get(id).vectors))?)))
        .filter(|(_, lifetime)| lifetime.size <= room)
        .collect();
    candidates.sort_by(|(left, of_left), (right, of_right)| {
        // The greater of a / b and c / d, in whole numbers.
        let worth = |id: &ObjectId, other: &Lifetime| mentions[id.0 as usize] * layers(other);
        worth(right, of_left).cmp(&worth(left, of_right))
    });
    let mut taken = vec![0; model.layers.len() + 1];
    let mut chosen = Vec::new();
    for (id, lifetime) in candidates {
        let during = &mut taken[lifetime.first..=lifetime.last];
        if during.iter().all(|taken| taken + lifetime.size <= room) {
            during.iter_mut().for_each(|taken| *taken += lifetime.size);
            chosen.push((id, lifetime));
        }
    }
    // Pieces of what is free may be too small for what would fit in all.
    while place(&chosen.iter().map(|&(_, lifetime)| lifetime).collect::<Vec<_>>()).maximum > room {
        chosen.pop();
    }
    chosen.into_iter().map(|(id, _)| id).collect()
}

/// The layers that write or read each object.
fn mentions(model: &Model) -> Vec<usize> {
    let (mut counts, mut last) = (vec![0; model.objects.len()], vec![usize::MAX; model.objects.len()]);
    for (layer, of) in model.layers.iter().enumerate() {
        for_each_object(&of.steps, |object| {
            let object = object.0 as usize;
            counts[object] += usize::from(last[object] != layer);
            last[object] = layer;
        });
    }
    counts
}

/// Layers in which an object takes its vectors.
fn layers(lifetime: &Lifetime) -> usize {
    lifetime.last - lifetime.first + 1
}
