//! Programs that rely on the order of what is `async`: [`unfenced`]. Source: specification 3.5.
//!
//! The machine and its clock keep that order; hardware without a scoreboard does not.

use std::collections::BTreeMap;
use std::fmt;

use crate::op::{Banks, Engine, Op};
use crate::usage::{Conflict, Use, Words};

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
    let (mut banks, mut syncs) = (Banks::default(), host_syncs);
    let mut engines = [InFlight::new(Engine::Memcpy, "MEMCPY"), InFlight::new(Engine::Cvo, "CVO")];
    for (index, op) in ops.iter().enumerate() {
        let here = syncs.iter().take_while(|&&position| position as usize <= index).count();
        if here > 0 {
            engines.iter_mut().for_each(InFlight::complete);
            syncs = &syncs[here..];
        }
        let uses = Use::of(&banks, op);
        banks.step(op);
        found.extend(engines.iter().find_map(|engine| engine.conflict(index, &uses)));
        if let Some(engine) = engines.iter_mut().find(|engine| engine.engine == op.engine()) {
            engine.issue(index, uses, op.is_synchronous());
        }
    }
    found
}

/// What the asynchronous instructions of an engine use.
#[derive(Debug)]
struct InFlight {
    engine: Engine,
    mnemonic: &'static str,
    reads: LastUse,
    writes: LastUse,
}

impl InFlight {
    const fn new(engine: Engine, mnemonic: &'static str) -> Self {
        Self { engine, mnemonic, reads: LastUse(BTreeMap::new()), writes: LastUse(BTreeMap::new()) }
    }

    fn complete(&mut self) {
        self.reads.0.clear();
        self.writes.0.clear();
    }

    fn issue(&mut self, index: usize, uses: Use, is_synchronous: bool) {
        if is_synchronous {
            self.complete();
            return;
        }
        uses.reads.into_iter().for_each(|words| self.reads.insert(words, index));
        self.writes.insert(uses.writes, index);
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
#[derive(Debug)]
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
