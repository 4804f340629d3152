//! Next use of objects: [`NextUse`]. The arena uses it to decide which object to evict.

use std::sync::Arc;

use super::object::{ObjectId, ObjectKind};
use crate::lower::layers::hir::{Model, for_each_object};

/// Objects that the tiles of a layer reuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// Constants: tiles of other pixels need the constants of the same blocks.
    Constants,
    /// Variables: tiles of other blocks need the variables of the same pixels.
    Variables,
}

/// Layers in which objects are needed, as seen from one layer.
#[derive(Clone, Debug)]
pub struct NextUse {
    uses: Arc<Vec<Needs>>,
    /// Index of the current layer.
    pub layer: usize,
    /// Objects that the tiles of the current layer reuse.
    pub again: Again,
}

/// Layers that need an object, ascending.
#[derive(Clone, Debug)]
struct Needs {
    layers: Vec<usize>,
    is_constant: bool,
}

impl NextUse {
    /// Creates the table for `model`, positioned at its first layer.
    pub fn new(model: &Model) -> Self {
        let needs = |kind| Needs { layers: Vec::new(), is_constant: kind == ObjectKind::Constant };
        let mut uses: Vec<Needs> = model.objects.iter().map(|(_, object)| needs(object.kind)).collect();
        for (i, layer) in model.layers.iter().enumerate() {
            for_each_object(&layer.steps, |object| {
                let layers = &mut uses[object.0 as usize].layers;
                if layers.last() != Some(&i) {
                    layers.push(i);
                }
            });
        }
        Self::of(uses)
    }

    fn of(uses: Vec<Needs>) -> Self {
        Self { uses: Arc::new(uses), layer: 0, again: Again::Constants }
    }

    /// Returns the next layer after the current one that needs `object`; `usize::MAX` if there is
    /// none.
    pub fn after(&self, object: ObjectId) -> usize {
        let Some(Needs { layers, .. }) = self.uses.get(object.0 as usize) else { return 0 };
        let later = layers.partition_point(|&layer| layer <= self.layer);
        layers.get(later).copied().unwrap_or(usize::MAX) // Default: later than all layers.
    }

    /// Returns the number of layers until `object` is needed again: 0 if the current layer reuses
    /// it, `usize::MAX` if no layer needs it.
    pub fn distance(&self, object: ObjectId) -> usize {
        let Some(Needs { layers, is_constant }) = self.uses.get(object.0 as usize) else { return 0 };
        let later = layers.partition_point(|&layer| layer <= self.layer);
        let is_read = later > 0 && layers[later - 1] == self.layer && (*is_constant || later > 1);
        if is_read && *is_constant == (self.again == Again::Constants) {
            return 0;
        }
        layers.get(later).map_or(usize::MAX, |layer| layer - self.layer)
    }
}

#[cfg(test)]
pub(in crate::lower) mod tests {
    use std::cmp::Reverse;

    use super::*;

    impl NextUse {
        /// Returns how expendable an entry is that was last requested at `stamp`. Objects that no
        /// layer needs come first, then those needed in the latest layer, then the least recently
        /// requested.
        pub fn spare(&self, object: ObjectId, stamp: u64) -> (usize, Reverse<u64>) {
            (self.distance(object), Reverse(stamp))
        }
    }

    /// Creates the table of objects needed in these layers; objects with an odd number are
    /// constants.
    pub fn next_use(layers: &[&[usize]]) -> NextUse {
        let needs =
            |(i, layers): (usize, &&[usize])| Needs { layers: layers.to_vec(), is_constant: i % 2 == 1 };
        NextUse::of(layers.iter().enumerate().map(needs).collect())
    }

    /// Two inputs, one needed again by layer 5; weights; the layer's result; and a waiting
    /// variable.
    #[test]
    fn what_is_needed_last_is_spared_first() {
        let mut seen = next_use(&[&[0, 2], &[2], &[1, 2, 5], &[7], &[2, 3], &[], &[1, 4]]);
        seen.layer = 2;
        let distances = |seen: &NextUse| [0, 1, 2, 3, 4, 6].map(|object| seen.distance(ObjectId(object)));
        // Tiles of other pixels reuse the weights but have their own inputs.
        assert_eq!(distances(&seen), [usize::MAX, 0, 3, 5, 1, 2]);
        // Tiles of other blocks reuse the inputs but have their own weights. The result has no
        // reader yet.
        seen.again = Again::Variables;
        assert_eq!(distances(&seen), [0, usize::MAX, 0, 5, 1, 2]);
        assert!(seen.spare(ObjectId(3), 4) > seen.spare(ObjectId(6), 1), "farther");
        assert!(seen.spare(ObjectId(3), 1) > seen.spare(ObjectId(3), 2), "longer ago");
    }
}
