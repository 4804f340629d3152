//! [`Rep`]: a repetition whose values may be wider than the fields of `rep`.

use crate::op::ResourceOp;

/// A repetition level with its full values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rep {
    /// How often.
    pub iter: i64,
    /// Added to the address each time.
    pub step: i64,
    /// Idle cycles between.
    pub delay: i64,
}

/// Bits of `iter` in `rep`, and as many in `repx`.
const ITER_BITS: u32 = 8;
/// Bits of `step` in `rep`, and as many in `repx`.
const STEP_BITS: u32 = 7;

/// Largest and smallest values that `rep` and `repx` hold together, with `delay_bits` in each.
pub fn limits(delay_bits: u32) -> [(&'static str, i64, i64); 3] {
    let step = 1_i64 << (2 * STEP_BITS - 1);
    [
        ("iter", 1, (1 << (2 * ITER_BITS)) - 1),
        ("step", -step, step - 1),
        ("delay", 0, (1 << (2 * delay_bits)) - 1),
    ]
}

impl Rep {
    /// The instructions: `rep`, and `repx` where a value needs it.
    pub fn instructions(self, port: u8, delay_bits: u32) -> Vec<ResourceOp> {
        let low = |value: i64, bits: u32| (value & ((1 << bits) - 1)) as u8;
        let high = |value: i64, bits: u32| ((value >> bits) & ((1 << bits) - 1)) as u8;
        // The sign of a step is in its highest bit, of seven here.
        let step = (low(self.step, STEP_BITS) << 1) as i8 >> 1;
        let rep = ResourceOp::Rep {
            port,
            iter: low(self.iter, ITER_BITS),
            step,
            delay: low(self.delay, delay_bits),
        };
        let fits = self.iter < 1 << ITER_BITS && self.step == i64::from(step) && self.delay < 1 << delay_bits;
        if fits {
            return vec![rep];
        }
        let repx = ResourceOp::Repx {
            port,
            iter: high(self.iter, ITER_BITS),
            step: high(self.step, STEP_BITS),
            delay: high(self.delay, delay_bits),
        };
        vec![rep, repx]
    }

    /// The values of a `rep` with the high parts of the `repx` behind it.
    pub fn extended(self, iter: i64, step: i64, delay: i64, delay_bits: u32) -> Self {
        let width = 2 * STEP_BITS;
        let bits = (step << STEP_BITS | self.step & ((1 << STEP_BITS) - 1)) & ((1 << width) - 1);
        let step = if bits >> (width - 1) == 1 { bits - (1 << width) } else { bits };
        Self { iter: self.iter + (iter << ITER_BITS), step, delay: self.delay + (delay << delay_bits) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_values_are_split_and_joined() {
        for rep in [
            Rep { iter: 300, step: 1, delay: 0 },
            Rep { iter: 2, step: -3, delay: 200 },
            Rep { iter: 2, step: -100, delay: 3 },
            Rep { iter: 65535, step: 8191, delay: 16383 },
            Rep { iter: 1, step: 64, delay: 0 },
        ] {
            let parts = rep.instructions(1, 7);
            let [
                ResourceOp::Rep { iter, step, delay, .. },
                ResourceOp::Repx { iter: a, step: b, delay: c, .. },
            ] = parts[..]
            else {
                panic!("{parts:?}")
            };
            let low = Rep { iter: iter.into(), step: step.into(), delay: delay.into() };
            assert_eq!(low.extended(a.into(), b.into(), c.into(), 7), rep);
        }
        let small = Rep { iter: 255, step: -64, delay: 127 };
        assert_eq!(small.instructions(0, 7).len(), 1);
    }
}
