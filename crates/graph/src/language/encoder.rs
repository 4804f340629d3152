//! [`Encoder`]: a model that reads a whole text, and its evaluation in `f32`.

use super::attention::{Cache, attend};
use super::layer::{add, function};
use super::weights::{Linear, Norm, Weight, linear, norm};
use super::{DecoderError, Description, Part, Rows};
use crate::decoder::config::refuse;

/// Encoder with its weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoder {
    description: Description,
    embedding: Rows,
    positions: Option<Rows>,
    token_types: Option<Rows>,
    embedding_norm: Norm,
    layers: Vec<Layer>,
}

/// Weights of a layer, in the order of their use.
#[derive(Clone, Debug, PartialEq)]
struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    attention_norm: Norm,
    up: Linear,
    down: Linear,
    feed_forward_norm: Norm,
}

impl Encoder {
    /// Creates the encoder of a description, with weights as for
    /// [`Model::new`](super::Model::new).
    ///
    /// # Errors
    ///
    /// The errors of [`Description::check`] and of `weight`; [`DecoderError::Config`] for a
    /// decoder, gates, windows, rotations or norms of heads, which encoders do not have;
    /// [`DecoderError::Shape`] for a part of another shape.
    pub fn new<E: From<DecoderError>>(
        description: Description,
        mut weight: impl FnMut(Part, Option<usize>) -> Result<Weight, E>,
    ) -> Result<Self, E> {
        description.check()?;
        let of = &description;
        refuse(!of.is_encoder(), "structure", &"a decoder", || "an encoder".to_owned())?;
        let has_form = of.layers.iter().any(|form| form.window.is_some() || form.rotation.is_some());
        let has_part = of.gated || of.query_key_norms || has_form;
        let without = || "an encoder without gates, windows, rotations and norms of heads".to_owned();
        refuse(has_part, "structure", &"an encoder with one of them", without)?;
        let mut get = |part: Part, layer| linear(of, part, layer, &mut weight);
        let mut optional = |part: Part| part.is_needed(of, None).then(|| get(part, None)).transpose();
        let positions = optional(Part::Positions)?.map(|weight| weight.rows);
        let token_types = optional(Part::TokenTypes)?.map(|weight| weight.rows);
        let embedding = get(Part::Embedding, None)?.rows;
        let embedding_norm = norm(of, get(Part::EmbeddingNorm, None)?);
        let layers = (0..of.layers.len()).map(|index| layer(of, &mut |part| get(part, Some(index))));
        let layers = layers.collect::<Result<_, E>>()?;
        Ok(Self { embedding, positions, token_types, embedding_norm, layers, description })
    }

    /// Description of the computation.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Returns the values of each token after the last layer, `[tokens, hidden]`.
    ///
    /// # Errors
    ///
    /// The errors of [`Description::check_tokens`].
    pub fn values(&self, tokens: &[usize]) -> Result<Vec<f32>, DecoderError> {
        let of = &self.description;
        of.check_tokens(0, tokens)?;
        let activation = function(of.activation);
        let mut x = self.embedded(tokens);
        for (layer, form) in self.layers.iter().zip(&of.layers) {
            let cache = Cache { keys: layer.key.apply(&x), values: layer.value.apply(&x) };
            let attended = attend(of, *form, &layer.query.apply(&x), &cache);
            add(&mut x, &layer.output.apply(&attended));
            layer.attention_norm.apply(&mut x);
            let mut inner = layer.up.apply(&x);
            inner.iter_mut().for_each(|x| *x = activation(*x));
            add(&mut x, &layer.down.apply(&inner));
            layer.feed_forward_norm.apply(&mut x);
        }
        Ok(x)
    }

    /// Returns the values of the tokens before the first layer.
    fn embedded(&self, tokens: &[usize]) -> Vec<f32> {
        let of = &self.description;
        let mut x = vec![0.0; tokens.len() * of.hidden];
        let mut learned = vec![0.0; of.hidden];
        for (position, (x, &token)) in x.chunks_exact_mut(of.hidden).zip(tokens).enumerate() {
            self.embedding.decode(token, x);
            x.iter_mut().for_each(|x| *x *= of.embedding_scale);
            for (rows, row) in [(&self.token_types, 0), (&self.positions, position)] {
                if let Some(rows) = rows {
                    rows.decode(row, &mut learned);
                    add(x, &learned);
                }
            }
        }
        self.embedding_norm.apply(&mut x);
        x
    }
}

fn layer<E>(of: &Description, get: &mut dyn FnMut(Part) -> Result<Linear, E>) -> Result<Layer, E> {
    Ok(Layer {
        query: get(Part::Query)?,
        key: get(Part::Key)?,
        value: get(Part::Value)?,
        output: get(Part::Output)?,
        attention_norm: norm(of, get(Part::AfterAttentionNorm)?),
        up: get(Part::Up)?,
        down: get(Part::Down)?,
        feed_forward_norm: norm(of, get(Part::AfterFeedForwardNorm)?),
    })
}
