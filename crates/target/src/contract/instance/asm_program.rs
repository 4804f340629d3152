//! [`AsmProgram`]: an assembly program, as text or words. The memories of its [`Machine`] are
//! filled before a run and read afterwards.

mod text;

use crate::config::run_options::{HazardMode, UninitMemory};
use crate::contract::machine::Machine;
use crate::contract::program::Compiled;
use crate::error::TargetError;

pub use text::{ProgramText, program_text};

/// An assembly program, as text or words.
pub trait AsmProgram: Send + Sync {
    /// Returns the source positions of the instructions, and what the text declares about memories
    /// before and after a run.
    fn text(&self) -> &ProgramText;

    /// Returns the machine after a reset, at the first instruction.
    ///
    /// # Errors
    ///
    /// An instance that cannot be simulated; [`TargetError::Differs`] if hardware would deviate and
    /// the options do not choose.
    fn machine(&self, options: &AsmOptions) -> Result<Box<dyn Machine>, TargetError>;

    /// Returns the program as a compiled one, for its report, time, trace and lint. It has no
    /// inputs and no outputs.
    ///
    /// # Errors
    ///
    /// Words that are not instructions.
    fn compiled(&self) -> Result<Box<dyn Compiled>, TargetError>;
}

/// Options of the machine that runs an assembly program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsmOptions {
    /// Meaning to use where hardware and sequential execution differ.
    pub meaning: HazardMode,
    /// Content of unwritten memory. Reading it causes a remark
    /// ([`Ran::remarks`](crate::RunOutcome::remarks)) for [`UninitMemory::Zero`] and garbage, and
    /// stops the machine for [`UninitMemory::Poison`].
    pub unset: UninitMemory,
}
