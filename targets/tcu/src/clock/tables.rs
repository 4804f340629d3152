//! The lookup tables of the ALUs: [`Tables`], with the duration of lookups and the waits for them.
//!
//! They are not part of the released hardware; `rtl/tcu_lookup.sv` has the same timing. A lookup
//! fetches the vectors of keys one by one and compares each key in a cycle of its own, in all lanes
//! at once. It takes N + 1 cycles per vector longer than another operation, which the ALUs start
//! when the values are found. A table changes only when no lookup is in progress, and a lookup
//! starts when earlier table loads are done.

use super::queue::Cycle;
use crate::isa::op::SimdOp;

/// Timing state of table loads and lookups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables {
    /// Number of lanes per vector.
    lanes: u64,
    /// Number of vectors of keys.
    keys: u64,
    /// Cycle of the last load.
    loaded: Cycle,
    /// Cycle at which the last lookup has found its values and an operation may start.
    found: Cycle,
}

impl Tables {
    pub(super) const fn new(lanes: u64) -> Self {
        // Default: without loaded keys, a search compares one vector of undefined contents.
        Self { lanes, keys: 1, loaded: 0, found: 0 }
    }

    /// Returns the number of vectors of keys.
    pub(super) const fn keys(&self) -> u64 {
        self.keys
    }

    /// Starts the load of `vectors` vectors into table `table`.
    pub(super) const fn begin(&mut self, table: u64, vectors: u64) {
        if table == 0 {
            self.keys = vectors;
        }
    }

    /// Returns the cycle at which a vector may be loaded.
    pub(super) const fn free(&self) -> Cycle {
        self.found + 1
    }

    /// Records the load of a vector at `at`.
    pub(super) const fn load(&mut self, at: Cycle) {
        self.loaded = at;
    }

    /// Starts an operation that could start at `from`. Returns its start cycle, and the additional
    /// cycles that it takes.
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

    /// Visits the times that change from instruction to instruction; the number of keys is
    /// separate.
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
        // Loading a table of values does not change the number of keys, so lookups take equally
        // long.
        tables.begin(1, 9);
        assert_eq!(tables.operate(SimdOp::Lookup, 10), (21, 15));
        assert_eq!(tables.free(), 38);
        assert_eq!(tables.operate(SimdOp::Move, 30), (37, 0));
        assert_eq!(tables.operate(SimdOp::Move, 38), (38, 0));
    }
}
