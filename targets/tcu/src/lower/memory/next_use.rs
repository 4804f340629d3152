//! Which objects are needed again, and when: [`NextUse`], by which the arena chooses what gives up its place.

use std::sync::Arc;

use super::object::{ObjectId, ObjectKind};
use crate::lower::layers::hir::{Model, for_each_object};

/// What the tiles of a layer come back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// Constants: tiles of other pixels need those of the same blocks.
    Constants,
    /// Variables: tiles of other blocks need those of the same pixels.
    Variables,
}

/// What is needed when, as seen from a layer.
#[derive(Clone, Debug)]
pub struct NextUse {
    uses: Arc<Vec<Needs>>,
    /// The layer.
    pub layer: usize,
    /// What its tiles come back to.
    pub again: Again,
}

/// The layers that need an object, ascending.
#[derive(Clone, Debug)]
struct Needs {
    layers: Vec<usize>,
    is_constant: bool,
}

impl NextUse {
    /// As seen from before the first layer of `model`.
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

    /// The next layer behind this one that needs `object`; as many as can be when none does.
    pub fn after(&self, object: ObjectId) -> usize {
        let Some(Needs { layers, .. }) = self.uses.get(object.0 as usize) else { return 0 };
        let later = layers.partition_point(|&layer| layer <= self.layer);
        layers.get(later).copied().unwrap_or(usize::MAX) // Default: farther than all layers.
    }

    /// Layers from this one to the next that needs `object`: 0 when this one comes back to it, as many as can be when
    /// none does.
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
        /// How little it would matter to lose what was last asked for at `stamp`: what no layer needs any more matters
        /// least, then what is needed in the farthest layer, then what was asked for longest ago.
        pub fn spare(&self, object: ObjectId, stamp: u64) -> (usize, Reverse<u64>) {
            (self.distance(object), Reverse(stamp))
        }
    }

    /// Objects needed in these layers; the odd ones are constants.
    pub fn next_use(layers: &[&[usize]]) -> NextUse {
        let needs =
            |(i, layers): (usize, &&[usize])| Needs { layers: layers.to_vec(), is_constant: i % 2 == 1 };
        NextUse::of(layers.iter().enumerate().map(needs).collect())
    }

    /// Two inputs, of which layer 5 needs one again, weights, what the layer makes, and what waits.
    #[test]
    fn what_is_needed_last_is_spared_first() {
        let mut seen = next_use(&[&[0, 2], &[2], &[1, 2, 5], &[7], &[2, 3], &[], &[1, 4]]);
        seen.layer = 2;
        let distances = |seen: &NextUse| [0, 1, 2, 3, 4, 6].map(|object| seen.distance(ObjectId(object)));
        // Tiles of other pixels need the weights again, and have inputs of their own.
        assert_eq!(distances(&seen), [usize::MAX, 0, 3, 5, 1, 2]);
        // Tiles of other blocks need the inputs again, and have weights of their own. Nobody reads what is made yet.
        seen.again = Again::Variables;
        assert_eq!(distances(&seen), [0, usize::MAX, 0, 5, 1, 2]);
        assert!(seen.spare(ObjectId(3), 4) > seen.spare(ObjectId(6), 1), "farther");
        assert!(seen.spare(ObjectId(3), 1) > seen.spare(ObjectId(3), 2), "longer ago");
    }
}
