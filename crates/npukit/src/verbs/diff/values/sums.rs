//! [`TensorSums`]: statistics of a tensor on two sides.

use crate::compare::comparison::{self, difference};

/// Element that differs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub sample: usize,
    /// Row-major index within the sample.
    pub element: usize,
    pub before: f64,
    pub after: f64,
}

impl Place {
    /// Whether this difference is larger than another; NaN is the largest.
    fn is_worse(&self, other: &Self) -> bool {
        let [mine, other] = [self, other].map(|place| difference(place.after, place.before));
        !other.is_nan() && (mine.is_nan() || mine > other)
    }
}

/// Sums over the elements of a tensor.
#[derive(Clone, Debug, Default)]
pub(super) struct TensorSums {
    pub elements: u64,
    pub differing: u64,
    /// Number of elements that differ by more than the limit, if there is one.
    pub beyond: u64,
    pub errors: comparison::Sums,
    pub first: Option<Place>,
    pub worst: Option<Place>,
    moments: Moments,
}

/// Moments for the correlation of two sides: means, and sums of squares and products about the
/// means.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    count: f64,
    means: [f64; 2],
    squares: [f64; 2],
    products: f64,
}

impl TensorSums {
    /// Computes the sums of a sample. If `exact`, zeros with different signs differ.
    pub fn of(sample: usize, [before, after]: [&[f64]; 2], exact: bool, limit: Option<f64>) -> Self {
        let mut sums = Self::default();
        for (element, (&before, &after)) in before.iter().zip(after).enumerate() {
            // NaN exceeds every limit.
            let is_within = limit.is_none_or(|limit| difference(after, before) <= limit);
            sums.beyond += u64::from(!is_within);
            sums.add(Place { sample, element, before, after }, exact);
        }
        sums
    }

    fn add(&mut self, place: Place, exact: bool) {
        let Place { before, after, .. } = place;
        self.elements += 1;
        self.errors.add(after, before);
        self.moments.add([before, after]);
        // NaN on both sides is not a difference.
        let is_same = if exact { before.to_bits() == after.to_bits() } else { before == after };
        if is_same || (before.is_nan() && after.is_nan()) {
            return;
        }
        self.differing += 1;
        self.first = self.first.or(Some(place));
        if self.worst.is_none_or(|worst| place.is_worse(&worst)) {
            self.worst = Some(place);
        }
    }

    /// Merges the sums of a later sample.
    pub fn merged(self, other: Self) -> Self {
        let worst = match (self.worst, other.worst) {
            (Some(a), Some(b)) if b.is_worse(&a) => Some(b),
            (a, b) => a.or(b),
        };
        Self {
            elements: self.elements + other.elements,
            differing: self.differing + other.differing,
            beyond: self.beyond + other.beyond,
            errors: self.errors.merged(&other.errors),
            first: self.first.or(other.first),
            worst,
            moments: self.moments.merged(&other.moments),
        }
    }

    /// Returns the Pearson correlation; `None` if a side is constant or not finite.
    pub fn correlation(&self) -> Option<f64> {
        let Moments { squares: [before, after], products, .. } = self.moments;
        let correlation = products / (before * after).sqrt();
        correlation.is_finite().then(|| correlation.clamp(-1.0, 1.0))
    }
}

impl Moments {
    /// Welford's algorithm, so that large means do not hide small changes.
    fn add(&mut self, values: [f64; 2]) {
        self.count += 1.0;
        let before = [0, 1].map(|side| values[side] - self.means[side]);
        self.means.iter_mut().zip(before).for_each(|(mean, apart)| *mean += apart / self.count);
        let after = [0, 1].map(|side| values[side] - self.means[side]);
        let squares = self.squares.iter_mut().zip(before.iter().zip(after));
        squares.for_each(|(square, (before, after))| *square += before * after);
        self.products += before[0] * after[1];
    }

    fn merged(mut self, other: &Self) -> Self {
        let count = self.count + other.count;
        if count == 0.0 {
            return self;
        }
        let apart = [0, 1].map(|side| other.means[side] - self.means[side]);
        let weight = self.count * other.count / count;
        for (side, apart) in apart.into_iter().enumerate() {
            self.squares[side] += other.squares[side] + apart * apart * weight;
            self.means[side] += apart * other.count / count;
        }
        self.products += other.products + apart[0] * apart[1] * weight;
        self.count = count;
        self
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn of(sample: usize, before: &[f64], after: &[f64]) -> TensorSums {
        TensorSums::of(sample, [before, after], false, Some(1.0))
    }

    #[test]
    fn the_first_and_the_worst_element_are_told() {
        let sums = of(0, &[1.0, 2.0, 3.0], &[1.0, 2.5, 3.0]);
        let more = of(1, &[1.0, 2.0, 3.0], &[5.0, 2.0, f64::NAN]);
        assert_eq!((sums.elements, sums.differing), (3, 1));
        assert_eq!(sums.worst.unwrap().element, 1);
        let all = sums.merged(more);
        assert_eq!((all.elements, all.differing, all.beyond), (6, 3, 2));
        assert_eq!((all.first.unwrap().sample, all.first.unwrap().element), (0, 1));
        assert_eq!((all.worst.unwrap().sample, all.worst.unwrap().element), (1, 2), "NaN is the worst");
        assert_eq!(all.correlation(), None);
    }

    #[test]
    fn signs_of_zeros_count_and_nan_is_the_same_as_itself() {
        let (before, after) = ([0.0, f64::NAN], [-0.0, f64::NAN]);
        assert_eq!(TensorSums::of(0, [&before, &after], true, None).differing, 1);
        assert_eq!(of(0, &before, &after).differing, 0);
    }

    #[test]
    fn correlation_does_not_depend_on_how_samples_are_cut() {
        let before: Vec<f64> = (0..20).map(|i| 1e6 + f64::from(i * i % 7)).collect();
        let after: Vec<f64> = (0..20).map(|i| f64::from(i * i % 7) * 2.0 + f64::from(i % 2)).collect();
        let whole = of(0, &before, &after).correlation().unwrap();
        let first = of(0, &before[..5], &after[..5]);
        let rest = of(1, &before[5..], &after[5..]);
        assert!((first.merged(rest).correlation().unwrap() - whole).abs() < 1e-9);
        assert!(whole > 0.9 && whole < 1.0, "{whole}");
        assert_eq!(of(0, &[1.0, 1.0], &[1.0, 2.0]).correlation(), None, "no variance");
        let line = of(0, &[1.0, 2.0, 3.0], &[-2.0, -4.0, -6.0]);
        assert!((line.correlation().unwrap() + 1.0).abs() < 1e-12);
    }
}
