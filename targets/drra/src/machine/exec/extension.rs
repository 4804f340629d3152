//! Modes of the dpu that no source defines; `targets/drra/README.md` defines them.
//!
//! They need `extensions`; otherwise, programs that use them are refused.

use super::word::Word;
use crate::isa::op::DpuMode;
use crate::machine::exec::amount;
use crate::machine::state::{Dpu, Inputs};

/// Width of the accumulator of `mac_inter`, in bits.
const WIDE_BITS: u32 = 48;
/// Width of the accumulator of `acc_softmax`, in bits.
const SUM_BITS: u32 = 32;

/// Returns the output and the accumulator after a cycle in `mode`.
pub(super) fn extension<W: Word>(dpu: &mut Dpu<W>, mode: DpuMode, inputs: Inputs<W>) -> (W, W::Sum) {
    let Inputs { in0: a, in1: b, immediate: c, .. } = inputs;
    let (bits, constant) = (dpu.fraction_bits, W::constant);
    let out = match mode {
        DpuMode::SumAcc | DpuMode::MaxMinAcc | DpuMode::AccSoftmax | DpuMode::MacInter => {
            return accumulate(dpu, mode, inputs);
        }
        DpuMode::LdAcc => return (a, a.loaded(c)),
        DpuMode::DivSoftmax => return (W::quotient(a.function(DpuMode::Expon).wide(), dpu.acc), dpu.acc),
        DpuMode::LdIr => {
            dpu.ir = b;
            b
        }
        DpuMode::AddConst => a.plus(constant(c)),
        DpuMode::Subt => a.minus(b),
        DpuMode::SubtAbs => a.distance(b),
        DpuMode::MultAdd => a.times(b, bits).plus(dpu.ir),
        DpuMode::MultConst => a.times(constant(c), bits),
        DpuMode::Axpy => dpu.ir.times(a, bits).plus(b),
        DpuMode::MaxMinConst => a.picked(constant(c & !1), c),
        DpuMode::MaxMin => a.picked(b, c),
        DpuMode::ShiftL => a.shifted_by(b, c, true),
        DpuMode::ShiftR => a.shifted_by(b, c, false),
        DpuMode::Sigm | DpuMode::Tanhyp | DpuMode::Expon => a.function(mode),
        DpuMode::LkRelu => a.leaky(c),
        DpuMode::Relu => a.picked(constant(0), 0),
        DpuMode::Div => W::quotient(a.wide(), b.wide()),
        DpuMode::ScaleDw => a.scaled(c, false),
        DpuMode::ScaleUp => a.scaled(c, true),
        // Modes that every fabric has are in `dpu`. Reserved modes are refused when the program is
        // read.
        DpuMode::Idle | DpuMode::Add | DpuMode::Mult | DpuMode::Mac => W::default(),
        DpuMode::Mode6 | DpuMode::Mode15 | DpuMode::Mode31 => W::default(),
    };
    (out, W::Sum::default())
}

/// Executes an accumulating mode. If 0 is not neutral, only operands with an address of port 0 are
/// used.
fn accumulate<W: Word>(dpu: &mut Dpu<W>, mode: DpuMode, inputs: Inputs<W>) -> (W, W::Sum) {
    let Inputs { in0: a, in1: b, immediate: c, reset, counted } = inputs;
    let (acc, none) = (dpu.acc, W::default().wide());
    let from = |neutral: W::Sum| if reset { neutral } else { acc };
    let mut noted = |(sum, saturates): (W::Sum, bool)| {
        dpu.note_sum(reset, saturates);
        sum
    };
    let acc = match mode {
        DpuMode::SumAcc => noted(W::added(from(none), [a, b], i16::BITS)),
        DpuMode::MaxMinAcc => {
            let neutral = W::constant(if c & 1 == 0 { i16::MIN } else { i16::MAX });
            let acc = W::narrow(from(neutral.wide()), 0);
            if counted { acc.picked(a, c) } else { acc }.wide()
        }
        DpuMode::AccSoftmax if counted => {
            noted(W::added(from(none), [a.function(DpuMode::Expon), W::default()], SUM_BITS))
        }
        DpuMode::MacInter => {
            let acc = noted(W::exact_mac(from(none), [a, b], WIDE_BITS));
            return (W::narrow(acc, amount(c.into())), acc);
        }
        _ => from(none),
    };
    (W::narrow(acc, 0), acc)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRACTION_BITS: u32 = 4;

    fn dpu(acc: i64, ir: i16) -> Dpu {
        Dpu { acc, ir, ..Dpu::new(0, FRACTION_BITS) }
    }

    fn inputs(in0: i16, in1: i16, immediate: i16) -> Inputs {
        Inputs { in0, in1, immediate, reset: false, counted: true }
    }

    /// Rounds to the nearest number of 16 bits, halves away from zero.
    fn nearest(value: f64) -> i16 {
        value.round().clamp(-32768.0, 32767.0) as i16
    }

    /// Table of the README in real numbers; `None` for accumulating modes.
    fn judge(mode: DpuMode, a: f64, b: f64, c: f64, ir: f64) -> Option<i16> {
        let one = f64::from(1 << FRACTION_BITS);
        let product = |x: f64, y: f64| f64::from(nearest(x * y / one));
        let places = |value: f64| value.clamp(0.0, 31.0).exp2();
        let is_min = c.rem_euclid(2.0) == 1.0;
        let pick = |x: f64, y: f64| if is_min { x.min(y) } else { x.max(y) };
        let q = 2048.0;
        Some(match mode {
            DpuMode::AddConst => nearest(a + c),
            DpuMode::Subt => nearest(a - b),
            DpuMode::SubtAbs => nearest((a - b).abs()),
            DpuMode::MultAdd => nearest(product(a, b) + ir),
            DpuMode::MultConst => nearest(a * c / one),
            DpuMode::LdIr => nearest(b),
            DpuMode::Axpy => nearest(product(ir, a) + b),
            DpuMode::MaxMinConst => nearest(pick(a, if is_min { c - 1.0 } else { c })),
            DpuMode::MaxMin => nearest(pick(a, b)),
            DpuMode::ShiftL => nearest(a * places(b + c)),
            DpuMode::ShiftR => nearest((a / places(b + c)).floor()),
            DpuMode::Sigm => nearest(q / (1.0 + (-a / q).exp())),
            DpuMode::Tanhyp => nearest((a / q).tanh() * q),
            DpuMode::Expon => nearest((a / q).exp() * q),
            DpuMode::LkRelu => nearest(if a < 0.0 { a * c / q } else { a }),
            DpuMode::Relu => nearest(a.max(0.0)),
            DpuMode::Div if b == 0.0 => nearest(if a == 0.0 { 0.0 } else { a.signum() * 1e9 }),
            DpuMode::Div => nearest(a / b * q),
            DpuMode::LdAcc => nearest(a),
            DpuMode::ScaleDw => nearest(a / places(c)),
            DpuMode::ScaleUp => nearest(a * places(c)),
            _ => return None,
        })
    }

    #[test]
    fn every_mode_is_what_the_table_says() {
        let values: Vec<i16> = (-32768..=32767).step_by(1999).map(|value| value as i16).collect();
        let values: Vec<i16> =
            values.into_iter().chain([-2, -1, 0, 1, 2, 3, 7, 15, 2048, i16::MAX]).collect();
        let mut judged = 0;
        for &mode in DpuMode::ALL {
            for (&a, &b) in values.iter().flat_map(|a| values.iter().map(move |b| (a, b))) {
                for c in [-32768, -2049, -3, -1, 0, 1, 2, 5, 12, 2048, 32767] {
                    let [real_a, real_b, real_c] = [a, b, c].map(f64::from);
                    let Some(expected) = judge(mode, real_a, real_b, real_c, 77.0) else { continue };
                    let (found, _) = extension(&mut dpu(0, 77), mode, inputs(a, b, c));
                    assert_eq!(found, expected, "{mode:?} {a} {b} {c}");
                    judged += 1;
                }
            }
        }
        assert_eq!(judged, 20 * 11 * values.len() * values.len());
    }

    /// Runs a mode over operands, with a reset before the first.
    fn over(mode: DpuMode, immediate: i16, operands: &[(i16, i16)]) -> (Dpu, i16) {
        let mut dpu = dpu(999, 0);
        for (index, &(a, b)) in operands.iter().enumerate() {
            let inputs = Inputs { reset: index == 0, ..inputs(a, b, immediate) };
            (dpu.out, dpu.acc) = extension(&mut dpu, mode, inputs);
        }
        let out = dpu.out;
        (dpu, out)
    }

    #[test]
    fn accumulations() {
        let operands = [(100, -3), (-20, 40), (7, 9)];
        assert_eq!(over(DpuMode::SumAcc, 0, &operands).1, 133);
        assert_eq!(over(DpuMode::SumAcc, 0, &[(32767, 32767), (-5, 0)]).1, 32762);
        assert_eq!(over(DpuMode::MaxMinAcc, 0, &[(-9, 5), (-7, 5), (-8, 5)]).1, -7);
        assert_eq!(over(DpuMode::MaxMinAcc, 1, &[(9, 5), (7, 5), (8, 5)]).1, 7);
        let sum: i64 = operands.iter().map(|(a, b)| i64::from(*a) * i64::from(*b)).sum();
        for places in 0..12_u32 {
            let expected = nearest(sum as f64 / f64::from(1 << places));
            assert_eq!(over(DpuMode::MacInter, places as i16, &operands).1, expected, "{places}");
        }
        let wide = [(i16::MIN, i16::MIN); 1000];
        assert_eq!(over(DpuMode::MacInter, 31, &wide).1, 500, "more than 16 bits are kept");
    }

    #[test]
    fn accumulators_saturate_at_their_width() {
        let after = |mode, acc, operands: (i16, i16)| {
            extension(&mut dpu(acc, 0), mode, inputs(operands.0, operands.1, 0)).1
        };
        let most = (1 << 47) - 1;
        assert_eq!(after(DpuMode::MacInter, most - 6, (2, 3)), most);
        assert_eq!(after(DpuMode::MacInter, most - 5, (2, 3)), most);
        assert_eq!(after(DpuMode::MacInter, -most, (-2, 1)), -most - 1);
        // e^0 is 2048 in this number format.
        let most = (1 << 31) - 1;
        assert_eq!(after(DpuMode::AccSoftmax, most - 2049, (0, 0)), most - 1);
        assert_eq!(after(DpuMode::AccSoftmax, most - 2047, (0, 0)), most);
    }

    #[test]
    fn only_counted_operands_are_in_a_maximum_and_a_softmax() {
        for mode in [DpuMode::MaxMinAcc, DpuMode::AccSoftmax] {
            let (mut dpu, before) = over(mode, 0, &[(-300, 0), (-200, 0)]);
            let idle = Inputs { counted: false, ..inputs(0, 0, 0) };
            assert_eq!(extension(&mut dpu, mode, idle).0, before, "{mode:?}");
        }
    }

    #[test]
    fn softmax_is_that_of_real_numbers() {
        let operands: Vec<(i16, i16)> = [-4096, -1000, 0, -77, -20_000].map(|a| (a, 0)).to_vec();
        let (dpu, _) = over(DpuMode::AccSoftmax, 0, &operands);
        let real = |a: i16| (f64::from(a) / 2048.0).exp();
        let sum: f64 = operands.iter().map(|(a, _)| real(*a)).sum();
        for (a, _) in operands {
            let (found, acc) = extension(&mut dpu.clone(), DpuMode::DivSoftmax, inputs(a, 0, 0));
            assert!((f64::from(found) / 2048.0 - real(a) / sum).abs() < 1.0 / 2048.0, "{a}: {found}");
            assert_eq!(acc, dpu.acc, "the sum stays");
        }
    }

    #[test]
    fn a_loaded_accumulator_goes_on() {
        let mut dpu = dpu(0, 0);
        (dpu.out, dpu.acc) = extension(&mut dpu, DpuMode::LdAcc, inputs(5, 0, 8));
        assert_eq!((dpu.out, dpu.acc), (5, 5 << 8));
        let (out, _) = extension(&mut dpu, DpuMode::MacInter, inputs(256, 3, 8));
        assert_eq!(out, 8);
    }
}
