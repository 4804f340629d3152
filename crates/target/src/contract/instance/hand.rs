//! [`HandProgram`]: a program that a person wrote, in text or words. The memories of its [`Machine`] are filled before a run
//! and read afterwards.

mod text;

use crate::config::run_options::{Meaning, Unset};
use crate::contract::machine::Machine;
use crate::contract::program::Compiled;
use crate::error::TargetError;

pub use text::{ProgramText, program_text};

/// A program that a person wrote.
pub trait HandProgram: Send + Sync {
    /// Where its instructions stand, and what its text says of the memories around a run.
    fn text(&self) -> &ProgramText;

    /// The machine after a reset, at the first instruction.
    ///
    /// # Errors
    ///
    /// An instance that cannot be simulated; [`TargetError::Differs`] when hardware would compute something else and the
    /// options do not choose.
    fn machine(&self, options: &HandOptions) -> Result<Box<dyn Machine>, TargetError>;

    /// The program as those of the compiler are: for its report, its time, its trace and its lint. It has no inputs and
    /// no outputs.
    ///
    /// # Errors
    ///
    /// Words that are not instructions.
    fn compiled(&self) -> Result<Box<dyn Compiled>, TargetError>;
}

/// How a machine is to be on which a program runs that a person wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandOptions {
    /// What counts where hardware and sequence differ.
    pub meaning: Meaning,
    /// What lies in memory that nobody has written. A read of it is remarked upon ([`Ran::remarks`](crate::Ran::remarks)) when it is
    /// [`Unset::Zero`] or garbage, and stops the machine when it is [`Unset::Poison`].
    pub unset: Unset,
}
