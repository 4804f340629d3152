//! Language models that are decoders: [`DecoderModel`], its graphs and its evaluation token by token.
//!
//! A model is a [`DecoderConfig`] and the tensors it asks for. [`DecoderModel::prefill`] and
//! [`DecoderModel::decode`] make graphs of it; a [`Session`] computes them in `f32` with a cache of keys and
//! values. Which characters tokens stand for does not matter here.

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

/// Why there is no such decoder, or why it does not compute.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum DecoderError {
    /// A size or number that makes no decoder.
    #[error("`{key}` is {found}; legal is {legal}")]
    Config {
        /// Which one.
        key: &'static str,
        /// Its value.
        found: String,
        /// What it may be.
        legal: String,
    },
    /// A tensor does not have the shape that the configuration asks for.
    #[error("tensor `{name}` has shape {found:?}; the configuration asks for {expected:?}")]
    Shape {
        /// The tensor.
        name: String,
        /// Its shape.
        found: Vec<usize>,
        /// The shape asked for.
        expected: Vec<usize>,
    },
    /// A tensor does not hold floats.
    #[error("tensor `{name}` does not hold floats")]
    NotFloats {
        /// The tensor.
        name: String,
    },
    /// More tokens than the model has positions for.
    #[error("{found} tokens at position {position} are more than the {limit} that the model takes")]
    TooLong {
        /// Where they begin.
        position: usize,
        /// Tokens.
        found: usize,
        /// Positions there are.
        limit: usize,
    },
    /// A token that is not in the vocabulary.
    #[error("token {token} is not one of the {vocabulary} of the vocabulary")]
    Token {
        /// The token.
        token: usize,
        /// Tokens there are.
        vocabulary: usize,
    },
    /// No token is given.
    #[error("there is nothing to compute: no token is given")]
    NoTokens,
    /// An operator refuses its operands: a fault of ours.
    #[error(transparent)]
    Op(#[from] OpError),
    /// A graph cannot be evaluated: a fault of ours.
    #[error(transparent)]
    Eval(#[from] EvalError),
}
