//! [`Model::rotated`]: a model in other coordinates, which rounding to few bits changes less.

use std::sync::Arc;

use super::change::{Change, Coordinates};
use super::hadamard::Hadamard;
use super::weights::{Layer, Linear, Norm};
use super::{Model, NormKind, Rows};

/// Coordinates of a rotated model.
struct Basis {
    /// Coordinates of the values between the layers, as matrices write and read them; `None` if
    /// these stay.
    between: Option<[Coordinates; 2]>,
    /// Coordinates of the results of a value matrix.
    values: Coordinates,
    /// Coordinates of the inputs of an output matrix.
    context: Coordinates,
}

impl Model {
    /// Returns a model with the same logits, up to the rounding of floats, whose weights and values
    /// have fewer outliers. Matrices are changed when they are used, and keep the memory of their
    /// file.
    ///
    /// Values between the layers are multiplied by a [`Hadamard`] matrix. The gains and biases of
    /// norms become part of the matrices that read the results. Norms that subtract the mean no
    /// longer do: the matrices before them do. The values of each head are multiplied by a
    /// `Hadamard` matrix as well.
    ///
    /// If the results of parts are normalized, or norms of heads subtract the mean, only the values
    /// of heads are changed.
    pub fn rotated(&self) -> Self {
        let of = &self.description;
        let basis = Basis::new(self);
        let mut description = of.clone();
        let layers = self.layers.iter().map(|layer| basis.layer(layer)).collect();
        let Some([written, _]) = &basis.between else { return Self { layers, ..self.clone() } };
        (description.norm, description.tied) = (NormKind::Rms, false);
        let vectors =
            |rows: &Rows| rows.changed(Change { inputs: Some(written.clone()), ..Change::default() });
        Self {
            embedding: vectors(&self.embedding),
            positions: self.positions.as_ref().map(vectors),
            layers,
            streams: self.streams.clone(),
            final_norm: self.final_norm.without_weights(),
            head: basis.reader(&self.final_norm, &self.head, None),
            description,
        }
    }
}

impl Basis {
    fn new(model: &Model) -> Self {
        let of = &model.description;
        let coordinates = |width, within, centers| {
            let matrix = Arc::new(Hadamard::new(width, within));
            Coordinates { centers, matrix }
        };
        let is_layer = of.norm == NormKind::Layer;
        let stays = of.norms_after || (is_layer && of.query_key_norms);
        let between = (!stays).then(|| {
            let read = coordinates(of.hidden, of.hidden, false);
            [Coordinates { centers: is_layer, ..read.clone() }, read]
        });
        let values = coordinates(of.kv_heads * of.head, of.head, false);
        Self { between, values, context: coordinates(of.heads * of.head, of.head, false) }
    }

    fn layer(&self, layer: &Layer) -> Layer {
        let (attention, feed_forward) = (&layer.attention_norm, &layer.feed_forward_norm);
        let norm = |norm: &Norm| match self.between {
            Some(_) => norm.without_weights(),
            None => norm.clone(),
        };
        Layer {
            attention_norm: norm(attention),
            query: self.reader(attention, &layer.query, None),
            key: layer.key.as_ref().map(|key| self.reader(attention, key, None)),
            value: layer.value.as_ref().map(|value| self.reader(attention, value, Some(self.values.clone()))),
            output: self.writer(&layer.output, Some(self.context.clone())),
            feed_forward_norm: norm(feed_forward),
            gate: layer.gate.as_ref().map(|gate| self.reader(feed_forward, gate, None)),
            up: self.reader(feed_forward, &layer.up, None),
            down: self.writer(&layer.down, None),
            ..layer.clone()
        }
    }

    /// Returns a matrix that reads the results of a norm.
    fn reader(&self, norm: &Norm, matrix: &Linear, results: Option<Coordinates>) -> Linear {
        let mut bias = matrix.bias.clone();
        let (mut gains, mut inputs) = (None, None);
        if let Some([_, read]) = &self.between {
            (gains, inputs) = (Some(norm.gain.clone()), Some(read.clone()));
            if let Some(constant) = &norm.bias {
                let mut sums = matrix.rows.product(constant);
                sums.iter_mut().zip(bias.iter().flatten()).for_each(|(sum, bias)| *sum += bias);
                bias = Some(sums);
            }
        }
        changed(matrix, bias, Change { gains, inputs, results })
    }

    /// Returns a matrix whose results are added to the values between the layers.
    fn writer(&self, matrix: &Linear, inputs: Option<Coordinates>) -> Linear {
        let results = self.between.as_ref().map(|[written, _]| written.clone());
        changed(matrix, matrix.bias.clone(), Change { gains: None, inputs, results })
    }
}

/// Returns a matrix with a change; the bias is that of the original results.
fn changed(matrix: &Linear, mut bias: Option<Vec<f32>>, change: Change) -> Linear {
    if let Some(bias) = &mut bias {
        change.results.iter().for_each(|results| results.apply(bias));
    }
    Linear { rows: matrix.rows.changed(change), bias }
}
