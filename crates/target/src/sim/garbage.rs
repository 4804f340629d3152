//! Content of unwritten memory: [`garbage`].

use npukit_numeric::SplitMix64;

/// Returns pseudorandom bits from `seed`, the same on every machine.
pub fn garbage(seed: u64) -> impl FnMut() -> u64 {
    let mut random = SplitMix64::new(seed);
    move || random.bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_published_numbers() {
        let mut next = garbage(1_234_567);
        let first: Vec<u64> = std::iter::repeat_with(&mut next).take(3).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}
