//! [`Written`]: a program that a person wrote, in assembly or in words, and the machine that it runs on.

pub(super) mod parts;

use npukit_target::{
    Bench, BenchMemory, BenchOptions, Compiled, Halt, HandProgram, Limits, ProgramText, Ran, Remark, Session,
    Stopped, TargetError, Unset, step_through,
};

use super::program::{Made, OpuProgram};
use super::session::{Debugged, OpuSession};
use crate::clock::Clock;
use crate::codec::{WORD_BYTES, decode};
use crate::config::Config;
use crate::fault::FaultKind;
use crate::layout::MEMORY_BYTES;
use crate::machine::{Loaded, Machine};
use crate::op::Op;
use crate::program::Program;
use parts::Part;

/// A program without tensors.
pub(super) struct Written {
    name: String,
    instance: String,
    config: Config,
    words: Vec<u32>,
    text: ProgramText,
}

impl Written {
    pub fn new(
        name: String,
        (instance, config): (&str, &Config),
        words: Vec<u32>,
        text: ProgramText,
    ) -> Self {
        Self { name, instance: instance.to_owned(), config: config.clone(), words, text }
    }

    /// Where its words lie: where programs are loaded when nothing else is said, or as high as a longer one can.
    fn address(&self) -> u32 {
        let bytes = (self.words.len() * WORD_BYTES) as u64;
        let highest = MEMORY_BYTES.saturating_sub(bytes) / u64::from(Program::ALIGNMENT);
        highest.saturating_mul(Program::ALIGNMENT.into()).min(Program::ADDRESS.into()) as u32
    }

    /// The instructions up to the first `end`.
    ///
    /// Errors: a word that is no instruction, with its line.
    fn instructions(&self) -> Result<Vec<Op>, TargetError> {
        let mut ops = Vec::new();
        for (index, &word) in self.words.iter().enumerate() {
            let op = decode(word, self.config.validity).map_err(|fault| {
                self.text.stopped(Stopped { instruction: Some(index), error: faulty(&fault) })
            })?;
            ops.push(op);
            if op == Op::End {
                break;
            }
        }
        Ok(ops)
    }
}

impl HandProgram for Written {
    fn text(&self) -> &ProgramText {
        &self.text
    }

    /// Document and released simulator mean the same by every instruction: the options' meaning plays no part.
    fn bench(&self, options: &BenchOptions) -> Result<Box<dyn Bench>, TargetError> {
        let mut machine =
            Machine::with_memory(self.config.types, Unset::Poison).with_validity(self.config.validity);
        let loaded = machine.load(self.address().into(), &self.words).map_err(TargetError::failed)?;
        let parts = Part::all();
        let is_strict = options.unset == Unset::Poison;
        let (name, target) = (self.name.clone(), format!("opu:{}", self.instance));
        let config = self.config.clone();
        Ok(Box::new(OnBench { name, target, machine, loaded, parts, config, is_strict }))
    }

    fn compiled(&self) -> Result<Box<dyn Compiled>, TargetError> {
        let (name, instance, config) = (self.name.clone(), self.instance.clone(), self.config.clone());
        let program =
            Program { address: self.address(), ..Program::of(name, instance, config, self.instructions()?) };
        Ok(Box::new(OpuProgram { program, made: Made::ByHand }))
    }
}

struct OnBench {
    name: String,
    target: String,
    machine: Machine,
    loaded: Loaded,
    parts: Vec<Part>,
    config: Config,
    /// Whether it stops at memory that nobody has written.
    is_strict: bool,
}

impl Bench for OnBench {
    fn memories(&self) -> Vec<BenchMemory> {
        self.parts.iter().map(|part| part.memory(&self.config.types)).collect()
    }

    fn write(&mut self, memory: usize, address: u64, numbers: &[i64]) -> Result<(), TargetError> {
        let part = self.parts[memory];
        match part {
            Part::Buffer(_) => Err(part.not_writable()),
            _ => part.write((&mut self.machine, &self.loaded), address, numbers),
        }
    }

    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
        self.parts[memory].read(&self.machine, address, count)
    }

    fn number(&self, memory: usize, real: f64) -> Option<i64> {
        self.parts[memory].number(&self.config.types, real)
    }

    fn real(&self, memory: usize, number: i64) -> Option<f64> {
        self.parts[memory].real(&self.config.types, number)
    }

    fn run(&mut self, limits: Limits) -> Result<Ran, Stopped> {
        let mut meter = limits.cycles.map(|limit| Meter { clock: Clock::new(&self.config), limit });
        let words = self.loaded.words();
        let Self { machine, loaded, is_strict, config, .. } = self;
        let (mut begun, mut saturated) = (None, Saturated::default());
        // Behind the last word stands what stops a program without `end`.
        let ran = step_through(words + 1, limits, |index| {
            let op = loaded.fetch(index).map_err(|fault| Halt::Fault(faulty(&fault)))?;
            // An instruction that is executed again has begun before.
            if let Some(meter) = meter.as_mut().filter(|_| begun.replace(index) != Some(index)) {
                meter.begin(index, &op)?;
            }
            attempt((machine, loaded), index, config, *is_strict)?;
            saturated.after(index, machine.saturated());
            Ok(())
        });
        let mut ran = ran.map_err(|stopped| Stopped {
            // What is not there stands behind the last instruction there is.
            instruction: stopped
                .instruction
                .map(|index| index.min(words.saturating_sub(1)))
                .filter(|_| words > 0),
            ..stopped
        })?;
        ran.remarks.extend(saturated.remark(config));
        Ok(ran)
    }

    fn session(self: Box<Self>) -> Result<Box<dyn Session>, TargetError> {
        let Self { name, target, machine, loaded, config, is_strict, .. } = *self;
        let mut ops = Vec::new();
        for index in 0..loaded.words() {
            let op = loaded.fetch(index).map_err(|fault| faulty(&fault))?;
            ops.push(op);
            if op == Op::End {
                break;
            }
        }
        let program = Debugged::new((name, target), &config, ops);
        Ok(Box::new(OpuSession::new(program, machine, loaded, is_strict)))
    }
}

/// Executes the word at an index as it is in memory now. Where it reads what nobody has written, that is marked as written
/// unless it `is_strict`.
pub(super) fn attempt(
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
            Err(Halt::Unwritten(format!("{fault}, which is {place}; it reads as 0")))
        }
        Err(fault) => Err(Halt::Fault(faulty(&fault))),
    }
}

/// Counts cycles as `npu time` does, up to a limit.
struct Meter {
    clock: Clock,
    limit: u64,
}

impl Meter {
    /// Counts an instruction. Errors: it ends behind the last cycle that is allowed.
    fn begin(&mut self, index: usize, op: &Op) -> Result<(), Halt> {
        // Where a register is undefined the machine stops by itself, and says so.
        let _ = self.clock.push(op, &mut |_| ());
        if self.clock.clone().finish(&mut |_| ()).cycles > self.limit {
            return Err(Halt::Fault(Stopped::limit(index, self.limit, "cycles").error));
        }
        Ok(())
    }
}

fn faulty(fault: &FaultKind) -> TargetError {
    TargetError::failed(format!("{fault}; {}", fault.hint()))
}

/// Stored values that were too large.
#[derive(Default)]
struct Saturated {
    /// Of the first instruction that had some: its index, and how many.
    first: Option<(usize, u64)>,
    total: u64,
}

impl Saturated {
    fn after(&mut self, index: usize, total: u64) {
        if total > self.total && self.first.is_none() {
            self.first = Some((index, total));
        }
        self.total = total;
    }

    fn remark(&self, config: &Config) -> Option<Remark> {
        let (index, count) = self.first?;
        let (otype, itype, all) = (config.types.otype, config.types.itype, self.total);
        let message = format!(
            "{count} of the values it stores are of partial sums at an end of {otype}, or beyond what {itype} holds; \
             {all} in the whole run"
        );
        Some(Remark { instruction: Some(index), message })
    }
}
