//! [`Start`]: memories before a program, and the instructions that load them.

use npukit_target::TargetError;

use crate::config::Config;
use crate::isa::check::depth;
use crate::isa::op::{DataMoveKind, Memory, Op, Register, SimdOp, SimdSub, Strided};
use crate::machine::{Machine, Part};
use crate::program::Program;
use crate::program::run::{self, RunError};

use super::CosimError;
use super::windows::touched;

/// A machine before the first instruction. Apart from its DRAM banks it is in the reset state, as
/// is the circuit.
#[derive(Clone)]
pub(crate) struct Start {
    pub(super) machine: Machine,
    /// Instructions before the program: the driver's, or loads of vectors into on-chip
    /// memories.
    pub(super) before: Vec<Op>,
    /// Number of initialized vectors of each bank.
    pub(super) held: [u64; 2],
    /// Note about the purpose of these instructions.
    pub(super) note: Option<&'static str>,
}

const DRIVER: &str =
    "the first instruction is the driver's, which copies the constants to local memory; cycles include it";
const TEXT: &str =
    "the first instructions load the on-chip memories as declared in the text; cycles include them";

impl Start {
    /// Loads constants and inputs (raw scalars, whole vectors, in program order) as the driver
    /// does.
    ///
    /// Source: specification, 6.4.
    pub(super) fn of_driver(program: &Program, inputs: &[Vec<i32>]) -> Result<Self, RunError> {
        let constants = (program.constants.len() / program.config.array_size.max(1)) as u64;
        let copies = program.load_consts_to_local && constants > 0;
        let copy = copied(DataMoveKind::Dram1ToLocal, 0, 0, constants);
        let pieces = program.inputs.iter().chain(&program.outputs).flat_map(|binding| &binding.pieces);
        let bound = pieces.map(|piece| piece.base.saturating_add(piece.size)).max();
        Ok(Self {
            machine: run::loaded(program, inputs)?,
            before: copies.then_some(copy).into_iter().collect(),
            held: [bound.unwrap_or(0), constants], // Default: no constants are bound.
            note: copies.then_some(DRIVER),
        })
    }

    /// Loads the content of `filled`, for each part up to the vector `end`.
    ///
    /// Vectors of DRAM stay in place. On-chip content is stored after them, in a bank with room
    /// beyond the vectors that `ops` touch. Instructions load it from there: weights, then
    /// registers, accumulators, and finally local memory, through which all others pass.
    pub(crate) fn of_parts(
        filled: &Machine,
        end: impl Fn(Part) -> u64,
        ops: &[Op],
    ) -> Result<Self, TargetError> {
        let config = filled.config();
        let mut machine = Machine::new(config).map_err(TargetError::failed)?;
        let mut held = [Memory::Dram0, Memory::Dram1].map(|bank| end(Part::Memory(bank)));
        for (bank, vectors) in [Memory::Dram0, Memory::Dram1].into_iter().zip(held) {
            let raw = filled.bank(bank, vectors).map_err(TargetError::failed)?;
            machine.write(bank, 0, &raw).map_err(TargetError::failed)?;
        }
        let mut image = Image::default();
        image.take(filled, &end)?;
        let free = touched(config, ops, held).map_err(TargetError::failed)?;
        let before = image.instructions(config, free).map_err(TargetError::failed)?;
        if let Some((bank, base)) = image.place {
            machine.write(BANKS[bank].0, base, &image.raw).map_err(TargetError::failed)?;
            held[bank] = base + image.vectors(config);
        }
        let note = (!before.is_empty()).then_some(TEXT);
        Ok(Self { machine, before, held, note })
    }
}

/// The banks, with the DataMove that reads from each.
const BANKS: [(Memory, DataMoveKind); 2] =
    [(Memory::Dram0, DataMoveKind::Dram0ToLocal), (Memory::Dram1, DataMoveKind::Dram1ToLocal)];

/// On-chip content, vector by vector in the order in which it is loaded.
#[derive(Default)]
struct Image {
    raw: Vec<i32>,
    /// Destinations of consecutive vectors, with the number of vectors for each.
    takers: Vec<(Part, u64)>,
    /// The bank that stores it, and the first vector there.
    place: Option<(usize, u64)>,
}

impl Image {
    /// Adds the content of all on-chip parts. Content that only passes through a memory needs a
    /// place in that memory.
    fn take(&mut self, filled: &Machine, end: &impl Fn(Part) -> u64) -> Result<(), TargetError> {
        let parts = Part::all(filled.config());
        let [mut local, mut accumulators] =
            [Memory::Local, Memory::Accumulators].map(|memory| end(Part::Memory(memory)));
        for part in parts.into_iter().filter(|&part| end(part) > 0) {
            match part {
                Part::Weights => {
                    let rows = part.depth(filled.config());
                    local = local.max(rows);
                    self.push(filled, part, rows)?;
                }
                Part::Register(_) => {
                    accumulators = accumulators.max(1);
                    self.push(filled, part, 1)?;
                }
                Part::Memory(_) | Part::Configuration(_) => {}
            }
        }
        let local = local.max(accumulators);
        for (memory, vectors) in [(Memory::Accumulators, accumulators), (Memory::Local, local)] {
            self.push(filled, Part::Memory(memory), vectors.min(depth(filled.config(), memory)))?;
        }
        Ok(())
    }

    fn push(&mut self, filled: &Machine, part: Part, vectors: u64) -> Result<(), TargetError> {
        if vectors > 0 {
            let numbers = filled.numbers(part, 0, vectors).map_err(TargetError::failed)?;
            self.raw.extend(numbers.into_iter().map(|number| number as i32));
            self.takers.push((part, vectors));
        }
        Ok(())
    }

    fn vectors(&self, config: &Config) -> u64 {
        (self.raw.len() / config.array_size.max(1)) as u64
    }

    /// Returns the instructions that load the content from one of the banks; each bank is free
    /// starting at vector `base`.
    fn instructions(&mut self, config: &Config, base: [u64; 2]) -> Result<Vec<Op>, CosimError> {
        let vectors = self.vectors(config);
        if vectors == 0 {
            return Ok(Vec::new());
        }
        let depths = BANKS.map(|(memory, _)| depth(config, memory));
        let has_room = |&bank: &usize| base[bank].saturating_add(vectors) <= depths[bank];
        let bank = [1, 0].into_iter().find(has_room).ok_or(CosimError::NoRoom { vectors })?;
        self.place = Some((bank, base[bank]));
        let (mut ops, mut from) = (Vec::new(), base[bank]);
        let most = config.local_depth.min(config.accumulator_depth).min(depths[bank]);
        for &(part, vectors) in &self.takers {
            // Weights shift through the array, so the highest row must be loaded first.
            let firsts: Vec<u64> = (0..vectors).step_by(most.max(1) as usize).collect();
            for first in firsts.into_iter().rev() {
                fetch(&mut ops, part, BANKS[bank].1, from + first, first, most.min(vectors - first));
            }
            from += vectors;
        }
        // The counter is reset so that it includes only the program's instructions. A two-thread
        // instance does not have this instruction.
        let starts = Op::Configure { register: Register::ProgramCounter as u8, value: 0 };
        ops.extend((config.number_of_threads < 2).then_some(starts));
        Ok(ops)
    }
}

/// Emits the loads of DRAM vectors into a part, starting at its vector `first`.
fn fetch(ops: &mut Vec<Op>, part: Part, kind: DataMoveKind, from: u64, first: u64, size: u64) {
    let local = if part == Part::Memory(Memory::Local) { first } else { 0 };
    ops.push(copied(kind, local, from, size));
    match part {
        Part::Weights => {
            ops.push(Op::LoadWeights { zeroes: false, local: straight(0), size });
        }
        Part::Memory(Memory::Accumulators) => {
            ops.push(copied(DataMoveKind::LocalToAccumulator, 0, first, size));
        }
        Part::Register(register) => {
            ops.push(copied(DataMoveKind::LocalToAccumulator, 0, 0, 1));
            ops.push(into_register(register));
        }
        Part::Memory(_) | Part::Configuration(_) => {}
    }
}

fn copied(kind: DataMoveKind, local: u64, other: u64, size: u64) -> Op {
    Op::DataMove { kind, local: straight(local), other: straight(other), size }
}

const fn straight(address: u64) -> Strided {
    Strided { address, stride_log2: 0 }
}

/// Returns the SIMD that copies the first accumulator to a register.
const fn into_register(destination: u8) -> Op {
    let sub = SimdSub { op: SimdOp::Move, left: 0, right: 0, destination };
    Op::Simd { read: true, write: false, accumulate: false, write_address: 0, read_address: 0, sub }
}
