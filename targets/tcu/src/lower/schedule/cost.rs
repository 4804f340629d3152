//! Cost measure that the compiler minimizes: [`Minimize`].

use crate::clock::{Clock, Meter};
use crate::config::packing::Packing;
use crate::config::{ClockParams, Config};
use crate::isa::op::{DataMoveKind, Op};

/// Cost measure that the compiler minimizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Minimize {
    /// Cycles of the published estimator.
    Estimator,
    /// Cycles of the hardware clock with this memory. Falls back to the estimator if the bus cannot
    /// carry the vectors.
    Clock(ClockParams),
}

impl Minimize {
    /// Whether memory answers before the array's last results have left it. A read that starts
    /// together with the wait for them then costs less than the wait.
    pub fn hides_reads(self, config: &Config) -> bool {
        let drained = 2 * config.array_size as u64;
        matches!(self, Self::Clock(params) if params.read_latency < drained)
    }

    /// Returns the additional cycles of transfers; zero for the estimator.
    pub fn waits(self, config: &Config) -> Waits {
        match self {
            Self::Estimator => Waits::default(),
            Self::Clock(ClockParams { read_latency, write_response_latency, axi_bits, .. }) => {
                let packing = Packing::new(config, axi_bits);
                Waits { read: read_latency, write: write_response_latency, beats: packing.beats() }
            }
        }
    }

    /// Returns the memory of the clock that has timed a program; `None` without such a clock, or if
    /// the program hangs.
    pub fn clocked(self, meter: Option<&Meter>) -> Option<ClockParams> {
        match self {
            Self::Clock(params) if meter.is_some_and(|meter| !meter.hangs()) => Some(params),
            _ => None,
        }
    }

    /// Returns the clock that measures cycles; `None` for the estimator.
    pub fn meter(self, config: &Config) -> Option<Meter> {
        match self {
            Self::Estimator => None,
            Self::Clock(params) => Clock::new(config, params).ok().map(|clock| clock.meter()),
        }
    }
}

/// Cycles of a transfer between DRAM and local memory in addition to one cycle per vector.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// Cycles until the first vector arrives.
    read: u64,
    /// Cycles until the response to the last write.
    write: u64,
    /// Bus beats per vector.
    beats: u64,
}

impl Default for Waits {
    fn default() -> Self {
        Self { read: 0, write: 0, beats: 1 }
    }
}

impl Waits {
    /// Returns the cycles of an instruction in addition to the estimator's.
    pub fn of(self, op: &Op) -> u64 {
        use DataMoveKind::{Dram0ToLocal, Dram1ToLocal, LocalToDram0, LocalToDram1};
        match *op {
            Op::DataMove { kind: Dram0ToLocal | Dram1ToLocal, size, .. } => self.of_read(size),
            Op::DataMove { kind: LocalToDram0 | LocalToDram1, size, .. } => {
                self.write + (self.beats - 1) * size
            }
            _ => 0,
        }
    }

    /// Returns the cycles of a read of `vectors` vectors in addition to one per vector.
    pub fn of_read(self, vectors: u64) -> u64 {
        self.read + (self.beats - 1) * vectors
    }
}
