//! Data processing unit (specification 5.5).

use super::extension::extension;
use super::word::Word;
use crate::isa::op::DpuMode;
use crate::machine::state::{Dpu, Inputs, Ports, Swb};

/// Ports of a dpu.
pub(crate) const CONFIG: u8 = 0;
pub(crate) const RESET: u8 = 1;

impl<W: Word> Dpu<W> {
    /// Computes a cycle: the output register has the result in the next one. Returns whether
    /// anything changed.
    ///
    /// `reset_line` is the activation of port 1, which resets the accumulator like an address of
    /// the port.
    #[inline]
    pub(crate) fn step(&mut self, ports: &Ports, swb: &Swb, words: &[W; 32], reset_line: bool) -> bool {
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

    /// Executes a mode. All modes except `mac` and the accumulating modes of the extension clear
    /// the accumulator.
    fn compute(&mut self, mode: DpuMode, inputs: Inputs<W>) {
        let (in0, in1, none) = (inputs.in0, inputs.in1, W::Sum::default());
        (self.out, self.acc) = match mode {
            DpuMode::Idle => (W::default(), none),
            DpuMode::Add => (in0.plus(in1), none),
            DpuMode::Mult => (in0.times(in1, self.fraction_bits), none),
            DpuMode::Mac => {
                let acc = if inputs.reset { none } else { self.acc };
                let (sum, saturates) = W::mac(acc, [in0, in1], self.fraction_bits);
                self.note_sum(inputs.reset, saturates);
                (W::narrow(sum, 0), sum)
            }
            other => extension(self, other, inputs),
        };
    }

    /// Counts a sum that exceeds the accumulator, once after its reset.
    ///
    /// Modes that do not sum leave 0 in the accumulator, so a new sum follows them.
    #[inline]
    pub(crate) fn note_sum(&mut self, reset: bool, saturates: bool) {
        let is_known = self.has_saturated && !reset && self.acc != W::Sum::default();
        self.saturated_sums += u64::from(saturates && !is_known);
        self.has_saturated = is_known || saturates;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_that_saturates_on_its_way_is_counted_once() {
        let mut dpu = Dpu::new(0, 0);
        let mut after = |mode, in0, in1, reset| {
            dpu.compute(mode, Inputs { in0, in1, immediate: 0, reset, counted: true });
            (dpu.out, dpu.saturated_sums)
        };
        let mac = DpuMode::Mac;
        assert_eq!(after(mac, 200, 200, true), (i16::MAX, 1), "the product");
        assert_eq!(after(mac, 1, 1, false), (i16::MAX, 1), "the same sum");
        assert_eq!(after(mac, -100, 100, false), (22_767, 1));
        assert_eq!(after(mac, 181, 181, true), (32_761, 1), "another sum, which fits");
        assert_eq!(after(mac, 7, 1, false), (i16::MAX, 2), "the sum");
        // Modes that do not sum leave an accumulator of 0, which starts a new sum.
        assert_eq!(after(DpuMode::Mult, 200, 200, false), (i16::MAX, 2));
        assert_eq!(after(mac, -200, 200, false), (i16::MIN, 3));
        assert_eq!(after(DpuMode::SumAcc, -1, 0, false), (i16::MIN, 3), "the sum goes on");
        assert_eq!(after(DpuMode::SumAcc, i16::MAX, 1, true), (i16::MAX, 4));
        assert_eq!(after(DpuMode::MacInter, i16::MIN, i16::MIN, true), (i16::MAX, 4), "only the result");
    }
}
