//! [`SkeletonMachine`]: a program on the machine, one instruction per step.

use std::sync::Arc;

use npukit_asm::{ListingLine, Words};
use npukit_numeric::NumberFormat;
use npukit_target::{
    Accessed, AddressRun, Floats, Halt, MachineMemory, Moment, Operand, Outline, Placed, PlacedKind, Scalar,
    StepLayers, TargetError, execute, instruction_lines, number_of, real_of,
};

use super::floats::FloatMemory;
use crate::clock;
use crate::config::Config;
use crate::isa::codec::encode_program;
use crate::isa::isa;
use crate::isa::op::Op;
use crate::machine::Machine;
use crate::machine::state::{FORMAT, FaultKind};
use crate::program::{Binding, Constant, Program};

/// Index of the only memory.
const MEMORY: usize = 0;

/// Constant data of a running program.
struct Stepped {
    outline: Outline,
    config: Config,
    ops: Vec<Op>,
}

/// A program between two instructions.
#[derive(Clone)]
pub struct SkeletonMachine {
    program: Arc<Stepped>,
    machine: Machine,
    floats: Option<FloatMemory>,
    position: usize,
    /// Whether reading unwritten memory stops the program.
    is_strict: bool,
}

impl SkeletonMachine {
    /// Creates the program before its first instruction, on a machine with its data.
    pub fn new(program: &Program, machine: Machine, floats: Option<FloatMemory>, is_strict: bool) -> Self {
        let Program { name, instance, config, instructions, .. } = program;
        let (memory, depth) = ("memory".to_owned(), config.memory_words.into());
        let memory = MachineMemory { name: memory, depth, lanes: 1, bits: FORMAT.width, is_signed: true };
        let names = (name.clone(), format!("skeleton:{instance}"));
        let layers = StepLayers {
            names: program.layers.iter().map(|layer| layer.name.clone()).collect(),
            of: (0..instructions.len()).map(|step| program.layer_of(step)).collect(),
        };
        let outline = Outline { layers, placed: placed(program), ..Outline::new(names, vec![memory]) };
        let program = Arc::new(Stepped { outline, config: config.clone(), ops: instructions.clone() });
        Self { program, machine, floats, position: 0, is_strict }
    }
}

impl npukit_target::Machine for SkeletonMachine {
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
        let executed = execute(|| attempt(&mut self.machine, op, self.is_strict))?;
        if let Some(floats) = &mut self.floats {
            floats.step(op);
        }
        self.position += 1;
        Ok(executed.remark.into_iter().collect())
    }

    fn fork(&self) -> Box<dyn npukit_target::Machine> {
        Box::new(self.clone())
    }

    fn read(&self, _memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
        let number = |address: u64| match self.machine.read(address as u32, 1) {
            Ok(number) => Ok(number.first().map_or(0, |&number| number.into())),
            Err(FaultKind::Unwritten { .. }) => Ok(0),
            Err(fault) => Err(TargetError::failed(fault)),
        };
        (address..address + count).map(number).collect()
    }

    fn write(&mut self, _memory: usize, address: u64, numbers: &[i64]) -> Result<(), TargetError> {
        let numbers: Vec<i16> = numbers.iter().map(|&number| number as i16).collect();
        // The caller has checked the address.
        self.machine.write(address as u32, &numbers).map_err(TargetError::failed)
    }

    fn number(&self, _memory: usize, real: f64) -> Option<i64> {
        Some(number_of(NumberFormat::Fixed(FORMAT), real))
    }

    fn real(&self, _memory: usize, number: i64) -> Option<f64> {
        Some(real_of(NumberFormat::Fixed(FORMAT), number))
    }

    fn floats(&self, _memory: usize, address: u64, count: u64) -> Option<Floats> {
        // The caller has checked the addresses.
        let values = self.floats.as_ref()?.read(address as u32, count as u32).to_vec();
        Some(Floats { values, are: "the same instructions in float, with the model's own constants" })
    }

    fn accesses(&self, step: usize) -> Vec<Accessed> {
        let Some(&op) = self.program.ops.get(step) else { return Vec::new() };
        let Places { result, sources } = places(op);
        sources.into_iter().map(Accessed::read).chain(result.map(Accessed::write)).collect()
    }

    fn operands(&self, step: usize, scalar: Scalar) -> Vec<Operand> {
        let Some(&op) = self.program.ops.get(step) else { return Vec::new() };
        let Places { result, sources } = places(op);
        let Some(place) = result.and_then(|result| result.place(scalar.address)) else { return Vec::new() };
        // A sum of products depends on all numbers, other results on the numbers at their place.
        let needed = |source: AddressRun| match op {
            Op::Dot { .. } => source,
            _ => AddressRun::dense(MEMORY, source.first + place, 1),
        };
        sources.into_iter().map(|source| Operand::new("operand", needed(source), Some(0))).collect()
    }

    fn listing(&self) -> Result<Vec<ListingLine>, TargetError> {
        let bytes = encode_program(&self.program.ops).map_err(TargetError::failed)?;
        Ok(instruction_lines(npukit_asm::disassemble_as(&isa(), &bytes, None, Words::Value).listing()))
    }

    fn saturations(&self) -> u64 {
        self.machine.saturated()
    }

    fn moments(&self) -> Result<Vec<Moment>, TargetError> {
        let mut end = 0;
        let costs = clock::run(&self.program.config, &self.program.ops);
        let moments = costs.iter().map(|cost| {
            let start = end;
            end += cost.cycles;
            Moment { start, end, waits: Vec::new() }
        });
        Ok(moments.collect())
    }
}

/// Places of inputs, constants and outputs in memory.
fn placed(program: &Program) -> Vec<Placed> {
    let place = |kind, name: &str, address: u32, count: u64| {
        let run = AddressRun::dense(MEMORY, address.into(), count);
        Placed { name: name.to_owned(), kind, run }
    };
    let port =
        |kind| move |port: &Binding| Some(place(kind, &port.name, port.address, port.numbers()?.into()));
    let constant = |constant: &Constant| {
        place(PlacedKind::Constant, &constant.name, constant.address, constant.numbers.len() as u64)
    };
    let inputs = program.inputs.iter().filter_map(port(PlacedKind::Input));
    let outputs = program.outputs.iter().filter_map(port(PlacedKind::Output));
    inputs.chain(program.constants.iter().map(constant)).chain(outputs).collect()
}

/// Executes an instruction. Unwritten memory that it reads becomes 0, unless `is_strict`.
fn attempt(machine: &mut Machine, op: &Op, is_strict: bool) -> Result<(), Halt> {
    match machine.step(op) {
        Ok(()) => Ok(()),
        Err(fault @ FaultKind::Unwritten { address }) if !is_strict => {
            machine.write(address as u32, &[0]).map_err(|fault| Halt::Fault(TargetError::failed(fault)))?;
            Err(Halt::Unwritten(format!("{fault}; it reads as 0")))
        }
        Err(fault) => Err(Halt::Fault(TargetError::failed(fault))),
    }
}

/// Addresses that an instruction uses.
struct Places {
    result: Option<AddressRun>,
    sources: Vec<AddressRun>,
}

fn places(op: Op) -> Places {
    let run = |first: u32, count: u32| AddressRun::dense(MEMORY, first.into(), count.into());
    let (result, sources) = match op {
        Op::End => (None, Vec::new()),
        Op::Add { dst, left, right, n } => (Some(run(dst, n)), vec![run(left, n), run(right, n)]),
        Op::Relu { dst, src, n } => (Some(run(dst, n)), vec![run(src, n)]),
        Op::Dot { dst, left, right, n } => (Some(run(dst, 1)), vec![run(left, n), run(right, n)]),
    };
    Places { result, sources }
}
