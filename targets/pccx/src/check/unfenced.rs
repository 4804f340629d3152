//! Hazards with `async` instructions: [`unfenced`]. Source: specification 3.5.
//!
//! The machine and its clock keep the program's order; hardware without a scoreboard does not.

use std::collections::BTreeMap;
use std::fmt;

use crate::isa::op::{Banks, Engine, Op};
use crate::isa::usage::{Conflict, Use, Words};

/// An instruction with a result that depends on an asynchronous instruction, which may not be
/// complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfenced {
    /// Index of the later instruction.
    pub index: usize,
    /// Index of the asynchronous instruction.
    pub earlier: usize,
    /// Mnemonic of the asynchronous instruction.
    pub engine: &'static str,
    /// Kind of dependency between the two.
    pub conflict: Conflict,
    /// L2 words that both use.
    pub words: Words,
}

impl fmt::Display for Unfenced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { earlier, engine, conflict, words, .. } = self;
        let (does, did) = match conflict {
            Conflict::ReadsWritten => ("reads", "writes"),
            Conflict::WritesWritten => ("writes", "writes"),
            Conflict::WritesRead => ("writes", "reads"),
        };
        write!(
            f,
            "{does} {words}, which the async {engine} of instruction {earlier} {did}: \
             a synchronous {engine} or the host must wait between them"
        )
    }
}

/// Returns each instruction that depends on words of an earlier asynchronous MEMCPY or CVO, without
/// a synchronous instruction of the same engine in between. Two reads do not depend on each other.
///
/// `host_syncs` lists in ascending order the instructions before which the host waits for all
/// earlier ones.
pub fn unfenced(ops: &[Op], host_syncs: &[u32]) -> Vec<Unfenced> {
    let mut found = Vec::new();
    let (mut orders, mut syncs) = (Orders::default(), host_syncs);
    for (index, op) in ops.iter().enumerate() {
        let here = syncs.iter().take_while(|&&position| position as usize <= index).count();
        if here > 0 {
            orders.host_waits();
            syncs = &syncs[here..];
        }
        found.extend(orders.issue(index, op));
    }
    found
}

/// Asynchronous instructions that may not be complete, and the words that they use.
#[derive(Clone, Debug)]
pub struct Orders {
    banks: Banks,
    engines: [InFlight; 2],
}

impl Default for Orders {
    fn default() -> Self {
        let engines = [InFlight::new(Engine::Memcpy, "MEMCPY"), InFlight::new(Engine::Cvo, "CVO")];
        Self { banks: Banks::default(), engines }
    }
}

impl Orders {
    /// Marks all instructions as complete, because the host waits.
    pub fn host_waits(&mut self) {
        self.engines.iter_mut().for_each(InFlight::complete);
    }

    /// Issues an instruction; returns its dependency on an incomplete one, if any.
    pub fn issue(&mut self, index: usize, op: &Op) -> Option<Unfenced> {
        let uses = Use::of(&self.banks, op);
        self.banks.step(op);
        let found = self.engines.iter().find_map(|engine| engine.conflict(index, &uses));
        if let Some(engine) = self.engines.iter_mut().find(|engine| engine.engine == op.engine()) {
            engine.issue(index, uses, op.is_synchronous());
        }
        found
    }

    /// Returns the asynchronous instructions that may not be complete, in order.
    pub fn under_way(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.engines.iter().flat_map(|engine| &engine.under_way).copied().collect();
        all.sort_unstable();
        all
    }
}

/// Words that the incomplete instructions of an engine use.
#[derive(Clone, Debug)]
struct InFlight {
    engine: Engine,
    mnemonic: &'static str,
    reads: LastUse,
    writes: LastUse,
    under_way: Vec<usize>,
}

impl InFlight {
    const fn new(engine: Engine, mnemonic: &'static str) -> Self {
        let reads = LastUse(BTreeMap::new());
        let writes = LastUse(BTreeMap::new());
        Self { engine, mnemonic, reads, writes, under_way: Vec::new() }
    }

    fn complete(&mut self) {
        self.reads.0.clear();
        self.writes.0.clear();
        self.under_way.clear();
    }

    fn issue(&mut self, index: usize, uses: Use, is_synchronous: bool) {
        if is_synchronous {
            self.complete();
            return;
        }
        uses.reads.into_iter().for_each(|words| self.reads.insert(words, index));
        self.writes.insert(uses.writes, index);
        self.under_way.push(index);
    }

    fn conflict(&self, index: usize, uses: &Use) -> Option<Unfenced> {
        let find = |conflict, earlier: &LastUse, later: Option<Words>| {
            let (words, earlier) = earlier.meeting(later?)?;
            Some(Unfenced { index, earlier, engine: self.mnemonic, conflict, words })
        };
        let mut reads = uses.reads.into_iter();
        reads
            .find_map(|words| find(Conflict::ReadsWritten, &self.writes, words))
            .or_else(|| find(Conflict::WritesWritten, &self.writes, uses.writes))
            .or_else(|| find(Conflict::WritesRead, &self.reads, uses.writes))
    }
}

/// Disjoint ranges of words with the last instruction that uses them: the key is the first word,
/// the value is the word after the last one and the instruction.
#[derive(Clone, Debug)]
struct LastUse(BTreeMap<u64, (u64, usize)>);

impl LastUse {
    /// Returns the last used range that overlaps these words, and its user.
    fn meeting(&self, words: Words) -> Option<(Words, usize)> {
        let (&first, &(end, index)) = self.0.range(..words.end).next_back()?;
        Some((Words { first, end }.meeting(words)?, index))
    }

    /// Records the instruction that uses these words.
    fn insert(&mut self, words: Option<Words>, index: usize) {
        let Some(words) = words else { return };
        while let Some((&first, &(end, of))) = self.0.range(..words.end).next_back() {
            if end <= words.first {
                break;
            }
            self.0.remove(&first);
            if end > words.end {
                self.0.insert(words.end, (end, of));
            }
            if first < words.first {
                self.0.insert(first, (words.first, of));
            }
        }
        self.0.insert(words.first, (words.end, index));
    }
}
