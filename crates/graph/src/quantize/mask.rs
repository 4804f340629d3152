//! Elements that are masks instead of values: [`is_mask`].

/// Largest value of a mask. Exporters add the smallest float, or at least -1e9; a score may raise
/// the sum slightly.
const MASK: f64 = -9e8;

/// Whether an element is a mask. Masks saturate, and are ignored in the choice of fraction lengths.
pub(crate) fn is_mask(x: f32) -> bool {
    f64::from(x) <= MASK
}

/// Distance in nats between the maxima of two rows of scores at which the lower row is considered
/// completely masked.
const BETWEEN_ROWS: f32 = 64.0;

/// Returns the smallest row maximum of the rows that a Softmax sums over; its axes are given as
/// first and one past the last. A row far below all others is masked, since its result is never
/// used, and is ignored.
pub(super) fn least_maximum(values: &[f32], shape: &[usize], [first, end]: [usize; 2]) -> Option<f32> {
    let inner: usize = shape.get(end..)?.iter().product();
    let summed: usize = shape.get(first..end)?.iter().product();
    if inner == 0 || summed == 0 {
        return None;
    }
    let row = |block: &[f32], at: usize| {
        block.iter().skip(at).step_by(inner).copied().fold(f32::NEG_INFINITY, f32::max)
    };
    let blocks = values.chunks_exact(summed * inner);
    let mut largest: Vec<f32> = blocks.flat_map(|block| (0..inner).map(move |at| row(block, at))).collect();
    largest.retain(|x| x.is_finite() && !is_mask(*x));
    largest.sort_by(|a, b| b.total_cmp(a));
    let mut rows = largest.into_iter();
    let mut least = rows.next()?;
    for next in rows {
        if least - next > BETWEEN_ROWS {
            break;
        }
        least = next;
    }
    Some(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows along an inner axis; the last one is masked.
    #[test]
    fn rows_that_are_masked_do_not_count() {
        let values = [1.0, 3.0, -1e4, -2.0, 0.5, -1.2e4];
        assert_eq!(least_maximum(&values, &[2, 3], [0, 1]), Some(1.0));
        assert_eq!(least_maximum(&values, &[2, 3], [1, 2]), Some(0.5));
        assert_eq!(least_maximum(&[-1e4, -1e4, 2.0, f32::NEG_INFINITY], &[2, 2], [1, 2]), Some(2.0));
        assert_eq!(least_maximum(&[], &[0, 3], [1, 2]), None);
        assert_eq!(least_maximum(&[f32::MIN; 2], &[1, 2], [1, 2]), None);
    }

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
