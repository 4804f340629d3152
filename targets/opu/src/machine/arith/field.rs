//! The machine over a prime field: [`FieldElements`] in its buffers, [`FieldImages`] in its memory.
//!
//! An element is the image of the number that the machine's bits represent by their type alone.
//! Nothing rounds and nothing saturates; otherwise [`crate::machine::exec`] computes as with
//! numbers.

use npukit_numeric::{Element, Factors, Rows};

use crate::config::Types;
use crate::config::datatype::DataType;
use crate::isa::op::{Access, Activation};
use crate::machine::arith::shadow_memory::{ShadowMemory, Source};
use crate::machine::values::{Arithmetic, Rules, Tap, TapAddend, Values};

/// Exponent of two of the slope of leaky ReLU.
const SLOPE: i32 = -3;

/// Elements of the field, row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldElements(Vec<Element>);

/// Arithmetic of `store`, with the exponent of two that converts partial sums to ITYPE.
pub(crate) struct FieldRules {
    shift: i32,
}

/// Images of the driver's bytes, and pseudo-random elements for unwritten bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldImages {
    /// Seed of the pseudo-random elements.
    pub seed: u64,
}

impl Source for FieldImages {
    type Element = Element;

    fn of_bits(&self, _: u64, bits: u32, data_type: DataType) -> Result<Element, u32> {
        let real = data_type.real(data_type.raw(bits).ok_or(bits)?);
        Ok(Element::from_fixed(real.significand, -real.exponent))
    }

    fn scaled(&self, element: Element, exponent: i32) -> Element {
        element.scaled(exponent)
    }

    fn mixed(&self, address: u64, elements: impl Iterator<Item = Element>) -> Element {
        Element::hashed(self.seed, std::iter::once(Element::from_bits(address)).chain(elements))
    }
}

/// Elements of the field by byte address.
pub(crate) type FieldMemory = ShadowMemory<FieldImages>;

impl Values for FieldElements {
    type Memory = FieldMemory;
    type Scalar = Element;
    type Ledger = ();
    type Rules = FieldRules;

    fn zeros(_: DataType, len: usize) -> Self {
        Self(vec![Element::ZERO; len])
    }

    fn at(&self, index: usize) -> Element {
        self.0[index]
    }

    fn of(_: DataType, values: Vec<Element>) -> Self {
        Self(values)
    }

    fn load(memory: &FieldMemory, access: &Access, data_type: DataType) -> Result<Self, (usize, u32)> {
        memory.load(access, data_type).map(Self)
    }

    fn store(memory: &mut FieldMemory, access: &Access, data_type: DataType, values: &Self) {
        memory.store(access, data_type, &values.0);
    }

    fn conv(tap: &Tap<'_, Self>, _: Arithmetic, sums: &mut Self, (): &mut ()) {
        let [width, channels] = [tap.shape.w, tap.shape.c].map(|size| size as usize);
        let slice = &tap.ker.elements.0[tap.slice..][..channels * tap.channels];
        let factors = Factors::of(slice.to_vec(), channels);
        let mut products = vec![Element::ZERO; width * channels];
        for (y, sums) in sums.0.chunks_mut((width * channels).max(1)).enumerate() {
            let values = &tap.ifm.elements.0[tap.start + y * tap.row..];
            factors.products(Rows { values, pitch: tap.column, count: width }, None, &mut products);
            for (sums, products) in sums.chunks_mut(channels).zip(products.chunks(channels)) {
                for (k, (sum, product)) in sums.iter_mut().zip(products).enumerate() {
                    let addend = match tap.addend {
                        TapAddend::Zero => Element::ZERO,
                        TapAddend::Bias(bias, shift) => bias.elements.0[k].scaled(shift),
                        TapAddend::Ofm => *sum,
                    };
                    *sum = product.scaled(tap.shift) + addend;
                }
            }
        }
    }

    fn rules(types: &Types, _: Arithmetic) -> FieldRules {
        FieldRules { shift: types.store_shift() }
    }

    fn saturated(_: &Types, _: &Self) -> u64 {
        0
    }
}

impl Rules<FieldElements> for FieldRules {
    fn cast(&self, ofm: &FieldElements, _: usize, (): &mut ()) -> Vec<Element> {
        ofm.0.iter().map(|element| element.scaled(self.shift)).collect()
    }

    fn activate(&self, act: Activation, values: &mut [Element], _: usize, (): &mut ()) {
        let function = match act {
            Activation::None => return,
            Activation::Relu => Element::relu,
            Activation::Leaky => |value: Element| value.max(value.scaled(SLOPE)),
        };
        values.iter_mut().for_each(|value| *value = function(*value));
    }

    fn sum(&self, a: &Element, b: Element, _: usize, (): &mut ()) -> Element {
        *a + b
    }

    fn greater(&self, a: &Element, b: &Element, (): &mut ()) -> Element {
        a.max(*b)
    }
}
