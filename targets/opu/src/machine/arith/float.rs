//! The machine in 64-bit floats: [`RealElements`] in its buffers, [`RealConstants`] in its memory.
//!
//! An element is the number that the machine's bits represent by their type alone. Nothing is
//! rounded to a type and nothing saturates; otherwise [`crate::machine::exec`] computes as with
//! numbers.

use crate::config::Types;
use crate::config::datatype::DataType;
use crate::isa::op::{Access, Activation};
use crate::machine::arith::interval::RangedConstants;
use crate::machine::arith::shadow_memory::{ShadowMemory, Source};
use crate::machine::values::{Arithmetic, Rules, Tap, TapAddend, Values};

/// Slope of leaky ReLU.
const SLOPE: f64 = 0.125;

/// Floats, row-major.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RealElements(Vec<f64>);

/// Arithmetic of `store`, with the power of two that converts partial sums to ITYPE.
pub(crate) struct RealRules {
    scale: f64,
}

/// Constants of the driver: the model's own if there is exactly one at this address, otherwise the
/// machine's. Bytes that are unwritten, or were written as another type, have an unknown value,
/// represented by NaN.
#[derive(Clone, Debug)]
pub(crate) struct RealConstants(pub RangedConstants);

/// Floats by byte address.
pub(crate) type RealMemory = ShadowMemory<RealConstants>;

impl Source for RealConstants {
    type Element = f64;

    fn of_bits(&self, address: u64, bits: u32, data_type: DataType) -> Result<f64, u32> {
        let machine = data_type.to_f64(data_type.raw(bits).ok_or(bits)?);
        let exact = self.0.exact(address, data_type);
        // Default: if several constants of the model share the address, the machine's value is
        // used.
        Ok(exact.filter(|(low, high)| low == high).map_or(machine, |(low, _)| low))
    }

    fn scaled(&self, element: f64, exponent: i32) -> f64 {
        element * 2f64.powi(exponent)
    }

    fn mixed(&self, _: u64, _: impl Iterator<Item = f64>) -> f64 {
        f64::NAN
    }
}

impl Values for RealElements {
    type Memory = RealMemory;
    type Scalar = f64;
    type Ledger = ();
    type Rules = RealRules;

    fn zeros(_: DataType, len: usize) -> Self {
        Self(vec![0.0; len])
    }

    fn at(&self, index: usize) -> f64 {
        self.0[index]
    }

    fn of(_: DataType, values: Vec<f64>) -> Self {
        Self(values)
    }

    fn load(memory: &RealMemory, access: &Access, data_type: DataType) -> Result<Self, (usize, u32)> {
        memory.load(access, data_type).map(Self)
    }

    fn store(memory: &mut RealMemory, access: &Access, data_type: DataType, values: &Self) {
        memory.store(access, data_type, &values.0);
    }

    fn conv(tap: &Tap<'_, Self>, _: Arithmetic, sums: &mut Self, (): &mut ()) {
        let (ifm, ker, scale) = (&tap.ifm.elements.0, &tap.ker.elements.0, 2f64.powi(tap.shift));
        let mut sums = sums.0.iter_mut();
        for y in 0..tap.shape.h as usize {
            for x in 0..tap.shape.w as usize {
                let pixel = &ifm[tap.start + y * tap.row + x * tap.column..][..tap.channels];
                for (k, sum) in (0..tap.shape.c as usize).zip(&mut sums) {
                    let weights = &ker[tap.slice + k * tap.channels..][..tap.channels];
                    let product: f64 = pixel.iter().zip(weights).map(|(x, weight)| x * weight).sum();
                    let addend = match tap.addend {
                        TapAddend::Zero => 0.0,
                        TapAddend::Bias(bias, shift) => bias.elements.0[k] * 2f64.powi(shift),
                        TapAddend::Ofm => *sum,
                    };
                    *sum = product * scale + addend;
                }
            }
        }
    }

    fn rules(types: &Types, _: Arithmetic) -> RealRules {
        RealRules { scale: 2f64.powi(types.store_shift()) }
    }

    fn saturated(_: &Types, _: &Self) -> u64 {
        0
    }
}

/// Returns the greater of two numbers; NaN if one is unknown.
fn greater(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

impl Rules<RealElements> for RealRules {
    fn cast(&self, ofm: &RealElements, _: usize, (): &mut ()) -> Vec<f64> {
        ofm.0.iter().map(|sum| sum * self.scale).collect()
    }

    fn activate(&self, act: Activation, values: &mut [f64], _: usize, (): &mut ()) {
        let slope = match act {
            Activation::None => return,
            Activation::Relu => 0.0,
            Activation::Leaky => SLOPE,
        };
        values.iter_mut().for_each(|value| *value = greater(*value, *value * slope));
    }

    fn sum(&self, a: &f64, b: f64, _: usize, (): &mut ()) -> f64 {
        a + b
    }

    fn greater(&self, a: &f64, b: &f64, (): &mut ()) -> f64 {
        greater(*a, *b)
    }
}
