//! Decoder language models: [`DecoderModel`], its graphs, and token-by-token evaluation.
//!
//! A model is a [`DecoderConfig`] and the tensors that it requires. [`DecoderModel::prefill`] and
//! [`DecoderModel::decode`] build graphs from it; a [`Session`] evaluates them in `f32` with a
//! key-value cache. Tokens are numbers; the tokenizer is not part of this module.

pub mod builder;
pub mod config;
mod graphs;
mod session;
mod weights;

pub use config::{Activation, DecoderConfig, NormKind, Pairs, Positions};
pub use session::{Session, likeliest};
pub use weights::{DecoderModel, Layer, Matrix, NormWeights};

use crate::op::EvalError;
use crate::op::OpError;

/// Error of a decoder's configuration, tensors or evaluation.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum DecoderError {
    /// The configuration has an illegal value.
    #[error("`{key}` is {found}; legal is {legal}")]
    Config {
        /// Name of the configuration key.
        key: &'static str,
        /// Value of the key.
        found: String,
        /// Legal values.
        legal: String,
    },
    /// A tensor does not have the shape that the configuration requires.
    #[error("tensor `{name}` has shape {found:?}; the configuration requires {expected:?}")]
    Shape {
        /// Name of the tensor.
        name: String,
        /// Shape of the tensor.
        found: Vec<usize>,
        /// Required shape.
        expected: Vec<usize>,
    },
    /// A tensor does not hold floats.
    #[error("tensor `{name}` does not hold floats")]
    NotFloats {
        /// Name of the tensor.
        name: String,
    },
    /// The tokens exceed the model's maximum number of positions.
    #[error("{found} tokens at position {position} exceed the limit of {limit} tokens")]
    TooLong {
        /// Position of the first token.
        position: usize,
        /// Number of tokens.
        found: usize,
        /// Number of positions of the model.
        limit: usize,
    },
    /// A token is not in the vocabulary.
    #[error("token {token} is not in the vocabulary of {vocabulary} tokens")]
    Token {
        /// Number of the token.
        token: usize,
        /// Size of the vocabulary.
        vocabulary: usize,
    },
    /// No token was given.
    #[error("nothing to compute: no tokens were given")]
    NoTokens,
    /// An operator rejects its operands; this is a bug in npukit.
    #[error(transparent)]
    Op(#[from] OpError),
    /// A graph cannot be evaluated; this is a bug in npukit.
    #[error(transparent)]
    Eval(#[from] EvalError),
}
