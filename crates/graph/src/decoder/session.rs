//! [`Session`]: evaluates a decoder in `f32`, token by token.

use npukit_numeric::{Tensor, TensorData};

use super::{DecoderConfig, DecoderError, DecoderModel};
use crate::eval::evaluate;
use crate::ir::Graph;

/// A partially evaluated text. Its keys and values are cached, so each further token costs one
/// step. Memory: the cache at full capacity, and the weights.
#[derive(Clone, Debug)]
pub struct Session {
    config: DecoderConfig,
    /// Largest number of tokens.
    capacity: usize,
    step: Graph,
    /// Keys, then values, of each layer, `[kv_heads, cache, head]`.
    caches: Vec<Vec<f32>>,
    position: usize,
}

impl Session {
    /// Creates an empty text of at most `capacity` tokens, 1 to [`DecoderConfig::context`].
    ///
    /// # Errors
    ///
    /// [`DecoderError::NoTokens`] for a capacity of 0; the errors of [`DecoderModel::decode`] for
    /// one beyond the context.
    pub fn new(model: &DecoderModel, capacity: usize) -> Result<Self, DecoderError> {
        let config = model.config().clone();
        let cache = capacity.checked_sub(1).ok_or(DecoderError::NoTokens)?;
        let step = model.decode(cache)?;
        let caches = vec![vec![0.0; config.kv_heads * cache * config.head]; 2 * config.layers];
        Ok(Self { config, capacity, step, caches, position: 0 })
    }

    /// Removes all tokens, so that the next one has position 0.
    pub fn reset(&mut self) {
        // Cache entries from the position on are never read.
        self.position = 0;
    }

    /// Returns the number of tokens since the last reset: the position of the next one.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Evaluates tokens in sequence, and returns the logits after the last one.
    ///
    /// # Errors
    ///
    /// [`DecoderError::NoTokens`] for an empty list, [`DecoderError::Token`] for a token that is
    /// not in the vocabulary, [`DecoderError::TooLong`] if the capacity is exceeded. On an error,
    /// no token is evaluated.
    pub fn take(&mut self, tokens: &[usize]) -> Result<Vec<f32>, DecoderError> {
        self.config.check_tokens(self.position, self.capacity, tokens)?;
        let mut logits = Err(DecoderError::NoTokens);
        for &token in tokens {
            logits = Ok(self.take_one(token)?);
        }
        logits
    }

    fn take_one(&mut self, token: usize) -> Result<Vec<f32>, DecoderError> {
        let mut inputs = vec![number(token)?, number(self.position)?];
        let cache = self.capacity - 1;
        for held in &self.caches {
            let shape = vec![self.config.kv_heads, cache, self.config.head];
            inputs.push(tensor("cache", shape, TensorData::F32(held.clone()))?);
        }
        let results = evaluate(&self.step, &inputs)?;
        let floats =
            |tensor: &Tensor| tensor.as_f32().expect("the outputs of a decoder graph are floats").to_vec();
        let logits = floats(&results[0]);
        let (position, head) = (self.position, self.config.head);
        // The entries of the last position are never read.
        for (held, new) in self.caches.iter_mut().zip(&results[1..]).filter(|_| position < cache) {
            let new = floats(new);
            let rows = new.chunks_exact(head);
            for (held, row) in held.chunks_exact_mut(cache * head).zip(rows) {
                held[position * head..][..head].copy_from_slice(row);
            }
        }
        self.position += 1;
        Ok(logits)
    }
}

/// Returns the token with the largest logit, the first of several: the choice of greedy generation.
pub fn likeliest(logits: &[f32]) -> usize {
    let better =
        |best: usize, (token, logit): (usize, &f32)| if *logit > logits[best] { token } else { best };
    logits.iter().enumerate().fold(0, better)
}

fn number(value: usize) -> Result<Tensor, DecoderError> {
    tensor("number", vec![1], TensorData::I64(vec![value as i64]))
}

fn tensor(name: &str, shape: Vec<usize>, data: TensorData) -> Result<Tensor, DecoderError> {
    let (found, expected) = (vec![data.len()], shape.clone());
    let wrong = |_| DecoderError::Shape { name: name.to_owned(), found, expected };
    Tensor::new(shape, data).map_err(wrong)
}
