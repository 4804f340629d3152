//! [`AssembledProgram`]: an assembly program, as text or as binary words.

use npukit_target::{AsmOptions, AsmProgram, Compiled, ProgramText, Stopped, TargetError, UninitMemory};

use super::machine::{OpuMachine, Stepped, faulty};
use super::program::{OpuProgram, ProgramOrigin};
use crate::config::Config;
use crate::isa::codec::decode;
use crate::isa::fault::FaultKind;
use crate::isa::memory::{MEMORY_BYTES, PROGRAM_ALIGNMENT};
use crate::isa::op::{Op, WORD_BYTES};
use crate::machine::Machine;
use crate::program::Program;

/// Assembly program, without tensors.
pub(super) struct AssembledProgram {
    name: String,
    instance: String,
    config: Config,
    words: Vec<u32>,
    text: ProgramText,
}

impl AssembledProgram {
    pub fn new(
        name: String,
        (instance, config): (&str, &Config),
        words: Vec<u32>,
        text: ProgramText,
    ) -> Self {
        Self { name, instance: instance.to_owned(), config: config.clone(), words, text }
    }

    /// Returns the load address of the words: the default one, or the highest possible one for a
    /// longer program.
    fn address(&self) -> u32 {
        let bytes = (self.words.len() * WORD_BYTES) as u64;
        let highest = MEMORY_BYTES.saturating_sub(bytes) / u64::from(PROGRAM_ALIGNMENT);
        highest.saturating_mul(PROGRAM_ALIGNMENT.into()).min(Program::ADDRESS.into()) as u32
    }

    /// Returns the instructions up to the first `end`, or up to the first invalid word, with its
    /// fault.
    fn decoded(&self) -> (Vec<Op>, Option<FaultKind>) {
        let mut ops = Vec::new();
        for &word in &self.words {
            match decode(word, self.config.validity) {
                Ok(op) => ops.push(op),
                Err(fault) => return (ops, Some(fault)),
            }
            if ops.last() == Some(&Op::End) {
                break;
            }
        }
        (ops, None)
    }

    /// Returns the instructions up to the first `end`.
    ///
    /// Errors: a word is not an instruction; the message names its line.
    fn instructions(&self) -> Result<Vec<Op>, TargetError> {
        match self.decoded() {
            (ops, None) => Ok(ops),
            (ops, Some(fault)) => {
                Err(self.text.stopped(Stopped { instruction: Some(ops.len()), error: faulty(&fault) }))
            }
        }
    }
}

impl AsmProgram for AssembledProgram {
    fn text(&self) -> &ProgramText {
        &self.text
    }

    /// Specification and released simulator define every instruction alike, so the options' hazard
    /// mode is ignored.
    fn machine(&self, options: &AsmOptions) -> Result<Box<dyn npukit_target::Machine>, TargetError> {
        let mut machine =
            Machine::with_memory(self.config.types, UninitMemory::Poison).with_validity(self.config.validity);
        let loaded = machine.load(self.address().into(), &self.words).map_err(TargetError::failed)?;
        let names = (self.name.clone(), format!("opu:{}", self.instance));
        let stepped = Stepped::new(names, &self.config, self.decoded().0);
        Ok(Box::new(OpuMachine::new(stepped, machine, loaded, options.unset == UninitMemory::Poison)))
    }

    fn compiled(&self) -> Result<Box<dyn Compiled>, TargetError> {
        let (name, instance, config) = (self.name.clone(), self.instance.clone(), self.config.clone());
        let program =
            Program { address: self.address(), ..Program::of(name, instance, config, self.instructions()?) };
        Ok(Box::new(OpuProgram::new(program, ProgramOrigin::Assembly)))
    }
}
