//! [`DecoderConfig`]: what a decoder is before its weights.

use super::DecoderError;
use crate::op::{GeluForm, Op, Relu, Unary, UnaryKind};

/// Largest size or count; products of two of them fit every machine's words.
pub const MAX: usize = 1 << 24;

/// Largest number of positions of a text.
pub const MAX_POSITIONS: usize = 1 << 20;

/// How the values between layers are normalised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormKind {
    /// Divided by the root of the mean square, times a gain.
    Rms,
    /// Mean 0 and variance 1, times a gain, plus a bias.
    Layer,
}

/// Function of the feed-forward part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `x` times the normal distribution's share below `x`.
    Gelu(GeluForm),
    /// `x / (1 + e^-x)`.
    Silu,
    /// `max(x, 0)`.
    Relu,
}

impl Activation {
    /// The operator that computes it.
    pub fn op(self) -> Op {
        match self {
            Self::Gelu(form) => Unary { kind: UnaryKind::Gelu { form } }.into(),
            Self::Silu => Unary { kind: UnaryKind::Swish { alpha: 1.0 } }.into(),
            Self::Relu => Relu.into(),
        }
    }
}

/// Which features of a head a rotation takes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Feature `2 i` and `2 i + 1`.
    Neighbours,
    /// Feature `i` and `i + head / 2`.
    Halves,
}

/// How a decoder knows the place of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Positions {
    /// By nothing but what causality tells.
    None,
    /// By a vector for each position, which is added to the token's.
    Learned,
    /// By rotating pairs of features of queries and keys: pair `i` at position `p` by `p * theta^(-2 i / head)`.
    Rotary {
        /// The base of the frequencies.
        theta: f32,
        /// Which features are a pair.
        pairs: Pairs,
    },
}

/// What a decoder is before its weights: normalisation before attention and before the feed-forward
/// part, both added to what they started from; no biases but those of layer normalisation.
#[derive(Clone, Debug, PartialEq)]
pub struct DecoderConfig {
    /// Name of the model.
    pub name: String,
    /// Number of tokens that the model knows.
    pub vocabulary: usize,
    /// Number of positions: the largest number of tokens of a text.
    pub context: usize,
    /// Layers of attention and feed-forward part.
    pub layers: usize,
    /// Features of a token between layers.
    pub hidden: usize,
    /// Heads of queries; a multiple of `kv_heads`.
    pub heads: usize,
    /// Heads of keys and values; neighbouring heads of queries share one.
    pub kv_heads: usize,
    /// Features of a head.
    pub head: usize,
    /// Features within the feed-forward part.
    pub feed_forward: usize,
    /// Kind of normalisation before attention, feed-forward part and output.
    pub norm: NormKind,
    /// What is added to the mean square or variance.
    pub epsilon: f32,
    /// Function of the feed-forward part.
    pub activation: Activation,
    /// Whether the function's result is multiplied by a second product, `up`, of which the function's own
    /// operand, `gate`, is then another.
    pub gated: bool,
    /// How the place of a token is known.
    pub positions: Positions,
    /// Factor of the products of queries and keys.
    pub attention_scale: f32,
    /// Whether the embedding also makes the logits.
    pub tied: bool,
}

impl DecoderConfig {
    /// Checks every number on its own and those that depend on each other.
    ///
    /// # Errors
    ///
    /// [`DecoderError::Config`] with the first number that is out of its range or does not fit another: heads
    /// that are not a multiple of those of keys, a head that cannot be rotated.
    pub fn check(&self) -> Result<(), DecoderError> {
        for (key, found, most) in [
            ("vocabulary", self.vocabulary, MAX),
            ("context", self.context, MAX_POSITIONS),
            ("layers", self.layers, MAX),
            ("hidden", self.hidden, MAX),
            ("heads", self.heads, MAX),
            ("kv_heads", self.kv_heads, MAX),
            ("head", self.head, MAX),
            ("feed_forward", self.feed_forward, MAX),
        ] {
            refuse(found == 0 || found > most, key, &found, || format!("1 to {most}"))?;
        }
        let groups = || format!("a multiple of `kv_heads`, which is {}", self.kv_heads);
        refuse(!self.heads.is_multiple_of(self.kv_heads), "heads", &self.heads, groups)?;
        let positive = |x: f32| x > 0.0 && x.is_finite();
        let number = || "a positive number".to_owned();
        refuse(!positive(self.epsilon), "epsilon", &self.epsilon, number)?;
        refuse(!positive(self.attention_scale), "attention_scale", &self.attention_scale, number)?;
        if let Positions::Rotary { theta, .. } = self.positions {
            refuse(!positive(theta), "theta", &theta, number)?;
            refuse(!self.head.is_multiple_of(2), "head", &self.head, || "even, for rotation".to_owned())?;
        }
        Ok(())
    }

    /// Whether tokens may follow `position` others in a text of at most `limit`.
    ///
    /// # Errors
    ///
    /// [`DecoderError::TooLong`] when there is no room for all of them; [`DecoderError::Token`] for one that
    /// is not in the vocabulary. No token at all is not an error.
    pub fn check_tokens(&self, position: usize, limit: usize, tokens: &[usize]) -> Result<(), DecoderError> {
        let (found, vocabulary) = (tokens.len(), self.vocabulary);
        if position.saturating_add(found) > limit {
            return Err(DecoderError::TooLong { position, found, limit });
        }
        match tokens.iter().find(|&&token| token >= vocabulary) {
            Some(&token) => Err(DecoderError::Token { token, vocabulary }),
            None => Ok(()),
        }
    }

    /// Heads of queries that share a head of keys.
    pub fn group(&self) -> usize {
        self.heads / self.kv_heads.max(1)
    }

    /// Cosines and sines of a rotation at `count` positions from `first` on, `[count, head / 2]` each;
    /// nothing where there is no rotation.
    pub fn rotations(&self, first: usize, count: usize) -> Option<[Vec<f32>; 2]> {
        let Positions::Rotary { theta, .. } = self.positions else { return None };
        Some(rotations(theta, self.head, first, count))
    }
}

/// Cosines and sines of a rotation with that base at `count` positions from `first` on, `[count, head / 2]` each.
pub fn rotations(theta: f32, head: usize, first: usize, count: usize) -> [Vec<f32>; 2] {
    let frequency = |pair: usize| f64::from(theta).powf(-2.0 * pair as f64 / head as f64);
    let pairs = head / 2;
    let turn = |i: usize| (first + i / pairs) as f64 * frequency(i % pairs);
    let table = |function: fn(f64) -> f64| (0..count * pairs).map(|i| function(turn(i)) as f32).collect();
    [table(f64::cos), table(f64::sin)]
}

/// Refuses the size or number `key` of a configuration when it is `wrong`.
///
/// # Errors
///
/// [`DecoderError::Config`] with what was `found` and what is `legal`.
pub fn refuse(
    wrong: bool,
    key: &'static str,
    found: &dyn std::fmt::Display,
    legal: impl FnOnce() -> String,
) -> Result<(), DecoderError> {
    if wrong { Err(DecoderError::Config { key, found: found.to_string(), legal: legal() }) } else { Ok(()) }
}
