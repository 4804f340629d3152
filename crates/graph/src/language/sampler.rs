//! [`Sampler`]: choice of the next token from its logits, the most likely one or a random one.
//!
//! The choice has these steps, in this order. Each works on the result of the one before:
//!
//! 1. *Repetition penalty*: the logits of tokens that the text already has, including the prompt,
//!    are divided by the penalty if they are positive, and multiplied by it otherwise.
//! 2. *Temperature*: all logits are divided by it. Probabilities are their softmax. Without a
//!    temperature, the token with the largest logit is chosen, the first of several.
//! 3. *Top k*: only the `k` most likely tokens remain.
//! 4. *Top p*: of these, only the most likely tokens remain whose probabilities add up to `p` of
//!    the rest; the token that reaches `p` is included.
//! 5. *Min p*: only tokens remain that are at least `min_p` times as likely as the most likely one.
//! 6. One of the remaining tokens is drawn with SplitMix64. Each token takes one number.
//!
//! Equally likely tokens are ordered by their numbers. Computation is in `f64`. The same logits,
//! options and seed thus lead to the same tokens.

use npukit_numeric::SplitMix64;

use crate::decoder::likeliest;

/// Options of choosing tokens. By default the most likely token is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampling {
    /// Divisor of the logits, larger than 0. `None` for the most likely token.
    pub temperature: Option<f64>,
    /// Number of most likely tokens that remain, at least 1.
    pub top_k: Option<usize>,
    /// Sum of the probabilities of the tokens that remain, larger than 0, at most 1.
    pub top_p: Option<f64>,
    /// Smallest probability that remains, relative to the largest one, from 0 to 1.
    pub min_p: Option<f64>,
    /// Divisor of positive logits of tokens that the text already has, larger than 0; 1 has no
    /// effect.
    pub repetition_penalty: Option<f64>,
    /// Start of the random numbers.
    pub seed: u64,
}

/// An option of [`Sampling`] has an illegal value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{option} is {found}; legal is {legal}")]
pub struct SamplingError {
    /// Name of the option.
    pub option: &'static str,
    /// Value of the option.
    pub found: f64,
    /// Legal values.
    pub legal: &'static str,
}

impl Sampling {
    /// Checks the values.
    ///
    /// # Errors
    ///
    /// [`SamplingError`] with the first illegal one.
    pub fn check(&self) -> Result<(), SamplingError> {
        const POSITIVE: &str = "a number larger than 0";
        let positive = |found: f64| found > 0.0 && found.is_finite();
        check("temperature", self.temperature, POSITIVE, positive)?;
        let top_k = self.top_k.map(|k| k as f64);
        check("top-k", top_k, "an integer of at least 1", |found| found >= 1.0)?;
        let share = "a number larger than 0, at most 1";
        check("top-p", self.top_p, share, |found| found > 0.0 && found <= 1.0)?;
        check("min-p", self.min_p, "a number from 0 to 1", |found| (0.0..=1.0).contains(&found))?;
        check("repetition penalty", self.repetition_penalty, POSITIVE, positive)
    }
}

/// Checks a value if it is given.
fn check(
    option: &'static str,
    value: Option<f64>,
    legal: &'static str,
    is_legal: impl Fn(f64) -> bool,
) -> Result<(), SamplingError> {
    match value.filter(|&found| !is_legal(found)) {
        Some(found) => Err(SamplingError { option, found, legal }),
        None => Ok(()),
    }
}

/// Chooses tokens, one after the other.
#[derive(Clone, Debug)]
pub struct Sampler {
    sampling: Sampling,
    random: SplitMix64,
}

impl Sampler {
    /// Creates a sampler at the begin of its random numbers.
    ///
    /// # Errors
    ///
    /// [`SamplingError`] for an illegal option.
    pub fn new(sampling: Sampling) -> Result<Self, SamplingError> {
        sampling.check()?;
        Ok(Self { sampling, random: SplitMix64::new(sampling.seed) })
    }

    /// Chooses the token after `text` from its logits, `[vocabulary]`. Logits that are not numbers
    /// are never chosen, unless all are.
    pub fn choose(&mut self, logits: &[f32], text: &[usize]) -> usize {
        let logits = self.penalized(logits, text);
        let Some(temperature) = self.sampling.temperature else { return likeliest(&logits) };
        let shares = self.shares(&logits, temperature);
        let sum: f64 = shares.iter().map(|(_, share)| share).sum();
        let mut rest = self.random.between(0.0, sum);
        let drawn = shares.iter().find(|(_, share)| {
            rest -= share;
            rest < 0.0
        });
        // Default: the last token if rounding leaves a rest; the first one without logits.
        drawn.or(shares.last()).map_or(0, |&(token, _)| token)
    }

    /// Returns the logits as finite numbers, after the repetition penalty.
    fn penalized(&self, logits: &[f32], text: &[usize]) -> Vec<f32> {
        let finite = |logit: &f32| if logit.is_nan() { f32::MIN } else { logit.clamp(f32::MIN, f32::MAX) };
        let mut logits: Vec<f32> = logits.iter().map(finite).collect();
        let Some(penalty) = self.sampling.repetition_penalty else { return logits };
        let mut tokens = text.to_vec();
        tokens.sort_unstable();
        tokens.dedup();
        for token in tokens {
            if let Some(logit) = logits.get_mut(token) {
                let factor = if *logit > 0.0 { 1.0 / penalty } else { penalty };
                *logit = ((f64::from(*logit) * factor) as f32).clamp(f32::MIN, f32::MAX);
            }
        }
        logits
    }

    /// Returns the remaining tokens, the most likely one first, with their probabilities relative
    /// to its own.
    fn shares(&self, logits: &[f32], temperature: f64) -> Vec<(usize, f64)> {
        let largest = f64::from(logits.iter().copied().fold(f32::MIN, f32::max));
        let share = |logit: f32| ((f64::from(logit) - largest) / temperature).exp();
        let mut shares: Vec<(usize, f64)> =
            logits.iter().map(|&logit| share(logit)).enumerate().filter(|(_, share)| *share > 0.0).collect();
        shares.sort_unstable_by(|(a, of_a), (b, of_b)| of_b.total_cmp(of_a).then(a.cmp(b)));
        if let Some(k) = self.sampling.top_k {
            shares.truncate(k);
        }
        if let Some(p) = self.sampling.top_p {
            let bound = p * shares.iter().map(|(_, share)| share).sum::<f64>();
            let mut sum = 0.0;
            let reaches = |(_, share): &(usize, f64)| {
                sum += share;
                sum >= bound
            };
            // Default: all, if rounding leaves a rest.
            let count = shares.iter().position(reaches).map_or(shares.len(), |last| last + 1);
            shares.truncate(count);
        }
        if let Some(min_p) = self.sampling.min_p {
            shares.retain(|(_, share)| *share >= min_p);
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    impl Sampler {
        /// Returns the probabilities with which [`Self::choose`] chooses a token: tokens and
        /// probabilities, the largest first. The others are never chosen.
        fn probabilities(&self, logits: &[f32], text: &[usize]) -> Vec<(usize, f64)> {
            let logits = self.penalized(logits, text);
            let Some(temperature) = self.sampling.temperature else { return vec![(likeliest(&logits), 1.0)] };
            let shares = self.shares(&logits, temperature);
            let sum: f64 = shares.iter().map(|(_, share)| share).sum();
            shares.into_iter().map(|(token, share)| (token, share / sum)).collect()
        }
    }

    const LOGITS: [f32; 5] = [1.0, 3.0, 2.0, 3.0, -1.0];

    fn sampler(sampling: Sampling) -> Sampler {
        Sampler::new(sampling).unwrap()
    }

    fn tokens(sampling: Sampling) -> Vec<usize> {
        let sampler = sampler(Sampling { temperature: Some(1.0), ..sampling });
        sampler.probabilities(&LOGITS, &[]).into_iter().map(|(token, _)| token).collect()
    }

    #[test]
    fn the_likeliest_token_needs_no_random_numbers() {
        let mut greedy = sampler(Sampling::default());
        assert_eq!(greedy.choose(&LOGITS, &[]), 1, "the first of two");
        assert_eq!(greedy.probabilities(&LOGITS, &[]), [(1, 1.0)]);
        let mut penalized = sampler(Sampling { repetition_penalty: Some(2.0), ..Sampling::default() });
        assert_eq!(penalized.choose(&LOGITS, &[1, 1]), 3);
        assert_eq!(penalized.choose(&LOGITS, &[1, 3, 99]), 2);
        assert_eq!(penalized.choose(&[-1.0, -1.5], &[0]), 1, "negative logits are multiplied");
    }

    /// Probabilities are 0.054, 0.397, 0.146, 0.397 and 0.007.
    #[test]
    fn filters_keep_the_most_likely_tokens() {
        assert_eq!(tokens(Sampling::default()), [1, 3, 2, 0, 4]);
        assert_eq!(tokens(Sampling { top_k: Some(3), ..Sampling::default() }), [1, 3, 2]);
        assert_eq!(tokens(Sampling { top_p: Some(0.3), ..Sampling::default() }), [1]);
        assert_eq!(tokens(Sampling { top_p: Some(0.5), ..Sampling::default() }), [1, 3]);
        assert_eq!(tokens(Sampling { top_p: Some(0.9), ..Sampling::default() }), [1, 3, 2]);
        assert_eq!(tokens(Sampling { top_p: Some(1.0), ..Sampling::default() }).len(), 5);
        assert_eq!(tokens(Sampling { min_p: Some(0.1), ..Sampling::default() }), [1, 3, 2, 0]);
        assert_eq!(tokens(Sampling { min_p: Some(1.0), ..Sampling::default() }), [1, 3]);
        // Top k leaves two tokens, with half of the probability each.
        assert_eq!(tokens(Sampling { top_k: Some(2), top_p: Some(0.5), ..Sampling::default() }), [1]);
    }

    /// Each token is drawn about as often as its probability requires.
    #[test]
    fn draws_follow_the_probabilities() {
        let sampling = Sampling { temperature: Some(0.7), top_k: Some(4), seed: 5, ..Sampling::default() };
        let (mut sampler, mut counts) = (sampler(sampling), [0_u32; 5]);
        let expected = sampler.probabilities(&LOGITS, &[]);
        const DRAWS: u32 = 20_000;
        (0..DRAWS).for_each(|_| counts[sampler.choose(&LOGITS, &[])] += 1);
        for (token, probability) in expected {
            let found = f64::from(counts[token]) / f64::from(DRAWS);
            assert!((found - probability).abs() < 0.015, "{token}: {found} instead of {probability}");
        }
        assert_eq!(counts[4], 0);
        let exact = (-1.0_f64 / 0.7).exp();
        let found = sampler.probabilities(&LOGITS, &[]);
        assert!((found[2].1 / found[0].1 - exact).abs() < 1e-12);
    }

    #[test]
    fn a_seed_decides() {
        let drawn = |seed| -> Vec<usize> {
            let mut sampler = sampler(Sampling { temperature: Some(1.0), seed, ..Sampling::default() });
            (0..20).map(|_| sampler.choose(&LOGITS, &[])).collect()
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn logits_without_numbers_are_not_chosen() {
        let mut cold = sampler(Sampling { temperature: Some(1e-300), ..Sampling::default() });
        assert_eq!(cold.choose(&[f32::NAN, 1.0, f32::NEG_INFINITY, 2.0], &[]), 3);
        assert_eq!(cold.choose(&[f32::NAN, f32::INFINITY], &[]), 1);
        assert_eq!(cold.choose(&[], &[]), 0);
        let mut warm = sampler(Sampling { temperature: Some(1.0), ..Sampling::default() });
        assert!(warm.choose(&[f32::NAN; 3], &[]) < 3);
    }

    #[test]
    fn illegal_options_are_named() {
        let with = |change: fn(&mut Sampling)| {
            let mut sampling = Sampling::default();
            change(&mut sampling);
            sampling.check().map_err(|error| error.option)
        };
        assert_eq!(with(|of| of.temperature = Some(0.0)), Err("temperature"));
        assert_eq!(with(|of| of.temperature = Some(f64::NAN)), Err("temperature"));
        assert_eq!(with(|of| of.top_k = Some(0)), Err("top-k"));
        assert_eq!(with(|of| of.top_p = Some(1.1)), Err("top-p"));
        assert_eq!(with(|of| of.min_p = Some(-0.1)), Err("min-p"));
        assert_eq!(with(|of| of.repetition_penalty = Some(f64::INFINITY)), Err("repetition penalty"));
        assert_eq!(with(|of| of.top_p = Some(1.0)), Ok(()));
    }
}
