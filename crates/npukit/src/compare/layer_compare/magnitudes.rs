//! [`Magnitudes`]: histogram of magnitudes by powers of two.

/// Smallest power of two with its own bin; smaller values go to this bin.
const LEAST: i32 = -64;
/// Number of bins; larger values go to the last bin.
const POWERS: usize = 128;

/// Histogram of values by magnitude: zeros, and one bin from each power of two up to the next. NaN
/// and infinities are in no bin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Magnitudes {
    pub zeros: u64,
    by_power: [u64; POWERS],
}

impl Magnitudes {
    pub const fn new() -> Self {
        Self { zeros: 0, by_power: [0; POWERS] }
    }

    pub fn add(&mut self, value: f64) {
        if value == 0.0 {
            self.zeros += 1;
        } else if value.is_finite() {
            // Exact except for numbers below 2^-1022, which go to the first bin anyway.
            let power = ((value.abs().to_bits() >> 52) as i32 - 1023).clamp(LEAST, LEAST + POWERS as i32 - 1);
            self.by_power[(power - LEAST) as usize] += 1;
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.zeros += other.zeros;
        self.by_power.iter_mut().zip(other.by_power).for_each(|(sum, count)| *sum += count);
    }

    /// Returns the range of bins that either histogram uses: its first power, and the counts of
    /// both starting there.
    pub fn common(&self, other: &Self) -> (i32, Vec<u64>, Vec<u64>) {
        let is_used = |place: &usize| self.by_power[*place] + other.by_power[*place] > 0;
        let (first, last) = ((0..POWERS).find(is_used), (0..POWERS).rev().find(is_used));
        let Some((first, last)) = first.zip(last) else { return (0, Vec::new(), Vec::new()) };
        let of = |one: &Self| one.by_power[first..=last].to_vec();
        (LEAST + first as i32, of(self), of(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_count_at_their_power_of_two() {
        let (mut chip, mut float) = (Magnitudes::new(), Magnitudes::new());
        [0.0, 1.0, -1.5, 2.0, f64::NAN].into_iter().for_each(|value| chip.add(value));
        [0.25, -0.49, -0.0, 3.9, f64::INFINITY].into_iter().for_each(|value| float.add(value));
        assert_eq!(chip.common(&float), (-2, vec![0, 0, 2, 1], vec![2, 0, 0, 1]));
        assert_eq!((chip.zeros, float.zeros), (1, 1));
        chip.merge(&float);
        assert_eq!(chip.common(&chip), (-2, vec![2, 0, 2, 2], vec![2, 0, 2, 2]));
        [1e-300, 5e-324, 1e300].into_iter().for_each(|value| float.add(value));
        assert_eq!((float.by_power[0], float.by_power[POWERS - 1]), (2, 1));
        assert_eq!(Magnitudes::new().common(&Magnitudes::new()), (0, vec![], vec![]));
    }
}
