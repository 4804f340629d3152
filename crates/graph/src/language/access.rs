//! Weights and positions of a [`Model`], for compilers.

use npukit_numeric::Sha256;

use super::attention::capped;
use super::weights::{Layer, Linear, Norm, Weights};
use super::{Description, Model, Part, Rotation, Rows};

impl Model {
    /// Returns a part of the model (`None`), or of a layer or stream (its index); `None` if it has
    /// no such part.
    pub fn weights(&self, part: Part, layer: Option<usize>) -> Option<Weights<'_>> {
        match layer {
            _ if part.is_of_streams() => self.streams.weights(part, layer),
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

    /// Takes the rows of a matrix out of the model; zeros of the same shape, with the memory of a
    /// row, take their place. Returns `None` for a part that is not a matrix of a layer or stream,
    /// or the head.
    pub fn take_rows(&mut self, part: Part, layer: Option<usize>) -> Option<Rows> {
        let matrix = match layer {
            _ if part.is_of_streams() => self.streams.matrix_mut(part, layer)?,
            Some(index) => self.layers.get_mut(index)?.matrix(part)?,
            None if part == Part::Head => &mut self.head,
            None => return None,
        };
        let zeros = matrix.rows.zeros_like();
        Some(std::mem::replace(&mut matrix.rows, zeros))
    }

    /// Returns the model with zeros in place of all matrices, which share the memory of a row.
    pub fn without_weights(&self) -> Self {
        let mut model = self.clone();
        for (part, layer) in self.description.parts() {
            model.take_rows(part, layer);
        }
        for rows in [&mut model.embedding, &mut model.head.rows].into_iter().chain(&mut model.positions) {
            *rows = rows.zeros_like();
        }
        model
    }

    /// Returns the SHA-256 of the description and of all weights.
    pub fn digest(&self) -> [u8; 32] {
        let of = &self.description;
        let mut hash = Sha256::default();
        hash.update(format!("{of:?}").as_bytes());
        for (part, layer) in of.parts() {
            let floats = match self.weights(part, layer) {
                Some(Weights::Matrix(rows, bias)) => {
                    rows.hash(&mut hash);
                    [bias, None]
                }
                Some(Weights::Norm(gains, bias)) => [Some(gains), bias],
                None => [None, None],
            };
            for floats in floats.into_iter().flatten() {
                let bytes: Vec<u8> = floats.iter().flat_map(|float| float.to_le_bytes()).collect();
                hash.update(&bytes);
            }
        }
        hash.finish()
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
            Part::Key => self.key.as_ref().map(Linear::weights),
            Part::Value => self.value.as_ref().map(Linear::weights),
            Part::QueryNorm => self.query_norm.as_ref().map(Norm::weights),
            Part::KeyNorm => self.key_norm.as_ref().map(Norm::weights),
            Part::Output => Some(self.output.weights()),
            Part::AfterAttentionNorm => self.after_attention.as_ref().map(Norm::weights),
            Part::FeedForwardNorm => Some(self.feed_forward_norm.weights()),
            Part::Gate => self.gate.as_ref().map(Linear::weights),
            Part::Up => Some(self.up.weights()),
            Part::Down => Some(self.down.weights()),
            Part::AfterFeedForwardNorm => self.after_feed_forward.as_ref().map(Norm::weights),
            _ => None,
        }
    }
}

impl Layer {
    /// Returns the matrix of a part; `None` if it has none.
    pub(super) fn matrix(&mut self, part: Part) -> Option<&mut Linear> {
        match part {
            Part::Query => Some(&mut self.query),
            Part::Key => self.key.as_mut(),
            Part::Value => self.value.as_mut(),
            Part::Output => Some(&mut self.output),
            Part::Gate => self.gate.as_mut(),
            Part::Up => Some(&mut self.up),
            Part::Down => Some(&mut self.down),
            _ => None,
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
    /// Returns the parts that the model needs, with the layer or stream of each; `None`
    /// for parts of the whole model.
    pub fn parts(&self) -> impl Iterator<Item = (Part, Option<usize>)> + '_ {
        let of_layer = |layer: usize| Part::LAYER.map(|part| (part, Some(layer)));
        let of_model = Part::MODEL.map(|part| (part, None)).into_iter();
        // Default: without streams, there are no others.
        let streams = self.streams.as_ref().map_or(0, |streams| streams.count - 1);
        let of_stream = |stream: usize| Part::STREAM.map(|part| (part, Some(stream)));
        let all = of_model.chain((0..self.layers.len()).flat_map(of_layer));
        let all = all.filter(|&(part, layer)| part.is_needed(self, layer));
        all.chain((0..streams).flat_map(of_stream))
    }

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
