//! What the compiler minimises: [`Minimise`].

use crate::clock::{Clock, Meter};
use crate::config::packing::Packing;
use crate::config::{ClockParams, Config};
use crate::isa::op::{DataMoveKind, Op};

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

    /// What transfers wait for; nothing by the estimator.
    pub fn waits(self, config: &Config) -> Waits {
        match self {
            Self::Estimator => Waits::default(),
            Self::Clock(ClockParams { read_latency, write_response_latency, axi_bits, .. }) => {
                let packing = Packing::new(config, axi_bits);
                Waits { read: read_latency, write: write_response_latency, beats: packing.beats() }
            }
        }
    }

    /// The clock to go by; none for the estimator.
    pub fn meter(self, config: &Config) -> Option<Meter> {
        match self {
            Self::Estimator => None,
            Self::Clock(params) => Clock::new(config, params).ok().map(|clock| clock.meter()),
        }
    }
}

/// What a transfer between DRAM and local memory takes beside a cycle for each vector.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// Until the first vector is there.
    read: u64,
    /// Until the response to the last one.
    write: u64,
    /// Beats of a vector.
    beats: u64,
}

impl Default for Waits {
    fn default() -> Self {
        Self { read: 0, write: 0, beats: 1 }
    }
}

impl Waits {
    /// Cycles of an instruction beside those of the estimator.
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

    /// Cycles of a read of so many vectors, beside one for each.
    pub fn of_read(self, vectors: u64) -> u64 {
        self.read + (self.beats - 1) * vectors
    }
}
