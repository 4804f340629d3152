//! [`AssembledProgram`]: an assembly program, as text or words.

use npukit_target::{
    AsmOptions, AsmProgram, Compiled, Machine, ModelReading, ProgramText, TargetError, UninitMemory,
};

use super::machine::{Stepped, TcuMachine};
use super::program::TcuProgram;
use crate::config::{Config, System};
use crate::isa::op::Op;
use crate::machine;
use crate::program::{MemoryUse, Program};

/// A program without tensors.
pub(super) struct AssembledProgram {
    program: Program,
    board: String,
    text: ProgramText,
}

impl AssembledProgram {
    pub fn new(
        name: String,
        (board, config, system): (&str, &Config, &System),
        instructions: Vec<Op>,
        text: ProgramText,
    ) -> Self {
        let program = Program {
            name,
            config: config.clone(),
            instructions,
            constants: Vec::new(),
            load_consts_to_local: false,
            inputs: Vec::new(),
            outputs: Vec::new(),
            host_steps: Vec::new(),
            layers: Vec::new(),
            memory: MemoryUse::default(),
            system: Some(system.clone()),
            reading: ModelReading::new(),
        };
        Self { program, board: board.to_owned(), text }
    }

    fn program(&self) -> TcuProgram {
        TcuProgram::loaded(self.program.clone(), Some(self.board.clone()))
    }

    /// Adds source lines to an error about deviations of the hardware.
    fn with_lines(&self, error: TargetError) -> TargetError {
        let TargetError::Differs(mut findings) = error else { return error };
        for finding in &mut findings {
            if let Some(&place) = finding.instruction.and_then(|index| self.text.places.get(index)) {
                let (file, line, _) = self.text.sources.position_of(place);
                finding.message = format!("{file}, line {line}: {}", finding.message);
            }
        }
        TargetError::Differs(findings)
    }
}

impl AsmProgram for AssembledProgram {
    fn text(&self) -> &ProgramText {
        &self.text
    }

    fn machine(&self, options: &AsmOptions) -> Result<Box<dyn Machine>, TargetError> {
        let Program { config, instructions, name, .. } = &self.program;
        let program = self.program();
        let lost = program.lost(options.meaning).map_err(|error| self.with_lines(error))?;
        let state = machine::Machine::with_unset(config, options.unset).map_err(TargetError::failed)?;
        let names = (name.clone(), program.target());
        let stepped = Stepped::new(names, config, instructions.clone(), program.board_memory());
        let is_strict = options.unset == UninitMemory::Poison;
        let machine = TcuMachine::new(stepped, state.watching_reads(), lost, is_strict);
        Ok(Box::new(machine.with_circuit(program)))
    }

    fn compiled(&self) -> Result<Box<dyn Compiled>, TargetError> {
        Ok(Box::new(self.program()))
    }
}
