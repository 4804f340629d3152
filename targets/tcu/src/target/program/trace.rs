//! [`TcuProgram::record_trace`]: activity of each unit over time, for a trace viewer.

use npukit_target::{TargetError, TimeOptions};
use npukit_trace::{
    Flow, Liveness, Measures, MemoryMap, MemoryUse, Moments, Recorder, Slice, Track, Wait, Work as Kind,
};

use super::TcuProgram;
use crate::clock::{Happening, Slice as Work, Timeline, Unit, Waiting};
use crate::isa::kind::kind;
use crate::isa::op::{Memory, Op, Place};
use crate::program::Program;

impl TcuProgram {
    /// Records the activity of each unit: one track per unit, with a slice for each instruction
    /// that the unit works for. The decoder works for all.
    ///
    /// Errors: illegal options; a program that hangs or is too long for the clock.
    pub(super) fn record_trace(
        &self,
        options: &TimeOptions,
        recorder: &mut Recorder<'_>,
    ) -> Result<u64, TargetError> {
        let settings = self.settings(options)?;
        let clock = self.clock(&settings).map_err(TargetError::failed)?;
        let beat_bytes = u64::from(settings.memory.axi_bits / 8);
        let mut tracks = Tracks::new(&self.program, beat_bytes, recorder);
        let timeline = clock.run_traced(&self.program.instructions, &mut |happening| tracks.show(happening));
        let timeline = self.complete(timeline).map_err(TargetError::failed)?;
        tracks.wait_at_ends(&timeline);
        Ok(timeline.total)
    }
}

impl TcuProgram {
    /// Returns the cycles in which the vectors of each memory are in use, as if the decoder
    /// processed instructions one after the other.
    pub(super) fn maps(&self, moments: &Moments) -> Vec<MemoryMap> {
        let Program { config, instructions, .. } = &self.program;
        let memories = [
            (Memory::Local, config.local_depth),
            (Memory::Accumulators, config.accumulator_depth),
            (Memory::Dram0, config.dram0_depth),
            (Memory::Dram1, config.dram1_depth),
        ];
        let map = |(memory, depth): (Memory, u64)| {
            Liveness::map(&memory.to_string(), "vectors", depth, moments, |lives| {
                tell(instructions, memory, lives)
            })
        };
        memories.into_iter().filter_map(map).collect()
    }
}

/// State of a trace that is being recorded.
struct Tracks<'a, 'b> {
    program: &'a Program,
    layer_of_each: Vec<usize>,
    recorder: &'a mut Recorder<'b>,
    /// Tracks in the order of [`Unit::ALL`]; `None` for the router, which has no slices.
    units: Vec<Option<Track>>,
    /// Levels of local memory and of the accumulators.
    memories: [Level; 2],
    /// For each instruction that is the first to use loaded vectors, the loads.
    users: std::collections::BTreeMap<usize, Vec<usize>>,
    vector_bytes: u64,
    beat_bytes: u64,
}

/// Number of live vectors of a memory.
struct Level {
    gauge: Option<Track>,
    found: MemoryUse,
}

impl<'a, 'b> Tracks<'a, 'b> {
    fn new(program: &'a Program, beat_bytes: u64, recorder: &'a mut Recorder<'b>) -> Self {
        let track =
            |unit: &Unit| (*unit != Unit::Router).then(|| recorder.unit(unit.name(), measures(*unit)));
        let units = Unit::ALL.iter().map(track).collect();
        let config = &program.config;
        let memories = [
            ("live vectors of local memory", Memory::Local, config.local_depth),
            ("live vectors of the accumulators", Memory::Accumulators, config.accumulator_depth),
        ];
        let memories = memories.map(|(name, memory, depth)| {
            let found = lives(&program.instructions, memory, depth);
            let gauge = found.is_some().then(|| recorder.gauge(name, "vectors"));
            Level { gauge, found: found.unwrap_or_default() } // Default: a memory that is too large is not analyzed.
        });
        let mut users = std::collections::BTreeMap::<usize, Vec<usize>>::new();
        for (&load, &user) in &memories[0].found.uses {
            users.entry(user).or_default().push(load);
        }
        let vector_bytes = config.array_size as u64 * config.data_type.size_bytes() as u64;
        let layer_of_each = program.layer_of_each();
        Self { program, layer_of_each, recorder, units, memories, users, vector_bytes, beat_bytes }
    }

    fn show(&mut self, happening: Happening) {
        match happening {
            Happening::Work(work, busy) => self.work(work, busy),
            Happening::Wait(wait) => self.wait(wait),
        }
    }

    fn work(&mut self, work: Work, busy: u64) {
        let Work { instruction, unit, start, end } = work;
        let (layer, cycles) = (self.layer(instruction), end + 1 - start);
        if unit == Unit::Decoder {
            self.decode(instruction, start, cycles);
        }
        let Some(track) = self.track(unit) else { return };
        let op = self.program.instructions.get(instruction);
        let name = op.map_or("", kind);
        let flows = self.flows(instruction, unit);
        let bytes = busy * self.bytes(unit);
        let (details, flows, instruction): (&[_], _, _) = (&[], &flows[..], Some(instruction));
        let work = op.and_then(|op| kind_of_work(unit, op));
        let slice = Slice { name, start, cycles, busy, bytes, layer, instruction, details, flows, work };
        self.recorder.slice(track, &slice);
    }

    /// Records that the decoder holds an instruction: its layer begins or continues.
    fn decode(&mut self, instruction: usize, start: u64, cycles: u64) {
        let layer = self.layer(instruction);
        if let Some(layer) = layer {
            self.recorder.layer(layer, start, cycles);
        }
        for Level { gauge, found } in &self.memories {
            if let (Some(gauge), Some(&live)) = (gauge, found.live.get(instruction)) {
                self.recorder.level(*gauge, start, live, layer);
            }
        }
    }

    fn wait(&mut self, wait: Waiting) {
        let Waiting { instruction, unit, on, start, end, cycles: waited } = wait;
        let Some(track) = self.track(unit) else { return };
        let (layer, instruction) = (self.layer(instruction), Some(instruction));
        self.recorder.wait(track, &Wait { on, start, cycles: end - start, waited, layer, instruction });
    }

    /// Records the decoder's waits for the first instruction and after the last one.
    fn wait_at_ends(&mut self, timeline: &Timeline) {
        let last = self.program.instructions.len().saturating_sub(1);
        let ends = [
            (0, "the first instruction", 0, timeline.starting()),
            (
                last,
                "the end: units finish their work",
                timeline.total - timeline.finishing(),
                timeline.finishing(),
            ),
        ];
        for (instruction, on, start, cycles) in ends.into_iter().filter(|(.., cycles)| *cycles > 0) {
            let (unit, end) = (Unit::Decoder, start + cycles);
            self.wait(Waiting { instruction, unit, on, start, end, cycles });
        }
    }

    fn track(&self, unit: Unit) -> Option<Track> {
        self.units.get(unit as usize).copied().flatten()
    }

    /// Returns the index of an instruction's layer; `None` if layers are unknown.
    fn layer(&self, instruction: usize) -> Option<usize> {
        let place = self.layer_of_each.get(instruction).copied();
        place.filter(|_| !self.program.layers.is_empty())
    }

    /// Returns the bytes that a unit moves per working cycle.
    const fn bytes(&self, unit: Unit) -> u64 {
        match unit {
            Unit::LocalA | Unit::LocalB => self.vector_bytes,
            Unit::Dram0Read | Unit::Dram0Write | Unit::Dram1Read | Unit::Dram1Write => self.beat_bytes,
            Unit::Decoder | Unit::Router | Unit::Array | Unit::Accumulator | Unit::Alu => 0,
        }
    }

    /// Returns arrows from loads through port B to the first reads of the vectors, if both are
    /// shown.
    fn flows(&self, instruction: usize, unit: Unit) -> Vec<Flow> {
        if !matches!(unit, Unit::LocalA | Unit::LocalB) {
            return Vec::new();
        }
        let shown = |other: usize| self.recorder.shows(self.layer(other));
        let user = (unit == Unit::LocalB).then(|| self.memories[0].found.uses.get(&instruction)).flatten();
        let loads = self.users.get(&instruction).into_iter().flatten();
        let from = user.filter(|user| shown(**user)).map(|_| Flow::From(instruction as u64));
        from.into_iter()
            .chain(loads.filter(|load| shown(**load)).map(|load| Flow::To(*load as u64)))
            .collect()
    }
}

/// Returns the kind of a unit's work for an instruction.
const fn kind_of_work(unit: Unit, op: &Op) -> Option<Kind> {
    match (unit, op) {
        (Unit::Decoder | Unit::Router, _) => None,
        (Unit::Array, Op::LoadWeights { .. }) => Some(Kind::Weights),
        (Unit::Array, _) => Some(Kind::Compute),
        (Unit::Alu, _) => Some(Kind::Alus),
        (Unit::Dram0Read | Unit::Dram0Write | Unit::Dram1Read | Unit::Dram1Write, _) => Some(Kind::Dram),
        (Unit::LocalA | Unit::LocalB | Unit::Accumulator, _) => Some(Kind::Moves),
    }
}

/// Returns the counters that belong to a unit.
const fn measures(unit: Unit) -> Measures {
    match unit {
        Unit::Decoder | Unit::Router => Measures { utilization: false, bytes: false },
        Unit::Array | Unit::Accumulator | Unit::Alu => Measures { utilization: true, bytes: false },
        Unit::LocalA
        | Unit::LocalB
        | Unit::Dram0Read
        | Unit::Dram0Write
        | Unit::Dram1Read
        | Unit::Dram1Write => Measures { utilization: false, bytes: true },
    }
}

/// Returns the live ranges of the vectors of a memory, and the first users of vectors loaded from
/// DRAM; `None` for a memory with too many vectors.
fn lives(ops: &[Op], memory: Memory, depth: u64) -> Option<MemoryUse> {
    let mut lives = Liveness::new(depth)?;
    tell(ops, memory, &mut lives);
    Some(lives.finish(ops.len()))
}

/// Records reads and writes of a memory in instruction order.
fn tell(ops: &[Op], memory: Memory, lives: &mut Liveness<'_>) {
    for (index, flow) in ops.iter().map(Op::flow).enumerate() {
        let here = |place: &Place| place.memory == memory;
        for Place { run, .. } in flow.reads().filter(here) {
            lives.read(index, (0..flow.size).map(|i| run.wrapping_at(i)));
        }
        if let Some(run) = flow.written(memory) {
            let is_load = flow.source.is_some_and(|place| place.memory.bank().is_some());
            lives.write(index, (0..flow.size).map(|i| run.wrapping_at(i)), is_load);
        }
    }
}
