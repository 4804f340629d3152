//! Formulas within a tile: each vector in turn goes through the ALUs and their register.

use super::{Tile, TileError};
use crate::isa::op::SimdSub;
use crate::lower::issue::lir::{TO_REGISTER, with_register};
use crate::lower::layers::hir::{Formula, Operand};
use crate::lower::memory::object::VecRef;

/// Accumulator address of a formula's operand, for each vector of the tile.
enum Place {
    Grid,
    /// One vector for all blocks.
    All(u64),
    /// One vector per block, starting at this address.
    Blocks(u64),
    /// One vector per vector of the tile, starting at this address.
    Vectors(u64),
}

impl Tile<'_> {
    /// Emits [`Step::Formula`](crate::lower::layers::hir::Step).
    ///
    /// # Errors
    ///
    /// Fails if the operands do not fit in local memory.
    pub fn formula(&mut self, formula: &Formula) -> Result<(), TileError> {
        let vectors = formula.operands().map(|operand| self.operand_vectors(operand)).collect::<Vec<_>>();
        // All operands must be in local memory at the same time.
        let base = self.bring(&vectors.concat())?;
        let mut next = base;
        let mut places = Vec::new();
        for (operand, vectors) in formula.operands().zip(&vectors) {
            places.push(match operand {
                Operand::Grid => Place::Grid,
                Operand::Blocks(all) if all.len() == 1 => Place::All(next),
                Operand::Blocks(_) => Place::Blocks(next),
                Operand::Vectors(_) => Place::Vectors(next),
            });
            next += vectors.len() as u64;
        }
        for (i, (from, to)) in self.changes().into_iter().enumerate() {
            self.evaluate(formula, &places, i, from, to);
        }
        Ok(())
    }

    fn operand_vectors(&self, operand: &Operand) -> Vec<VecRef> {
        match operand {
            Operand::Grid => Vec::new(),
            Operand::Blocks(all) if all.len() == 1 => all.clone(),
            Operand::Blocks(all) => all[self.blocks.clone()].to_vec(),
            Operand::Vectors(all) => self.of_grid(all).collect(),
        }
    }

    /// Emits the formula for the `i`-th vector of the tile.
    fn evaluate(&mut self, formula: &Formula, places: &[Place], i: usize, from: u64, to: u64) {
        let block = (i / self.grid.pixels.len()) as u64;
        let source = |place: &Place| match place {
            Place::Grid => from,
            Place::All(at) => *at,
            Place::Blocks(first) => first + block,
            Place::Vectors(first) => first + i as u64,
        };
        let Some((first, places)) = places.split_first() else { return };
        self.state.lir.simd(TO_REGISTER, Some(source(first)), None);
        for (k, (operation, place)) in formula.operations.iter().zip(places).enumerate() {
            let sub = with_register(operation.op, operation.swapped);
            if k + 1 == places.len() {
                self.state.lir.simd(sub, Some(source(place)), Some((to, false)));
            } else {
                self.state.lir.simd(SimdSub { destination: 1, ..sub }, Some(source(place)), None);
            }
        }
    }
}
