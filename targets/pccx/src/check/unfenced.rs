//! Programs that rely on the order of what is `async`: [`unfenced`]. Source: specification 3.5.
//!
//! The machine and its clock keep that order; hardware without a scoreboard does not.

use std::collections::BTreeMap;
use std::fmt;

use crate::isa::op::{Banks, Engine, Op};
use crate::isa::usage::{Conflict, Use, Words};

/// An instruction whose result depends on an asynchronous one that may still be under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfenced {
    /// Its place in the program.
    pub index: usize,
    /// That of the asynchronous one.
    pub earlier: usize,
    /// Mnemonic of the asynchronous one.
    pub engine: &'static str,
    /// How they depend on each other.
    pub conflict: Conflict,
    /// In which words.
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

/// Every instruction that uses words of an asynchronous MEMCPY or CVO before it, with no synchronous
/// instruction of the same engine between them; one that only reads what the other reads is free to.
///
/// `host_syncs` are the instructions before which the host waits for everything, in order.
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

/// Which asynchronous instructions nothing has waited for, and what they use: the state of completion that the host
/// may rely on.
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
    /// The host waits: everything is complete.
    pub fn host_waits(&mut self) {
        self.engines.iter_mut().for_each(InFlight::complete);
    }

    /// Issues an instruction, which may use what one under way uses.
    pub fn issue(&mut self, index: usize, op: &Op) -> Option<Unfenced> {
        let uses = Use::of(&self.banks, op);
        self.banks.step(op);
        let found = self.engines.iter().find_map(|engine| engine.conflict(index, &uses));
        if let Some(engine) = self.engines.iter_mut().find(|engine| engine.engine == op.engine()) {
            engine.issue(index, uses, op.is_synchronous());
        }
        found
    }

    /// The asynchronous instructions that nothing has waited for, in order.
    pub fn under_way(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.engines.iter().flat_map(|engine| &engine.under_way).copied().collect();
        all.sort_unstable();
        all
    }
}

/// What the asynchronous instructions of an engine use.
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

/// Words, apart from each other, with the last instruction that uses them: by the first word, the word
/// after them and the instruction.
#[derive(Clone, Debug)]
struct LastUse(BTreeMap<u64, (u64, usize)>);

impl LastUse {
    /// The last words in use among these, and who uses them.
    fn meeting(&self, words: Words) -> Option<(Words, usize)> {
        let (&first, &(end, index)) = self.0.range(..words.end).next_back()?;
        Some((Words { first, end }.meeting(words)?, index))
    }

    /// Gives words to an instruction.
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
