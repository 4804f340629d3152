//! [`Modular`]: the machine over a prime field. It neither rounds nor saturates, but otherwise
//! distinguishes all values.

use std::cell::OnceCell;

use npukit_numeric::{Element, Factors, NumberFormat, Rows};

use crate::isa::fault::FaultKind;
use crate::isa::op::SimdOp;
use crate::machine::arith::{Arithmetic, Weights};
use crate::machine::columns::Columns;
use crate::machine::lut::Tables;

/// Elements of the field of 2^61 - 1 in place of numbers; each element is the image of a real
/// value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modular;

/// Keys of the functions that are modeled as hashes.
const DIFFERENCE: u64 = 0x6b65_7973;
const VALUE: u64 = 0x7661_6c75;

/// Content of the array.
#[derive(Clone, Debug)]
pub(crate) struct FieldArray {
    columns: Columns<Element>,
    /// Biases and weights in the layout of a product, computed on demand.
    arranged: OnceCell<(Vec<Element>, Factors)>,
}

impl FieldArray {
    fn columns_mut(&mut self) -> &mut Columns<Element> {
        self.arranged.take();
        &mut self.columns
    }

    fn arranged(&self) -> (Vec<Element>, Factors) {
        let columns = || self.columns.iter();
        let biases = columns().map(|column| column[0]).collect();
        let weights = columns().flat_map(|column| &column[1..]).copied().collect();
        (biases, Factors::of(weights, self.columns.lanes()))
    }
}

impl Weights<Element> for FieldArray {
    fn zeros(lanes: usize) -> Self {
        Self { columns: Columns::zeros(lanes), arranged: OnceCell::new() }
    }
    fn set_row(&mut self, k: usize, row: &[Element]) {
        self.columns_mut().set_row(k, row);
    }
    fn clear_row(&mut self, k: usize) {
        self.columns_mut().clear_row(k);
    }
    fn shift(&mut self, count: usize) {
        self.columns_mut().shift(count);
    }
}

impl Arithmetic for Modular {
    type Scalar = Element;
    type Weights = FieldArray;
    type Ledger = ();

    fn product(weights: &FieldArray, rows: Rows<'_, Element>, results: &mut [Element], (): &mut ()) {
        let (biases, factors) = weights.arranged.get_or_init(|| weights.arranged());
        factors.products(rows, Some(biases), results);
    }

    fn operate(op: SimdOp, left: &[Element], right: &[Element], out: &mut [Element], (): &mut ()) {
        let lanes = out.iter_mut().zip(left).zip(right);
        match op {
            // Addition has a separate loop because compilers vectorize it, and every product uses
            // it.
            SimdOp::Add => lanes.for_each(|((out, &l), &r)| *out = l + r),
            _ => lanes.for_each(|((out, &l), &r)| *out = lane(op, l, r)),
        }
    }

    fn look_up(
        tables: &Tables<Element>,
        &argument: &Element,
        values: &mut [Element],
        (): &mut (),
    ) -> Result<Element, FaultKind> {
        let keys = tables.entries(0);
        if keys.is_empty() {
            return Err(FaultKind::IndexEmpty);
        }
        for (table, value) in (1..).zip(values) {
            let entries = tables.entries(table);
            *value = Element::hashed(VALUE, keys.iter().chain(entries).copied().chain([argument]));
        }
        Ok(Element::hashed(DIFFERENCE, keys.iter().copied().chain([argument])))
    }
}

/// Computes one lane of a SIMD operation, like [`crate::machine::alu::operate_lane`].
fn lane(op: SimdOp, left: Element, right: Element) -> Element {
    let truth = |holds: bool| if holds { Element::ONE } else { Element::ZERO };
    let set = |element: Element| element != Element::ZERO;
    match op {
        SimdOp::NoOp | SimdOp::Lookup | SimdOp::Move => left,
        SimdOp::Zero => Element::ZERO,
        SimdOp::Not => truth(!set(left)),
        SimdOp::And => truth(set(left) && set(right)),
        SimdOp::Or => truth(set(left) || set(right)),
        SimdOp::Increment => left + Element::ONE,
        SimdOp::Decrement => left - Element::ONE,
        SimdOp::Add => left + right,
        SimdOp::Subtract => left - right,
        SimdOp::Multiply => left * right,
        SimdOp::Abs => left.abs(),
        SimdOp::GreaterThan => truth(left.order(right).is_gt()),
        SimdOp::GreaterThanEqual => truth(left.order(right).is_ge()),
        SimdOp::Min => left.min(right),
        SimdOp::Max => left.max(right),
    }
}

/// Returns the field image of a raw number; `None` for floats that are not finite.
pub(crate) fn image(format: NumberFormat, raw: i32) -> Option<Element> {
    match format {
        NumberFormat::Fixed(fixed) => Some(Element::from_fixed(raw.into(), fixed.binary_point as i32)),
        NumberFormat::Float32 => Element::from_f32(f32::from_bits(raw as u32)),
    }
}

/// Why a model and an artifact do not belong together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UnfitModel(pub String);
