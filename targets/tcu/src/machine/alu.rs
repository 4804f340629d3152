//! Arithmetic of the ALUs: [`operate_lane`], a literal definition for one lane, and `operate`, a
//! vector at a time.
//!
//! `operate` first computes all lanes and only notes whether any result saturated. If so,
//! `operate_lane` processes the vector again and counts.

use std::cmp::Ordering;

use npukit_numeric::{Number, NumberFormat, Saturations};

use crate::isa::op::SimdOp;

/// Computes one lane of a SIMD operation on raw values, literally (specification 4.1).
///
/// `NoOp` and `Lookup` are not defined lane by lane; they return `left`.
pub fn operate_lane(
    format: NumberFormat,
    op: SimdOp,
    left: i32,
    right: i32,
    saturations: &mut Saturations,
) -> i32 {
    let truth = |holds: bool| if holds { format.one() } else { 0 };
    let set = |value: i32| format.compare(value, 0) != Some(Ordering::Equal);
    let order = format.compare(left, right);
    match op {
        SimdOp::NoOp | SimdOp::Lookup | SimdOp::Move => left,
        SimdOp::Zero => 0,
        SimdOp::Not => truth(!set(left)),
        SimdOp::And => truth(set(left) && set(right)),
        SimdOp::Or => truth(set(left) || set(right)),
        SimdOp::Increment => format.add(left, format.one(), saturations),
        SimdOp::Decrement => format.sub(left, format.one(), saturations),
        SimdOp::Add => format.add(left, right, saturations),
        SimdOp::Subtract => format.sub(left, right, saturations),
        SimdOp::Multiply => format.mul(left, right, saturations),
        SimdOp::Abs => format.abs(left),
        SimdOp::GreaterThan => truth(order == Some(Ordering::Greater)),
        SimdOp::GreaterThanEqual => truth(matches!(order, Some(Ordering::Greater | Ordering::Equal))),
        SimdOp::Min => {
            if order == Some(Ordering::Less) {
                left
            } else {
                right
            }
        }
        SimdOp::Max => {
            if order == Some(Ordering::Greater) {
                left
            } else {
                right
            }
        }
    }
}

/// Computes `out = op(left, right)` in every lane; all three have the same length.
pub(crate) fn operate<F: Number>(
    op: SimdOp,
    left: &[F::Raw],
    right: &[F::Raw],
    out: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    if clips::<F>(op, left, right, out) {
        count::<F>(op, left, right, saturations);
    }
}

/// Computes the results without counting; returns whether one saturated.
fn clips<F: Number>(op: SimdOp, left: &[F::Raw], right: &[F::Raw], out: &mut [F::Raw]) -> bool {
    let zero = F::Wide::default();
    let truth = |holds: bool| if holds { F::ONE } else { zero };
    match op {
        SimdOp::NoOp | SimdOp::Lookup | SimdOp::Move => {
            out.copy_from_slice(left);
            false
        }
        SimdOp::Zero => {
            out.fill(F::Raw::default());
            false
        }
        SimdOp::Not => zip::<F>(left, right, out, |l, _, _| truth(l == zero)),
        SimdOp::And => zip::<F>(left, right, out, |l, r, _| truth(l != zero && r != zero)),
        SimdOp::Or => zip::<F>(left, right, out, |l, r, _| truth(l != zero || r != zero)),
        SimdOp::Increment => zip::<F>(left, right, out, |l, _, clipped| F::add(l, F::ONE, clipped)),
        SimdOp::Decrement => zip::<F>(left, right, out, |l, _, clipped| F::sub(l, F::ONE, clipped)),
        SimdOp::Add => zip::<F>(left, right, out, F::add),
        SimdOp::Subtract => zip::<F>(left, right, out, F::sub),
        SimdOp::Multiply => zip::<F>(left, right, out, F::mul),
        SimdOp::Abs => zip::<F>(left, right, out, |l, _, _| F::abs(l)),
        SimdOp::GreaterThan => zip::<F>(left, right, out, |l, r, _| truth(l > r)),
        SimdOp::GreaterThanEqual => zip::<F>(left, right, out, |l, r, _| truth(l >= r)),
        SimdOp::Min => zip::<F>(left, right, out, |l, r, _| if l < r { l } else { r }),
        SimdOp::Max => zip::<F>(left, right, out, |l, r, _| if l > r { l } else { r }),
    }
}

#[inline(always)]
fn zip<F: Number>(
    left: &[F::Raw],
    right: &[F::Raw],
    out: &mut [F::Raw],
    lane: impl Fn(F::Wide, F::Wide, &mut F::Wide) -> F::Wide,
) -> bool {
    let mut clipped = F::Wide::default();
    for ((out, &l), &r) in out.iter_mut().zip(left).zip(right) {
        *out = F::narrow(lane(F::widen(l), F::widen(r), &mut clipped));
    }
    clipped != F::Wide::default()
}

#[cold]
fn count<F: Number>(op: SimdOp, left: &[F::Raw], right: &[F::Raw], saturations: &mut Saturations) {
    for (&l, &r) in left.iter().zip(right) {
        operate_lane(F::FORMAT, op, F::to_raw(l), F::to_raw(r), saturations);
    }
}
