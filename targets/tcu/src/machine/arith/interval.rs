//! [`Ranged`]: the machine on ranges. Each scalar is the range of the exact value, with a bound on
//! the machine's error.

use npukit_numeric::{Bounded, Bounds, Rows};

use crate::isa::fault::FaultKind;
use crate::isa::op::SimdOp;
use crate::machine::arith::Arithmetic;
use crate::machine::columns::Columns;
use crate::machine::lut::Tables;

/// Fixed-point numbers for all inputs of a range at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranged;

impl Arithmetic for Ranged {
    type Scalar = Bounded;
    type Weights = Columns<Bounded>;
    type Ledger = Bounds;

    fn product(
        weights: &Columns<Bounded>,
        rows: Rows<'_, Bounded>,
        results: &mut [Bounded],
        bounds: &mut Bounds,
    ) {
        let lanes = weights.lanes();
        for (i, out) in results.chunks_exact_mut(lanes).take(rows.count).enumerate() {
            let row = &rows.values[i * rows.pitch..][..lanes];
            for (lane, (out, column)) in out.iter_mut().zip(weights.iter()).enumerate() {
                *out = bounds.products(lane, &column[0], row.iter().zip(&column[1..]));
            }
        }
    }

    fn operate(op: SimdOp, left: &[Bounded], right: &[Bounded], out: &mut [Bounded], bounds: &mut Bounds) {
        for (i, ((out, l), r)) in out.iter_mut().zip(left).zip(right).enumerate() {
            *out = lane(op, i, bounds, l, r);
        }
    }

    /// Lookups are not supported, since the functions of tables are unknown.
    fn look_up(
        tables: &Tables<Bounded>,
        _: &Bounded,
        values: &mut [Bounded],
        _: &mut Bounds,
    ) -> Result<Bounded, FaultKind> {
        if tables.entries(0).is_empty() {
            return Err(FaultKind::IndexEmpty);
        }
        values.fill(Bounded::any());
        Ok(Bounded::any())
    }
}

/// Computes one lane of a SIMD operation, like [`crate::machine::alu::operate_lane`].
fn lane(op: SimdOp, place: usize, bounds: &mut Bounds, left: &Bounded, right: &Bounded) -> Bounded {
    let one = Bounded::constant(1.0, 1.0);
    match op {
        SimdOp::NoOp | SimdOp::Lookup | SimdOp::Move => left.clone(),
        SimdOp::Zero => Bounded::default(),
        SimdOp::Not | SimdOp::And | SimdOp::Or | SimdOp::GreaterThan | SimdOp::GreaterThanEqual => {
            bounds.truth()
        }
        SimdOp::Increment => bounds.add(place, left, &one),
        SimdOp::Decrement => bounds.subtract(place, left, &one),
        SimdOp::Add => bounds.add(place, left, right),
        SimdOp::Subtract => bounds.subtract(place, left, right),
        SimdOp::Multiply => bounds.multiply(place, left, right),
        SimdOp::Abs => bounds.abs(left),
        SimdOp::Min => bounds.min(left, right),
        SimdOp::Max => bounds.max(left, right),
    }
}
