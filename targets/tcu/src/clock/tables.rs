//! The lookup tables of the ALUs: [`Tables`], how long lookups take and who waits for them.
//!
//! They are no part of the released hardware; `rtl/tcu_lookup.sv` is the same in time. A lookup fetches the vectors of keys
//! one by one and looks at each key in a cycle of its own, all lanes at once, so that it takes N + 1 cycles a vector longer
//! than another operation, which the ALUs begin when it has found its values. A table changes when no lookup is under
//! way, and a lookup begins when the tables before it are loaded.

use super::queue::Cycle;
use crate::isa::op::SimdOp;

/// When tables are loaded and searched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables {
    /// Lanes of a vector.
    lanes: u64,
    /// Vectors of keys.
    keys: u64,
    /// The last load.
    loaded: Cycle,
    /// When the last lookup has found its values: an operation may begin.
    found: Cycle,
}

impl Tables {
    pub(super) const fn new(lanes: u64) -> Self {
        // Default: where no keys are loaded, a search looks at a vector of whatever is there.
        Self { lanes, keys: 1, loaded: 0, found: 0 }
    }

    /// Vectors of keys.
    pub(super) const fn keys(&self) -> u64 {
        self.keys
    }

    /// A load of so many vectors begins.
    pub(super) const fn begin(&mut self, table: u64, vectors: u64) {
        if table == 0 {
            self.keys = vectors;
        }
    }

    /// From when on a vector may be loaded.
    pub(super) const fn free(&self) -> Cycle {
        self.found + 1
    }

    /// A vector is loaded.
    pub(super) const fn load(&mut self, at: Cycle) {
        self.loaded = at;
    }

    /// When an operation begins that could from `from` on, and in how many cycles more than another one it is done.
    pub(super) fn operate(&mut self, op: SimdOp, from: Cycle) -> (Cycle, Cycle) {
        let at = from.max(self.found);
        if op != SimdOp::Lookup {
            return (at, 0);
        }
        let at = at.max(self.loaded + 1);
        let searched = self.keys.saturating_mul(self.lanes + 1);
        self.found = at.saturating_add(searched).saturating_add(1);
        (at, searched)
    }

    /// What they keep from instruction to instruction, beside the number of keys.
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        visit(&mut self.loaded);
        visit(&mut self.found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lookup_holds_operations_and_loads_until_it_has_found_its_values() {
        let mut tables = Tables::new(4);
        tables.begin(0, 3);
        tables.load(20);
        // A table of values says nothing of keys.
        tables.begin(1, 9);
        assert_eq!(tables.operate(SimdOp::Lookup, 10), (21, 15));
        assert_eq!(tables.free(), 38);
        assert_eq!(tables.operate(SimdOp::Move, 30), (37, 0));
        assert_eq!(tables.operate(SimdOp::Move, 38), (38, 0));
    }
}
