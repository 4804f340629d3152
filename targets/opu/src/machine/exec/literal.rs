//! Convolution as the specification defines it: an exact sum for each result, rounded once.

use crate::machine::array::Elements;
use crate::machine::exact_sum::ExactSum;
use crate::machine::values::{Tap, TapAddend};

/// Computes all results of a tap.
pub(super) fn conv(tap: &Tap<'_, Elements>, sums: &mut Elements) {
    let types = tap.types;
    let mut index = 0;
    for y in 0..tap.shape.h as usize {
        for x in 0..tap.shape.w as usize {
            let pixel = tap.start + y * tap.row + x * tap.column;
            for k in 0..tap.shape.c as usize {
                let mut sum = dot(tap, pixel, tap.slice + k * tap.channels);
                match tap.addend {
                    TapAddend::Zero => {}
                    TapAddend::Bias(bias, shift) => {
                        types.btype.add_to(&mut sum, bias.elements.get(k), shift);
                    }
                    TapAddend::Ofm => types.otype.add_to(&mut sum, sums.get(index), 0),
                }
                sums.set(index, types.otype.kappa(sum));
                index += 1;
            }
        }
    }
}

/// Returns the scaled dot product of a pixel and the weights of a channel.
fn dot(tap: &Tap<'_, Elements>, pixel: usize, weights: usize) -> ExactSum {
    let mut sum = ExactSum::ZERO;
    for l in 0..tap.channels {
        let x = tap.types.itype.real(tap.ifm.elements.get(pixel + l));
        let w = tap.types.ktype.real(tap.ker.elements.get(weights + l));
        sum.add(x.significand * w.significand, x.exponent + w.exponent + tap.shift);
    }
    sum
}
