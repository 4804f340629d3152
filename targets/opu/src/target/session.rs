//! [`OpuSession`]: the machine under a debugger, a word a step.

mod floats;
mod operands;

use std::sync::Arc;

use npukit_asm::{ListingLine, Words};
use npukit_target::{
    Accessed, AddressRun, Moment, Operand, Outline, Scalar, Session, Shown, TargetError, View, execute,
    instruction_lines, step_float,
};

pub(super) use floats::Beside;

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
    pub outline: Outline,
    pub config: Config,
    pub ops: Vec<Op>,
    /// By instruction, with the registers of its moment; none where they are undefined.
    effects: Vec<Effects>,
    /// By instruction, the registers of its moment.
    registers: Vec<Registers>,
    parts: Vec<Part>,
}

impl Debugged {
    /// A program without layers and tensors, by its name and its target's: its instructions up to `end`.
    pub fn new(names: (String, String), config: &Config, ops: Vec<Op>) -> Self {
        let parts = Part::all();
        let memories = parts.iter().map(|part| part.memory(&config.types)).collect();
        let mut now = Registers::default();
        let (effects, registers) = ops
            .iter()
            .map(|op| {
                now.set(op);
                // Default: an instruction with an undefined register stops the machine, and uses nothing.
                (op.effects(&now, &config.types, config.validity).unwrap_or(Effects::NONE), now)
            })
            .unzip();
        Self {
            outline: Outline::new(names, memories),
            config: config.clone(),
            ops,
            effects,
            registers,
            parts,
        }
    }

    fn place(&self, part: Part) -> Option<usize> {
        self.parts.iter().position(|&other| other == part)
    }

    /// All of a part.
    fn whole(&self, part: Part) -> Option<AddressRun> {
        let memory = self.place(part)?;
        Some(AddressRun::dense(memory, 0, self.outline.memories[memory].depth))
    }

    /// Bytes of memory, as all parts see them that lie there.
    pub fn views(&self, first: u64, end: u64) -> impl Iterator<Item = AddressRun> {
        let types = &self.config.types;
        let views = self.parts.iter().enumerate().filter_map(move |(memory, part)| {
            let (start, size) = part.bytes(types)?;
            let (from, to) = (first.max(start), end.min(start + size * self.outline.memories[memory].depth));
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
}

/// A program on its machine, between two words.
#[derive(Clone)]
pub(super) struct OpuSession {
    program: Arc<Debugged>,
    machine: Machine,
    loaded: Loaded,
    float: Option<Beside>,
    position: usize,
    /// Whether it stops at memory that nobody has written.
    is_strict: bool,
}

impl OpuSession {
    /// `machine` before the first word of what is `loaded`.
    pub fn new(program: Debugged, machine: Machine, loaded: Loaded, is_strict: bool) -> Self {
        Self { program: Arc::new(program), machine, loaded, float: None, position: 0, is_strict }
    }

    /// The same with the machine in float beside it.
    pub fn beside(self, float: Beside) -> Self {
        Self { float: Some(float), ..self }
    }
}

impl Session for OpuSession {
    fn outline(&self) -> &Outline {
        &self.program.outline
    }

    fn steps(&self) -> usize {
        self.program.ops.len()
    }

    fn position(&self) -> usize {
        self.position
    }

    fn step(&mut self) -> Result<Vec<String>, TargetError> {
        let Debugged { config, ops, effects, .. } = &*self.program;
        let Some((op, effects)) = ops.get(self.position).zip(effects.get(self.position)) else {
            return Ok(Vec::new());
        };
        let step = || attempt((&mut self.machine, &mut self.loaded), self.position, config, self.is_strict);
        let executed = execute(step)?;
        let mut remarks: Vec<String> = executed.remark.into_iter().collect();
        remarks.extend(step_float(&mut self.float, |float| float.step(op, effects, config)));
        self.position += 1;
        Ok(remarks)
    }

    fn fork(&self) -> Box<dyn Session> {
        Box::new(self.clone())
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

    fn floats(&self, memory: usize, address: u64, count: u64) -> Option<Vec<f64>> {
        let part = self.program.parts[memory];
        self.float.as_ref()?.numbers(part, &self.program.config.types, address, count)
    }

    fn floats_are(&self) -> Option<&'static str> {
        Some(self.float.as_ref()?.are)
    }

    fn accesses(&self, step: usize) -> Vec<Accessed> {
        self.program.accesses(step)
    }

    fn write(&mut self, memory: usize, address: u64, numbers: &[i64]) -> Result<(), TargetError> {
        self.program.parts[memory].write((&mut self.machine, &self.loaded), address, numbers)
    }

    fn operands(&self, step: usize, scalar: Scalar) -> Vec<Operand> {
        self.program.operands(step, scalar)
    }

    fn listing(&self) -> Result<Vec<ListingLine>, TargetError> {
        let validity = self.program.config.validity;
        let bytes = encode_program(&self.program.ops, validity).map_err(TargetError::failed)?;
        let lines = npukit_asm::disassemble_as(&isa(validity), &bytes, None, Words::Value).listing();
        Ok(instruction_lines(lines))
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
