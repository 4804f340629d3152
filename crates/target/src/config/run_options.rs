//! [`RunOptions`]: options of a run beyond its inputs.

use std::num::NonZeroU32;

use crate::contract::output::{Output, RunResult};
use crate::error::TargetError;

/// Meaning of a program where the released hardware deviates from strictly sequential execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HazardMode {
    /// Both must agree; a program on which they differ is refused.
    #[default]
    Agreed,
    /// Sequential execution of the instructions.
    Sequential,
    /// The results of the hardware.
    Hardware,
}

/// Initial content of memory that neither the artifact nor its driver sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UninitMemory {
    /// Zero, as in a newly started simulator.
    #[default]
    Zero,
    /// Pseudorandom numbers from this seed.
    Garbage(u64),
    /// Poison: reading it is a fault.
    Poison,
}

/// Options of a run beyond its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// Meaning to use where hardware and sequential execution differ.
    pub meaning: HazardMode,
    /// Initial content of memory.
    pub unset: UninitMemory,
    /// Number of consecutive runs on one machine. Before each run, only the memory that a driver
    /// writes every time is written.
    pub times: NonZeroU32,
    /// Whether to return [`RunResult::data`].
    pub driver_data: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            meaning: HazardMode::default(),
            unset: UninitMemory::default(),
            times: NonZeroU32::MIN,
            driver_data: false,
        }
    }
}

impl RunOptions {
    /// Calls `run` the requested number of times.
    ///
    /// # Errors
    ///
    /// The error of `run`, or [`TargetError::Unrepeatable`] if a later run gives other outputs than
    /// the first.
    pub fn repeat(
        &self,
        mut run: impl FnMut() -> Result<RunResult, TargetError>,
    ) -> Result<RunResult, TargetError> {
        let first = run()?;
        for time in 2..=self.times.get() {
            let again = run()?;
            let differs = |(a, b): &(&Output, &Output)| a.raw != b.raw || !a.values.is_same(&b.values);
            if let Some((output, _)) = again.outputs.iter().zip(&first.outputs).find(differs) {
                return Err(TargetError::Unrepeatable { output: output.name.clone(), time });
            }
        }
        Ok(first)
    }
}
