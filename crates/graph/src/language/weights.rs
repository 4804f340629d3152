//! [`Model`]: a description with its weights.

use std::collections::BTreeMap;

use super::{DecoderError, Description, NormKind, Part, Rows};
use crate::decoder::config::refuse;

/// Tensor of a [`Part`].
#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    /// Matrix, or the gains of a normalization as one row.
    pub rows: Rows,
    /// Number added to each result; `None` without a bias.
    pub bias: Option<Vec<f32>>,
}

/// Weights of a part.
#[derive(Clone, Copy, Debug)]
pub enum Weights<'a> {
    /// Matrix with an optional number per row, which is added to its result.
    Matrix(&'a Rows, Option<&'a [f32]>),
    /// Gains of a normalization, and optional numbers that are added.
    Norm(&'a [f32], Option<&'a [f32]>),
}

/// Language model with its weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(super) description: Description,
    pub(super) embedding: Rows,
    pub(super) positions: Option<Rows>,
    pub(super) layers: Vec<Layer>,
    pub(super) final_norm: Norm,
    pub(super) head: Linear,
    pub(super) streams: StreamWeights,
}

/// Weights of a layer, in the order of their use.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layer {
    pub(super) attention_norm: Norm,
    pub(super) query: Linear,
    /// Matrix of the keys; `None` if the layer reads the keys and values of another one.
    pub(super) key: Option<Linear>,
    /// Matrix of the values; `None` like the keys.
    pub(super) value: Option<Linear>,
    pub(super) query_norm: Option<Norm>,
    pub(super) key_norm: Option<Norm>,
    /// Normalization of each value head, which has no gains.
    pub(super) value_norm: Option<Norm>,
    pub(super) output: Linear,
    pub(super) after_attention: Option<Norm>,
    pub(super) feed_forward_norm: Norm,
    pub(super) gate: Option<Linear>,
    pub(super) up: Linear,
    pub(super) down: Linear,
    pub(super) after_feed_forward: Option<Norm>,
}

/// Index of a tensor: its part, and the layer or stream.
type Key = (Part, Option<usize>);

/// Weights of the streams of a model; empty for a model without streams.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StreamWeights {
    pub(super) matrices: BTreeMap<Key, Linear>,
    pub(super) norms: BTreeMap<Key, Norm>,
}

impl StreamWeights {
    /// Reads the weights; `weight` as for [`Model::new`].
    fn new<E: From<DecoderError>>(
        of: &Description,
        weight: &mut impl FnMut(Part, Option<usize>) -> Result<Weight, E>,
    ) -> Result<Self, E> {
        let mut weights = Self::default();
        for (part, index) in of.parts().filter(|(part, _)| part.is_of_streams()) {
            let read = linear(of, part, index, weight)?;
            if part.is_norm() {
                weights.norms.insert((part, index), norm(of, read));
            } else {
                weights.matrices.insert((part, index), read);
            }
        }
        Ok(weights)
    }

    /// Returns a part.
    pub(super) fn weights(&self, part: Part, index: Option<usize>) -> Option<Weights<'_>> {
        let matrix = self.matrices.get(&(part, index)).map(Linear::weights);
        matrix.or_else(|| self.norms.get(&(part, index)).map(Norm::weights))
    }

    /// Returns a matrix.
    pub(super) fn matrix_mut(&mut self, part: Part, index: Option<usize>) -> Option<&mut Linear> {
        self.matrices.get_mut(&(part, index))
    }

    /// Applies a matrix to `x`, `[tokens, columns]`.
    pub(super) fn apply(&self, part: Part, index: usize, x: &[f32]) -> Vec<f32> {
        self.matrices[&(part, Some(index))].apply(x)
    }
}

/// Matrix with an optional bias.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Linear {
    pub(super) rows: Rows,
    pub(super) bias: Option<Vec<f32>>,
}

impl Linear {
    /// Returns the matrix and its biases.
    pub(super) fn weights(&self) -> Weights<'_> {
        Weights::Matrix(&self.rows, self.bias.as_deref())
    }

    /// Applies the matrix to `x`, `[tokens, columns]`.
    pub(super) fn apply(&self, x: &[f32]) -> Vec<f32> {
        let mut results = self.rows.product(x);
        if let Some(bias) = &self.bias {
            for results in results.chunks_exact_mut(bias.len()) {
                results.iter_mut().zip(bias).for_each(|(result, bias)| *result += bias);
            }
        }
        results
    }
}

/// Normalization.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Norm {
    kind: NormKind,
    epsilon: f32,
    pub(super) gain: Vec<f32>,
    pub(super) bias: Option<Vec<f32>>,
}

impl Norm {
    /// Returns the norm of `size` features without gains, for a model of this description.
    fn without_gains(of: &Description, size: usize) -> Self {
        Self { kind: of.norm, epsilon: of.epsilon, gain: vec![1.0; size], bias: None }
    }

    /// Returns the norm without gains and biases, and without a subtraction of the mean.
    pub(super) fn without_weights(&self) -> Self {
        let gain = vec![1.0; self.gain.len()];
        Self { kind: NormKind::Rms, epsilon: self.epsilon, gain, bias: None }
    }

    /// Returns the gains and biases.
    pub(super) fn weights(&self) -> Weights<'_> {
        Weights::Norm(&self.gain, self.bias.as_deref())
    }

    /// Normalizes each vector of `x` that has the length of the gains.
    pub(super) fn apply(&self, x: &mut [f32]) {
        x.chunks_exact_mut(self.gain.len()).for_each(|x| self.apply_one(x));
    }

    fn apply_one(&self, x: &mut [f32]) {
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / self.gain.len() as f64;
        let center = match self.kind {
            NormKind::Rms => 0.0,
            NormKind::Layer => mean(&mut x.iter().map(|&x| f64::from(x))),
        };
        let variance = mean(&mut x.iter().map(|&x| (f64::from(x) - center).powi(2)));
        let factor = 1.0 / (variance + f64::from(self.epsilon)).sqrt();
        for (x, gain) in x.iter_mut().zip(&self.gain) {
            *x = ((f64::from(*x) - center) * factor) as f32 * gain;
        }
        if let Some(bias) = &self.bias {
            x.iter_mut().zip(bias).for_each(|(x, bias)| *x += bias);
        }
    }
}

impl Model {
    /// Creates the model of a description. `weight` returns a part of the model (`None`), or of a
    /// layer or stream (its index), for all [`Description::parts`].
    ///
    /// # Errors
    ///
    /// The errors of [`Description::check`] and of `weight`; [`DecoderError::Config`] for an
    /// encoder; [`DecoderError::Shape`] for a part of another shape.
    pub fn new<E: From<DecoderError>>(
        description: Description,
        mut weight: impl FnMut(Part, Option<usize>) -> Result<Weight, E>,
    ) -> Result<Self, E> {
        description.check()?;
        let of = &description;
        refuse(of.is_encoder(), "structure", &"an encoder", || "a decoder".to_owned())?;
        let mut get = |part: Part, layer| linear(of, part, layer, &mut weight);
        let embedding = get(Part::Embedding, None)?;
        let positions = if of.learned_positions { Some(get(Part::Positions, None)?.rows) } else { None };
        let layers = (0..of.layers.len()).map(|index| layer(of, index, &mut |part| get(part, Some(index))));
        let layers = layers.collect::<Result<_, E>>()?;
        let final_norm = norm(of, get(Part::FinalNorm, None)?);
        let head = if of.tied { embedding.clone() } else { get(Part::Head, None)? };
        let streams = StreamWeights::new(of, &mut weight)?;
        Ok(Self { embedding: embedding.rows, positions, layers, final_norm, head, streams, description })
    }

    /// Description of the computation.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Returns the model without the layers after the first `count`. Its weights share the memory.
    #[must_use]
    pub fn with_first_layers(&self, count: usize) -> Self {
        let mut model = self.clone();
        model.layers.truncate(count);
        model.description.layers.truncate(count);
        if let Some(streams) = &mut model.description.streams {
            streams.kv_layers = streams.kv_layers.min(count);
            streams.gate_deviations.truncate(count);
        }
        model
    }
}

/// Returns a part of a model (`None`) or of a layer, which `weight` returns, after a check of its
/// shape.
pub(super) fn linear<E: From<DecoderError>>(
    of: &Description,
    part: Part,
    layer: Option<usize>,
    weight: &mut impl FnMut(Part, Option<usize>) -> Result<Weight, E>,
) -> Result<Linear, E> {
    let Weight { rows, bias } = weight(part, layer)?;
    check(of, part, layer, &rows, bias.as_deref())?;
    Ok(Linear { rows, bias })
}

fn layer<E>(
    of: &Description,
    index: usize,
    get: &mut dyn FnMut(Part) -> Result<Linear, E>,
) -> Result<Layer, E> {
    let mut optional = |part: Part| part.is_needed(of, Some(index)).then(|| get(part)).transpose();
    let query_norm = optional(Part::QueryNorm)?.map(|weight| norm(of, weight));
    let key_norm = optional(Part::KeyNorm)?.map(|weight| norm(of, weight));
    let after_attention = optional(Part::AfterAttentionNorm)?.map(|weight| norm(of, weight));
    let after_feed_forward = optional(Part::AfterFeedForwardNorm)?.map(|weight| norm(of, weight));
    let gate = optional(Part::Gate)?;
    let (key, value) = (optional(Part::Key)?, optional(Part::Value)?);
    Ok(Layer {
        attention_norm: norm(of, get(Part::AttentionNorm)?),
        query: get(Part::Query)?,
        key,
        value,
        query_norm,
        key_norm,
        value_norm: of.streams.as_ref().map(|_| Norm::without_gains(of, of.head)),
        output: get(Part::Output)?,
        after_attention,
        feed_forward_norm: norm(of, get(Part::FeedForwardNorm)?),
        gate,
        up: get(Part::Up)?,
        down: get(Part::Down)?,
        after_feed_forward,
    })
}

pub(super) fn norm(of: &Description, Linear { rows, bias }: Linear) -> Norm {
    Norm { kind: of.norm, epsilon: of.epsilon, gain: rows.to_floats(), bias }
}

fn check(
    of: &Description,
    part: Part,
    layer: Option<usize>,
    rows: &Rows,
    bias: Option<&[f32]>,
) -> Result<(), DecoderError> {
    let expected = part.shape(of);
    let results = if part.is_norm() { expected[1] } else { expected[0] };
    let name = layer.map_or_else(|| format!("{part:?}"), |layer| format!("{part:?} of layer {layer}"));
    if rows.shape() != expected {
        let found = rows.shape().to_vec();
        return Err(DecoderError::Shape { name, found, expected: expected.to_vec() });
    }
    match bias {
        Some(bias) if bias.len() != results => {
            let name = format!("bias of {name}");
            Err(DecoderError::Shape { name, found: vec![bias.len()], expected: vec![results] })
        }
        _ => Ok(()),
    }
}
