//! Costs beyond the accelerator's cycles, on request: time of the host, and energy.
//!
//! | module | contents |
//! |---|---|
//! | `host` | assumed speed of the host, and its time |
//! | `technology` | table of the energy per multiply-accumulate and per byte |
//! | `energy` | energy of a program by layer and memory |

mod energy;
mod host;
mod technology;

pub use energy::{Energy, EnergyParts};
pub use host::{HostRates, HostStepTime, HostTime};
pub use technology::{Figure, MacTable, MemoryFigure, MemoryTable, SramFigure, TECHNOLOGIES, Technology};

use npukit_target::TimeReport;

/// Costs to add to a time report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    /// Assumed speed of the host; `None` if its time does not count.
    pub host: Option<HostRates>,
    /// Table of energies; `None` if energy is unknown.
    pub technology: Option<Technology>,
}

impl Costs {
    /// Returns the energy of a program; `None` without a technology.
    pub(crate) fn energy(&self, time: &TimeReport) -> Option<Energy> {
        self.technology.as_ref().map(|technology| Energy::of(technology, time))
    }
}
