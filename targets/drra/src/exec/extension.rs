//! Modes of the dpu that no source defines, as `targets/drra/README.md` defines them.
//!
//! They need `extensions`; programs that use them are refused without.

use super::dpu::Inputs;
use super::{nacu, saturate, scale_down};
use crate::op::DpuMode;
use crate::state::Dpu;

/// Bits of the wide accumulator of `mac_inter`.
const WIDE_BITS: u32 = 48;
/// Bits of the accumulator of `acc_softmax`.
const SUM_BITS: u32 = 32;

/// The output and the accumulator after a cycle in `mode`.
pub(super) fn extension(dpu: &mut Dpu, mode: DpuMode, inputs: Inputs) -> (i16, i64) {
    let Inputs { in0: a, in1: b, immediate: c, .. } = inputs;
    let (in0, in1, immediate) = (i64::from(a), i64::from(b), i64::from(c));
    let ir = i64::from(dpu.ir);
    let out = match mode {
        DpuMode::SumAcc | DpuMode::MaxMinAcc | DpuMode::AccSoftmax | DpuMode::MacInter => {
            return accumulate(dpu, mode, inputs);
        }
        DpuMode::LdAcc => return (a, in0 << amount(immediate)),
        DpuMode::DivSoftmax => return (nacu::quotient(nacu::exponential(a).into(), dpu.acc), dpu.acc),
        DpuMode::LdIr => {
            dpu.ir = b;
            b
        }
        DpuMode::AddConst => saturate(in0 + immediate),
        DpuMode::Subt => saturate(in0 - in1),
        DpuMode::SubtAbs => saturate((in0 - in1).abs()),
        DpuMode::MultAdd => saturate(i64::from(dpu.product(in0, in1)) + ir),
        DpuMode::MultConst => dpu.product(in0, immediate),
        DpuMode::Axpy => saturate(i64::from(dpu.product(ir, in0)) + in1),
        DpuMode::MaxMinConst => pick(c, a, c & !1),
        DpuMode::MaxMin => pick(c, a, b),
        DpuMode::ShiftL => saturate(in0 << amount(in1 + immediate)),
        DpuMode::ShiftR => saturate(in0 >> amount(in1 + immediate)),
        DpuMode::Sigm => nacu::sigmoid(a),
        DpuMode::Tanhyp => nacu::tanh(a),
        DpuMode::Expon => nacu::exponential(a),
        DpuMode::LkRelu if a < 0 => saturate(scale_down(in0 * immediate, nacu::FRACTION_BITS)),
        DpuMode::LkRelu => a,
        DpuMode::Relu => a.max(0),
        DpuMode::Div => nacu::quotient(in0, in1),
        DpuMode::ScaleDw => saturate(scale_down(in0, amount(immediate))),
        DpuMode::ScaleUp => saturate(in0 << amount(immediate)),
        // Those of every fabric are in `dpu`; reserved ones are refused with the program.
        DpuMode::Idle | DpuMode::Add | DpuMode::Mult | DpuMode::Mac => 0,
        DpuMode::Mode6 | DpuMode::Mode15 | DpuMode::Mode31 => 0,
    };
    (out, 0)
}

/// Modes that accumulate. Where 0 is not neutral, only operands with an address of port 0 count.
fn accumulate(dpu: &Dpu, mode: DpuMode, inputs: Inputs) -> (i16, i64) {
    let Inputs { in0: a, in1: b, immediate: c, reset, counted } = inputs;
    let from = |neutral: i64| if reset { neutral } else { dpu.acc };
    let (in0, in1) = (i64::from(a), i64::from(b));
    let acc = match mode {
        DpuMode::SumAcc => saturate(from(0) + in0 + in1).into(),
        DpuMode::MaxMinAcc => {
            let acc = saturate(from(if c & 1 == 0 { i16::MIN } else { i16::MAX }.into()));
            if counted { pick(c, acc, a) } else { acc }.into()
        }
        DpuMode::AccSoftmax if counted => clip(from(0) + i64::from(nacu::exponential(a)), SUM_BITS),
        DpuMode::MacInter => {
            let acc = clip(from(0) + in0 * in1, WIDE_BITS);
            return (saturate(scale_down(acc, amount(c.into()))), acc);
        }
        _ => from(0),
    };
    (saturate(acc), acc)
}

/// The larger of two, or the smaller when the lowest bit of the immediate is set.
fn pick(immediate: i16, a: i16, b: i16) -> i16 {
    if immediate & 1 == 0 { a.max(b) } else { a.min(b) }
}

/// Places to shift by: 0 to 31.
fn amount(value: i64) -> u32 {
    value.clamp(0, 31) as u32
}

/// The nearest number of so many bits.
fn clip(value: i64, bits: u32) -> i64 {
    let largest = (1_i64 << (bits - 1)) - 1;
    value.clamp(-largest - 1, largest)
}
