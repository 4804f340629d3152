//! The machine over a prime field: [`Modular`]. It neither rounds nor saturates, and tells everything else apart.

use npukit_numeric::{Element, Products, Rows, Saturations};

use crate::arithmetic::{Arithmetic, Weights};
use crate::fault::FaultKind;
use crate::lut::Tables;
use crate::op::SimdOp;

/// Elements of the field of 2^61 - 1 in place of numbers: an element is the image of a real value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modular;

/// Keys of the functions that are hashes.
const DIFFERENCE: u64 = 0x6b65_7973;
const VALUE: u64 = 0x7661_6c75;

impl Arithmetic for Modular {
    type Scalar = Element;
    type Weights = Columns;

    fn product(weights: &Columns, rows: Rows<'_, Element>, results: &mut [Element], _: &mut Saturations) {
        let lanes = weights.lanes;
        for (i, out) in results.chunks_exact_mut(lanes).take(rows.count).enumerate() {
            let row = &rows.values[i * rows.pitch..][..lanes];
            for (out, column) in out.iter_mut().zip(weights.iter()) {
                *out = column[0] + Products::of(row, &column[1..]);
            }
        }
    }

    fn operate(op: SimdOp, left: &[Element], right: &[Element], out: &mut [Element], _: &mut Saturations) {
        for ((out, &l), &r) in out.iter_mut().zip(left).zip(right) {
            *out = lane(op, l, r);
        }
    }

    fn look_up(
        tables: &Tables<Element>,
        argument: Element,
        values: &mut [Element],
        _: &mut Saturations,
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

/// One lane of a SIMD operation, as [`crate::lanes::operate_lane`] has it.
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

/// The rows of an array, by output lane: what a product reads of them lies together.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    lanes: usize,
    elements: Vec<Element>,
}

impl Columns {
    /// For each output lane the bias and the weight of each input lane.
    fn iter(&self) -> impl Iterator<Item = &[Element]> {
        self.elements.chunks_exact(self.lanes + 1)
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut [Element]> {
        self.elements.chunks_exact_mut(self.lanes + 1)
    }
}

impl Weights<Element> for Columns {
    fn zeros(lanes: usize) -> Self {
        Self { lanes, elements: vec![Element::ZERO; lanes * (lanes + 1)] }
    }
    fn set_row(&mut self, k: usize, row: &[Element]) {
        self.iter_mut().zip(row).for_each(|(column, &element)| column[k] = element);
    }
    fn clear_row(&mut self, k: usize) {
        self.iter_mut().for_each(|column| column[k] = Element::ZERO);
    }
    fn shift(&mut self, count: usize) {
        let rows = self.lanes + 1;
        if count < rows {
            self.iter_mut().for_each(|column| column.copy_within(..rows - count, count));
        }
    }
}
