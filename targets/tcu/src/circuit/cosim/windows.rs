//! Windows on the DRAM banks: location of an instruction's vectors in a bank. A program may change
//! the bank's offset.

use crate::config::Config;
use crate::isa::check::depth;
use crate::isa::op::{Memory, Op};
use crate::machine::configuration::Configuration;

use super::CosimError;

/// Bank offsets while a program runs.
pub(super) struct Windows<'c> {
    config: &'c Config,
    configuration: Configuration,
}

/// Maximum bytes of a bank for programs with moving windows; the simulation keeps and writes all of
/// them.
const MAX_BYTES: u64 = 128 << 20;

impl<'c> Windows<'c> {
    /// Creates the windows after a reset.
    pub(super) fn new(config: &'c Config) -> Self {
        Self { config, configuration: Configuration::new(config.reading) }
    }

    /// Updates the windows after `op`.
    pub(super) fn follow(&mut self, op: &Op) {
        if let Op::Configure { register, value } = *op {
            self.configuration.configure(register, value);
        }
    }

    /// Returns the number of scalars before the window on a bank; 0 for an on-chip memory.
    pub(super) fn origin(&self, memory: Memory) -> u64 {
        self.configuration.offset_bytes(memory) / self.config.data_type.size_bytes().max(1) as u64
    }

    /// Returns the configuration registers.
    pub(super) const fn configuration(&self) -> &Configuration {
        &self.configuration
    }
}

/// Returns the number of vectors of each bank up to the last one that `ops` touch, counted from the
/// start of the bank, and at least `held`.
///
/// # Errors
///
/// [`CosimError::Far`] for windows beyond the simulated memory.
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
            if origin > 0 && bytes > MAX_BYTES {
                return Err(CosimError::Far { bank: place.memory, bytes, most: MAX_BYTES });
            }
            ends[bank] = ends[bank].max(reached);
        }
    }
    Ok(ends)
}
