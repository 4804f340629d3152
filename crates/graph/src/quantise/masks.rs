//! Numbers that stand for nothing: masks are added to scores so that Softmax leaves these out.

/// What exporters add is the least float, or -1e9 at the nearest; with a score it may be a little more.
const MASK: f64 = -9e8;

/// Nats that a score lies below another one whose exponential leaves nothing of its own in 16 bits.
const BELOW: f64 = 16.0;

/// Whether an element is no value but a mask. It saturates, and what is chosen by values leaves it out.
pub(crate) fn is_mask(x: f32) -> bool {
    f64::from(x) <= MASK
}

/// The least magnitude of integers by which a mask that saturates leaves out what it is added to, where no value is larger
/// than `largest`: the largest value with a mask is then below the smallest without one.
pub(super) const fn room(largest: f64) -> f64 {
    2.0 * largest + BELOW
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_of_exporters_are_no_values() {
        for mask in [f32::MIN, f32::NEG_INFINITY, -1e9, -3e38, -1e9 + 1e4] {
            assert!(is_mask(mask), "{mask}");
        }
        for value in [f32::MAX, -1e4, 0.0, f32::NAN] {
            assert!(!is_mask(value), "{value}");
        }
    }
}
