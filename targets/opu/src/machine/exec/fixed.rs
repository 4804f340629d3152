//! Convolution of fixed-point types in native integers.
//!
//! In units of the result's last place, the products are `D * 2^-d` and the addend `A * 2^-e`, with
//! integers `D` and `A`. The previous value of the result is a multiple of its last place, so it
//! can be added after rounding.

use npukit_numeric::{Pixels, Pointwise, pointwise};

use crate::config::datatype::Fixed;
use crate::machine::array::Elements;
use crate::machine::values::{Tap, TapAddend};

/// Exponents of a tap of fixed-point types, in units of the result's last place.
struct Scales {
    itype: Fixed,
    ktype: Fixed,
    otype: Fixed,
    /// Exponent `d` of the products.
    products: i32,
    /// Exponent `e` of the addend; 0 without a bias.
    addend: i32,
}

impl Scales {
    fn of(tap: &Tap<'_, Elements>) -> Option<Self> {
        let (itype, ktype) = (tap.types.itype.fixed()?, tap.types.ktype.fixed()?);
        let (btype, otype) = (tap.types.btype.fixed(), tap.types.otype.fixed()?);
        let products = itype.fraction() + ktype.fraction() - tap.shift - otype.fraction();
        let addend = match tap.addend {
            TapAddend::Bias(_, shift) => btype?.fraction() - shift - otype.fraction(),
            _ => 0,
        };
        Some(Self { itype, ktype, otype, products, addend })
    }

    /// Whether 64 bits hold all sums of products, and 128 bits hold the intermediate sums of
    /// [`rounded`].
    fn are_small(&self) -> bool {
        // A sum of 64 products leaves 63 - 6 bits for the two widths. All exponents are aligned to
        // the largest of them. A 64-bit number may be shifted by up to 60.
        let exponents = [self.products, self.addend, 0];
        let apart = exponents.iter().max().zip(exponents.iter().min()).map_or(0, |(max, min)| max - min);
        self.itype.width() + self.ktype.width() <= 57 && apart <= 60
    }
}

/// Multiplies bytes by bytes with 16-bit results, in vector code. Returns whether the types allow
/// it.
pub(super) fn narrow(tap: &Tap<'_, Elements>, sums: &mut Elements) -> bool {
    let (Elements::I8(inputs), Elements::I8(weights), Elements::I16(results)) =
        (&tap.ifm.elements, &tap.ker.elements, sums)
    else {
        return false;
    };
    let Some(scales) = Scales::of(tap).filter(|scales| scales.otype.width() == 16) else { return false };
    let Some((offset, add)) = narrow_addends(tap, &scales) else { return false };
    let outputs = tap.shape.c as usize;
    let product = Pointwise {
        inputs: &inputs[tap.start..],
        pixels: Pixels {
            rows: tap.shape.h as usize,
            columns: tap.shape.w as usize,
            row: tap.row,
            column: tap.column,
        },
        weights: &weights[tap.slice..][..outputs * tap.channels],
        channels: tap.channels,
        left: scales.products.min(0).unsigned_abs(),
        right: scales.products.max(0).unsigned_abs(),
        offset: &offset,
        add: &add,
        accumulate: matches!(tap.addend, TapAddend::Ofm),
    };
    pointwise(&product, results)
}

/// Returns for each channel the number that is added to the products before their shift, including
/// half of the last place, and the number that is added after it. `None` if these need more than 32
/// bits.
fn narrow_addends(tap: &Tap<'_, Elements>, scales: &Scales) -> Option<(Vec<i32>, Vec<i32>)> {
    let d = scales.products;
    let half = if (1..=30).contains(&d) { 1 << (d - 1) } else { 0 };
    let outputs = tap.shape.c as usize;
    let (mut offset, mut add) = (vec![half; outputs], vec![0; outputs]);
    let TapAddend::Bias(bias, _) = tap.addend else { return Some((offset, add)) };
    for (k, (offset, add)) in offset.iter_mut().zip(&mut add).enumerate() {
        let value = i64::from(bias.elements.get(k));
        let shifted =
            |by: i32| i32::try_from(value.checked_mul(1i64.checked_shl(by.try_into().ok()?)?)?).ok();
        if scales.addend <= 0 {
            *add = shifted((-scales.addend).min(62))?;
        } else {
            *offset = offset.checked_add(shifted(d - scales.addend)?)?;
        }
    }
    Some((offset, add))
}

/// Computes types of up to 28 bits, with 64 bits for the products and 128 for the sum. Returns
/// whether the types allow it.
pub(super) fn wide(tap: &Tap<'_, Elements>, sums: &mut Elements) -> bool {
    let Some(scales) = Scales::of(tap).filter(Scales::are_small) else { return false };
    let mut index = 0;
    for y in 0..tap.shape.h as usize {
        for x in 0..tap.shape.w as usize {
            let pixel = tap.start + y * tap.row + x * tap.column;
            for k in 0..tap.shape.c as usize {
                let value = dot(tap, pixel, tap.slice + k * tap.channels);
                let products = Scaled { value, places: scales.products };
                let addend = match tap.addend {
                    TapAddend::Zero => Scaled { value: 0, places: 0 },
                    TapAddend::Bias(bias, _) => {
                        Scaled { value: bias.elements.get(k).into(), places: scales.addend }
                    }
                    TapAddend::Ofm => Scaled { value: sums.get(index).into(), places: 0 },
                };
                sums.set(index, rounded(&products, &addend, scales.otype));
                index += 1;
            }
        }
    }
    true
}

fn dot(tap: &Tap<'_, Elements>, pixel: usize, weights: usize) -> i64 {
    fn sum<X: Copy + Into<i64>, W: Copy + Into<i64>>(x: &[X], w: &[W]) -> i64 {
        x.iter().zip(w).map(|(&x, &w)| x.into() * w.into()).sum()
    }
    let (x, w) = (pixel..pixel + tap.channels, weights..weights + tap.channels);
    match (&tap.ifm.elements, &tap.ker.elements) {
        (Elements::I8(xs), Elements::I8(ws)) => sum(&xs[x], &ws[w]),
        (Elements::I8(xs), Elements::I16(ws)) => sum(&xs[x], &ws[w]),
        (Elements::I8(xs), Elements::I32(ws)) => sum(&xs[x], &ws[w]),
        (Elements::I16(xs), Elements::I8(ws)) => sum(&xs[x], &ws[w]),
        (Elements::I16(xs), Elements::I16(ws)) => sum(&xs[x], &ws[w]),
        (Elements::I16(xs), Elements::I32(ws)) => sum(&xs[x], &ws[w]),
        (Elements::I32(xs), Elements::I8(ws)) => sum(&xs[x], &ws[w]),
        (Elements::I32(xs), Elements::I16(ws)) => sum(&xs[x], &ws[w]),
        (Elements::I32(xs), Elements::I32(ws)) => sum(&xs[x], &ws[w]),
    }
}

/// Number `value * 2^-places`.
struct Scaled {
    value: i64,
    places: i32,
}

/// Returns the sum of both, rounded half up and clamped.
fn rounded(products: &Scaled, addend: &Scaled, otype: Fixed) -> i32 {
    let place = products.places.max(addend.places).max(0);
    let aligned = |scaled: &Scaled| i128::from(scaled.value) << (place - scaled.places);
    let sum = aligned(products) + aligned(addend);
    let rounded = if place == 0 { sum } else { (sum + (1 << (place - 1))) >> place };
    rounded.clamp(otype.min().into(), otype.max().into()) as i32
}
