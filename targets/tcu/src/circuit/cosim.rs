//! [`ExpectedRun`]: a program's run on the circuit, compared with machine and clock. The expected
//! results are computed first; then `compare` finds the first instruction at which the circuit
//! differs.

mod compare;
mod seen;
mod start;
mod windows;

use npukit_target::rtl::{Circuit, Defects, Run, Seen};
use npukit_target::{CosimOptions, CosimRun, OUTSIDE, Phase, TargetError};

use crate::circuit::{scalar, stream_bits, table_vectors};
use crate::clock::hazard::hazards;
use crate::clock::samples::Sample;
use crate::clock::{Clock, Timeline};
use crate::config::{ClockParams, Config};
use crate::isa::codec::encode_program;
use crate::isa::op::{Memory, Op, Register};
use crate::machine::Machine;
use crate::program::Program;
use crate::program::run::{RunOutcome, place};

pub(crate) use start::Start;
use windows::touched;

/// Why a program cannot be compared with a circuit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CosimError {
    /// A window of a bank reaches further than the simulated memory.
    #[error(
        "the program reaches byte {bytes} of {bank} through its offset, but a simulation has only {most} bytes per bank: use \
         smaller offsets"
    )]
    Far {
        /// The DRAM bank.
        bank: Memory,
        /// Number of bytes that the program reaches.
        bytes: u64,
        /// Number of simulated bytes.
        most: u64,
    },
    /// The initial content of on-chip memories, as declared in the text, does not fit in DRAM, from
    /// which it would be loaded.
    #[error(
        "the on-chip memories hold {vectors} vectors before the program, for which neither DRAM bank has room after \
         the vectors that the program uses: use an instance with a larger `dram1_depth`"
    )]
    NoRoom {
        /// Number of vectors in on-chip memories.
        vectors: u64,
    },
    /// The program never ends.
    #[error("instruction {instruction} is never accepted: the program hangs the hardware")]
    Hangs {
        /// Index of the instruction.
        instruction: usize,
    },
    /// Results of the released circuit depend on unknown cycles.
    #[error(
        "the released circuit may lose additions of this program, depending on when memory waits: leave stalls \
         out, or use the circuit without its defects"
    )]
    Stalled,
    /// The bursts that the released circuit moves to another window are unknown.
    #[error(
        "the released circuit moves writes before instruction {instruction}, but it is unknown which ones"
    )]
    Moved {
        /// Index of the instruction that changes an offset.
        instruction: usize,
    },
    /// A lookup table exceeds the size that the circuit supports.
    #[error(
        "instruction {instruction} loads {vectors} vectors into a lookup table, but the circuit holds {holds}: set \
         `lookup_depth` {vectors} in a .tarch file"
    )]
    Table {
        /// Index of the instruction.
        instruction: usize,
        /// Number of vectors that it loads.
        vectors: u64,
        /// Number of vectors that the circuit holds.
        holds: u64,
    },
    /// A file of the simulator has an unexpected form.
    #[error("file `{file}` of the simulator: {fault}")]
    Seen {
        /// Name of the file.
        file: &'static str,
        /// Description of the fault.
        fault: String,
    },
}

/// A program with its expected results.
pub struct ExpectedRun<'p> {
    program: &'p Program,
    start: Start,
    memory: ClockParams,
    options: CosimOptions,
    /// Number of instructions before the program, which do the driver's work or fill memories.
    before: usize,
    ops: Vec<Op>,
    /// State after the program.
    machine: Machine,
    timeline: Timeline,
    /// Performance samples while the decoder has instructions.
    samples: Vec<Sample>,
    /// Whether cycles must be equal.
    is_timed: bool,
    notes: Vec<String>,
    circuit: Circuit,
    run: Run,
}

impl<'p> ExpectedRun<'p> {
    /// Creates the comparison of the program on `inputs` (raw scalars, whole vectors, in program
    /// order).
    ///
    /// # Errors
    ///
    /// [`CosimError`]; latencies that a simulation does not support; inputs that do not fit; a
    /// fault of the machine ([`crate::program::run::RunError`]).
    pub fn new(
        program: &'p Program,
        circuit: Circuit,
        inputs: &[Vec<i32>],
        memory: ClockParams,
        options: &CosimOptions,
    ) -> Result<Self, TargetError> {
        let start = Start::of_driver(program, inputs).map_err(TargetError::failed)?;
        Self::from_start(program, circuit, start, memory, options)
    }

    /// Creates the comparison of the program starting with the memories of `start`.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::new`].
    pub(crate) fn from_start(
        program: &'p Program,
        circuit: Circuit,
        start: Start,
        memory: ClockParams,
        options: &CosimOptions,
    ) -> Result<Self, TargetError> {
        let count = program.instructions.len();
        let memory = with_latencies(memory, options)?;
        Self::of_first(program, count, circuit, start, memory, options)
    }

    /// Creates the comparison of the first `count` instructions; `memory` has the final latencies.
    fn of_first(
        program: &'p Program,
        count: usize,
        circuit: Circuit,
        start: Start,
        memory: ClockParams,
        options: &CosimOptions,
    ) -> Result<Self, TargetError> {
        let Start { mut machine, before, held, note } = start.clone();
        let (instructions, _) = program.instructions.split_at(count.min(program.instructions.len()));
        let ops = [&before[..], instructions].concat();
        let before = before.len();
        fits_tables(program, &ops, before).map_err(TargetError::failed)?;
        let mut samples = Vec::new();
        let clock = Clock::new(&program.config, memory).map_err(TargetError::failed)?;
        let timeline =
            clock.run_sampling(&ops, program.config.sample_block_size, &mut |sample| samples.push(sample));
        refuse(&timeline, &ops, before, options).map_err(TargetError::failed)?;
        let run = simulation(program, &ops, held, &machine, memory, options)?;
        let lost = if options.defects == Defects::Released { &timeline.lost[..] } else { &[] };
        let phase = Phase::detail("run instructions", ops.len());
        machine.run_losing(&ops, lost).map_err(|mut fault| {
            fault.instruction = fault.instruction.saturating_sub(before);
            TargetError::failed(place(program, fault))
        })?;
        drop(phase);
        let loses = options.defects == Defects::Mended && !timeline.lost.is_empty();
        let is_timed = options.stalls.is_none() && !loses;
        let notes = notes(note, options.stalls.is_some(), loses, ops.iter().any(moves_window));
        let options = *options;
        Ok(Self {
            program,
            start,
            memory,
            options,
            before,
            ops,
            machine,
            timeline,
            samples,
            is_timed,
            notes,
            circuit,
            run,
        })
    }

    /// Returns the simulator's inputs and the function that compares its results.
    pub fn to_run(&self) -> CosimRun<'_> {
        let compare = |seen: &Seen| self.judged(seen).map_err(TargetError::failed);
        let first = |count: usize, judge: &mut dyn FnMut(&CosimRun<'_>)| {
            let (circuit, start) = (self.circuit.clone(), self.start.clone());
            judge(&Self::of_first(self.program, count, circuit, start, self.memory, &self.options)?.to_run());
            Ok(())
        };
        CosimRun {
            circuit: &self.circuit,
            run: &self.run,
            compare: Box::new(compare),
            first: Box::new(first),
        }
    }

    /// Returns the outcome of the machine's run.
    pub fn into_outcome(self) -> RunOutcome {
        RunOutcome { machine: self.machine, saturations: Vec::new() }
    }

    /// Returns the layer of an instruction of the program.
    fn layer(&self, instruction: usize) -> Option<String> {
        let layers = &self.program.layers;
        let owner = |index: usize| *self.program.layer_of_each().get(index).unwrap_or(&layers.len()); // Default: an instruction without an owner has no layer.
        let name = |index: usize| layers.get(owner(index)).map_or(OUTSIDE, |layer| &layer.name);
        (!layers.is_empty()).then(|| name(instruction).to_owned())
    }
}

/// Returns the memory timing of the simulation.
fn with_latencies(memory: ClockParams, options: &CosimOptions) -> Result<ClockParams, TargetError> {
    let read_latency = options.latency.unwrap_or(memory.read_latency); // Default: the board's.
    let own = options.latency.unwrap_or(memory.write_response_latency); // Default: the board's.
    let write_response_latency = options.response_latency.unwrap_or(own); // Default: as for reads.
    for (key, latency) in [("latency", read_latency), ("response-latency", write_response_latency)] {
        if !(1..=MAX_LATENCY).contains(&latency) {
            let reason = format!("must be 1 to {MAX_LATENCY} cycles for memory on a bus");
            return Err(TargetError::option(key, &latency.to_string(), reason));
        }
    }
    let crosses_by_a_beat = options.defects == Defects::Released;
    Ok(ClockParams { read_latency, write_response_latency, crosses_by_a_beat, ..memory })
}

/// Maximum latency of simulated memory, in cycles.
const MAX_LATENCY: u64 = 65_535;

fn moves_window(op: &Op) -> bool {
    let offsets = [Register::Dram0Offset as u8, Register::Dram1Offset as u8];
    matches!(op, Op::Configure { register, .. } if offsets.contains(register))
}

/// Checks that the circuit has room for all lookup tables that are loaded.
fn fits_tables(program: &Program, ops: &[Op], before: usize) -> Result<(), CosimError> {
    let holds = table_vectors(&program.config);
    let too_large = ops.iter().enumerate().find_map(|(index, op)| match *op {
        Op::LoadLut { size, .. } if size > holds => Some((index.saturating_sub(before), size)),
        _ => None,
    });
    too_large.map_or(Ok(()), |(instruction, vectors)| Err(CosimError::Table { instruction, vectors, holds }))
}

fn refuse(timeline: &Timeline, ops: &[Op], before: usize, options: &CosimOptions) -> Result<(), CosimError> {
    let of_program = |index: usize| index.saturating_sub(before);
    if let Some(hang) = &timeline.hang {
        return Err(CosimError::Hangs { instruction: of_program(hang.instruction) });
    }
    if options.defects == Defects::Mended {
        return Ok(());
    }
    if let Some(moved) = timeline.moved.first() {
        return Err(CosimError::Moved { instruction: of_program(moved.configure) });
    }
    if options.stalls.is_some() && !hazards(ops).is_empty() { Err(CosimError::Stalled) } else { Ok(()) }
}

fn notes(before: Option<&str>, stalls: bool, loses: bool, moves: bool) -> Vec<String> {
    let stalled = "memory and streams wait at random: cycles are not compared";
    let waits = "the clock times the released circuit, which loses additions of this program: cycles are not compared";
    let moved = "vectors of DRAM are numbered from the start of their bank, independent of its window";
    let added = [(stalls, stalled), (loses, waits), (moves, moved)].into_iter();
    let added = added.filter(|(holds, _)| *holds).map(|(_, note)| note);
    before.into_iter().chain(added).map(str::to_owned).collect()
}

/// Returns files and arguments of the simulator.
fn simulation(
    program: &Program,
    ops: &[Op],
    held: [u64; 2],
    machine: &Machine,
    memory: ClockParams,
    options: &CosimOptions,
) -> Result<Run, TargetError> {
    let config = &program.config;
    let extents = touched(config, ops, held).map_err(TargetError::failed)?;
    let [dram0, dram1] = [(Memory::Dram0, extents[0]), (Memory::Dram1, extents[1])].map(|(bank, vectors)| {
        let raw = machine.bank(bank, vectors).map_err(TargetError::failed)?;
        Ok::<_, TargetError>(seen::bank_bytes(config.data_type, &raw))
    });
    let words = encode_program(config, ops).map_err(TargetError::failed)?;
    let mut run = Run {
        files: [("program.in", words), ("dram0.in", dram0?), ("dram1.in", dram1?)].into(),
        arguments: Vec::new(),
        outputs: seen::FILES.to_vec(),
    };
    for (name, value) in sizes(config, memory) {
        run.option(name, value);
    }
    run.option("dram0-vectors", config.dram0_depth.max(extents[0]));
    run.option("dram1-vectors", config.dram1_depth.max(extents[1]));
    run.option("dump-vectors", extents[0].max(extents[1]));
    run.option("dump-written", 1);
    for (name, file) in
        [("program", "program.in"), ("dram0", "dram0.in"), ("dram1", "dram1.in"), ("out", ".")]
    {
        run.option(name, file);
    }
    if let Some(seed) = options.stalls {
        // The simulator reads 0 as "no stalls", so seeds are passed increased by one.
        run.option("stalls", seed.saturating_add(1));
    }
    Ok(run)
}

fn sizes(config: &Config, memory: ClockParams) -> [(&'static str, u64); 15] {
    let (scalar_bits, _) = scalar(config.data_type);
    [
        ("instruction-bytes", config.layout().instruction_bytes() as u64),
        ("vector-bytes", config.vector_bits() / 8),
        ("scalar-bytes", seen::scalar_bytes(config)),
        ("scalar-bits", scalar_bits),
        ("axi-bytes", u64::from(memory.axi_bits) / 8),
        ("stream-bytes", stream_bits(config, memory.axi_bits) / 8),
        ("array-size", config.array_size as u64),
        ("registers", config.simd_registers_depth as u64),
        ("tables", tables(config)),
        ("table-vectors", if config.has_lookup() { table_vectors(config) } else { 0 }),
        ("local-vectors", config.local_depth),
        ("accumulator-vectors", config.accumulator_depth),
        ("latency", memory.read_latency),
        ("response-latency", memory.write_response_latency),
        ("sample-ready-percent", 100),
    ]
}

/// Returns the number of lookup tables of an instance, including the table of keys.
const fn tables(config: &Config) -> u64 {
    if config.has_lookup() { config.lookup_tables as u64 + 1 } else { 0 }
}
