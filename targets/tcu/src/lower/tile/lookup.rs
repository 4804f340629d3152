//! Functions by lookup within a tile: loads the tables, then sends each vector through the ALUs.

use super::{Tile, TileError};
use crate::lower::issue::lir::{FROM_REGISTER, LOOKUP, horner};
use crate::lower::layers::hir::Lookup;
use crate::lower::memory::object::{Span, VecRef};

impl Tile<'_> {
    /// Emits [`Step::Lookup`](crate::lower::layers::hir::Step). The difference to the closest key
    /// goes to the grid, the coefficients to the registers. Horner's rule then evaluates the
    /// polynomial in the last coefficient's register.
    ///
    /// # Errors
    ///
    /// Fails if the tables do not fit in local memory.
    pub fn lookup(&mut self, lookup: &Lookup) -> Result<(), TileError> {
        self.load_tables(lookup)?;
        for grid in self.accumulators() {
            let place = Some((grid, false));
            if lookup.coefficients == 1 {
                self.state.lir.simd(LOOKUP, Some(grid), None);
                self.state.lir.simd(FROM_REGISTER, None, place);
                continue;
            }
            self.state.lir.simd(LOOKUP, Some(grid), place);
            for next in (1..lookup.coefficients).rev() {
                let [multiply, add] = horner(next, lookup.coefficients);
                self.state.lir.simd(multiply, Some(grid), None);
                self.state.lir.simd(add, None, place.filter(|_| next == 1));
            }
        }
        Ok(())
    }

    /// Loads the tables unless they are loaded already.
    fn load_tables(&mut self, lookup: &Lookup) -> Result<(), TileError> {
        let &Lookup { object, vectors, tables, .. } = lookup;
        if self.state.lir.has_tables(object.0.into()) {
            return Ok(());
        }
        self.load(&[Span { object, start: 0, end: vectors * tables }])?;
        let first = (0..tables).map(|table| VecRef { object, index: table * vectors });
        let places: Vec<u64> = self.local(first).collect();
        self.state.lir.load_tables(object.0.into(), places, vectors.into());
        Ok(())
    }
}
