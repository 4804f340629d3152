//! Weights and positions of a [`Model`], for compilers.

use super::attention::capped;
use super::weights::{Layer, Linear, Norm, Weights};
use super::{Description, Model, Part, Rotation};

impl Model {
    /// Returns a part of the model (`None`) or of a layer (its index); `None` if it has no such
    /// part.
    pub fn weights(&self, part: Part, layer: Option<usize>) -> Option<Weights<'_>> {
        match layer {
            None => match part {
                Part::Embedding => Some(Weights::Matrix(&self.embedding, None)),
                Part::Positions => self.positions.as_ref().map(|rows| Weights::Matrix(rows, None)),
                Part::FinalNorm => Some(self.final_norm.weights()),
                Part::Head => Some(self.head.weights()),
                _ => None,
            },
            Some(index) => self.layers.get(index)?.weights(part),
        }
    }

    /// Returns the values of a token at a position before the first layer, `[hidden]`. Panics if
    /// the token or the position is out of range.
    pub fn embedded(&self, token: usize, position: usize) -> Vec<f32> {
        let mut x = vec![0.0; self.description.hidden];
        self.embedding.decode(token, &mut x);
        x.iter_mut().for_each(|x| *x *= self.description.embedding_scale);
        if let Some(positions) = &self.positions {
            let mut learned = vec![0.0; self.description.hidden];
            positions.decode(position, &mut learned);
            x.iter_mut().zip(&learned).for_each(|(x, learned)| *x += learned);
        }
        x
    }
}

impl Layer {
    fn weights(&self, part: Part) -> Option<Weights<'_>> {
        match part {
            Part::AttentionNorm => Some(self.attention_norm.weights()),
            Part::Query => Some(self.query.weights()),
            Part::Key => Some(self.key.weights()),
            Part::Value => Some(self.value.weights()),
            Part::QueryNorm => self.query_norm.as_ref().map(Norm::weights),
            Part::KeyNorm => self.key_norm.as_ref().map(Norm::weights),
            Part::Output => Some(self.output.weights()),
            Part::AfterAttentionNorm => self.after_attention.as_ref().map(Norm::weights),
            Part::FeedForwardNorm => Some(self.feed_forward_norm.weights()),
            Part::Gate => self.gate.as_ref().map(Linear::weights),
            Part::Up => Some(self.up.weights()),
            Part::Down => Some(self.down.weights()),
            Part::AfterFeedForwardNorm => self.after_feed_forward.as_ref().map(Norm::weights),
            Part::Embedding
            | Part::Positions
            | Part::TokenTypes
            | Part::EmbeddingNorm
            | Part::FinalNorm
            | Part::Head => None,
        }
    }
}

impl Rotation {
    /// Returns cosine and sine of each pair at a position, in a text of `length` tokens.
    pub fn turns(&self, position: usize, length: usize) -> Vec<(f32, f32)> {
        let magnitude = self.magnitude();
        let turn = |frequency: f64| {
            let (sine, cosine) = (position as f64 * frequency).sin_cos();
            ((cosine * magnitude) as f32, (sine * magnitude) as f32)
        };
        self.frequencies(length).into_iter().map(turn).collect()
    }
}

impl Description {
    /// Bounds logits smoothly, if the model does.
    pub fn cap_logits(&self, logits: &mut [f32]) {
        logits.iter_mut().for_each(|x| *x = capped(*x, self.final_cap));
    }

    /// Whether texts of these two lengths have different rotations, so that a cache of keys cannot
    /// be kept.
    pub fn rotations_differ(&self, before: usize, after: usize) -> bool {
        before > 0 && self.rotations.iter().any(|rotation| rotation.differs(before, after))
    }
}
