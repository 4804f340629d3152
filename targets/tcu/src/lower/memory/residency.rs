//! Choice of the variables that stay in local memory if not all of them fit: [`residents`].
//!
//! A resident variable is written and read without DRAM0, and takes its vectors from the arena
//! during its lifetime. All other variables go through the arena, as with `local-isolated`.

use npukit_lower::{Lifetime, Uses, place};

use super::object::ObjectId;
use crate::lower::layers::hir::{Model, for_each_object};

/// Returns the variables of `all` that take at most `room` vectors at once. Variables with the most
/// accesses per layer of their lifetime are picked first.
pub fn residents(model: &Model, uses: &Uses, all: &[ObjectId], room: u64) -> Vec<ObjectId> {
    let mentions = mentions(model);
    let mut candidates: Vec<(ObjectId, Lifetime)> = all
        .iter()
        .filter_map(|&id| Some((id, uses.lifetime(id.0 as usize, u64::from(model.objects.get(id).vectors))?)))
        .filter(|(_, lifetime)| lifetime.size <= room)
        .collect();
    candidates.sort_by(|(left, of_left), (right, of_right)| {
        // Compares the quotients a / b and c / d by cross multiplication, to stay in integers.
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
    // Variables that fit in total may not fit in practice, because free memory is fragmented.
    while place(&chosen.iter().map(|&(_, lifetime)| lifetime).collect::<Vec<_>>()).maximum > room {
        chosen.pop();
    }
    chosen.into_iter().map(|(id, _)| id).collect()
}

/// Returns the number of layers that write or read each object.
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

/// Returns the number of layers in an object's lifetime.
fn layers(lifetime: &Lifetime) -> usize {
    lifetime.last - lifetime.first + 1
}
