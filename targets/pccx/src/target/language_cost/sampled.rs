//! Positions of a long text at which programs are timed: [`weights`].

/// Tokens after which the roundings of sizes repeat: weights are in blocks of 32.
const PERIOD: usize = 32;

/// Returns indices of some of `count` positions that are `step` tokens apart, with the weight of
/// each in a sum. Sums equal the sums over all positions if the cost is linear between the timed
/// blocks: the first one, one in the middle, and the last one.
pub fn weights(count: usize, step: usize, is_long: bool) -> Vec<(usize, f64)> {
    // The positions of one block cover all roundings.
    let block = PERIOD / PERIOD.min(1 << step.trailing_zeros().min(5));
    let blocks = count / block;
    if !is_long || blocks <= 3 {
        return (0..count).map(|index| (index, 1.0)).collect();
    }
    let last = blocks - 1;
    let mut timed = vec![(0, 0.5), (last / 2, 0.0), (last, 0.5)];
    for pair in [0, 1] {
        let length = (timed[pair + 1].0 - timed[pair].0) as f64;
        timed[pair].1 += length / 2.0;
        timed[pair + 1].1 += length / 2.0;
    }
    let within =
        |(index, weight): (usize, f64)| (index * block..(index + 1) * block).map(move |i| (i, weight));
    let rest = (blocks * block..count).map(|index| (index, 1.0));
    timed.into_iter().flat_map(within).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_linear_costs_are_exact() {
        for (count, step) in [(128, 16), (127, 16), (1000, 1), (1033, 8), (64, 12), (5, 16)] {
            let cost = |index: usize| 7.0 + 3.0 * (index * step).div_ceil(PERIOD) as f64;
            let all: f64 = (0..count).map(cost).sum();
            let found: f64 =
                weights(count, step, true).iter().map(|(index, weight)| weight * cost(*index)).sum();
            assert!((found - all).abs() < 1e-6, "{count} {step}: {found} of {all}");
        }
        assert!(weights(128, 16, true).len() == 6 && weights(128, 16, false).len() == 128);
    }
}
