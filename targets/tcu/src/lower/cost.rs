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
    /// The clock to go by; none for the estimator.
    pub fn meter(self, config: &Config) -> Option<Meter> {
        match self {
            Self::Estimator => None,
            Self::Clock(params) => Clock::new(config, params).ok().map(|clock| clock.meter()),
        }
    }
}
