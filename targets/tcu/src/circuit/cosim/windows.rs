//! The windows on the banks of DRAM: where an instruction's vectors lie in a bank, whose offset a program may change.

use crate::config::Config;
use crate::isa::check::depth;
use crate::isa::op::{Memory, Op};
use crate::machine::configuration::Configuration;

use super::CosimError;

/// The offsets while a program runs.
pub(super) struct Windows<'c> {
    config: &'c Config,
    configuration: Configuration,
}

/// Bytes of a bank that a program may reach whose windows move: the simulation keeps, and writes, all of them.
const MOST_BYTES: u64 = 128 << 20;

impl<'c> Windows<'c> {
    /// After a reset.
    pub(super) fn new(config: &'c Config) -> Self {
        Self { config, configuration: Configuration::new(config.reading) }
    }

    /// The program goes on behind `op`.
    pub(super) fn follow(&mut self, op: &Op) {
        if let Op::Configure { register, value } = *op {
            self.configuration.configure(register, value);
        }
    }

    /// Scalars before the window on a bank; none before a memory on the chip.
    pub(super) fn origin(&self, memory: Memory) -> u64 {
        self.configuration.offset_bytes(memory) / self.config.data_type.size_bytes().max(1) as u64
    }

    /// The configuration registers.
    pub(super) const fn configuration(&self) -> &Configuration {
        &self.configuration
    }
}

/// The vectors of each bank up to the last that `ops` touch, from the start of the bank on, and at least `held`.
///
/// # Errors
///
/// [`CosimError::Far`] for windows that a simulation does not reach.
pub(super) fn touched(config: &Config, ops: &[Op], held: [u64; 2]) -> Result<[u64; 2], CosimError> {
    let lanes = config.array_size.max(1) as u64;
    let mut windows = Windows::new(config);
    let mut ends = held;
    for op in ops {
        windows.follow(op);
        let flow = op.flow();
        for place in flow.places().into_iter().flatten() {
            let Some(bank) = place.memory.bank() else { continue };
            let span = (flow.size.saturating_sub(1)).saturating_mul(1 << place.run.stride_log2.min(32));
            let end =
                place.run.address.saturating_add(span).saturating_add(1).min(depth(config, place.memory));
            let origin = windows.origin(place.memory);
            let reached = origin.saturating_add(end.saturating_mul(lanes)).div_ceil(lanes);
            let bytes = reached.saturating_mul(config.vector_bits() / 8);
            if origin > 0 && bytes > MOST_BYTES {
                return Err(CosimError::Far { bank: place.memory, bytes, most: MOST_BYTES });
            }
            ends[bank] = ends[bank].max(reached);
        }
    }
    Ok(ends)
}
