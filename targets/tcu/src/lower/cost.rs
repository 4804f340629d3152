//! What the compiler minimises: [`Cost`] follows a program instruction by instruction.

use crate::clock::{Clock, ClockParams, Meter};
use crate::config::Config;
use crate::op::Op;
use crate::timing::Estimator;

/// Whose cycles the compiler minimises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Minimise {
    /// Those of the published estimator.
    Estimator,
    /// Those of the hardware's clock with this memory; of the estimator where no bus carries the vectors.
    Clock(ClockParams),
}

/// The cycles of a program so far.
#[derive(Clone, Debug)]
pub enum Cost {
    /// By the published estimator, drained.
    Estimator {
        /// Its state.
        estimator: Estimator,
        /// The sum.
        cycles: u64,
    },
    /// By the hardware's clock.
    Clock(Box<Meter>),
}

impl Cost {
    /// Before the first instruction.
    pub fn new(config: &Config, minimise: Minimise) -> Self {
        if let Minimise::Clock(params) = minimise
            && let Ok(clock) = Clock::new(config, params)
        {
            return Self::Clock(Box::new(clock.meter()));
        }
        Self::Estimator { estimator: Estimator::new(config), cycles: 0 }
    }

    /// Adds an instruction.
    pub fn push(&mut self, op: &Op) {
        match self {
            Self::Estimator { estimator, cycles } => *cycles += estimator.cost(op).cycles,
            Self::Clock(meter) => meter.push(op),
        }
    }

    /// Cycles so far.
    pub fn cycles(&self) -> u64 {
        match self {
            Self::Estimator { cycles, .. } => *cycles,
            Self::Clock(meter) => meter.cycles(),
        }
    }
}
