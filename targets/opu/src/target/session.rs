//! [`OpuSession`]: the machine under a debugger, a word a step.

use std::sync::Arc;

use npukit_asm::{ListingLine, Words};
use npukit_target::{
    Accessed, AddressRun, BenchMemory, Moment, Operand, Placed, Scalar, Session, Shown, TargetError, View,
    execute,
};

use super::hand::attempt;
use super::hand::parts::Part;
use crate::clock::Clock;
use crate::codec::encode_program;
use crate::config::Config;
use crate::isa::isa;
use crate::machine::{Loaded, Machine};
use crate::op::{Direction, Effects, Op};
use crate::state::Registers;

/// Bytes and elements in a row.
const COLUMNS: usize = 16;

/// A program that is debugged: what does not change.
pub(super) struct Debugged {
    pub name: String,
    pub target: String,
    pub config: Config,
    pub ops: Vec<Op>,
    /// By instruction, with the registers of its moment; none where they are undefined.
    effects: Vec<Effects>,
    parts: Vec<Part>,
    memories: Vec<BenchMemory>,
    pub layers: Vec<String>,
    /// By instruction, the place of its layer; the number of layers for one of none.
    pub layer_of: Vec<usize>,
    pub placed: Vec<Placed>,
}

impl Debugged {
    /// A program without layers and tensors, by its name and its target's: its instructions up to `end`.
    pub fn new((name, target): (String, String), config: &Config, ops: Vec<Op>) -> Self {
        let parts = Part::all();
        let memories = parts.iter().map(|part| part.memory(&config.types)).collect();
        let mut registers = Registers::default();
        let effects = ops.iter().map(|op| {
            registers.set(op);
            // Default: an instruction with an undefined register stops the machine, and uses nothing.
            op.effects(&registers, &config.types).unwrap_or(Effects::NONE)
        });
        let effects = effects.collect();
        let (layers, layer_of, placed) = (Vec::new(), Vec::new(), Vec::new());
        Self { name, target, config: config.clone(), ops, effects, parts, memories, layers, layer_of, placed }
    }

    fn place(&self, part: Part) -> Option<usize> {
        self.parts.iter().position(|&other| other == part)
    }

    /// All of a part.
    fn whole(&self, part: Part) -> Option<AddressRun> {
        let memory = self.place(part)?;
        Some(AddressRun::dense(memory, 0, self.memories[memory].depth))
    }

    /// Bytes of memory, as all parts see them that lie there.
    pub fn views(&self, first: u64, end: u64) -> impl Iterator<Item = AddressRun> {
        let types = &self.config.types;
        let views = self.parts.iter().enumerate().filter_map(move |(memory, part)| {
            let (start, size) = part.bytes(types)?;
            let (from, to) = (first.max(start), end.min(start + size * self.memories[memory].depth));
            (from < to).then(|| {
                let address = (from - start) / size;
                AddressRun::dense(memory, address, (to - start).div_ceil(size) - address)
            })
        });
        views.collect::<Vec<_>>().into_iter()
    }

    fn accesses(&self, step: usize) -> Vec<Accessed> {
        let (Some(op), Some(effects)) = (self.ops.get(step), self.effects.get(step)) else {
            return Vec::new();
        };
        let is_write = effects.memory.direction == Direction::Write;
        let memory = effects.memory.runs().flat_map(|run| self.views(run.first, run.end));
        let mut all: Vec<Accessed> = memory.map(|run| Accessed { run, is_write }).collect();
        let buffers = |buffer| self.whole(Part::Buffer(buffer));
        all.extend(effects.reads.iter().filter_map(|&buffer| buffers(buffer)).map(Accessed::read));
        all.extend(effects.writes.and_then(buffers).map(Accessed::write));
        let registers = self.parts.iter().filter(|part| part.is_set_by(op.mnemonic()));
        all.extend(registers.filter_map(|&part| self.whole(part)).map(Accessed::write));
        all
    }

    /// What the step reads: of memory as it is meant there.
    fn operands(&self, step: usize) -> Vec<Operand> {
        let Some(effects) = self.effects.get(step) else { return Vec::new() };
        let mut all = Vec::new();
        if let (Direction::Read, Some(buffer)) = (effects.memory.direction, effects.writes) {
            for run in effects.memory.runs() {
                let seen = self.views(run.first, run.end).find(|run| self.parts[run.memory].is_for(buffer));
                all.extend(seen.map(|run| Operand { role: "loaded", run, lane: None }));
            }
        }
        let buffers =
            effects.reads.iter().filter_map(|&buffer| Some((buffer, self.whole(Part::Buffer(buffer))?)));
        all.extend(buffers.map(|(buffer, run)| Operand { role: buffer.name(), run, lane: None }));
        all
    }
}

/// A program on its machine, between two words.
#[derive(Clone)]
pub(super) struct OpuSession {
    program: Arc<Debugged>,
    machine: Machine,
    loaded: Loaded,
    position: usize,
    /// Whether it stops at memory that nobody has written.
    is_strict: bool,
}

impl OpuSession {
    /// `machine` before the first word of what is `loaded`.
    pub fn new(program: Debugged, machine: Machine, loaded: Loaded, is_strict: bool) -> Self {
        Self { program: Arc::new(program), machine, loaded, position: 0, is_strict }
    }
}

impl Session for OpuSession {
    fn name(&self) -> &str {
        &self.program.name
    }

    fn target(&self) -> &str {
        &self.program.target
    }

    fn steps(&self) -> usize {
        self.program.ops.len()
    }

    fn position(&self) -> usize {
        self.position
    }

    fn step(&mut self) -> Result<Vec<String>, TargetError> {
        if self.position >= self.steps() {
            return Ok(Vec::new());
        }
        let config = &self.program.config;
        let step = || attempt((&mut self.machine, &mut self.loaded), self.position, config, self.is_strict);
        let executed = execute(step)?;
        self.position += 1;
        Ok(executed.remark.into_iter().collect())
    }

    fn fork(&self) -> Box<dyn Session> {
        Box::new(self.clone())
    }

    fn memories(&self) -> &[BenchMemory] {
        &self.program.memories
    }

    fn views(&self) -> Vec<View> {
        let shown = |(place, part): (usize, &Part)| {
            let (view, about) = part.view();
            (view.to_owned(), Shown::new(place, about).with_columns(COLUMNS))
        };
        let mut views = View::grouped(self.program.parts.iter().enumerate().map(shown));
        // Bytes come last: what they are in a bank says more.
        views.rotate_left(1);
        views
    }

    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
        self.program.parts[memory].read(&self.machine, address, count)
    }

    fn real(&self, memory: usize, number: i64) -> Option<f64> {
        self.program.parts[memory].real(&self.program.config.types, number)
    }

    fn accesses(&self, step: usize) -> Vec<Accessed> {
        self.program.accesses(step)
    }

    fn operands(&self, step: usize, _scalar: Scalar) -> Vec<Operand> {
        self.program.operands(step)
    }

    fn listing(&self) -> Result<Vec<ListingLine>, TargetError> {
        let bytes = encode_program(&self.program.ops).map_err(TargetError::failed)?;
        let lines = npukit_asm::disassemble_as(&isa(), &bytes, None, Words::Value).listing();
        Ok(lines.into_iter().filter(|line| line.word.is_some()).collect())
    }

    fn layers(&self) -> &[String] {
        &self.program.layers
    }

    fn layer(&self, step: usize) -> Option<usize> {
        let place = self.program.layer_of.get(step).copied();
        place.filter(|&place| place < self.program.layers.len())
    }

    fn placed(&self) -> &[Placed] {
        &self.program.placed
    }

    fn saturations(&self) -> u64 {
        self.machine.saturated()
    }

    fn moments(&self) -> Result<Vec<Moment>, TargetError> {
        let mut clock = Clock::new(&self.program.config);
        let mut moments: Vec<Option<Moment>> = vec![None; self.steps()];
        let mut note = |slice: crate::clock::Slice| {
            let Some(place) = moments.get_mut(slice.instruction) else { return };
            let moment =
                place.get_or_insert(Moment { start: slice.start, end: slice.end, waits: Vec::new() });
            moment.start = moment.start.min(slice.start);
            moment.end = moment.end.max(slice.end);
            let wait =
                slice.wait.map(|(on, cycles)| (slice.engine.name().to_owned(), on.name().to_owned(), cycles));
            moment.waits.extend(wait);
        };
        for op in &self.program.ops {
            clock.push(op, &mut note).map_err(TargetError::failed)?;
        }
        clock.finish(&mut note);
        // Default: what no engine works on takes no time.
        Ok(moments.into_iter().map(Option::unwrap_or_default).collect())
    }
}
