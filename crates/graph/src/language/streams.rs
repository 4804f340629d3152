//! Evaluation of models with [`Streams`]: [`Text`].

use std::f32::consts::FRAC_1_SQRT_2;

use npukit_numeric::dot;

use super::attention::Cache;
use super::layer::{add, attention, feed_forward, function, normalized};
use super::weights::Weights;
use super::{Model, Part, Streams};

impl Model {
    /// Returns all streams but the first before the first layer, `[tokens, hidden]` each, for
    /// tokens with the embeddings `embedded`, `[tokens, hidden]`; empty for a model without
    /// streams.
    pub fn begun_streams(&self, embedded: &[f32]) -> Vec<Vec<f32>> {
        let hidden = self.description.hidden;
        let begin = |stream| like(self.streams.apply(Part::StreamBegin, stream, embedded), embedded, hidden);
        let count = self.description.streams.as_ref().map_or(1, |streams| streams.count);
        (0..count - 1).map(begin).collect()
    }

    /// Returns the input of each layer, `[tokens, input]`, for tokens with these embeddings,
    /// `[tokens, hidden]`; empty for a model without streams.
    pub fn layer_inputs(&self, tokens: &[usize], embedded: &[f32]) -> Vec<Vec<f32>> {
        let (of, weights) = (&self.description, &self.streams);
        let Some(streams) = &of.streams else { return Vec::new() };
        let mut inputs = weights.matrices[&(Part::LayerInputProjection, None)].apply(embedded);
        let scale = 1.0 / (of.hidden as f32).sqrt();
        inputs.iter_mut().for_each(|input| *input *= scale);
        weights.norms[&(Part::LayerInputNorm, None)].apply(&mut inputs);
        let table = &weights.matrices[&(Part::LayerInputs, None)].rows;
        let width = table.shape()[1];
        let (mut learned, scale) = (vec![0.0; width], (streams.input as f32).sqrt());
        for (inputs, &token) in inputs.chunks_exact_mut(width).zip(tokens) {
            table.decode(if token < streams.input_vocabulary { token } else { 0 }, &mut learned);
            for (input, learned) in inputs.iter_mut().zip(&learned) {
                *input = (*input + learned * scale) * FRAC_1_SQRT_2;
            }
        }
        let of_layer = |layer: usize| {
            let of_tokens = inputs.chunks_exact(width);
            of_tokens.flat_map(|inputs| &inputs[layer * streams.input..][..streams.input]).copied().collect()
        };
        (0..of.layers.len()).map(of_layer).collect()
    }
}

/// Tokens that are computed together.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) model: &'a Model,
    pub(super) streams: &'a Streams,
    pub(super) tokens: &'a [usize],
    /// Position of the first token.
    pub(super) first: usize,
}

impl Text<'_> {
    /// Returns the values after the last layer, for the embeddings `x`, `[tokens, hidden]`.
    pub(super) fn values(&self, x: Vec<f32>, caches: &mut [Cache]) -> Vec<f32> {
        let (weights, of) = (&self.model.streams, &self.model.description);
        let (inputs, begun) = (self.model.layer_inputs(self.tokens, &x), self.model.begun_streams(&x));
        let mut values = [vec![x], begun].concat();
        for (layer, input) in inputs.iter().enumerate() {
            self.layer(layer, input, caches, &mut values);
        }
        let mut sum = values[0].clone();
        for (stream, values_of) in values[1..].iter().enumerate() {
            let end = weights.apply(Part::StreamEnd, stream, values_of);
            add(&mut sum, &like(end, &values[0], of.hidden));
        }
        sum.iter_mut().for_each(|x| *x /= self.streams.count as f32);
        sum
    }

    /// Computes a layer. `input` is the layer's input, `[tokens, input]`; `values` are the streams,
    /// `[tokens, hidden]` each.
    fn layer(&self, index: usize, input: &[f32], caches: &mut [Cache], values: &mut Vec<Vec<f32>>) {
        let Self { model, streams, first, .. } = *self;
        let (of, weights) = (&model.description, &model.streams);
        let predicted = self.predicted(index, values);
        let mut x = predicted[streams.active].clone();
        let normed = normalized(&model.layers[index].attention_norm, &x);
        attention(model, index, first, caches, &normed, &mut x);
        let low_rank = weights.apply(Part::LowRankIn, index, &normed);
        let mut low_rank = weights.apply(Part::LowRankOut, index, &low_rank);
        weights.norms[&(Part::LowRankNorm, Some(index))].apply(&mut low_rank);
        add(&mut x, &normed);
        add(&mut x, &low_rank);
        x.iter_mut().for_each(|x| *x *= FRAC_1_SQRT_2);
        feed_forward(model, index, &mut x);
        *values = self.corrected(index, predicted, &x);
        let mut gate = values[streams.active].clone();
        if let Some(Weights::Norm(factors, _)) = weights.weights(Part::ActiveScale, Some(index))
            && streams.scales_active
        {
            let factors = factors.iter().cycle();
            gate.iter_mut().zip(factors).for_each(|(x, factor)| *x *= factor);
        }
        let (activation, mut gate) = (function(of.activation), weights.apply(Part::InputGate, index, &gate));
        gate.iter_mut().zip(input).for_each(|(gate, input)| *gate = activation(*gate) * input);
        let mut out = weights.apply(Part::InputOut, index, &gate);
        weights.norms[&(Part::InputOutNorm, Some(index))].apply(&mut out);
        values[1..].iter_mut().for_each(|stream| add(stream, &out));
    }

    /// Returns coefficients of the streams for each token with the values `x`: a matrix times a
    /// modality per stream.
    fn coefficients(&self, part: Part, index: usize, x: &[f32]) -> Vec<f32> {
        let weights = &self.model.streams;
        let mut normed = normalized(&weights.norms[&(Part::RouterNorm, Some(index))], x);
        let size = self.model.description.hidden as f32;
        normed.iter_mut().for_each(|x| *x /= size);
        let mut modalities = weights.apply(Part::Router, index, &normed);
        modalities.iter_mut().for_each(|x| *x = x.tanh());
        weights.apply(part, index, &modalities)
    }

    /// Predicts all streams: each is changed by a combination of all.
    fn predicted(&self, index: usize, values: &[Vec<f32>]) -> Vec<Vec<f32>> {
        let (count, size, mut predicted) =
            (self.streams.count, self.model.description.hidden, values.to_vec());
        let factors = self.coefficients(Part::Predictions, index, &values[self.streams.active]);
        for (token, factors) in factors.chunks_exact(count * count).enumerate() {
            // A row belongs to a predicted stream and an operand.
            for (row, factor) in factors.iter().enumerate() {
                let (to, from) = (row / count, row % count);
                add_times(&mut predicted[to][token * size..], *factor, &values[from][token * size..][..size]);
            }
        }
        predicted
    }

    /// Corrects all streams by the difference between the result `x` and its prediction.
    fn corrected(&self, index: usize, mut predicted: Vec<Vec<f32>>, x: &[f32]) -> Vec<Vec<f32>> {
        let size = self.model.description.hidden;
        let news = x.iter().zip(&predicted[self.streams.active]).map(|(x, predicted)| x - predicted);
        let news: Vec<f32> = news.collect();
        let factors = self.coefficients(Part::Corrections, index, x);
        for (token, factors) in factors.chunks_exact(self.streams.count).enumerate() {
            for (stream, factor) in predicted.iter_mut().zip(factors) {
                add_times(&mut stream[token * size..], factor + 1.0, &news[token * size..][..size]);
            }
        }
        predicted
    }
}

/// Adds a multiple of `other` to the first values of `x`.
fn add_times(x: &mut [f32], factor: f32, other: &[f32]) {
    x.iter_mut().zip(other).for_each(|(x, other)| *x += factor * other);
}

/// Scales each token of `x` to the magnitude that it has in `other`.
fn like(mut x: Vec<f32>, other: &[f32], hidden: usize) -> Vec<f32> {
    let mean_square = |x: &[f32]| dot(x, x) / hidden as f32;
    for (x, other) in x.chunks_exact_mut(hidden).zip(other.chunks_exact(hidden)) {
        let factor = (mean_square(other) / mean_square(x).max(1e-5)).sqrt();
        x.iter_mut().for_each(|x| *x *= factor);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn magnitudes_are_carried_over() {
        let found = like(vec![3.0, 4.0, 0.0, 0.0], &[1.0, 1.0, 2.0, 2.0], 2);
        assert!((found[0] - 3.0 / 12.5_f32.sqrt()).abs() < 1e-6 && found[2..] == [0.0, 0.0]);
    }
}
