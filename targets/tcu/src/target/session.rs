//! [`TcuSession`]: the machine under a debugger, an instruction a step.

mod accesses;

use std::sync::Arc;

use npukit_asm::ListingLine;
use npukit_target::{
    Accessed, Moment, Operand, Outline, Scalar, Session, Shown, TargetError, View, execute,
    instruction_lines, real_of, step_float,
};

use super::hand::{attempt, put};
use crate::clock::{Clock, ClockParams, Happening, Waiting};
use crate::codec::encode_program;
use crate::config::Config;
use crate::fault::Memory;
use crate::hazard::{Losing, LostWrite};
use crate::isa::isa;
use crate::machine::{Machine, Part};
use crate::op::Op;
use crate::timing::estimate;

/// A program that is debugged: what does not change.
pub(super) struct Debugged {
    pub outline: Outline,
    config: Config,
    ops: Vec<Op>,
    parts: Vec<Part>,
    /// The memory of the board, for its clock.
    memory: ClockParams,
}

impl Debugged {
    /// A program without layers and tensors, by its name and its target's.
    pub fn new(names: (String, String), config: &Config, ops: Vec<Op>, memory: ClockParams) -> Self {
        let parts = Part::all(config);
        let memories = parts.iter().map(|part| part.memory(config)).collect();
        Self { outline: Outline::new(names, memories), config: config.clone(), ops, parts, memory }
    }

    /// Where a part stands among the memories.
    fn place(&self, part: Part) -> Option<usize> {
        self.parts.iter().position(|&other| other == part)
    }
}

/// Where a memory stands among those of a session: [`Part::all`] begins with them.
pub(super) const fn place_of(memory: Memory) -> usize {
    match memory {
        Memory::Dram0 => 0,
        Memory::Dram1 => 1,
        Memory::Local => 2,
        Memory::Accumulators => 3,
    }
}

/// A program on its machine, between two instructions.
#[derive(Clone)]
pub(super) struct TcuSession {
    program: Arc<Debugged>,
    machine: Machine,
    /// The same in float, and what its numbers are.
    float: Option<(Machine, &'static str)>,
    losing: Losing<Arc<[LostWrite]>>,
    position: usize,
    /// Whether it stops at what nobody has written.
    is_strict: bool,
}

impl TcuSession {
    /// `machine` before the first instruction; it loses the writes `lost`.
    pub fn new(program: Debugged, machine: Machine, lost: Vec<LostWrite>, is_strict: bool) -> Self {
        let losing = Losing::new(lost.into());
        Self { program: Arc::new(program), machine, float: None, losing, position: 0, is_strict }
    }

    /// The same with the machine in float beside it.
    pub fn beside(self, float: Machine, are: &'static str) -> Self {
        Self { float: Some((float, are)), ..self }
    }
}

impl Session for TcuSession {
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
        let Some(op) = self.program.ops.get(self.position) else { return Ok(Vec::new()) };
        let before = self.losing.clone();
        self.losing.before(&mut self.machine, self.position);
        let executed = match execute(|| attempt(&mut self.machine, op, self.is_strict)) {
            Ok(executed) => executed,
            Err(error) => {
                self.losing = before;
                return Err(error);
            }
        };
        let mut remarks: Vec<String> = executed.remark.into_iter().collect();
        // What the numbers cannot do the floats cannot, either: what is wrong with an instruction depends on no value.
        remarks.extend(step_float(&mut self.float, |(float, _)| float.step(op).map(drop)));
        self.position += 1;
        Ok(remarks)
    }

    fn fork(&self) -> Box<dyn Session> {
        Box::new(self.clone())
    }

    fn views(&self) -> Vec<View> {
        let shown = |(place, part): (usize, &Part)| {
            let (view, about) = part.view();
            (view.to_owned(), Shown::new(place, about))
        };
        View::grouped(self.program.parts.iter().enumerate().map(shown))
    }

    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
        self.machine.numbers(self.program.parts[memory], address, count).map_err(TargetError::failed)
    }

    fn write(&mut self, memory: usize, address: u64, numbers: &[i64]) -> Result<(), TargetError> {
        put(&mut self.machine, self.program.parts[memory], address, numbers)
    }

    fn real(&self, memory: usize, number: i64) -> Option<f64> {
        let format = self.program.config.data_type.format();
        self.program.parts[memory].has_reals().then(|| real_of(format, number))
    }

    fn floats(&self, memory: usize, address: u64, count: u64) -> Option<Vec<f64>> {
        let (part, (float, _)) = (self.program.parts[memory], self.float.as_ref()?);
        let numbers = float.numbers(part, address, count).ok().filter(|_| part.has_reals())?;
        let format = float.config().data_type.format();
        Some(numbers.into_iter().map(|number| real_of(format, number)).collect())
    }

    fn floats_are(&self) -> Option<&'static str> {
        Some(self.float.as_ref()?.1)
    }

    fn accesses(&self, step: usize) -> Vec<Accessed> {
        self.program.accesses(step)
    }

    fn operands(&self, step: usize, scalar: Scalar) -> Vec<Operand> {
        self.program.operands(step, scalar)
    }

    fn listing(&self) -> Result<Vec<ListingLine>, TargetError> {
        let Debugged { config, ops, .. } = &*self.program;
        let bytes = encode_program(config, ops).map_err(TargetError::failed)?;
        let lines = npukit_asm::disassemble(&isa(config), &bytes).listing();
        Ok(instruction_lines(lines))
    }

    fn saturations(&self) -> u64 {
        self.machine.saturations().count()
    }

    fn moments(&self) -> Result<Vec<Moment>, TargetError> {
        let Debugged { config, ops, memory, .. } = &*self.program;
        let cycles = estimate(config, ops).cycles;
        if cycles > MAX_CYCLES {
            let told =
                format!("the program takes {cycles} cycles, and the clock looks at {MAX_CYCLES} at most");
            return Err(TargetError::failed(told));
        }
        let clock = Clock::new(config, *memory).map_err(TargetError::failed)?;
        let mut waits: Vec<Vec<(String, String, u64)>> = vec![Vec::new(); ops.len()];
        let timeline = clock.run_traced(ops, &mut |happening| {
            let Happening::Wait(Waiting { instruction, unit, on, cycles, .. }) = happening else { return };
            if let Some(waits) = waits.get_mut(instruction) {
                waits.push((unit.name().to_owned(), on.to_owned(), cycles));
            }
        });
        let mut start = 0;
        let moments = timeline.accept.iter().zip(waits).map(|(accept, waits)| {
            let begins = std::mem::replace(&mut start, accept + 1);
            Moment { start: begins, end: accept + 1, waits }
        });
        Ok(moments.collect())
    }
}

/// The longest program the clock is asked about, in the estimator's cycles.
const MAX_CYCLES: u64 = 1 << 28;
