//! [`AssembledProgram`]: an assembly program.

use npukit_isa::program::ProgramErrors;
use npukit_target::{AsmOptions, AsmProgram, Compiled, Machine, ProgramText, TargetError, UninitMemory};

use super::machine::SkeletonMachine;
use super::program::SkeletonProgram;
use crate::config::Config;
use crate::isa::codec::{DecodeError, decode_program};
use crate::isa::op::Op;
use crate::machine;
use crate::program::Program;

/// An assembly program up to the first `end`.
pub struct AssembledProgram {
    program: Program,
    text: ProgramText,
}

impl AssembledProgram {
    /// Decodes the words of a program for an instance.
    ///
    /// # Errors
    ///
    /// All words that cannot be executed.
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
        let (constants, inputs, outputs, layers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let program = Program { name, instance, config, instructions, constants, inputs, outputs, layers };
        Ok(Self { program, text })
    }
}

impl AsmProgram for AssembledProgram {
    fn text(&self) -> &ProgramText {
        &self.text
    }

    fn machine(&self, options: &AsmOptions) -> Result<Box<dyn Machine>, TargetError> {
        let machine = machine::Machine::new(&self.program.config, UninitMemory::Poison);
        let is_strict = options.unset == UninitMemory::Poison;
        Ok(Box::new(SkeletonMachine::new(&self.program, machine, None, is_strict)))
    }

    fn compiled(&self) -> Result<Box<dyn Compiled>, TargetError> {
        Ok(Box::new(SkeletonProgram::new(self.program.clone())))
    }
}
