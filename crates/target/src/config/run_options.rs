//! [`RunOptions`]: how a program is run beyond its inputs.

use std::num::NonZeroU32;

use crate::contract::output::{Output, RunResult};
use crate::error::TargetError;

/// What a program means where the released hardware differs from its instructions taken one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Meaning {
    /// Both must agree: a program on which they differ is refused.
    #[default]
    Agreed,
    /// What the instructions say, one after the other.
    Sequential,
    /// What the hardware computes.
    Hardware,
}

/// What memory holds that neither the artifact nor its driver sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unset {
    /// Zero, as in a simulator that starts afresh.
    #[default]
    Zero,
    /// Anything: numbers that follow from this seed.
    Garbage(u64),
    /// Nothing: reading it is a fault.
    Poison,
}

/// How a program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// What counts where hardware and sequence differ.
    pub meaning: Meaning,
    /// What lies in memory before.
    pub unset: Unset,
    /// How often in a row on one machine; before each run only what a driver writes every time is written.
    pub times: NonZeroU32,
    /// Whether [`RunResult::data`] is wanted.
    pub driver_data: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            meaning: Meaning::default(),
            unset: Unset::default(),
            times: NonZeroU32::MIN,
            driver_data: false,
        }
    }
}

impl RunOptions {
    /// Calls `run` as often as the options say.
    ///
    /// # Errors
    ///
    /// `run`'s own, and [`TargetError::Unrepeatable`] when a later run gives other outputs than the first.
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
