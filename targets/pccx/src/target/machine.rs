//! [`PccxMachine`]: a program on its machine. A step is an instruction, or a host operation between
//! two instructions.

mod floats;
mod operands;

use std::sync::Arc;

use npukit_asm::{ListingLine, Words};
use npukit_target::{
    Accessed, AddressRun, Floats, Limits, MachineMemory, Moment, Operand, Outline, Placed, PlacedKind,
    RunOutcome, Scalar, Shown, StepLayers, Stopped, TargetError, View, execute, instruction_lines, run_steps,
    step_float,
};

pub(super) use floats::FloatShadow;

use crate::clock;
use crate::config::Config;
use crate::host::asm_run::{AsmMachine, Kind, numbers, put};
use crate::isa::codec::{Codec, encode_program};
use crate::isa::fault::Direction;
use crate::isa::isa;
use crate::isa::op::{Access, Banks, Cache, Device, Memcpy, Op, Shape, Values};
use crate::isa::usage::words_of;
use crate::lower::Executable;
use crate::machine::Machine;
use crate::machine::arith::Bits;
use crate::program::host::HostStep;
use crate::program::runtime::{self, Moment as Happens, SessionState};

/// Shapes that an instruction uses, from the constant banks at its issue.
#[derive(Clone, Copy, Debug)]
struct Use {
    access: Access,
    /// Number of values of a MEMCPY.
    values: usize,
    /// Shape of the activations of GEMV and GEMM.
    fmap: Shape,
    /// Shape of the weights of GEMV and GEMM.
    weight: Shape,
}

/// Constant data of a program that is executed step by step.
pub(super) struct Stepped {
    outline: Outline,
    config: Config,
    executable: Executable,
    /// Steps in order.
    steps: Vec<Happens>,
    /// Shapes that each instruction uses.
    uses: Vec<Use>,
    kinds: Vec<Kind>,
}

impl Stepped {
    /// Prepares a program with its host's part, on a machine with these memories.
    pub fn new(
        names: (String, String),
        config: &Config,
        executable: Executable,
        memories: Vec<(Kind, MachineMemory)>,
    ) -> Self {
        let (mut steps, mut host) = (Vec::new(), 0);
        for (before, range) in executable.program.segments() {
            steps.extend((host..host + before.len()).map(Happens::Host));
            host += before.len();
            steps.extend(range.map(Happens::Instruction));
        }
        let mut banks = Banks::default();
        let uses = executable.program.code.iter().map(|op| {
            banks.step(op);
            let values = match op {
                Op::Memcpy(memcpy) => Values::of(0, banks.fmap(memcpy.shape_ptr_addr)).count,
                _ => 0,
            };
            let (fmap, weight) = match op {
                Op::Gemv(mac) | Op::Gemm(mac) => {
                    (banks.fmap(mac.shape_ptr_addr), banks.weight(mac.size_ptr_addr))
                }
                _ => Default::default(),
            };
            Use { access: op.access(&banks), values, fmap, weight }
        });
        let uses = uses.collect();
        let (kinds, memories) = memories.into_iter().unzip();
        let layers = layers(&executable, &steps);
        let step_name = if executable.program.host_ops.is_empty() { "instruction" } else { "step" };
        let outline = Outline { step_name, layers, ..Outline::new(names, memories) };
        let mut program = Self { outline, config: config.clone(), executable, steps, uses, kinds };
        program.outline.placed = program.windows();
        program
    }

    /// Returns the windows of inputs and outputs.
    fn windows(&self) -> Vec<Placed> {
        let windows = self.executable.program.windows.iter();
        let one = |window: &crate::program::Window| {
            let kind = match window.direction {
                Direction::HostToL2 => PlacedKind::Input,
                Direction::L2ToHost => PlacedKind::Output,
            };
            let run = self.whole(Kind::Window(window.direction, window.number))?;
            Some(Placed { name: window.name.clone(), kind, run })
        };
        windows.filter_map(one).collect()
    }

    fn place(&self, kind: Kind) -> Option<usize> {
        self.kinds.iter().position(|other| *other == kind)
    }

    fn whole(&self, kind: Kind) -> Option<AddressRun> {
        self.run(kind, 0, u64::MAX)
    }

    /// Returns addresses of a memory, clipped to its size.
    fn run(&self, kind: Kind, first: u64, count: u64) -> Option<AddressRun> {
        let memory = self.place(kind)?;
        let depth = self.outline.memories[memory].depth;
        (first < depth && count > 0).then(|| AddressRun::dense(memory, first, count.min(depth - first)))
    }

    fn accesses(&self, step: usize) -> Vec<Accessed> {
        match self.steps.get(step) {
            Some(&Happens::Host(index)) => self.of_host(index),
            Some(&Happens::Instruction(index)) => self.of_instruction(index),
            None => Vec::new(),
        }
    }

    /// Returns the windows that a host operation uses, as a whole.
    fn of_host(&self, index: usize) -> Vec<Accessed> {
        let step = self.executable.program.host_ops.get(index).map(|op| HostStep::decode(index, op));
        // Default: an invalid step stops the machine.
        let Some(Ok(step)) = step else { return Vec::new() };
        let used = match step {
            HostStep::Receive { window, .. } => Some((Direction::L2ToHost, window)),
            HostStep::Send { window, .. }
            | HostStep::Part { window, .. }
            | HostStep::Weights { window, .. } => Some((Direction::HostToL2, window)),
            _ => None,
        };
        let run = used
            .and_then(|(direction, window)| Some((direction, self.whole(Kind::Window(direction, window))?)));
        run.map(|(direction, run)| Accessed { run, is_write: direction == Direction::HostToL2 })
            .into_iter()
            .collect()
    }

    fn of_instruction(&self, index: usize) -> Vec<Accessed> {
        let (Some(op), Some(Use { access, values, .. })) =
            (self.executable.program.code.get(index), self.uses.get(index))
        else {
            return Vec::new();
        };
        let in_l2 = |values: Values| self.run(Kind::L2, values.word.into(), words_of(values.count));
        let maximum = || self.whole(Kind::Maximum);
        let mut all: Vec<Accessed> =
            access.reads.into_iter().flatten().filter_map(in_l2).map(Accessed::read).collect();
        if access.updates {
            all.extend(access.writes.and_then(in_l2).map(Accessed::read));
        }
        let shape = |(cache, entry): (Cache, u8)| self.run(Kind::Constants(cache), entry.into(), 1);
        all.extend(access.shapes.into_iter().flatten().filter_map(shape).map(Accessed::read));
        if access.reads_maximum {
            all.extend(maximum().map(Accessed::read));
        }
        let product = self.product(index).map(|number| [Kind::Weights(number), Kind::Scales(number)]);
        all.extend(product.into_iter().flatten().filter_map(|kind| self.whole(kind)).map(Accessed::read));
        all.extend(access.writes.and_then(in_l2).map(Accessed::write));
        if access.writes_maximum {
            all.extend(maximum().map(Accessed::write));
        }
        match op {
            Op::Memset(memset) => {
                let entry = self.run(Kind::Constants(memset.dest_cache), memset.dest_addr.into(), 1);
                all.extend(entry.map(Accessed::write));
            }
            Op::Memcpy(memcpy) => all.extend(self.window(memcpy, *values)),
            _ => {}
        }
        all
    }

    /// Returns the number of a product that has a named memory for its weights.
    fn product(&self, index: usize) -> Option<usize> {
        let code = &self.executable.program.code;
        let mut banks = Banks::default();
        let is_named = self.place(Kind::Weights(0)).is_some();
        let ops = code.iter().take(index + 1).filter(|_| is_named);
        let products = ops.filter(|op| {
            banks.step(op);
            op.takes_weights(&banks)
        });
        let number = products.count().checked_sub(1)?;
        code.get(index)?.takes_weights(&banks).then_some(number)
    }

    /// Returns the addresses of a window that a MEMCPY uses.
    fn window(&self, memcpy: &Memcpy, values: usize) -> Option<Accessed> {
        let (kind, is_write) = match (memcpy.from_device, memcpy.to_device) {
            (Device::Host, Device::Npu) => (Kind::Window(Direction::HostToL2, memcpy.src_addr), false),
            (Device::Npu, Device::Host) => (Kind::Window(Direction::L2ToHost, memcpy.dest_addr), true),
            _ => return None,
        };
        Some(Accessed { run: self.run(kind, memcpy.aux_addr.into(), words_of(values))?, is_write })
    }

    /// Describes a host operation.
    fn host_text(&self, index: usize) -> String {
        let graph = &self.executable.host.graph;
        let slot =
            |id: npukit_graph::ValueId| graph.values.get(id.0 as usize).map_or("", |value| &value.name);
        let step = self.executable.program.host_ops.get(index).map(|op| HostStep::decode(index, op));
        let message = match step {
            Some(Ok(HostStep::Receive { slot: id, window, .. })) => {
                format!("receives `{}` from l2_to_host.{window}", slot(id))
            }
            Some(Ok(HostStep::Send { slot: id, window, .. } | HostStep::Part { slot: id, window, .. })) => {
                format!("sends `{}` to host_to_l2.{window}", slot(id))
            }
            Some(Ok(HostStep::Patches { slot: id, .. })) => format!("lays out patches of `{}`", slot(id)),
            Some(Ok(HostStep::Compute { node })) => {
                let node = graph.nodes.get(node as usize).map_or("", |node| &node.name);
                format!("computes `{node}`")
            }
            Some(Ok(HostStep::Wait)) => "waits".to_owned(),
            Some(Ok(HostStep::Weights { image, window, .. })) => {
                format!("sends weights {image} to host_to_l2.{window}")
            }
            Some(Ok(HostStep::Append { slot: id, .. })) => format!("adds `{}` to its caches", slot(id)),
            Some(Ok(_)) => "makes weights and scales".to_owned(),
            Some(Err(_)) | None => "has an invalid operation".to_owned(),
        };
        format!("the host {message}")
    }
}

/// Returns the layers of the steps; a host operation belongs to the layer of the next instruction.
fn layers(Executable { program, host }: &Executable, steps: &[Happens]) -> StepLayers {
    let names: Vec<String> = host.layers.iter().map(|layer| layer.name.clone()).collect();
    let last = names.len().saturating_sub(1);
    let of = |happens: &Happens| {
        let index = match *happens {
            Happens::Instruction(index) => index,
            // Default: an invalid step stops the machine.
            Happens::Host(index) => program.host_ops.get(index).map_or(0, |op| op.position as usize),
        };
        host.layers.partition_point(|layer| layer.end as usize <= index).min(last)
    };
    StepLayers { names, of: steps.iter().map(of).collect() }
}

/// A machine with its program.
#[derive(Clone)]
enum Running {
    /// An assembly program, with named weights and windows.
    Assembly(Box<AsmMachine>),
    /// A compiled program with its host.
    Hosted(Box<(Machine, SessionState<Bits>)>),
}

/// A program on its machine, between two steps.
#[derive(Clone)]
pub(super) struct PccxMachine {
    program: Arc<Stepped>,
    running: Running,
    float: Option<FloatShadow>,
    position: usize,
}

impl PccxMachine {
    /// Returns the machine of an assembly program.
    pub fn for_asm(program: Stepped, machine: AsmMachine) -> Self {
        Self {
            program: Arc::new(program),
            running: Running::Assembly(Box::new(machine)),
            float: None,
            position: 0,
        }
    }

    /// Returns the machine of a compiled program before its first step; the host has its inputs.
    pub(super) fn of_program(program: Stepped, machine: Machine, kept: SessionState<Bits>) -> Self {
        let running = Running::Hosted(Box::new((machine, kept)));
        Self { program: Arc::new(program), running, float: None, position: 0 }
    }

    /// Adds a float reference to the machine.
    pub(super) fn beside(self, float: FloatShadow) -> Self {
        Self { float: Some(float), ..self }
    }

    fn kind(&self, memory: usize) -> Kind {
        self.program.kinds[memory]
    }
}

impl npukit_target::Machine for PccxMachine {
    fn outline(&self) -> &Outline {
        &self.program.outline
    }

    fn steps(&self) -> usize {
        self.program.steps.len()
    }

    fn position(&self) -> usize {
        self.position
    }

    fn step(&mut self) -> Result<Vec<String>, TargetError> {
        let Some(&happens) = self.program.steps.get(self.position) else { return Ok(Vec::new()) };
        let mut remarks = Vec::new();
        match &mut self.running {
            Running::Hosted(hosted) => {
                let (machine, kept) = &mut **hosted;
                let Executable { program, host } = &self.program.executable;
                let mut session = runtime::Session::resume(machine, program, host, std::mem::take(kept));
                let done = session.happen(happens);
                *kept = session.pause();
                done.map_err(TargetError::failed)?;
            }
            Running::Assembly(machine) => {
                // In an assembly program, the machine tracks the host's waits.
                let Happens::Instruction(index) = happens else {
                    self.position += 1;
                    return Ok(remarks);
                };
                remarks.extend(execute(|| machine.step(index))?.remark);
            }
        }
        let executable = &self.program.executable;
        remarks.extend(step_float(&mut self.float, |float| float.happen(executable, happens)));
        self.position += 1;
        Ok(remarks)
    }

    fn run(&mut self, limits: Limits) -> Result<RunOutcome, Stopped> {
        let beyond = match (limits.cycles, &self.running) {
            (None, _) => None,
            (Some(limit), Running::Assembly(machine)) => {
                machine.first_beyond(limit).map(|first| (limit, first))
            }
            (Some(_), Running::Hosted(_)) => {
                return Err(Stopped::uncounted("the time of the host between instructions is unknown"));
            }
        };
        // At the end of a run, the host waits because it reads all results.
        let (ran, _) = run_steps(self, limits, |_, index| match beyond {
            Some((limit, first)) if index == first => Err(Stopped::limit(index, limit, "cycles").error),
            _ => Ok(()),
        })?;
        Ok(ran)
    }

    fn fork(&self) -> Box<dyn npukit_target::Machine> {
        Box::new(self.clone())
    }

    fn views(&self) -> Vec<View> {
        let shown = |(place, kind): (usize, &Kind)| {
            let (view, about, lanes) = kind.view();
            (view.to_owned(), Shown::new(place, about).with_lanes(lanes))
        };
        View::grouped(self.program.kinds.iter().enumerate().map(shown))
    }

    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
        match &self.running {
            Running::Assembly(machine) => machine.read(memory, address, count),
            Running::Hosted(hosted) => {
                let read = numbers(&hosted.0, self.kind(memory), address, count);
                // Default: weights of a compiled program have no names.
                read.unwrap_or_else(|| Ok(Vec::new())).map_err(TargetError::failed)
            }
        }
    }

    fn write(&mut self, memory: usize, address: u64, numbers: &[i64]) -> Result<(), TargetError> {
        let kind = self.kind(memory);
        match &mut self.running {
            Running::Assembly(machine) => machine.write(memory, address, numbers),
            Running::Hosted(hosted) => put(&mut hosted.0, kind, address, numbers),
        }
    }

    fn number(&self, memory: usize, real: f64) -> Option<i64> {
        self.kind(memory).number(real)
    }

    fn real(&self, memory: usize, number: i64) -> Option<f64> {
        self.kind(memory).real(number)
    }

    fn floats(&self, memory: usize, address: u64, count: u64) -> Option<Floats> {
        let float = self.float.as_ref()?;
        Some(Floats { values: float.numbers(self.kind(memory), address, count)?, are: float.are })
    }

    fn accesses(&self, step: usize) -> Vec<Accessed> {
        self.program.accesses(step)
    }

    fn operands(&self, step: usize, scalar: Scalar) -> Vec<Operand> {
        self.program.operands(step, scalar)
    }

    fn issued(&self, step: usize) -> Vec<usize> {
        match self.program.steps.get(step) {
            Some(&Happens::Instruction(index)) => vec![index],
            _ => Vec::new(),
        }
    }

    fn steps_of(&self, instruction: usize) -> Vec<usize> {
        let is_it = |happens: &Happens| *happens == Happens::Instruction(instruction);
        self.program.steps.iter().position(is_it).into_iter().collect()
    }

    fn described(&self, step: usize) -> Option<String> {
        match self.program.steps.get(step) {
            Some(&Happens::Host(index)) => Some(self.program.host_text(index)),
            _ => None,
        }
    }

    fn listing(&self) -> Result<Vec<ListingLine>, TargetError> {
        let Stepped { config, executable, .. } = &*self.program;
        let bytes =
            encode_program(&Codec::new(config), &executable.program.code).map_err(TargetError::failed)?;
        let lines = npukit_asm::disassemble_as(&isa(config), &bytes, None, Words::Value).listing();
        Ok(instruction_lines(lines))
    }

    fn moments(&self) -> Result<Vec<Moment>, TargetError> {
        let Stepped { config, executable: Executable { program, .. }, steps, .. } = &*self.program;
        let timeline = clock::run_with_host(config, &program.code, &program.syncs());
        let mut before = 0;
        let moment = |happens: &Happens| match *happens {
            Happens::Instruction(index) => {
                let Some(span) = timeline.spans.get(index) else { return Moment::default() };
                let waited = span.start.saturating_sub(before);
                before = span.end;
                let wait = (span.engine.name().to_owned(), span.wait.name().to_owned(), waited);
                let waits = if waited > 0 { vec![wait] } else { Vec::new() };
                Moment { start: span.start, end: span.end, waits }
            }
            Happens::Host(_) => Moment { start: before, end: before, waits: Vec::new() },
        };
        Ok(steps.iter().map(moment).collect())
    }
}
