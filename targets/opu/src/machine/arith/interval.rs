//! The machine on ranges: [`RangedElements`] in its buffers, which pair the machine's number with
//! the possible exact numbers; [`RangedConstants`] in its memory.

use std::sync::Arc;

use npukit_numeric::{Bounded, Bounds, Grid, GridRounding};

use crate::config::Types;
use crate::config::datatype::{DataType, Fixed};
use crate::isa::op::{Access, Activation};
use crate::machine::arith::shadow_memory::{ShadowMemory, Source};
use crate::machine::values::{Arithmetic, Rules, Tap, TapAddend, Values};

/// Slope of leaky ReLU.
const SLOPE: f64 = 0.125;
/// Empty list of products.
const NONE: [(&Bounded, &Bounded); 0] = [];

/// Numbers of fixed-point types for all inputs of a range at once, row-major.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RangedElements(Vec<Bounded>);

/// Arithmetic of `store`, with the grids of ITYPE and OTYPE, and the power of two that converts
/// partial sums to ITYPE.
pub(crate) struct RangedRules {
    itype: Grid,
    otype: Grid,
    scale: f64,
}

/// Exact values in the model of a program's constants, where known: the minimum and maximum over
/// the model's constants that share an address.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ExactConstants {
    /// Address of the first byte.
    pub address: u64,
    /// Bytes per constant.
    pub size: u64,
    /// Minimum and maximum of each constant, in units of the machine's type.
    pub ranges: Vec<(f64, f64)>,
}

/// Constants of the driver. Exact arithmetic uses the model's own values, or the machine's if the
/// model has none.
#[derive(Clone, Debug)]
pub(crate) struct RangedConstants(pub Arc<[ExactConstants]>);

/// Returns the numbers of a fixed-point type. Floats have no grid and are not used here.
pub(crate) fn grid(data_type: DataType) -> Grid {
    let fixed = data_type.fixed().map_or((32, 0), |fixed: Fixed| (fixed.width(), fixed.fraction())); // Default: floats are rejected.
    Grid::new(fixed.0, fixed.1)
}

impl ExactConstants {
    fn at(&self, address: u64, size: u64) -> Option<(f64, f64)> {
        let offset = address.checked_sub(self.address).filter(|offset| offset.is_multiple_of(size))?;
        self.ranges.get((offset / size) as usize).copied().filter(|_| size == self.size)
    }
}

impl RangedConstants {
    /// Returns the model's range for the constant of a type at an address.
    pub(crate) fn exact(&self, address: u64, data_type: DataType) -> Option<(f64, f64)> {
        let size = u64::from(data_type.size_bytes());
        self.0.iter().find_map(|constants| constants.at(address, size))
    }
}

impl Source for RangedConstants {
    type Element = Bounded;

    fn of_bits(&self, address: u64, bits: u32, data_type: DataType) -> Result<Bounded, u32> {
        let machine = data_type.to_f64(data_type.raw(bits).ok_or(bits)?);
        let exact = self.exact(address, data_type);
        let (low, high) = exact.unwrap_or((machine, machine)); // Default: without a value in the model, the machine's applies.
        Ok(Bounded::constant_between(low, high, machine))
    }

    /// Elements are read with the type with which they were written.
    fn scaled(&self, _: Bounded, _: i32) -> Bounded {
        Bounded::any()
    }

    fn mixed(&self, _: u64, _: impl Iterator<Item = Bounded>) -> Bounded {
        Bounded::any()
    }
}

impl Values for RangedElements {
    type Memory = ShadowMemory<RangedConstants>;
    type Scalar = Bounded;
    type Ledger = Bounds;
    type Rules = RangedRules;

    fn zeros(_: DataType, len: usize) -> Self {
        Self(vec![Bounded::default(); len])
    }

    fn at(&self, index: usize) -> Bounded {
        self.0[index].clone()
    }

    fn of(_: DataType, values: Vec<Bounded>) -> Self {
        Self(values)
    }

    fn load(memory: &Self::Memory, access: &Access, data_type: DataType) -> Result<Self, (usize, u32)> {
        memory.load(access, data_type).map(Self)
    }

    fn store(memory: &mut Self::Memory, access: &Access, data_type: DataType, values: &Self) {
        memory.store(access, data_type, &values.0);
    }

    fn conv(tap: &Tap<'_, Self>, _: Arithmetic, sums: &mut Self, bounds: &mut Bounds) {
        let (ifm, ker) = (&tap.ifm.elements.0, &tap.ker.elements.0);
        let [itype, ktype, otype] = [tap.types.itype, tap.types.ktype, tap.types.otype].map(grid);
        let scale = 2f64.powi(tap.shift);
        let products = itype.step() * ktype.step() * scale;
        let zero = Bounded::default();
        let mut index = 0;
        for y in 0..tap.shape.h as usize {
            for x in 0..tap.shape.w as usize {
                let pixel = &ifm[tap.start + y * tap.row + x * tap.column..][..tap.channels];
                for k in 0..tap.shape.c as usize {
                    let weights = &ker[tap.slice + k * tap.channels..][..tap.channels];
                    let (addend, unit) = match tap.addend {
                        TapAddend::Zero => ((1.0, &zero), products),
                        TapAddend::Bias(bias, shift) => {
                            let factor = 2f64.powi(shift);
                            ((factor, &bias.elements.0[k]), grid(tap.types.btype).step() * factor)
                        }
                        TapAddend::Ofm => ((1.0, &sums.0[index]), otype.step()),
                    };
                    let rounding = GridRounding { place: k, grid: otype, unit: unit.min(products) };
                    sums.0[index] = bounds.dot(rounding, addend, scale, pixel.iter().zip(weights));
                    index += 1;
                }
            }
        }
    }

    fn rules(types: &Types, _: Arithmetic) -> RangedRules {
        let scale = 2f64.powi(types.store_shift());
        RangedRules { itype: grid(types.itype), otype: grid(types.otype), scale }
    }

    /// Always 0: the ledger reports saturation.
    fn saturated(_: &Types, _: &Self) -> u64 {
        0
    }
}

impl Rules<RangedElements> for RangedRules {
    fn cast(&self, ofm: &RangedElements, channels: usize, bounds: &mut Bounds) -> Vec<Bounded> {
        let unit = self.otype.step() * self.scale;
        let cast = |(index, sum): (usize, &Bounded)| {
            let rounding = GridRounding { place: index % channels.max(1), grid: self.itype, unit };
            bounds.dot(rounding, (self.scale, sum), 1.0, NONE.into_iter())
        };
        ofm.0.iter().enumerate().map(cast).collect()
    }

    fn activate(&self, act: Activation, values: &mut [Bounded], channels: usize, bounds: &mut Bounds) {
        for (index, value) in values.iter_mut().enumerate() {
            *value = match act {
                Activation::None => continue,
                Activation::Relu => bounds.max(value, &Bounded::default()),
                Activation::Leaky => {
                    let (place, unit) = (index % channels.max(1), self.itype.step() * SLOPE);
                    let rounding = GridRounding { place, grid: self.itype, unit };
                    let part = bounds.dot(rounding, (SLOPE, value), 1.0, NONE.into_iter());
                    bounds.max(value, &part)
                }
            };
        }
    }

    fn sum(&self, a: &Bounded, b: Bounded, channel: usize, bounds: &mut Bounds) -> Bounded {
        bounds.add(channel, a, &b)
    }

    fn greater(&self, a: &Bounded, b: &Bounded, bounds: &mut Bounds) -> Bounded {
        bounds.max(a, b)
    }
}
