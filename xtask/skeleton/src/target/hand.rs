//! [`Written`]: a program that a person wrote, and the machine that it runs on.

use npukit_isa::program::ProgramErrors;
use npukit_numeric::NumberFormat;
use npukit_target::{
    Bench, BenchMemory, BenchOptions, Compiled, Halt, HandProgram, Limits, ProgramText, Ran, Stopped,
    TargetError, Unset, number_of, real_of, step_through,
};

use super::program::SkeletonProgram;
use crate::codec::{DecodeError, decode_program};
use crate::config::Config;
use crate::machine::Machine;
use crate::op::Op;
use crate::program::Program;
use crate::state::{FORMAT, FaultKind};

/// Instructions up to the first `end`.
pub struct Written {
    program: Program,
    text: ProgramText,
}

impl Written {
    /// The program of words, for an instance.
    ///
    /// # Errors
    ///
    /// Every word that cannot be executed.
    pub fn new(
        name: String,
        (instance, config): (&str, &Config),
        words: &[u8],
        text: ProgramText,
    ) -> Result<Self, ProgramErrors<DecodeError>> {
        let instructions = decode_program(words)?;
        let instructions: Vec<Op> =
            instructions.into_iter().take_while(|op| *op != Op::End).chain([Op::End]).collect();
        let (instance, config) = (instance.to_owned(), config.clone());
        let (inputs, outputs, layers) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { program: Program { name, instance, config, instructions, inputs, outputs, layers }, text })
    }
}

impl HandProgram for Written {
    fn text(&self) -> &ProgramText {
        &self.text
    }

    fn bench(&self, options: &BenchOptions) -> Result<Box<dyn Bench>, TargetError> {
        let Program { config, instructions, .. } = &self.program;
        let machine = Machine::new(config, Unset::Poison);
        let is_strict = options.unset == Unset::Poison;
        Ok(Box::new(OnBench { machine, ops: instructions.clone(), words: config.memory_words, is_strict }))
    }

    fn compiled(&self) -> Result<Box<dyn Compiled>, TargetError> {
        Ok(Box::new(SkeletonProgram(self.program.clone())))
    }
}

struct OnBench {
    machine: Machine,
    ops: Vec<Op>,
    words: u32,
    /// Whether it stops at memory that nobody has written.
    is_strict: bool,
}

impl Bench for OnBench {
    fn memories(&self) -> Vec<BenchMemory> {
        let (name, depth) = ("memory".to_owned(), self.words.into());
        vec![BenchMemory { name, depth, lanes: 1, bits: FORMAT.width, is_signed: true }]
    }

    fn write(&mut self, _memory: usize, address: u64, numbers: &[i64]) -> Result<(), TargetError> {
        let numbers: Vec<i16> = numbers.iter().map(|&number| number as i16).collect();
        // Whoever calls has checked the address.
        self.machine.write(address as u32, &numbers).map_err(TargetError::failed)
    }

    fn read(&self, _memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
        let number = |address: u64| match self.machine.read(address as u32, 1) {
            Ok(number) => Ok(number.first().map_or(0, |&number| number.into())),
            Err(FaultKind::Unwritten { .. }) => Ok(0),
            Err(fault) => Err(TargetError::failed(fault)),
        };
        (address..address + count).map(number).collect()
    }

    fn number(&self, _memory: usize, real: f64) -> Option<i64> {
        Some(number_of(NumberFormat::Fixed(FORMAT), real))
    }

    fn real(&self, _memory: usize, number: i64) -> Option<f64> {
        Some(real_of(NumberFormat::Fixed(FORMAT), number))
    }

    fn run(&mut self, limits: Limits) -> Result<Ran, Stopped> {
        let Self { machine, ops, is_strict, .. } = self;
        step_through(ops.len(), limits, |index| match machine.step(&ops[index]) {
            Ok(()) => Ok(()),
            Err(fault @ FaultKind::Unwritten { address }) if !*is_strict => {
                machine
                    .write(address as u32, &[0])
                    .map_err(|fault| Halt::Fault(TargetError::failed(fault)))?;
                Err(Halt::Unwritten(format!("{fault}; it reads as 0")))
            }
            Err(fault) => Err(Halt::Fault(TargetError::failed(fault))),
        })
    }
}
