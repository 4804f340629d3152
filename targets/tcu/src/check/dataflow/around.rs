//! [`Around`]: known facts about memories before and after a run.

use npukit_asm::{Experiment, MemoryRange};

use crate::config::Config;
use crate::isa::check::depth;
use crate::isa::op::Memory;
use crate::machine::Part;

/// Knowledge of on-chip memories before and after a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Around {
    /// Memory filled from outside before the run: memory, first vector and number of vectors.
    pub filled: Vec<(Memory, u64, u64)>,
    /// ALU registers filled from outside.
    pub registers: Vec<u8>,
    /// Whether the array is filled from outside.
    pub weights: bool,
    /// Memory read from outside afterwards: memory, first vector and number of vectors.
    pub looked_at: Vec<(Memory, u64, u64)>,
    /// Whether the lists above are complete: results elsewhere are then unused.
    pub is_all: bool,
}

impl Around {
    /// Creates the knowledge about a compiled program; its driver copies constants to local memory
    /// if `copies_constants`.
    pub fn of_compiled(copies_constants: bool) -> Self {
        let filled = if copies_constants { vec![(Memory::Local, 0, u64::MAX)] } else { Vec::new() };
        Self { filled, is_all: true, ..Self::default() }
    }

    /// Creates the knowledge about a text. If the text does not declare outputs, any memory may be
    /// read afterwards.
    pub fn of_text(config: &Config, experiment: &Experiment) -> Self {
        let looked_at = experiment.looked_at().filter_map(|range| vectors(config, range)).collect();
        let is_all = experiment.looked_at().next().is_some();
        let mut around = Self { looked_at, is_all, ..Self::default() };
        experiment.filled().for_each(|range| around.fill(config, range));
        around
    }

    fn fill(&mut self, config: &Config, range: &MemoryRange) {
        match part(config, range) {
            Some(Part::Weights) => self.weights = true,
            Some(Part::Register(register)) => self.registers.push(register),
            _ => self.filled.extend(vectors(config, range)),
        }
    }
}

fn part(config: &Config, range: &MemoryRange) -> Option<Part> {
    Part::all(config).into_iter().find(|part| part.name().eq_ignore_ascii_case(&range.memory))
}

/// Returns the vectors of a range. Without a length it extends to the end of the memory, since the
/// values are not counted here.
fn vectors(config: &Config, range: &MemoryRange) -> Option<(Memory, u64, u64)> {
    let Some(Part::Memory(memory)) = part(config, range) else { return None };
    let end = range.end.unwrap_or(depth(config, memory)); // Default: the range extends to the end of the memory.
    Some((memory, range.start, end.saturating_sub(range.start)))
}
