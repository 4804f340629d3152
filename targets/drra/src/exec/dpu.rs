//! The data processing unit (specification 5.5).

use super::extension::extension;
use super::{saturate, scale_down};
use crate::op::DpuMode;
use crate::state::{Dpu, Ports, Swb};

/// Ports of a dpu.
pub(crate) const CONFIG: u8 = 0;
pub(crate) const RESET: u8 = 1;

/// What a dpu works on in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inputs {
    pub in0: i16,
    pub in1: i16,
    /// The constant of the configuration.
    pub immediate: i16,
    /// The accumulator is reset in this cycle.
    pub reset: bool,
    /// Port 0 has an address in this cycle.
    pub counted: bool,
}

impl Dpu {
    /// Computes a cycle: the output register has the result in the next one. Whether anything changed.
    ///
    /// `reset_line` is the activation of port 1, which resets the accumulator as an address of the port does.
    #[inline]
    pub(crate) fn step(&mut self, ports: &Ports, swb: &Swb, words: &[i16; 32], reset_line: bool) -> bool {
        let selected = ports.address(self.slot, CONFIG);
        if let Some(config) = selected {
            self.config = config as u8;
        }
        let config = self.configs[usize::from(self.config & 3)];
        let word = |slot| words[usize::from(swb.source_of(slot) & 31)];
        let inputs = Inputs {
            in0: word(self.slot),
            in1: word(self.slot + 1),
            immediate: config.immediate,
            reset: reset_line || ports.address(self.slot, RESET).is_some(),
            counted: selected.is_some(),
        };
        let before = (self.out, self.acc, self.ir);
        self.compute(config.mode, inputs);
        before != (self.out, self.acc, self.ir)
    }

    /// A mode. All but `mac` clear the accumulator, and those of the extension that say otherwise.
    fn compute(&mut self, mode: DpuMode, inputs: Inputs) {
        let (in0, in1) = (i64::from(inputs.in0), i64::from(inputs.in1));
        (self.out, self.acc) = match mode {
            DpuMode::Idle => (0, 0),
            DpuMode::Add => (saturate(in0 + in1), 0),
            DpuMode::Mult => (self.product(in0, in1), 0),
            DpuMode::Mac => {
                let acc = if inputs.reset { 0 } else { self.acc };
                let acc = saturate(acc + i64::from(self.product(in0, in1)));
                (acc, acc.into())
            }
            other => extension(self, other, inputs),
        };
    }

    /// A product, scaled by the fraction bits and saturated.
    #[inline]
    pub(crate) fn product(&self, a: i64, b: i64) -> i16 {
        saturate(scale_down(a * b, self.fraction_bits))
    }
}
