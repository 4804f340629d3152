//! [`ModelMachine`]: a compiled model on its fabric, whose driver calls one kernel after the other.
//! A step is a cycle of a call, or the driver's work before a call: it takes results, moves
//! elements and fills the input buffer.

use std::sync::{Arc, OnceLock};

use npukit_asm::ListingLine;
use npukit_target::{
    Accessed, AddressRun, Floats, MachineMemory, Moment, Operand, Outline, Placed, PlacedKind, Scalar,
    StepLayers, TargetError, instruction_lines, read_operands, step_float,
};

use super::recorded::{Begin, Flow, Recorded, leaves};
use super::{Part, memory, parts};
use crate::config::fabric::Fabric;
use crate::config::revision::Revision;
use crate::isa::asm::{Listing, disassemble};
use crate::isa::op::DpuMode;
use crate::machine::exec::real::RealWord;
use crate::machine::exec::traced::{Record, Traced};
use crate::machine::exec::word::Word;
use crate::machine::{Machine, MemoryKind};
use crate::program::artifact::Model;
use crate::program::call::Call;
use crate::program::driver::{Driver, put};
use crate::program::executable::{CallError, Executable, ExecuteError, Ready};
use crate::program::gather::{Source, offset};
use crate::program::plan::{Step, Task, Value};

/// Maximum number of reported steps in which an instruction starts.
const MAX_STEPS: usize = 1 << 12;

/// Description of the float values.
const FLOATS: &str =
    "the same cycles computed in float, in units of the integers, with the program's 16-bit constants";

/// Call, in the order of the driver.
#[derive(Clone, Copy, Debug)]
struct Numbered {
    step: usize,
    task: usize,
    /// Index of the call in its task.
    place: usize,
    kernel: usize,
    /// Step of the machine in which the driver prepares the call.
    begins: usize,
    /// Cycles of all earlier calls.
    cycles: u64,
}

/// Recorded behavior of a kernel.
struct Followed {
    recorded: Recorded,
    /// Number of instructions of the earlier kernels.
    first: usize,
    /// Operands of words, computed on demand.
    flow: OnceLock<Option<Flow>>,
}

/// Immutable data of a stepped model.
struct Stepped {
    /// Outline, whose layers are the plan's steps. The last one takes the last results.
    outline: Outline,
    executable: Executable,
    /// Fabric with the simulated revision.
    fabric: Fabric,
    calls: Vec<Numbered>,
    kernels: Vec<Followed>,
    parts: Vec<Part>,
}

/// Position of a step.
enum Happens {
    /// Driver's work before a call, or after all calls.
    Driver(usize),
    /// Cycle of a call.
    Cycle(usize, usize),
}

/// Fabric with its driver, between two steps.
#[derive(Clone)]
struct Sample<W: Word> {
    machine: Machine<W>,
    values: Vec<Vec<W>>,
    /// Value under construction, and its index.
    result: Option<(usize, Vec<W>)>,
    /// Number of saturated results of finished calls.
    saturated: u64,
}

/// Model between two steps.
#[derive(Clone)]
pub(in crate::target) struct ModelMachine {
    program: Arc<Stepped>,
    sample: Sample<i16>,
    float: Option<Sample<RealWord>>,
    position: usize,
}

impl Stepped {
    fn new(model: &Model, revision: Revision) -> Result<Self, TargetError> {
        let executable = model.executable.clone();
        let mut fabric = executable.fabric.clone();
        fabric.options.revision = revision;
        let Some(ready) = executable.kernels.first() else {
            let (target, verb) = (model.target.clone(), "debug of a model without calls");
            return Err(TargetError::Unsupported { target, verb });
        };
        let machine = Machine::new(&fabric, &ready.compiled.program).map_err(TargetError::failed)?;
        let mut parts = parts(&machine);
        let mut memories: Vec<MachineMemory> = parts.iter().map(|part| memory(part, &machine)).collect();
        let kernels = followed(&executable, &fabric, &parts)?;
        for (number, value) in executable.plan.values.iter().enumerate() {
            parts.push(Part::Value { number });
            memories.push(value_memory(number, value));
        }
        let (calls, layers) = numbered(&executable, &kernels);
        let names = (model.name.clone(), model.target.clone());
        let outline = Outline { step_name: "step", layers, ..Outline::new(names, memories) };
        let mut stepped = Self { outline, executable, fabric, calls, kernels, parts };
        stepped.outline.placed = stepped.placed();
        Ok(stepped)
    }

    fn placed(&self) -> Vec<Placed> {
        let plan = &self.executable.plan;
        let placed = |numbers: &[usize], kind| {
            let one = |&number: &usize| Some((plan.values.get(number)?, self.value(number)?));
            let one = |number| one(number).map(|(value, run)| Placed { name: value.name.clone(), kind, run });
            numbers.iter().filter_map(one).collect::<Vec<_>>()
        };
        let mut all = placed(&plan.inputs, PlacedKind::Input);
        all.extend(placed(&plan.outputs, PlacedKind::Output));
        all
    }

    fn steps(&self) -> usize {
        self.outline.layers.of.len()
    }

    fn happens(&self, step: usize) -> Happens {
        let behind = self.calls.partition_point(|call| call.begins <= step);
        match behind.checked_sub(1).map(|number| (number, self.calls[number].begins)) {
            None => Happens::Driver(0),
            Some((number, begins)) if begins == step => Happens::Driver(number),
            Some(_) if step + 1 >= self.steps() => Happens::Driver(self.calls.len()),
            Some((number, begins)) => Happens::Cycle(number, step - begins - 1),
        }
    }

    /// Returns a call with its step and task.
    fn call(&self, number: usize) -> Option<(&Numbered, &Step, &Task, &Call)> {
        let numbered = self.calls.get(number)?;
        let Numbered { step, task, place, .. } = *numbered;
        let (call, _) = self.executable.calls.get(step)?.get(task)?.get(place)?;
        let step = self.executable.plan.steps.get(step)?;
        Some((numbered, step, step.tasks.get(task)?, call))
    }

    fn memory(&self, is_it: impl Fn(&Part) -> bool) -> Option<usize> {
        self.parts.iter().position(is_it)
    }

    fn buffer(&self, kind: MemoryKind) -> Option<usize> {
        self.memory(|part| matches!(part, Part::Memory(memory) if memory.kind == kind))
    }

    /// Returns the addresses of a whole value.
    fn value(&self, number: usize) -> Option<AddressRun> {
        let memory = self.memory(|part| matches!(part, Part::Value { number: other } if *other == number))?;
        Some(AddressRun::dense(memory, 0, self.outline.memories[memory].depth))
    }

    /// Returns the driver's accesses before call `next`.
    fn of_driver(&self, next: usize) -> Vec<Accessed> {
        let mut all = Vec::new();
        if let Some((_, step, task, call)) = next.checked_sub(1).and_then(|number| self.call(number)) {
            let output = self.buffer(MemoryKind::Output);
            let rows = call.output_lines().filter_map(|row| Some(AddressRun::dense(output?, row as u64, 1)));
            all.extend(rows.map(Accessed::read));
            all.extend(self.results(step, task, call).into_iter().map(Accessed::write));
        }
        for (step, task) in self.between(next) {
            let value = self.value(step.result);
            match task {
                // Before it is computed, a value contains zeros. A filled value also has known
                // contents.
                None | Some(Task::Fill(_)) => all.extend(value.map(Accessed::write)),
                Some(task) => {
                    all.extend(self.sources(task).map(Accessed::read));
                    all.extend(self.places(step, task, 0, usize::MAX).into_iter().map(Accessed::write));
                }
            }
        }
        if let Some((_, _, task, call)) = self.call(next) {
            all.extend(self.sources(task).map(Accessed::read));
            let input = self.buffer(MemoryKind::Input);
            all.extend(
                input.map(|input| Accessed::write(AddressRun::dense(input, 0, call.input_rows() as u64))),
            );
        }
        all
    }

    /// Returns the values that a task reads.
    fn sources<'a>(&'a self, task: &'a Task) -> impl Iterator<Item = AddressRun> + 'a {
        task.operands().into_iter().filter_map(|gather| match gather.source {
            Source::Value(number) => self.value(number),
            Source::Constant(_) => None,
        })
    }

    /// Returns the addresses of a call's results.
    fn results(&self, step: &Step, task: &Task, call: &Call) -> Vec<AddressRun> {
        let results = call.results.iter();
        results.flat_map(|results| self.places(step, task, results.first, results.count)).collect()
    }

    /// Returns the addresses, in runs, of the elements of a step's value that hold some of a task's
    /// results.
    fn places(&self, step: &Step, task: &Task, first: usize, count: usize) -> Vec<AddressRun> {
        let (Some(to), Some(value)) = (task.to(), self.value(step.result)) else { return Vec::new() };
        let last = first.saturating_add(count).min(to.count());
        let mut places: Vec<u64> =
            (first..last).map(|number| (to.offset + offset(&to.axes, number)) as u64).collect();
        places.sort_unstable();
        places.dedup();
        let mut runs: Vec<AddressRun> = Vec::new();
        for place in places {
            match runs.last_mut() {
                Some(run) if run.first + run.count == place => run.count += 1,
                _ => runs.push(AddressRun::dense(value.memory, place, 1)),
            }
        }
        runs
    }

    /// Returns the driver's own work between the previous call and call `next`: steps that begin
    /// (without a task), and tasks.
    fn between(&self, next: usize) -> Vec<(&Step, Option<&Task>)> {
        let steps = &self.executable.plan.steps;
        let target = self.calls.get(next).map_or((steps.len(), 0), |call| (call.step, call.task));
        let before = next.checked_sub(1).map(|number| (self.calls[number].step, self.calls[number].task));
        let mut all = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            if before.is_none_or(|(begun, _)| number > begun) && number <= target.0 {
                all.push((step, None));
            }
            let tasks = step.tasks.iter().enumerate().filter(|(task, _)| {
                before.is_none_or(|before| (number, *task) > before) && (number, *task) < target
            });
            all.extend(tasks.map(|(_, task)| (step, Some(task))));
        }
        all
    }

    /// Returns the operands of a word that the driver wrote before call `next`.
    fn moved(&self, next: usize, scalar: Scalar) -> Option<Vec<Operand>> {
        Record::restart();
        let mut held = Vec::new();
        let mut own = |memory: usize, address: usize, lane: usize| {
            held.push((memory, address as u64, lane));
            Traced::input(held.len() as u32 - 1)
        };
        let number = self.call(next).or_else(|| self.call(next - 1))?.0.kernel;
        let program = &self.executable.kernels.get(number)?.compiled.program;
        let mut machine = Machine::<Traced>::of_words(&self.fabric, program).ok()?;
        let output = self.buffer(MemoryKind::Output)?;
        let lines: Vec<usize> = next
            .checked_sub(1)
            .and_then(|number| self.call(number))
            .map_or_else(Vec::new, |found| found.3.output_lines().collect());
        for row in lines {
            machine.output.write(row, std::array::from_fn(|lane| own(output, row, lane))).ok()?;
        }
        let before = next.checked_sub(1).map(|number| self.calls[number].step);
        let values = self.executable.plan.values.iter().enumerate().map(|(number, value)| {
            let memory = self.value(number).map_or(0, |run| run.memory); // Default: every value has a memory.
            (0..value.elements()).map(|element| own(memory, element, 0)).collect::<Vec<_>>()
        });
        let mut values: Vec<Vec<Traced>> = values.collect();
        let begun = before.map(|step| self.executable.plan.steps[step].result);
        let result = begun.map(|number| (number, std::mem::take(&mut values[number])));
        let mut sample = Sample { machine, values, result, saturated: 0 };
        sample.drive(self, next).ok()?;
        let word = match self.parts.get(scalar.memory)? {
            Part::Memory(memory) if memory.kind == MemoryKind::Input => {
                sample.machine.input.read(scalar.address as usize).ok()?.get(scalar.lane).copied()?
            }
            Part::Value { number } => *sample.value(*number)?.get(scalar.address as usize)?,
            _ => return None,
        };
        let found = leaves(word).into_iter().filter_map(|number| held.get(number as usize).copied());
        let operand = |(memory, address, lane)| {
            Operand::new("moved", AddressRun::dense(memory, address, 1), Some(lane))
        };
        let found = found.map(operand).collect();
        Record::restart();
        Some(found)
    }
}

/// Records the behavior of each kernel.
fn followed(executable: &Executable, fabric: &Fabric, parts: &[Part]) -> Result<Vec<Followed>, TargetError> {
    let mut first = 0;
    let one = |ready: &Ready| {
        let program = &ready.compiled.program;
        let recorded = Begin { fabric, program, registers: None, parts }.recorded()?;
        let followed = Followed { recorded, first, flow: OnceLock::new() };
        first += program.instructions();
        Ok(followed)
    };
    executable.kernels.iter().map(one).collect()
}

/// Returns the calls in order, and the layers of all steps.
fn numbered(executable: &Executable, kernels: &[Followed]) -> (Vec<Numbered>, StepLayers) {
    let names = executable.plan.steps.iter().map(|step| step.name.clone()).collect();
    let (mut calls, mut of, mut cycles) = (Vec::new(), Vec::new(), 0);
    for (step, tasks) in executable.calls.iter().enumerate() {
        for (task, all) in tasks.iter().enumerate() {
            for (place, &(_, kernel)) in all.iter().enumerate() {
                calls.push(Numbered { step, task, place, kernel, begins: of.len(), cycles });
                of.resize(of.len() + 1 + kernels[kernel].recorded.issued.len(), step);
                cycles += executable.kernels[kernel].cycles();
            }
        }
    }
    of.push(executable.plan.steps.len().saturating_sub(1));
    (calls, StepLayers { names, of })
}

fn value_memory(number: usize, value: &Value) -> MachineMemory {
    let depth = value.elements() as u64;
    MachineMemory { name: format!("value.{number}"), depth, lanes: 1, bits: i16::BITS, is_signed: true }
}

impl<W: Word> Sample<W> {
    /// Creates the state before the first step, with the words of the inputs.
    fn new(program: &Stepped, inputs: Vec<Vec<W>>) -> Result<Self, TargetError> {
        let plan = &program.executable.plan;
        let ready = program.executable.kernels.first().map(|ready| &ready.compiled.program);
        let kernel = ready.ok_or_else(|| TargetError::failed("the model has no kernel".to_owned()))?;
        let machine = Machine::of_words(&program.fabric, kernel).map_err(TargetError::failed)?;
        let mut values = vec![Vec::new(); plan.values.len()];
        plan.inputs.iter().zip(inputs).for_each(|(&number, words)| values[number] = words);
        Ok(Self { machine, values, result: None, saturated: 0 })
    }

    /// Returns the words of a value, or `None` if it is not computed yet.
    fn value(&self, number: usize) -> Option<&[W]> {
        match &self.result {
            Some((own, words)) if *own == number => Some(words),
            _ => self.values.get(number).map(Vec::as_slice).filter(|words| !words.is_empty()),
        }
    }

    fn value_mut(&mut self, number: usize) -> Option<&mut Vec<W>> {
        match &mut self.result {
            Some((own, words)) if *own == number => Some(words),
            _ => self.values.get_mut(number).filter(|words| !words.is_empty()),
        }
    }

    /// Executes the driver's work before call `next`, or after all calls.
    fn drive(&mut self, program: &Stepped, next: usize) -> Result<(), ExecuteError> {
        self.take(program, next)?;
        let executable = &program.executable;
        let mut driver = Driver { executable, values: std::mem::take(&mut self.values) };
        let mut result = self.result.take();
        for (step, task) in program.between(next) {
            match task {
                None => {
                    finish(&mut driver, result.take());
                    result = Some((step.result, executable.empty(step.result)?));
                }
                Some(task) => {
                    result.iter_mut().for_each(|(_, words)| driver.moved(step, task, words));
                }
            }
        }
        let filled = match program.call(next) {
            None => {
                finish(&mut driver, result.take());
                Ok(())
            }
            Some((numbered, step, task, call)) => {
                let kernel = &executable.kernels[numbered.kernel].compiled.program;
                let filled = self.machine.reload(kernel);
                let filled = filled.and_then(|()| driver.fill(step, task, call, &mut self.machine.input));
                self.machine.begin();
                filled.map_err(|error| CallError::Load(error).of_step(&step.name))
            }
        };
        (self.values, self.result) = (driver.values, result);
        filled
    }

    /// Takes the results of the call before call `next`.
    fn take(&mut self, program: &Stepped, next: usize) -> Result<(), ExecuteError> {
        let Some((_, step, task, call)) = next.checked_sub(1).and_then(|number| program.call(number)) else {
            return Ok(());
        };
        let taken = call.taken(&self.machine).map_err(|fault| CallError::Fault(fault).of_step(&step.name))?;
        let is_counted = call.kernel.kind.work().mode == DpuMode::Mac;
        let mut saturated = self.sums();
        for (results, words) in call.results.iter().zip(taken) {
            let ends = words.iter().filter(|word| word.is_end()).count() as u64;
            saturated += if is_counted { 0 } else { ends };
            if let (Some(to), Some((_, result))) = (task.to(), &mut self.result) {
                put(result, to, results.first, words.into_iter());
            }
        }
        self.saturated += if step.saturates { 0 } else { saturated };
        Ok(())
    }

    /// Number of saturated sums of the call.
    fn sums(&self) -> u64 {
        self.machine.cells().iter().flat_map(|cell| &cell.dpus).map(|dpu| dpu.saturated_sums).sum()
    }

    /// Executes a cycle of a call; does nothing if the machine skips the cycle.
    fn cycle(&mut self, cycle: usize) -> Result<(), TargetError> {
        if self.machine.has_halted() || self.machine.next_cycle() != cycle as u64 {
            return Ok(());
        }
        self.machine.advance(&mut ()).map_err(TargetError::failed)
    }

    fn happen(&mut self, program: &Stepped, happens: &Happens) -> Result<(), TargetError> {
        match *happens {
            Happens::Driver(next) => self.drive(program, next).map_err(TargetError::failed),
            Happens::Cycle(_, cycle) => self.cycle(cycle),
        }
    }
}

/// Stores a finished value.
fn finish<W: Word>(driver: &mut Driver<'_, W>, result: Option<(usize, Vec<W>)>) {
    let of_graph = driver.executable.plan.of_graph();
    if let Some((number, mut words)) = result {
        if number < of_graph {
            words.iter_mut().for_each(|word| *word = word.made());
        }
        driver.values[number] = words;
    }
}

impl ModelMachine {
    /// Creates a model before its first step.
    ///
    /// Errors: a model without calls, or a kernel that is too long.
    pub fn new(model: &Model, revision: Revision, inputs: Vec<Vec<i16>>) -> Result<Self, TargetError> {
        let program = Stepped::new(model, revision)?;
        let sample = Sample::new(&program, inputs)?;
        Ok(Self { program: Arc::new(program), sample, float: None, position: 0 })
    }

    /// Adds a float machine that runs in parallel; inputs are in units of the integers.
    pub fn beside(self, inputs: Vec<Vec<f64>>) -> Result<Self, TargetError> {
        let words = inputs.into_iter().map(|all| all.into_iter().map(RealWord::new).collect());
        let float = Some(Sample::new(&self.program, words.collect())?);
        Ok(Self { float, ..self })
    }

    /// Returns the factor that converts integers of a memory to real numbers; `None` for memories
    /// on the fabric.
    fn unit(&self, memory: usize) -> Option<f64> {
        let Part::Value { number } = self.program.parts.get(memory)? else { return None };
        Some(2f64.powi(-self.program.executable.plan.values.get(*number)?.fraction))
    }

    fn absent(&self, number: usize) -> TargetError {
        TargetError::failed(format!("`value.{number}` is not computed yet"))
    }
}

/// Returns words starting at `address`.
fn part_of<W: Copy>(words: &[W], address: u64, count: u64) -> Option<&[W]> {
    words.get(usize::try_from(address).ok()?..)?.get(..usize::try_from(count).ok()?)
}

impl npukit_target::Machine for ModelMachine {
    fn outline(&self) -> &Outline {
        &self.program.outline
    }

    fn steps(&self) -> usize {
        self.program.steps()
    }

    fn position(&self) -> usize {
        self.position
    }

    fn step(&mut self) -> Result<Vec<String>, TargetError> {
        if self.position >= self.steps() {
            return Ok(Vec::new());
        }
        let happens = self.program.happens(self.position);
        // A cycle changes only the machine, so the whole sample is copied only for driver steps.
        let machine = self.sample.machine.clone();
        let whole = matches!(happens, Happens::Driver(_)).then(|| self.sample.clone());
        if let Err(error) = self.sample.happen(&self.program, &happens) {
            match whole {
                Some(whole) => self.sample = whole,
                None => self.sample.machine = machine,
            }
            return Err(error);
        }
        let program = &self.program;
        let remark = step_float(&mut self.float, |float| float.happen(program, &happens));
        self.position += 1;
        Ok(remark.into_iter().collect())
    }

    fn fork(&self) -> Box<dyn npukit_target::Machine> {
        Box::new(self.clone())
    }

    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
        match self.program.parts[memory] {
            Part::Value { number } => {
                let words = self.sample.value(number).and_then(|words| part_of(words, address, count));
                let words = words.ok_or_else(|| self.absent(number))?;
                Ok(words.iter().map(|&word| word.into()).collect())
            }
            part => part.read(&self.sample.machine, address, count),
        }
    }

    fn write(&mut self, memory: usize, address: u64, numbers: &[i64]) -> Result<(), TargetError> {
        match self.program.parts[memory] {
            Part::Value { number } => {
                let absent = self.absent(number);
                let words = self.sample.value_mut(number).ok_or(absent)?;
                let places = words.iter_mut().skip(address as usize);
                places.zip(numbers).for_each(|(word, &number)| *word = number as i16);
                Ok(())
            }
            part => part.write(&mut self.sample.machine, address, numbers),
        }
    }

    fn real(&self, memory: usize, number: i64) -> Option<f64> {
        Some(number as f64 * self.unit(memory)?)
    }

    fn floats(&self, memory: usize, address: u64, count: u64) -> Option<Floats> {
        let float = self.float.as_ref()?;
        let words: Vec<f64> = match *self.program.parts.get(memory)? {
            Part::Value { number } => {
                part_of(float.value(number)?, address, count)?.iter().map(|word| word.value).collect()
            }
            part => part.floats(&float.machine, address, count)?,
        };
        let unit = self.unit(memory).unwrap_or(1.0); // Default: the fabric's words are in units of the integers.
        Some(Floats { values: words.into_iter().map(|word| word * unit).collect(), are: FLOATS })
    }

    fn accesses(&self, step: usize) -> Vec<Accessed> {
        if step >= self.steps() {
            return Vec::new();
        }
        match self.program.happens(step) {
            Happens::Driver(next) => self.program.of_driver(next),
            Happens::Cycle(call, cycle) => {
                let kernel = &self.program.kernels[self.program.calls[call].kernel];
                // Default: nothing is accessed after the end.
                kernel.recorded.accesses.get(cycle).cloned().unwrap_or_default()
            }
        }
    }

    fn operands(&self, step: usize, scalar: Scalar) -> Vec<Operand> {
        let program = &self.program;
        if program.parts.get(scalar.memory).is_none_or(Part::is_register) || step >= self.steps() {
            // Registers have no operands because they do not depend on data words.
            return Vec::new();
        }
        let found = match program.happens(step) {
            Happens::Driver(next) => program.moved(next, scalar),
            Happens::Cycle(call, cycle) => {
                let Numbered { kernel, begins, .. } = program.calls[call];
                let flow = program.kernels[kernel].flow.get_or_init(|| {
                    let compiled = &program.executable.kernels[kernel].compiled.program;
                    let (fabric, parts) = (&program.fabric, &program.parts[..]);
                    Begin { fabric, program: compiled, registers: None, parts }.flow()
                });
                let found = flow.as_ref().and_then(|flow| flow.operands(cycle, scalar));
                let later = |operand: Operand| Operand {
                    since: operand.since.map(|since| begins + 1 + since),
                    ..operand
                };
                found.map(|operands| operands.into_iter().map(later).collect())
            }
        };
        // Default: if operands are not recorded, all words that the step reads.
        found.unwrap_or_else(|| read_operands(self.accesses(step)))
    }

    fn issued(&self, step: usize) -> Vec<usize> {
        match self.program.happens(step) {
            Happens::Cycle(call, cycle) if step < self.steps() => {
                let Followed { recorded, first, .. } = &self.program.kernels[self.program.calls[call].kernel];
                recorded.issued.get(cycle).into_iter().flatten().map(|number| first + number).collect()
            }
            _ => Vec::new(),
        }
    }

    fn steps_of(&self, instruction: usize) -> Vec<usize> {
        let kernels = &self.program.kernels;
        let Some(kernel) = kernels.partition_point(|kernel| kernel.first <= instruction).checked_sub(1)
        else {
            return Vec::new();
        };
        let Followed { recorded, first, .. } = &kernels[kernel];
        let cycles: Vec<usize> = (0..recorded.issued.len())
            .filter(|&cycle| recorded.issued[cycle].contains(&(instruction - first)))
            .collect();
        let calls = self.program.calls.iter().filter(|call| call.kernel == kernel);
        let steps = calls.flat_map(|call| cycles.iter().map(move |cycle| call.begins + 1 + cycle));
        steps.take(MAX_STEPS).collect()
    }

    fn described(&self, step: usize) -> Option<String> {
        let Happens::Driver(next) = self.program.happens(step) else { return None };
        Some(match self.program.call(next) {
            Some((numbered, step, ..)) => {
                let kind = self.program.executable.kernels[numbered.kernel].kernel.kind.name();
                format!("the driver fills the input buffer for call {next}, of step `{}` ({kind})", step.name)
            }
            None => "the driver takes the last results".to_owned(),
        })
    }

    fn listing(&self) -> Result<Vec<ListingLine>, TargetError> {
        let Stepped { executable, fabric, .. } = &*self.program;
        let of = |ready: &Ready| disassemble(fabric, &ready.compiled.program, Listing::Named).lines;
        Ok(executable.kernels.iter().flat_map(|ready| instruction_lines(of(ready))).collect())
    }

    fn saturations(&self) -> u64 {
        self.sample.saturated
    }

    /// The driver takes no time.
    fn moments(&self) -> Result<Vec<Moment>, TargetError> {
        let total = self.program.executable.cycles().iter().sum();
        let moment = |step| {
            let (start, cycles) = match self.program.happens(step) {
                Happens::Driver(next) => (self.program.calls.get(next).map_or(total, |call| call.cycles), 0),
                Happens::Cycle(call, cycle) => (self.program.calls[call].cycles + cycle as u64, 1),
            };
            Moment { start, end: start + cycles, waits: Vec::new() }
        };
        Ok((0..self.steps()).map(moment).collect())
    }
}
