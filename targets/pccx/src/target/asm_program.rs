//! [`AssembledProgram`]: an assembly program, from text or words.

use npukit_asm::{Experiment, MemoryRange, StatementKind, Values};
use npukit_target::{AsmOptions, AsmProgram, Compiled, Linted, Machine, ProgramText, TargetError};

use super::machine::{PccxMachine, Stepped};
use super::program::PccxProgram;
use crate::check::lints::LINTS;
use crate::check::{Filled, asm_findings};
use crate::config::{Config, WORD_LANES};
use crate::host::asm_run::AsmMachine;
use crate::isa::op::{Op, Values as Words};
use crate::lower::Executable;
use crate::program::Program;
use crate::program::host::{Host, HostStep};

/// A program for which the host only waits.
pub(super) struct AssembledProgram {
    pub name: String,
    /// Full name of target and instance.
    pub target: String,
    pub config: Config,
    pub ops: Vec<Op>,
    pub text: ProgramText,
}

impl AssembledProgram {
    /// Adds findings of the check to the warnings, each with its line.
    pub fn warned(mut self) -> Self {
        let experiment = &self.text.experiment;
        let found = asm_findings(&self.config, &self.ops, &waits(experiment), &filled(experiment));
        self.text = Linted::new(self.text, found, LINTS).warned(LINTS);
        self
    }

    /// Returns the program with its host's waits.
    fn executable(&self) -> Executable {
        let waits = waits(&self.text.experiment).into_iter();
        let host_ops = waits.map(|position| HostStep::Wait.encode(position)).collect();
        let (extensions, code) = (self.config.extensions, self.ops.clone());
        let program = Program { extensions, code, host_ops, ..Program::default() };
        Executable { program, host: Host::default() }
    }
}

impl AsmProgram for AssembledProgram {
    fn text(&self) -> &ProgramText {
        &self.text
    }

    fn machine(&self, options: &AsmOptions) -> Result<Box<dyn Machine>, TargetError> {
        let machine = AsmMachine::new(&self.config, &self.ops, &self.text, options)?;
        let names = (self.name.clone(), self.target.clone());
        let program = Stepped::new(names, &self.config, self.executable(), machine.memories().to_vec());
        Ok(Box::new(PccxMachine::for_asm(program, machine)))
    }

    fn compiled(&self) -> Result<Box<dyn Compiled>, TargetError> {
        let (name, target) = (self.name.clone(), self.target.clone());
        let program = PccxProgram::new(name, target, self.executable(), self.config.clone());
        Ok(Box::new(program.for_asm(filled(&self.text.experiment))))
    }
}

/// Returns the instructions before which the host waits.
pub(super) fn waits(experiment: &Experiment) -> Vec<u32> {
    // The cast loses nothing: the number of 8-byte instructions fits 32 bits.
    experiment.waits.iter().map(|wait| wait.position as u32).collect()
}

/// Returns the memories that an experiment fills before the run.
pub(super) fn filled(experiment: &Experiment) -> Filled {
    let mut filled = Filled::default();
    for statement in &experiment.statements {
        let (range, values) = match &statement.kind {
            StatementKind::Data { range, values } => (range, Some(values)),
            StatementKind::Input { range, values, .. } => (range, values.as_ref()),
            StatementKind::Output { range, .. } | StatementKind::Expect { range, .. } => {
                filled.is_all = true;
                let values = if let StatementKind::Expect { values, .. } = &statement.kind {
                    Some(values)
                } else {
                    None
                };
                if range.memory.eq_ignore_ascii_case("l2") {
                    filled.looked_at.extend(words(range, values));
                }
                continue;
            }
        };
        if range.memory.eq_ignore_ascii_case("l2") {
            filled.l2.extend(words(range, values));
        }
        filled.maximum |= range.memory.eq_ignore_ascii_case("e_max");
    }
    filled
}

/// Returns the words that values fill; all up to the end if their number is not known yet.
fn words(range: &MemoryRange, values: Option<&Values>) -> Option<Words> {
    let known = match values {
        Some(Values::Raw { numbers, .. }) => Some(numbers.len()),
        Some(Values::Real(all)) => Some(all.len()),
        Some(Values::File(_)) | None => None,
    };
    let count = match (range.end, known) {
        (Some(end), _) => usize::try_from(end.saturating_sub(range.start)).ok()?.saturating_mul(WORD_LANES),
        (None, Some(known)) => known.next_multiple_of(WORD_LANES),
        (None, None) if range.is_one => WORD_LANES,
        (None, None) => usize::MAX,
    };
    Some(Words::new(u32::try_from(range.start).ok()?, count))
}
