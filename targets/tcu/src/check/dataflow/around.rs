//! [`Around`]: what is known of a run beside the instructions.

use npukit_asm::{Experiment, MemoryRange};

use crate::config::Config;
use crate::isa::check::depth;
use crate::isa::op::Memory;
use crate::machine::Part;

/// What is known of the memories on the chip before and after a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Around {
    /// What somebody else fills: memory, first vector and how many.
    pub filled: Vec<(Memory, u64, u64)>,
    /// Registers of the ALUs that somebody else fills.
    pub registers: Vec<u8>,
    /// Whether somebody else fills the array.
    pub weights: bool,
    /// What somebody else looks at afterwards.
    pub looked_at: Vec<(Memory, u64, u64)>,
    /// Whether nothing else does: what instructions leave elsewhere is of no use.
    pub is_all: bool,
}

impl Around {
    /// Of a compiled program, whose driver copies constants to local memory or does not.
    pub fn of_compiled(copies_constants: bool) -> Self {
        let filled = if copies_constants { vec![(Memory::Local, 0, u64::MAX)] } else { Vec::new() };
        Self { filled, is_all: true, ..Self::default() }
    }

    /// Of a text. Where it says nothing of the end, whoever runs it may look at any memory.
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

/// The vectors that a range names: where it does not say how many, all up to the end, as nobody counts its values here.
fn vectors(config: &Config, range: &MemoryRange) -> Option<(Memory, u64, u64)> {
    let Some(Part::Memory(memory)) = part(config, range) else { return None };
    let end = range.end.unwrap_or(depth(config, memory)); // Default: the memory's end.
    Some((memory, range.start, end.saturating_sub(range.start)))
}
