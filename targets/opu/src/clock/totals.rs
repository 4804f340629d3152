//! [`Totals`]: cycles of a program, and the work and waits of its engines.

use super::Slice;
use super::engine::{Cause, Engine};
use crate::clock::timing::Cost;

/// Totals of a program. All numbers except `words` are cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Cycles until all instructions are done.
    pub cycles: u64,
    /// Cycles in which the DRAM port is busy, for loads and for stores.
    pub port: [u64; 2],
    /// Words moved over the DRAM port.
    pub words: u64,
    busy: [u64; Engine::ALL.len()],
    waits: [[u64; Cause::ALL.len()]; Engine::ALL.len()],
}

impl Totals {
    /// Returns the cycles in which an engine works.
    pub const fn busy(&self, engine: Engine) -> u64 {
        self.busy[engine as usize]
    }

    /// Returns the cycles in which an engine has an instruction and waits for `cause`.
    pub const fn wait(&self, engine: Engine, cause: Cause) -> u64 {
        self.waits[engine as usize][cause as usize]
    }

    /// Returns the causes for which an engine waits and their cycles, longest first.
    pub fn waits(&self, engine: Engine) -> Vec<(Cause, u64)> {
        let mut waits: Vec<_> = Cause::ALL.map(|cause| (cause, self.wait(engine, cause))).into();
        waits.retain(|&(_, cycles)| cycles > 0);
        waits.sort_by_key(|&(_, cycles)| std::cmp::Reverse(cycles));
        waits
    }

    pub(super) const fn worked(&mut self, slice: &Slice) {
        self.busy[slice.engine as usize] += slice.end - slice.start;
    }

    pub(super) const fn waited(&mut self, engine: Engine, cause: Cause, cycles: u64) {
        self.waits[engine as usize][cause as usize] += cycles;
    }

    pub(super) const fn moved(&mut self, engine: Engine, cost: &Cost) {
        let port = if matches!(engine, Engine::Load) { 0 } else { 1 };
        self.port[port] += cost.port;
        self.words += cost.words;
    }
}
