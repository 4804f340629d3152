//! What a [`super::Clock`] found: [`Timeline`].

use std::fmt;

use super::alu::needs_input;
use super::machine::Held;
use crate::op::{Op, SimdOp};

/// The units of the machine. The decoder waits for all but the ALUs, which belong to the accumulators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// The decoder itself.
    #[default]
    Decoder,
    /// Local memory's port A: array, weights and accumulator moves.
    LocalA,
    /// The router between local memory, array and accumulators.
    Router,
    /// The systolic array.
    Array,
    /// The accumulators.
    Accumulator,
    /// The ALUs behind the accumulators.
    Alu,
    /// The router between local memory's port B and the banks.
    HostRouter,
    /// DRAM0.
    Dram0,
    /// DRAM1.
    Dram1,
}

impl Unit {
    /// Every unit.
    pub const ALL: [Self; 9] = [
        Self::Decoder,
        Self::LocalA,
        Self::Router,
        Self::Array,
        Self::Accumulator,
        Self::Alu,
        Self::HostRouter,
        Self::Dram0,
        Self::Dram1,
    ];
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Decoder => "decoder",
            Self::LocalA => "local memory port A",
            Self::Router => "router",
            Self::Array => "array",
            Self::Accumulator => "accumulators",
            Self::Alu => "ALUs",
            Self::HostRouter => "host router",
            Self::Dram0 => "DRAM0",
            Self::Dram1 => "DRAM1",
        })
    }
}

/// The cycles of the last events of each kind; 0 when there was none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastEvents {
    /// A write to the accumulators.
    pub accumulator_write: u64,
    /// A write to local memory, by either port.
    pub local_write: u64,
    /// A beat written to a bank.
    pub axi_write: u64,
    /// A shift of the weights.
    pub weight_load: u64,
    /// A response to a write. It does not count for the total.
    pub write_response: u64,
}

impl LastEvents {
    /// The last of those that count for the total.
    pub(super) fn latest(&self) -> u64 {
        self.accumulator_write.max(self.local_write).max(self.axi_write).max(self.weight_load)
    }
}

/// Work done, in cycles of the unit that does it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// Rows computed by the array.
    pub array_rows: u64,
    /// Rows of weights shifted.
    pub weight_rows: u64,
    /// Vectors read from or written to the accumulators.
    pub accumulator_accesses: u64,
    /// SIMD instructions.
    pub simd_operations: u64,
    /// Vectors moved between local memory and DRAM.
    pub dram_vectors: u64,
    /// Cycles in which a row was at the array and the accumulators did not wait for a result.
    pub array_blocked: u64,
    /// Cycles in which weights were at the array and results were still on their way.
    pub array_draining: u64,
}

/// What crossed the bus of a bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Read bursts.
    pub read_bursts: u64,
    /// Read beats.
    pub read_beats: u64,
    /// Write bursts.
    pub write_bursts: u64,
    /// Write beats.
    pub write_beats: u64,
}

impl Traffic {
    pub(super) const fn new([read_bursts, read_beats, write_bursts, write_beats]: [u64; 4]) -> Self {
        Self { read_bursts, read_beats, write_bursts, write_beats }
    }
}

/// A SIMD form that the hardware never completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StuckForm {
    /// Neither source is the input, so what was read is never consumed.
    InputUnused,
    /// A source is the input, and nothing is read.
    InputMissing,
    /// NoOp with a flag moves data that no router was told of.
    NoOpMoves,
}

impl fmt::Display for StuckForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InputUnused => "it reads an input that no source takes",
            Self::InputMissing => {
                "a source, which may be an ignored right one, is the input, and nothing is read"
            }
            Self::NoOpMoves => "a NoOp with the read or write flag waits for data that nothing routes",
        })
    }
}

/// The form of an instruction that leaves a unit waiting for ever.
fn stuck_form(op: &Op) -> Option<StuckForm> {
    let Op::Simd { read, write, sub, .. } = *op else { return None };
    match sub.op {
        SimdOp::NoOp => (read || write).then_some(StuckForm::NoOpMoves),
        _ if read && !needs_input(sub) => Some(StuckForm::InputUnused),
        _ if !read && needs_input(sub) => Some(StuckForm::InputMissing),
        _ => None,
    }
}

/// The decoder waits for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("instruction {instruction} is never accepted: its part for the {unit} is never taken{}", cause(.stuck))]
pub struct Hang {
    /// The instruction at the decoder.
    pub instruction: usize,
    /// The unit that does not take its part.
    pub unit: Unit,
    /// The first instruction that leaves a unit waiting for ever, and why.
    pub stuck: Option<(usize, StuckForm)>,
}

impl Hang {
    /// Instruction `instruction` of `ops` waits for `unit` for ever.
    pub(super) fn new(ops: &[Op], instruction: usize, unit: Unit) -> Self {
        let before = ops.iter().take(instruction + 1).enumerate();
        let stuck = before.filter_map(|(index, op)| Some((index, stuck_form(op)?))).next();
        Self { instruction, unit, stuck }
    }
}

fn cause(stuck: &Option<(usize, StuckForm)>) -> String {
    stuck.map_or_else(String::new, |(index, form)| {
        format!(", because instruction {index} (SIMD) is never completed: {form}")
    })
}

/// When a program's instructions were accepted, and what else happened.
///
/// Cycles count from the first beat of the instruction stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The last event that counts, or the cycle after the last acceptance if that is later.
    pub total: u64,
    /// By instruction, when the decoder was done with it; shorter than the program after a hang.
    pub accept: Vec<u64>,
    /// The last events.
    pub last: LastEvents,
    /// Work of the units.
    pub busy: Busy,
    /// Of DRAM0 and DRAM1.
    pub traffic: [Traffic; 2],
    /// By [`Unit::ALL`], cycles beyond the first that the decoder held an instruction for that unit.
    pub waits: [u64; Unit::ALL.len()],
    /// Where the program hangs, if it does.
    pub hang: Option<Hang>,
}

impl Timeline {
    /// The decoder is done with the next instruction.
    pub(super) fn accepted(&mut self, held: Held) {
        self.accept.push(held.until);
        if let Some(sum) = self.waits.get_mut(held.by as usize) {
            *sum += held.waited;
        }
    }
}
