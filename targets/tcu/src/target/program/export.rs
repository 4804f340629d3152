//! Export of the sampling unit's words, for tools of the hardware.

use std::io::Write;

use npukit_target::{TargetError, TimeOptions};

use super::TcuProgram;
use super::settings::Settings;
use crate::clock::samples::{DRIVER_SHIFT, Sample};
use crate::config::Overlap;
use crate::isa::op::{Op, Register};

impl TcuProgram {
    /// Writes the words of the sampling unit as the C driver finds them in its buffer. The driver
    /// has set the interval before, and starts the program by setting the program counter.
    pub(super) fn write_samples(
        &self,
        options: &TimeOptions,
        out: &mut dyn Write,
    ) -> Result<(), TargetError> {
        let settings = self.settings(options)?;
        if self.program.config.overlap != Overlap::RELEASED {
            let reason = "the handshakes in a sample are only known for the released unit: time the program on the instance \
                          without `+overlap`";
            return Err(TargetError::option("samples", "FILE", reason));
        }
        self.check_block(&settings)?;
        let clock = self.clock(&settings).map_err(TargetError::failed)?;
        let counter = Op::Configure { register: Register::ProgramCounter as u8, value: DRIVER_SHIFT };
        let ops: Vec<Op> =
            std::iter::once(counter).chain(self.program.instructions.iter().copied()).collect();
        let (mut written, mut count) = (Ok(()), 0_u64);
        let mut write = |sample: Sample| {
            count += 1;
            if written.is_ok() {
                written = out.write_all(&sample.word().to_le_bytes());
            }
        };
        let mut timeline =
            clock.run_sampled(&ops, settings.sample_interval, settings.sample_block, &mut write);
        written.map_err(TargetError::failed)?;
        if count == 0 {
            let reason = "sampling is off and the program does not enable it: the released hardware streams no samples; \
                          an instance with the suffix `+seed` streams invalid ones, as in the instruction set specification";
            return Err(TargetError::option("sample-interval", "0", reason));
        }
        if let Some(hang) = &mut timeline.hang {
            hang.move_back(DRIVER_SHIFT as usize);
        }
        self.complete(timeline).map_err(TargetError::failed)?;
        Ok(())
    }
}

/// Largest block of samples that is accepted for any program: 512 KiB.
const BLOCK: u64 = 1 << 16;

impl TcuProgram {
    /// Checks that a block is not much larger than the program fills; the rest would be empty
    /// samples.
    ///
    /// Errors: [`TargetError::Option`] with the limit.
    fn check_block(&self, settings: &Settings) -> Result<(), TargetError> {
        let block = u64::from(settings.sample_block);
        if block <= BLOCK {
            return Ok(());
        }
        let configured = self.program.instructions.iter().filter_map(|op| match *op {
            Op::Configure { register, value } if register == Register::SampleInterval as u8 => {
                Some(value & 0xFFFF)
            }
            _ => None,
        });
        let interval =
            configured.filter(|&interval| interval > 0).chain([settings.sample_interval.into()]).min();
        let total = self.timeline(settings).map_err(TargetError::failed)?.total;
        let samples = total / u64::from(interval.unwrap_or(1)).max(1) + 1;
        let most = samples.max(BLOCK);
        if block <= most {
            return Ok(());
        }
        let reason = format!("the program fills at most {samples} samples; a block may have at most {most}");
        Err(TargetError::option("sample-block", &block.to_string(), reason))
    }
}
