//! [`DecoderConfig`]: configuration of a decoder, without its weights.

use super::DecoderError;
use crate::op::{GeluForm, Op, Relu, Unary, UnaryKind};

/// Largest size or number; the product of two of them fits a `usize` of 64 bits.
pub const MAX: usize = 1 << 24;

/// Largest number of positions of a text.
pub const MAX_POSITIONS: usize = 1 << 20;

/// Normalization of the values between layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormKind {
    /// Divides by the root of the mean square, then multiplies by a gain.
    Rms,
    /// Shifts to mean 0 and scales to variance 1, then applies a gain and a bias.
    Layer,
}

/// Activation function of the feed-forward part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `x` times the standard normal distribution function at `x`.
    Gelu(GeluForm),
    /// `x / (1 + e^-x)`.
    Silu,
    /// `max(x, 0)`.
    Relu,
}

impl Activation {
    /// Returns the operator that computes it.
    pub fn op(self) -> Op {
        match self {
            Self::Gelu(form) => Unary { kind: UnaryKind::Gelu { form } }.into(),
            Self::Silu => Unary { kind: UnaryKind::Swish { alpha: 1.0 } }.into(),
            Self::Relu => Relu.into(),
        }
    }
}

/// Pairs of features of a head that are rotated together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Features `2 i` and `2 i + 1`.
    Neighbors,
    /// Features `i` and `i + head / 2`.
    Halves,
}

/// Position encoding of a decoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Positions {
    /// No encoding other than the causal mask.
    None,
    /// A learned vector for each position, added to the token's embedding.
    Learned,
    /// Rotation of pairs of features of queries and keys: pair `i` at position `p` by `p *
    /// theta^(-2 i / head)`.
    Rotary {
        /// Base of the frequencies.
        theta: f32,
        /// Features that form a pair.
        pairs: Pairs,
    },
}

/// Configuration of a decoder, without its weights. Attention and feed-forward part each have a
/// normalization before them and a residual connection around them. Only layer normalization has
/// biases.
#[derive(Clone, Debug, PartialEq)]
pub struct DecoderConfig {
    /// Name of the model.
    pub name: String,
    /// Number of tokens in the vocabulary.
    pub vocabulary: usize,
    /// Number of positions: the largest number of tokens of a text.
    pub context: usize,
    /// Number of layers, each with attention and a feed-forward part.
    pub layers: usize,
    /// Features of a token between layers.
    pub hidden: usize,
    /// Number of query heads; a multiple of `kv_heads`.
    pub heads: usize,
    /// Number of key and value heads; neighboring query heads share one.
    pub kv_heads: usize,
    /// Features of a head.
    pub head: usize,
    /// Features inside the feed-forward part.
    pub feed_forward: usize,
    /// Normalization before attention, feed-forward part and output.
    pub norm: NormKind,
    /// Addend of the mean square or variance.
    pub epsilon: f32,
    /// Activation function of the feed-forward part.
    pub activation: Activation,
    /// Whether the activation is applied to a separate product, `gate`, and its result is
    /// multiplied by `up`.
    pub gated: bool,
    /// Position encoding.
    pub positions: Positions,
    /// Factor of the products of queries and keys.
    pub attention_scale: f32,
    /// Whether the embedding matrix also computes the logits.
    pub tied: bool,
}

impl DecoderConfig {
    /// Checks every number and the relations between them.
    ///
    /// # Errors
    ///
    /// [`DecoderError::Config`] with the first number that is out of range or does not fit another.
    /// Examples: query heads that are not a multiple of key heads, a head that cannot be rotated.
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

    /// Checks that `tokens` may follow `position` others in a text of at most `limit`.
    ///
    /// # Errors
    ///
    /// [`DecoderError::TooLong`] if they exceed the limit; [`DecoderError::Token`] for one that is
    /// not in the vocabulary. An empty list is not an error.
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

    /// Returns the number of query heads that share a key head.
    pub fn group(&self) -> usize {
        self.heads / self.kv_heads.max(1)
    }

    /// Returns cosines and sines of the rotation at `count` positions starting at `first`, `[count,
    /// head / 2]` each. `None` without rotation.
    pub fn rotations(&self, first: usize, count: usize) -> Option<[Vec<f32>; 2]> {
        let Positions::Rotary { theta, .. } = self.positions else { return None };
        Some(rotations(theta, self.head, first, count))
    }
}

/// Returns cosines and sines of a rotation with base `theta` at `count` positions starting at
/// `first`, `[count, head / 2]` each.
pub fn rotations(theta: f32, head: usize, first: usize, count: usize) -> [Vec<f32>; 2] {
    let frequency = |pair: usize| f64::from(theta).powf(-2.0 * pair as f64 / head as f64);
    let pairs = head / 2;
    let turn = |i: usize| (first + i / pairs) as f64 * frequency(i % pairs);
    let table = |function: fn(f64) -> f64| (0..count * pairs).map(|i| function(turn(i)) as f32).collect();
    [table(f64::cos), table(f64::sin)]
}

/// Checks the number `key` of a configuration: it is an error if `wrong`.
///
/// # Errors
///
/// [`DecoderError::Config`] with the values `found` and `legal`.
pub fn refuse(
    wrong: bool,
    key: &'static str,
    found: &dyn std::fmt::Display,
    legal: impl FnOnce() -> String,
) -> Result<(), DecoderError> {
    if wrong { Err(DecoderError::Config { key, found: found.to_string(), legal: legal() }) } else { Ok(()) }
}
