//! What the compiler minimises: [`Minimise`].

use crate::clock::{Clock, ClockParams, Meter};
use crate::config::Config;

/// Whose cycles the compiler minimises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Minimise {
    /// Those of the published estimator.
    Estimator,
    /// Those of the hardware's clock with this memory; of the estimator where no bus carries the vectors.
    Clock(ClockParams),
}

impl Minimise {
    /// Whether memory answers before the array's last results have left it, so that a read that begins with
    /// the wait for them costs less than the wait.
    pub fn hides_reads(self, config: &Config) -> bool {
        let drained = 2 * config.array_size as u64;
        matches!(self, Self::Clock(params) if params.read_latency < drained)
    }

    /// The clock to go by; none for the estimator.
    pub fn meter(self, config: &Config) -> Option<Meter> {
        match self {
            Self::Estimator => None,
            Self::Clock(params) => Clock::new(config, params).ok().map(|clock| clock.meter()),
        }
    }
}
