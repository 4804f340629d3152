//! [`OpuMachine`]: a program on its machine, executed one word per step.

mod floats;
mod operands;
pub(super) mod parts;

use std::sync::Arc;

use npukit_asm::{ListingLine, Words};
use npukit_target::{
    Accessed, AddressRun, Floats, Halt, Limits, Moment, Operand, Outline, RunOutcome, Saturated, Scalar,
    Shown, Stopped, TargetError, View, execute, instruction_lines, run_steps, step_float,
};

pub(super) use floats::FloatShadow;

use crate::clock::Clock;
use crate::config::{Config, Types};
use crate::isa::codec::encode_program;
use crate::isa::fault::FaultKind;
use crate::isa::isa;
use crate::isa::op::{Direction, Effects, Op, Registers};
use crate::machine::{Loaded, Machine};
use parts::Part;

/// Bytes and elements per displayed row.
const COLUMNS: usize = 16;

/// Constant data of a program that is stepped.
pub(super) struct Stepped {
    pub outline: Outline,
    pub config: Config,
    pub ops: Vec<Op>,
    /// Effects of each instruction, with its current registers; [`Effects::NONE`] if a register is
    /// undefined.
    effects: Vec<Effects>,
    /// Registers before each instruction.
    registers: Vec<Registers>,
    parts: Vec<Part>,
}

impl Stepped {
    /// Prepares a program without layers and tensors, with its name and its target's: its
    /// instructions up to `end`, or up to an invalid word.
    pub fn new(names: (String, String), config: &Config, ops: Vec<Op>) -> Self {
        let parts = Part::all();
        let memories = parts.iter().map(|part| part.memory(&config.types)).collect();
        let mut now = Registers::default();
        let (effects, registers) = ops
            .iter()
            .map(|op| {
                now.set(op);
                // Default: an instruction with an undefined register stops the machine and has no
                // effects.
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

    /// Returns all addresses of a part.
    fn whole(&self, part: Part) -> Option<AddressRun> {
        let memory = self.place(part)?;
        Some(AddressRun::dense(memory, 0, self.outline.memories[memory].depth))
    }

    /// Returns the bytes `first..end` of memory, as seen by all parts that contain them.
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

/// Program on its machine, between two words.
#[derive(Clone)]
pub(super) struct OpuMachine {
    program: Arc<Stepped>,
    machine: Machine,
    loaded: Loaded,
    float: Option<FloatShadow>,
    position: usize,
    /// Whether the machine stops at a read of unwritten memory.
    is_strict: bool,
    /// Whether the words are fetched from memory, which the program may overwrite: up to an `end`,
    /// or past the last word.
    is_followed: bool,
    has_ended: bool,
}

impl OpuMachine {
    /// Creates a machine before the first word of the `loaded` program.
    pub fn new(program: Stepped, machine: Machine, loaded: Loaded, is_strict: bool) -> Self {
        Self {
            program: Arc::new(program),
            machine,
            loaded,
            float: None,
            position: 0,
            is_strict,
            is_followed: false,
            has_ended: false,
        }
    }

    /// Adds the float reference that runs in parallel.
    pub fn beside(self, float: FloatShadow) -> Self {
        Self { float: Some(float), ..self }
    }
}

impl npukit_target::Machine for OpuMachine {
    fn outline(&self) -> &Outline {
        &self.program.outline
    }

    fn steps(&self) -> usize {
        let ops = &self.program.ops;
        let is_cut = ops.last() != Some(&Op::End) && ops.len() < self.loaded.words();
        match (self.has_ended, self.is_followed) {
            (true, true) => self.position,
            // If the program has no `end`, the step after its last word is a fault.
            (false, true) => self.loaded.words() + 1,
            // The machine stops at the first word that is not an instruction.
            (_, false) => ops.len() + usize::from(is_cut),
        }
    }

    fn position(&self) -> usize {
        self.position
    }

    fn step(&mut self) -> Result<Vec<String>, TargetError> {
        if self.position >= self.steps() {
            return Ok(Vec::new());
        }
        let Stepped { config, ops, effects, .. } = &*self.program;
        let step = || attempt((&mut self.machine, &mut self.loaded), self.position, config, self.is_strict);
        let executed = execute(step)?;
        let mut remarks: Vec<String> = executed.remark.into_iter().collect();
        if let Some((op, effects)) = ops.get(self.position).zip(effects.get(self.position)) {
            remarks.extend(step_float(&mut self.float, |float| float.step(op, effects, config)));
        }
        self.has_ended = executed.ends;
        self.position += 1;
        Ok(remarks)
    }

    fn run(&mut self, limits: Limits) -> Result<RunOutcome, Stopped> {
        self.is_followed = true;
        let mut meter = limits.cycles.map(|limit| Meter { clock: Clock::new(&self.program.config), limit });
        let words = self.loaded.words();
        let ran = run_steps(self, limits, |machine, index| {
            let op = machine.loaded.fetch(index).map_err(|fault| faulty(&fault))?;
            meter.as_mut().map_or(Ok(()), |meter| meter.begin(index, &op))
        });
        let (mut ran, saturated) = ran.map_err(|stopped| Stopped {
            // A fault after the last word is attributed to the last instruction.
            instruction: stopped
                .instruction
                .map(|index| index.min(words.saturating_sub(1)))
                .filter(|_| words > 0),
            ..stopped
        })?;
        let Types { otype, itype, .. } = self.program.config.types;
        ran.remarks.extend(saturated.map(|all| {
            let Saturated { count, total, .. } = all;
            all.remark(format!(
                "{count} of the values it stores are of partial sums at an end of {otype}, or beyond what {itype} holds; \
                 {total} in the whole run"
            ))
        }));
        Ok(ran)
    }

    fn fork(&self) -> Box<dyn npukit_target::Machine> {
        Box::new(self.clone())
    }

    fn views(&self) -> Vec<View> {
        let shown = |(place, part): (usize, &Part)| {
            let (view, about) = part.view();
            (view.to_owned(), Shown::new(place, about).with_columns(COLUMNS))
        };
        let mut views = View::grouped(self.program.parts.iter().enumerate().map(shown));
        // The byte view comes last because the bank views are more informative.
        views.rotate_left(1);
        views
    }

    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
        self.program.parts[memory].read(&self.machine, address, count)
    }

    fn real(&self, memory: usize, number: i64) -> Option<f64> {
        self.program.parts[memory].real(&self.program.config.types, number)
    }

    fn floats(&self, memory: usize, address: u64, count: u64) -> Option<Floats> {
        let (part, float) = (self.program.parts[memory], self.float.as_ref()?);
        let values = float.numbers(part, &self.program.config.types, address, count)?;
        Some(Floats { values, are: float.are })
    }

    fn accesses(&self, step: usize) -> Vec<Accessed> {
        self.program.accesses(step)
    }

    fn write(&mut self, memory: usize, address: u64, numbers: &[i64]) -> Result<(), TargetError> {
        match self.program.parts[memory] {
            // The buffers are empty before the first step, so they cannot be written.
            part @ Part::Buffer(_) if self.position == 0 => Err(part.not_writable()),
            part => part.write((&mut self.machine, &self.loaded), address, numbers),
        }
    }

    fn number(&self, memory: usize, real: f64) -> Option<i64> {
        self.program.parts[memory].number(&self.program.config.types, real)
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
        // Default: an instruction without engine work takes no time.
        Ok(moments.into_iter().map(Option::unwrap_or_default).collect())
    }
}

/// Executes the word at an index as it is in memory now. If it reads unwritten memory, that memory
/// is marked as written, unless `is_strict`.
fn attempt(
    (machine, loaded): (&mut Machine, &mut Loaded),
    index: usize,
    config: &Config,
    is_strict: bool,
) -> Result<(), Halt> {
    let op = loaded.fetch(index).map_err(|fault| Halt::Fault(faulty(&fault)))?;
    if op == Op::End {
        return Err(Halt::End);
    }
    match machine.execute(loaded, &op) {
        Ok(()) => Ok(()),
        Err(fault @ FaultKind::Unwritten { buffer, address }) if !is_strict => {
            machine.settle(&op);
            let place = Part::named(buffer, &config.types, address);
            Err(Halt::Unwritten(format!("{fault}, which is {place}; it is read as 0")))
        }
        Err(fault) => Err(Halt::Fault(faulty(&fault))),
    }
}

/// Counts cycles like `npu time`, up to a limit.
struct Meter {
    clock: Clock,
    limit: u64,
}

impl Meter {
    /// Counts an instruction.
    ///
    /// Errors: the instruction ends after the last allowed cycle.
    fn begin(&mut self, index: usize, op: &Op) -> Result<(), TargetError> {
        // An undefined register stops the machine. The machine reports the fault, so the clock's
        // error is ignored.
        let _ = self.clock.push(op, &mut |_| ());
        if self.clock.clone().finish(&mut |_| ()).cycles > self.limit {
            return Err(Stopped::limit(index, self.limit, "cycles").error);
        }
        Ok(())
    }
}

pub(super) fn faulty(fault: &FaultKind) -> TargetError {
    TargetError::failed(format!("{fault}; {}", fault.hint()))
}
