//! [`Totals`]: what a program took, and what its engines did and waited for.

use super::Slice;
use super::engine::{Cause, Engine};
use crate::clock::timing::Cost;

/// What a program took. All but the words are cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Until everything is done.
    pub cycles: u64,
    /// In which the DRAM port is busy, by loads and by stores.
    pub port: [u64; 2],
    /// Words over the DRAM port.
    pub words: u64,
    busy: [u64; Engine::ALL.len()],
    waits: [[u64; Cause::ALL.len()]; Engine::ALL.len()],
}

impl Totals {
    /// In which an engine works.
    pub const fn busy(&self, engine: Engine) -> u64 {
        self.busy[engine as usize]
    }

    /// In which an engine has an instruction and waits for something else.
    pub const fn wait(&self, engine: Engine, cause: Cause) -> u64 {
        self.waits[engine as usize][cause as usize]
    }

    /// What an engine waits for, the longest first.
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
